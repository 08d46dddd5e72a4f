import argparse
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from alama.cli import population as command
from alama.training.population.people import (
    ImpossiblePopulation,
    PopulationOptions,
    batches,
    schema,
)


def run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    command.register(parser.add_subparsers())
    args = parser.parse_args(["population", *words])
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

    assert (
        run("--rows", "100", "--seed", "1", "--history", "--prior-policy", "--out", str(out)) == 0
    )

    options = PopulationOptions(rows=100, seed=1, history=True, prior_policy=True)
    assert pyarrow.parquet.read_table(out).equals(pa.Table.from_batches(list(batches(options))))


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
