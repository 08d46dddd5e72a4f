import csv
import io
import json
import re
import sqlite3
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from alama.app import models_cli
from alama.app.cli import EXIT_MISTAKE, main
from alama.batch.listing import listing
from alama.batch.sql import KEY, TABLE
from alama.core.model import Metric, Model, seal
from alama.platform.files import packaged
from tests.factories import a_model, write_model


@pytest.fixture
def model() -> Model:
    return a_model()


@pytest.fixture
def path(model: Model, tmp_path: Path) -> Path:
    target = tmp_path / "model.json"
    write_model(model, target)
    return target


def shown(model: Model, width: int = 110) -> str:
    text = io.StringIO()
    models_cli.show(model, model.cards[-1], None, Console(file=text, width=width))
    return text.getvalue()


def test_the_table_shows_every_band_with_points_share_and_default_rate(
    model: Model, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "show", str(path)]) == 0

    out = capsys.readouterr().out
    assert model.id in out
    assert "full: 17 fields, 4 pairs (the model also has compact)" in out
    for feature in listing(model, model.cards[-1]).features:
        assert f"\n{feature.feature} " in out
        for band in feature.bands:
            if band.share and band.default_rate is not None:
                points = re.escape(f"{band.points:+.1f}")
                assert re.search(rf"{points} .*{band.share:.1%} +{band.default_rate:.1%}", out)


def test_a_required_field_is_never_shown_as_not_given(model: Model) -> None:
    compact = io.StringIO()
    models_cli.show(model, model.cards[0], None, Console(file=compact, width=110))
    assert "not given" not in compact.getvalue()
    assert "not given" in shown(model)


def test_figures_on_hold_out_stand_in_the_header(model: Model) -> None:
    measured = (Metric("auc", 0.7812, 0.775, 0.787), Metric("ks", 0.42), Metric("brier", 0.09))
    lineage = msgspec.structs.replace(model.lineage, metrics={"full": measured})
    header = shown(seal(msgspec.structs.replace(model, lineage=lineage)))
    assert "AUC 0.781 (0.775 to 0.787), KS 0.420\n" in "\n".join(
        line.rstrip() for line in header.splitlines()
    )


def test_a_refit_names_the_model_that_was_judged(model: Model) -> None:
    assert "refitted" not in shown(model)
    lineage = msgspec.structs.replace(model.lineage, refit_of=model.id)
    again = seal(msgspec.structs.replace(model, lineage=lineage))
    assert again.id != model.id
    assert f"on every loan, judged before as {model.id}" in shown(again, 160)


@pytest.mark.parametrize("width", [80, 100, 160])
def test_the_table_fits_the_terminal_with_its_figures_whole(model: Model, width: int) -> None:
    lines = shown(model, width).splitlines()
    assert max(map(len, lines)) <= width
    assert "\u2026" not in "".join(lines)


def test_another_card_can_be_shown_by_name(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "show", str(path), "--card", "compact"]) == 0
    out = capsys.readouterr().out
    assert "compact: 4 fields" in out
    assert "\nregion " not in out


def test_an_unknown_card_is_refused_with_those_there_are(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "show", str(path), "--card", "tiny"]) == EXIT_MISTAKE
    assert "it has compact, full" in capsys.readouterr().err


def test_json_and_csv_can_be_piped(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "show", str(path), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["card"] == "full"
    assert main(["models", "show", str(path), "--format", "csv", "--currency", "ugx"]) == 0
    assert len(list(csv.reader(io.StringIO(capsys.readouterr().out)))) > 50


def test_sql_of_the_whole_model_runs(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "show", str(path), "--format", "sql"]) == 0
    query = capsys.readouterr().out
    assert "'compact'" in query
    names = ", ".join(feature.field for feature in a_model().cards[-1].features)
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE {TABLE} ({KEY}, {names})")
    assert connection.execute(query).fetchall() == []
    connection.close()


@pytest.mark.parametrize("form", ["table", "json", "csv", "sql"])
def test_every_format_can_be_written_to_a_file(
    path: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = path.with_name("card")
    assert main(["models", "show", str(path), "--format", form, "--out", str(out)]) == 0
    assert capsys.readouterr().out == ""
    text = out.read_text("utf-8")
    assert "avg_inflow" in text
    assert not any(line.endswith(" ") for line in text.splitlines())
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("card.csv", "model,card,currency,feature,"),
        ("card.JSON", "{"),
        ("card.sql", "-- Alama scorecard"),
    ],
)
def test_the_ending_of_the_file_names_the_format(path: Path, name: str, start: str) -> None:
    out = path.with_name(name)
    assert main(["models", "show", str(path), "--out", str(out)]) == 0
    assert out.read_text("utf-8").startswith(start)


def test_another_ending_gets_the_table_and_a_named_format_comes_first(path: Path) -> None:
    out = path.with_name("card.txt")
    assert main(["models", "show", str(path), "--out", str(out)]) == 0
    assert "full: 17 fields, 4 pairs" in out.read_text("utf-8")
    assert main(["models", "show", str(path), "--format", "json", "--out", str(out)]) == 0
    assert json.loads(out.read_text("utf-8"))["card"] == "full"


def test_a_mistake_writes_no_file(path: Path) -> None:
    out = path.with_name("card.csv")
    options = ["--format", "csv", "--currency", "XXX", "--out", str(out)]
    assert main(["models", "show", str(path), *options]) == EXIT_MISTAKE
    assert not out.exists()


def test_without_a_model_the_built_in_one_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(packaged, "builtin", lambda: a_model(name="the built-in model"))
    assert main(["models", "show"]) == 0
    assert "the built-in model\n" in capsys.readouterr().out
