"""The built-in model is made again by one command, which says whether it is still the same."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from alama.app.cli import main
from alama.core import model
from alama.platform.files.packaged import builtin, read_model
from alama.training import builtin as maker
from tests.coarse import coarse_training
from tests.patterned import QUICK

pytestmark = pytest.mark.long


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The real steps on few rows in one process: the real run takes minutes."""
    monkeypatch.setattr("alama.platform.terminal.terminal.usable_cores", lambda: 1)
    monkeypatch.setattr(maker, "POPULATION", replace(maker.POPULATION, rows=1_500))
    monkeypatch.setattr(maker, "RECIPE", replace(QUICK, pairs=0))
    with coarse_training():
        yield


@pytest.mark.usefixtures("small")
def test_another_model_is_written_but_told_and_the_same_one_ends_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, report = tmp_path / "first.json", tmp_path / "report.html"
    code = main(["models", "build-builtin", "--out", str(first), "--report", str(report)])
    built = read_model(first)
    said = capsys.readouterr()
    assert code == 1
    assert built.id in said.out
    assert builtin().id in said.err
    assert built.id in report.read_text("utf-8")

    monkeypatch.setattr("alama.app.models_cli.builtin", lambda: built)
    assert main(["models", "build-builtin", "--out", str(tmp_path / "second.json")]) == 0
    assert "warning" not in capsys.readouterr().err


def test_the_recipe_in_the_shipped_model_is_the_recipe_of_the_package() -> None:
    lineage = builtin().lineage
    fitted = maker.RECIPE.for_data(lineage.rows, lineage.defaults)
    assert lineage.recipe == fitted.settings()
    assert lineage.rows == maker.POPULATION.rows


def test_the_shipped_document_is_written_as_this_version_writes_it() -> None:
    assert model.decode(model.encode(builtin())) == builtin()
