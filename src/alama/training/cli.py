"""`alama train`: a history of loans in, a model and its validation report out."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.table import Table
from rich.text import Text

from alama.core import model as models
from alama.core.catalogue import Direction
from alama.core.errors import FileProblem
from alama.core.model import REFERENCE_INFLOW_MONTHLY, Model
from alama.platform.files.promise import promised
from alama.platform.terminal import terminal
from alama.platform.terminal.command import names, whole
from alama.platform.terminal.terminal import usable_cores
from alama.training.recipe import CardNotes, Recipe
from alama.training.validation.figures import Measure, Performance
from alama.training.validation.report import render, steps

if TYPE_CHECKING:
    from alama.training.dataset import Dataset
    from alama.training.history.load import Loaded
    from alama.training.pipeline import Judged, Order, Trained
    from alama.training.validation.validate import Validation

HOLDOUT_MAX: Final = 0.5
_AUC_OF_CHANCE: Final = 0.5
HOME_CURRENCY: Final = "KES"

DESCRIPTION: Final = """\
Train a model on loans whose outcome is known.

FILE is CSV or Parquet, one row a loan: what was known about the applicant when the loan was
made, and a label, 1 (true, yes) where it defaulted and 0 (false, no) where it was repaid.
Rows without a label are left out. Missing values are left empty: they are learnt from, too.

A file with mm_months, avg_inflow, balance_stability and airtime_regularity (or their compact
spellings) is read by the product's catalogue: its fields, their ranges and risk directions.
With --fields it is read by yours. Any other file by what its columns hold: numbers or words.

Three fits (a penalised regression on weights of evidence, smooth curves, boosted fields and
pairs) are weighed against each other, put on bands that a person can read, held to their risk
directions exactly and calibrated. All rows learn. The model is judged out of fold: rows are
dealt into folds, and each is scored by tables made without its fold, calibration included.
With --holdout a share of the rows is set apart instead, learns nothing, and judges.

The same rows and seed give the same model, byte for byte, whatever the order of the rows, the
number of jobs or the machine. Above all: leave out of FILE what was not known before the loan
was made."""

EXAMPLES: Final = """\
examples:
  # a first model, on people who do not exist
  alama population --rows 100_000 --seed 1 --out loans.parquet
  alama train loans.parquet --label default --out model.json --report report.html

  # any table of loans; more income costs no points, more debt earns none
  alama train history.csv --label bad --out model.json \\
      --exclude customer_id,closed_on --monotone income=safer,debt_ratio=riskier

  # fields of your own: names, ranges and directions in a file
  alama train history.csv --label bad --fields fields.toml --out model.json

fields.toml:
  [[fields]]
  name = "income"
  kind = "number"                  # or "integer", "word"
  minimum = 0
  money = true
  direction = "safer with more"    # or "riskier with more"; free where nothing is said"""


def register(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    _add_data_arguments(parser)
    _add_run_arguments(parser)
    parser.set_defaults(run=run, extra="train")


def _add_data_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("file", type=Path, metavar="FILE", help="loans, ends in .csv, .csv.gz or .parquet")
    add("--label", required=True, metavar="COLUMN", help="the column that says who defaulted")
    add("--out", type=Path, required=True, metavar="MODEL", help="the model, a JSON file")
    add("--report", type=Path, metavar="PAGE", help="the validation report, an HTML page")
    add("--fields", type=Path, metavar="FILE", help="a field catalogue, .toml or .json")
    add(
        "--monotone",
        type=_directions,
        default={},
        metavar="A=safer,B=riskier",
        help="risk directions: safer, riskier or free with more; over those of the catalogue",
    )
    add(
        "--exclude",
        type=names,
        action="extend",
        default=[],
        metavar="A,B",
        help="columns that the model must not see",
    )
    add(
        "--date",
        metavar="COLUMN",
        help="when the loan was asked for (default: applied_on, if the file has it)",
    )


def _add_run_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--seed", type=whole(0), default=0, metavar="N", help="equal seed, equal model")
    add(
        "--name",
        default="scorecard",
        metavar="NAME",
        help="what people call it (default: scorecard)",
    )
    add(
        "--currency",
        type=_currency,
        metavar="CODE",
        help=f"of money in the file (default: {HOME_CURRENCY}, where the catalogue has money)",
    )
    add(
        "--holdout",
        type=_share,
        default=0.0,
        metavar="SHARE",
        help="set apart to judge the model, 0 to 0.5 (default: 0: all rows learn, and judge "
        "out of fold)",
    )
    add(
        "--peers",
        action="store_true",
        help="compare with a logistic regression and a boosted forest on the same fields; takes "
        "longer than the training",
    )
    add("--jobs", type=whole(1), metavar="N", help="folds made at once (default: all cores)")
    add(
        "--days-past-due",
        type=whole(1),
        default=30,
        metavar="K",
        help="what the label calls a default: ever K days late (default: 30)",
    )


def run(args: argparse.Namespace) -> int:
    """Read, train, judge, write both files or none, and say how good the model is."""
    _refuse_contradictions(args)
    with ExitStack() as outputs:
        # The model comes last into its place: where it is, all is.
        out = outputs.enter_context(promised(args.out))
        report = None if args.report is None else outputs.enter_context(promised(args.report))
        loaded = _load(args)
        judged = _train(args, loaded.dataset)
        if report is not None:
            report.write(render(judged.model, judged.validation, judged.notes).encode())
        out.write(models.encode(judged.model))
    _show_summary(judged)
    if report is None:
        terminal.remark("What directions cost, who gains by withholding: --report PAGE")
    for path in filter(None, (args.out, args.report)):
        size_kb = path.stat().st_size / 1e3
        terminal.stdout().print(f"wrote {path} ({size_kb:,.0f} kB)", markup=False, soft_wrap=True)
    return 0


def _load(args: argparse.Namespace) -> Loaded:
    # Here, not above: the training libraries take seconds to load, and may not be installed.
    from alama.training.history.load import load, read_catalogue  # noqa: PLC0415

    catalogue = None if args.fields is None else read_catalogue(args.fields)
    with terminal.share(f"Reading {args.file.name}") as watch:
        loaded = load(
            args.file,
            label=args.label,
            catalogue=catalogue,
            monotone=args.monotone,
            exclude=args.exclude,
            date_column=args.date,
            watch=lambda share: watch("", share, ""),
        )
    for warning in loaded.warnings:
        terminal.warn(warning)
    if loaded.ignored:
        listed = ", ".join(name or "(a column without a name)" for name in loaded.ignored)
        terminal.stderr().print(
            f"ignored, not fields of the model: {listed}", markup=False, soft_wrap=True
        )
    if args.currency is None and _has_money(loaded.dataset):
        terminal.warn(f"money is taken to be in {HOME_CURRENCY}; say --currency where it is not")
    if args.currency is not None and not _has_money(loaded.dataset):
        terminal.warn("no field of this model is money, so --currency says nothing")
    return loaded


def _train(args: argparse.Namespace, data: Dataset) -> Judged:
    from alama.training.pipeline import judge, train  # noqa: PLC0415  see `_load`

    order = _order(args, data)
    with terminal.share("Training") as watch:
        trained = train(data, order, watch)
    with terminal.share("Measuring") as watch:
        judged = judge(trained, args.seed, watch)
    return _beside_peers(judged, trained, args.seed) if args.peers else judged


def _beside_peers(judged: Judged, trained: Trained, seed: int) -> Judged:
    # Here, not above: these libraries are loaded for nothing else.
    from alama.training.validation.peers import beside_peers  # noqa: PLC0415

    with terminal.share("Comparing") as watch:
        validation = beside_peers(
            judged.validation,
            trained.unseen,
            seed=seed,
            draws=judged.validation.draws,
            progress=lambda share, step: watch(step, share, ""),
        )
    return replace(judged, validation=validation)


def _order(args: argparse.Namespace, data: Dataset) -> Order:
    from alama.training.pipeline import Order  # noqa: PLC0415  see `_load`

    return Order(
        name=args.name,
        label=args.label,
        recipe=Recipe(seed=args.seed),
        currency=(args.currency or HOME_CURRENCY) if _has_money(data) else None,
        days_past_due=args.days_past_due,
        holdout=args.holdout,
        jobs=args.jobs or usable_cores(),
    )


def _has_money(data: Dataset) -> bool:
    return any(field.money for field in data.catalogue.model_fields)


# ----------------------------------------------------------------------------------- arguments


def _refuse_contradictions(args: argparse.Namespace) -> None:
    """Refuse at once what would be found out only after the training."""
    places: dict[Path, str] = {}
    for option, path in (
        ("FILE", args.file),
        ("--fields", args.fields),
        ("--out", args.out),
        ("--report", args.report),
    ):
        if path is not None and places.setdefault(path.resolve(), option) != option:
            message = f"{option} and {places[path.resolve()]} are the same file, {path}"
            raise FileProblem(message)


def _directions(text: str) -> dict[str, Direction]:
    known = {direction.value.partition(" ")[0]: direction for direction in Direction}
    found: dict[str, Direction] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, word = (piece.strip() for piece in part.partition("="))
        if not equals or not name or word not in known:
            message = f"{part!r} is not of the form FIELD=safer, FIELD=riskier or FIELD=free"
            raise argparse.ArgumentTypeError(message)
        if found.setdefault(name, known[word]) is not known[word]:
            message = f"{name} cannot go both ways"
            raise argparse.ArgumentTypeError(message)
    return found


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0.0 <= share <= HOLDOUT_MAX:  # NaN fails this, too
        message = f"{text!r} is not a share of 0 to {HOLDOUT_MAX}"
        raise argparse.ArgumentTypeError(message)
    return share


def _currency(text: str) -> str:
    code = text.strip().upper()
    if code not in REFERENCE_INFLOW_MONTHLY:
        message = f"{text!r} is none of {', '.join(REFERENCE_INFLOW_MONTHLY)}"
        raise argparse.ArgumentTypeError(message)
    return code


# -------------------------------------------------------------------------------------- the summary


def _show_summary(judged: Judged) -> None:
    """Print the figures of each card, what each step of the making cost, and the model's id."""
    model, validation = judged.model, judged.validation
    rows, bad = model.lineage.rows, model.lineage.defaults
    terminal.say(f"\n{model.name}: learned from {rows:,} loans, {bad / rows:.2%} defaulted")
    how = (
        " set apart"
        if validation.folds is None
        else f", each by tables made without it ({validation.folds} folds)"
    )
    terminal.say(f"judged on {validation.judged.rows:,} loans{how}")
    terminal.section("How good it is (95 % intervals)", _figures(model, validation))
    for performed in _performances(validation):
        if performed.figure(Measure.AUC).interval.low <= _AUC_OF_CHANCE:
            terminal.warn(
                f"{performed.name} ranks no better than chance might: it is no model to lend by"
            )
    if any(card.peers for card in validation.cards):
        terminal.section("Beside well-known models (AUC, 95 % intervals)", _peers(validation))
    terminal.section("How it was made (every figure out of fold)", _stages(judged.notes))
    terminal.say(f"\nmodel {model.id}")
    if model.money is not None:
        terminal.say(f"money in {model.money.currency}")


def _figures(model: Model, validation: Validation) -> Table:
    fields = {card.name: str(len(card.features)) for card in model.cards}
    table = _table()
    for heading in ("fields", "AUC", "calibration slope", "calibration error"):
        table.add_column(heading, justify="right")
    for performed in _performances(validation):
        table.add_row(
            Text(performed.name),
            fields.get(performed.name, ""),
            _with_interval(performed, Measure.AUC, 4),
            _with_interval(performed, Measure.CALIBRATION_SLOPE, 3),
            _with_interval(performed, Measure.CALIBRATION_ERROR, 4),
        )
    return table


def _performances(validation: Validation) -> list[Performance]:
    """Give how each card did, and where there are several all together."""
    measured = [card.performance for card in validation.cards]
    return [*measured, validation.served] if len(measured) > 1 else measured


def _peers(validation: Validation) -> Table:
    table = _table()
    for heading in ("peer", "its AUC", "ahead of it by"):
        table.add_column(heading, justify="left" if heading == "peer" else "right")
    for card in validation.cards:
        for place, peer in enumerate(card.peers):
            low, high = peer.ahead_interval.low, peer.ahead_interval.high
            table.add_row(
                Text(card.card if place == 0 else ""),
                peer.name,
                f"{peer.auc:.4f}",
                f"{peer.ahead:+.4f} ({low:+.4f} to {high:+.4f})",
            )
    return table


def _with_interval(performed: Performance, measure: Measure, decimals: int) -> str:
    figure = performed.figure(measure)
    low, high = figure.interval.low, figure.interval.high
    return f"{figure.value:.{decimals}f} ({low:.{decimals}f} to {high:.{decimals}f})"


def _stages(notes: tuple[CardNotes, ...]) -> Table:
    table = _table()
    for heading in ("step", "AUC", "change", "log-loss", "change"):
        table.add_column(heading, justify="left" if heading == "step" else "right")
    for note in notes:
        for place, step in enumerate(steps(note.stages)):
            table.add_row(
                Text(note.card if place == 0 else ""),
                step.words,
                f"{step.auc:.5f}",
                "" if step.auc_change is None else f"{step.auc_change:+.5f}",
                f"{step.log_loss:.6f}",
                "" if step.loss_change is None else f"{step.loss_change:+.6f}",
            )
    return table


def _table() -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("", justify="left")
    return table
