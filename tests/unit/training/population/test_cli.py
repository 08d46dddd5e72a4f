import argparse
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from alama.training.history.loans import Options, Terms, read_history
from alama.training.population import cli as population_cli
from alama.training.population.people import (
    ImpossiblePopulation,
    PopulationOptions,
    batches,
    schema,
)


def run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    population_cli.register(parser)
    args = parser.parse_args(words)
    code: int = args.run(args)
    return code


@pytest.mark.parametrize("name", ["people.csv", "people.parquet"])
def test_the_command_writes_either_format(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / name

    assert run("--rows", "26_000", "--seed", "11", "--out", str(out)) == 0

    options = PopulationOptions(rows=26_000, seed=11)
    if name.endswith(".csv"):
        convert = pyarrow.csv.ConvertOptions(column_types=schema(options), strings_can_be_null=True)
        written = pyarrow.csv.read_csv(out, convert_options=convert)
    else:
        written = pyarrow.parquet.read_table(out)
    assert written.equals(pa.Table.from_batches(list(batches(options))))
    assert "26,000 rows" in capsys.readouterr().out


def test_the_books_of_a_lender_are_written_where_asked_for(tmp_path: Path) -> None:
    out = tmp_path / "history.parquet"

    asked = ("--rows", "100", "--seed", "1", "--history", "--prior-policy", "--out", str(out))
    assert run(*asked, "--closed-on", "2025-08-31") == 0

    options = PopulationOptions(rows=100, seed=1, history=True, prior_policy=True)
    assert pyarrow.parquet.read_table(out).equals(pa.Table.from_batches(list(batches(options))))


def test_books_are_closed_today_so_that_a_first_try_begins_without_a_warning(
    tmp_path: Path,
) -> None:
    out = tmp_path / "history.parquet"
    before = datetime.now(UTC).date()
    assert run("--rows", "100", "--seed", "1", "--history", "--out", str(out)) == 0
    (closed_on,) = set(pyarrow.parquet.read_table(out).column("observed_on").to_pylist())
    assert closed_on is not None
    assert before <= closed_on <= datetime.now(UTC).date()

    read = read_history(out, Terms(30, "KES", 150), Options(today=closed_on), lambda _: None)
    assert not read.report.stale


def test_only_days_move_with_the_day_on_which_books_are_closed() -> None:
    usual = PopulationOptions(rows=100, seed=1, history=True)
    later = replace(usual, closed_on=usual.closed_on + timedelta(days=443))
    first, second = (pa.Table.from_batches(list(batches(one))) for one in (usual, later))
    for old, new in zip(first.columns, second.columns, strict=True):
        if pa.types.is_date(old.type):
            days: Any = zip(old.to_pylist(), new.to_pylist(), strict=True)
            assert {b - a for a, b in days} == {timedelta(days=443)}
        else:
            assert new.equals(old)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (["--rows", "0"], "at least one row"),
        (["--rows", "-5"], "at least one row"),
        (["--seed", "-1"], "must not be negative"),
        (["--currency", "XYZ"], "no reference inflow is known for the currency 'XYZ'"),
        (["--drift", "nan"], "between 0 and 1"),
        (["--drift", "1.5"], "between 0 and 1"),
    ],
)
def test_an_impossible_population_is_refused_in_words(
    wrong: list[str], words: str, tmp_path: Path
) -> None:
    out = tmp_path / "people.csv"
    with pytest.raises(ImpossiblePopulation, match=words):
        run("--rows", "10", "--seed", "1", "--out", str(out), *wrong)
    assert list(tmp_path.iterdir()) == []


def test_a_number_of_rows_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run("--rows", "many", "--seed", "1", "--out", "people.csv")
    assert "'many' is not a whole number" in capsys.readouterr().err
