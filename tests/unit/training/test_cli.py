from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from alama.app import cli as app_cli
from alama.core import model as models
from alama.core.catalogue import Direction
from alama.core.errors import TrainingProblem
from alama.training import cli as training_cli
from alama.training import pipeline
from alama.training.dataset import Dataset
from alama.training.making.make import Watch
from alama.training.pipeline import Order, Trained
from alama.training.recipe import CardNotes, ConstraintPrice, Stage, WithheldGain
from tests import factories
from tests.coarse import coarse_training
from tests.loans import product_columns, write_csv


class FakeTrainer:
    """Gives a ready model at once, and remembers what was asked for."""

    def __init__(self) -> None:
        self.data: Dataset | None = None
        self.order: Order | None = None
        self.failure: BaseException | None = None
        self.knows_nothing = False
        self.model = factories.a_model(bands_max=4)

    def __call__(self, data: Dataset, order: Order, watch: Watch) -> Trained:
        self.data, self.order = data, order
        watch("boosting full", 0.4, "log-loss 0.31000")
        watch("tables of full", 0.3, "")
        if self.failure is not None:
            raise self.failure
        rows = factories.a_dataset(self.model, rows=2_000)
        if self.knows_nothing:
            rows = replace(rows, labels=np.random.default_rng(0).permutation(rows.labels))
        held = None if order.holdout == 0.0 else factories.a_dataset(self.model, seed=1, rows=1_000)
        folds = np.arange(len(rows), dtype=np.int8) % 2
        noticed = notes("compact"), notes("full")
        return Trained(self.model, noticed, rows, held, folds, (self.model, self.model))


def notes(card: str) -> CardNotes:
    return CardNotes(
        card=card,
        stages=(
            Stage("floor", 0.75, 0.33),
            Stage("chosen", 0.78, 0.31),
            Stage("banded", 0.7795, 0.3102),
        ),
        prices=tuple(ConstraintPrice(f"field_{n}", 0.001 / (1 + n)) for n in range(10)),
        withheld=(WithheldGain("region", 0.25, 4.5), WithheldGain("airtime_avg", 0.0, 0.0)),
        slope=1.0,
    )


@pytest.fixture
def trainer(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeTrainer]:
    fake = FakeTrainer()
    monkeypatch.setattr(pipeline, "train", fake)
    with coarse_training():  # judging is real
        yield fake


@pytest.fixture
def loans(tmp_path: Path) -> Path:
    return write_csv(tmp_path, {**product_columns(), "shoe_size": [40] * 2_400})


def run(loans: Path, *options: str) -> int:
    out = loans.with_name("model.json")
    return app_cli.main(["train", str(loans), "--label", "default", "--out", str(out), *options])


def test_a_model_and_its_report_are_written_and_summed_up(
    loans: Path, trainer: FakeTrainer, capsys: pytest.CaptureFixture[str]
) -> None:
    report = loans.with_name("report.html")

    assert run(loans, "--report", str(report)) == 0

    model = models.decode(loans.with_name("model.json").read_bytes())
    assert model.cards == trainer.model.cards
    assert model.id in report.read_text("utf-8")
    assert sorted(p.name for p in loans.parent.iterdir()) == [
        "loans.csv",
        "model.json",
        "report.html",
    ]
    out, err = capsys.readouterr()
    assert model.id in out
    for part in ("compact", "as served", "AUC", "calibration slope", "calibration error"):
        assert part in out
    assert "judged on 2,000 loans, each by tables made without it (2 folds)" in out
    assert "every figure out of fold" in out
    assert "floor: weights of evidence" in out, "on one line of a terminal of 80 columns"
    assert "-0.00050" in out, "what the bands cost"
    assert "+0.03000" not in out, "what was chosen is no change of the floor"
    assert "money in KES" in out
    assert f"wrote {report}" in out
    assert "ignored, not fields of the model: shoe_size" in err
    assert "log-loss 0.31000" in err


@pytest.mark.parametrize("knows_nothing", [False, True])
def test_a_model_that_ranks_no_better_than_chance_is_told_in_words(
    loans: Path, trainer: FakeTrainer, capsys: pytest.CaptureFixture[str], *, knows_nothing: bool
) -> None:
    trainer.knows_nothing = knows_nothing

    assert run(loans) == 0

    said = "full ranks no better than chance might: it is no model to lend by"
    assert (said in " ".join(capsys.readouterr().err.split())) is knows_nothing


def test_the_model_carries_the_figures_of_its_validation(loans: Path, trainer: FakeTrainer) -> None:
    assert run(loans) == 0

    model = models.decode(loans.with_name("model.json").read_bytes())
    assert set(model.lineage.metrics) == {"compact", "full", "as served"}
    auc = next(m for m in model.lineage.metrics["full"] if m.name == "auc")
    assert auc.low is not None
    assert auc.low < auc.value
    assert trainer.model.id != model.id


def test_all_rows_learn_unless_some_are_to_be_set_apart(
    loans: Path, trainer: FakeTrainer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(loans) == 0
    assert trainer.order is not None
    assert trainer.order.holdout == 0.0
    capsys.readouterr()
    report = loans.with_name("report.html")

    assert run(loans, "--holdout", "0.2", "--report", str(report)) == 0

    assert trainer.order.holdout == 0.2
    assert "judged on 1,000 loans set apart" in capsys.readouterr().out
    assert "were set apart: no step" in " ".join(report.read_text("utf-8").split())


@pytest.mark.usefixtures("trainer")
def test_peers_are_compared_where_they_are_asked_for(
    loans: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = loans.with_name("report.html")
    assert run(loans, "--report", str(report)) == 0
    assert "boosted forest" not in capsys.readouterr().out
    assert "<code>alama train --peers</code> does" in " ".join(report.read_text("utf-8").split())
    alone = models.decode(loans.with_name("model.json").read_bytes())

    assert run(loans, "--peers", "--report", str(report)) == 0

    out = capsys.readouterr().out
    assert "logistic regression" in out
    assert "boosted forest" in out
    assert "alama train --peers" not in report.read_text("utf-8")
    assert models.decode(loans.with_name("model.json").read_bytes()) == alone


def test_what_is_asked_for_reaches_the_trainer(loans: Path, trainer: FakeTrainer) -> None:
    options = "--seed 7 --name Pilot --currency ugx --holdout 0.3 --jobs 3 --days-past-due 60"

    assert run(loans, *options.split(), "--monotone", "avg_inflow=free, mm_months=riskier") == 0

    order, data = trainer.order, trainer.data
    assert order is not None
    assert data is not None
    assert (order.recipe.seed, order.name, order.currency) == (7, "Pilot", "UGX")
    assert (order.holdout, order.jobs, order.days_past_due, order.label) == (0.3, 3, 60, "default")
    assert data.catalogue.field("mm_months").direction is Direction.RISKIER
    assert data.catalogue.field("avg_inflow").direction is Direction.FREE


def test_columns_can_be_excluded_in_lists_and_one_by_one(loans: Path, trainer: FakeTrainer) -> None:
    excluded = ["--exclude", "region, shoe_size", "--exclude", "mm_months"]
    assert run(loans, *excluded) == 0

    assert trainer.data is not None
    assert {"region", "shoe_size", "mm_months"}.isdisjoint(trainer.data.columns)


def test_all_cores_are_used_unless_told_otherwise(loans: Path, trainer: FakeTrainer) -> None:
    assert run(loans) == 0

    assert trainer.order is not None
    assert 1 <= trainer.order.jobs <= (os.cpu_count() or 1)


def test_fields_of_ones_own_are_read_from_a_file(
    loans: Path, trainer: FakeTrainer, capsys: pytest.CaptureFixture[str]
) -> None:
    fields = loans.with_name("fields.toml")
    fields.write_text('[[fields]]\nname = "avg_inflow"\nkind = "number"\nminimum = 0\n')

    assert run(loans, "--fields", str(fields), "--currency", "KES") == 0

    assert trainer.data is not None
    assert list(trainer.data.columns) == ["avg_inflow"]
    assert trainer.order is not None
    assert trainer.order.currency is None
    assert "--currency says nothing" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("failure", "code"), [(TrainingProblem("nothing to learn"), 2), (KeyboardInterrupt(), 130)]
)
@pytest.mark.parametrize("old", [None, b"the old model"])
def test_a_run_that_fails_leaves_what_was_there(
    loans: Path, trainer: FakeTrainer, failure: BaseException, code: int, old: bytes | None
) -> None:
    trainer.failure = failure
    model = loans.with_name("model.json")
    if old is not None:
        model.write_bytes(old)
    before = sorted(loans.parent.iterdir())

    assert run(loans, "--report", str(loans.with_name("report.html"))) == code

    assert sorted(loans.parent.iterdir()) == before
    assert old is None or model.read_bytes() == old


def test_a_disk_that_fills_up_leaves_neither_file(
    loans: Path,
    trainer: FakeTrainer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", full)

    assert run(loans, "--report", str(loans.with_name("report.html"))) == 2

    assert trainer.order is not None
    assert "No space left" in capsys.readouterr().err
    assert list(loans.parent.iterdir()) == [loans]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--report", "{here}/model.json"], "--report and --out are the same file"),
        (["--fields", "{here}/loans.csv"], "--fields and FILE are the same file"),
        (["--report", "{here}"], "it is a folder"),
        (["--report", "{here}/nowhere/r.html"], "does not exist"),
    ],
)
def test_what_cannot_end_well_is_not_begun(
    loans: Path,
    trainer: FakeTrainer,
    options: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    here = [option.format(here=loans.parent) for option in options]

    assert run(loans, *here) == 2

    assert trainer.order is None
    assert said in capsys.readouterr().err
    assert list(loans.parent.iterdir()) == [loans]


@pytest.mark.parametrize(
    "options",
    [
        ["--monotone", "income"],
        ["--monotone", "income=up"],
        ["--monotone", "a=safer,a=riskier"],
        ["--holdout", "0.9"],
        ["--holdout", "nan"],
        ["--holdout", "some"],
        ["--seed", "-1"],
        ["--jobs", "0"],
        ["--jobs", "many"],
        ["--currency", "XYZ"],
        ["--days-past-due", "0"],
    ],
    ids=" ".join,
)
def test_an_argument_that_makes_no_sense_is_refused(
    loans: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_info:
        run(loans, *options)

    assert exit_info.value.code == 2
    assert options[0] in capsys.readouterr().err


def test_the_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        app_cli.main(["train", "--help"])

    text = capsys.readouterr().out
    assert "not known before the loan was made" in " ".join(text.split())
    assert "[[fields]]" in text


def test_the_catalogue_in_the_help_is_one(tmp_path: Path) -> None:
    from alama.training.history.load import read_catalogue  # noqa: PLC0415

    shown = training_cli.EXAMPLES.partition("fields.toml:\n")[2]
    (tmp_path / "fields.toml").write_text(shown)

    assert read_catalogue(tmp_path / "fields.toml").field("income").money
