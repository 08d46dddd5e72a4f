"""`alama models`: read a model as a credit officer would, take it elsewhere, or go back to one."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

from alama.app.cli import card_table, challengers, models_recalibrate
from alama.app.cli.installed import existing_installation
from alama.batch.listing import as_csv, as_json, listing
from alama.batch.sql import as_sql
from alama.core import model as models
from alama.core.errors import FileProblem
from alama.core.model import Model, encode
from alama.onboarding.approval import Approval
from alama.platform.files.packaged import builtin, model_at
from alama.platform.files.promise import promised
from alama.platform.terminal import terminal
from alama.platform.terminal import terminal as words
from alama.training.validation.report import render

if TYPE_CHECKING:
    import argparse

    from alama.core.tables import Card


DESCRIPTION: Final = """\
Read a model as a credit officer would, take its tables to another program, let the model before
answer a lender again, or make the built-in model again. A model is one JSON file, named by the
hash of its content."""

SHOW_DESCRIPTION: Final = """\
Show a scorecard: every band of every field with its points, its share of the population and
its default rate, the most important field first, then what pairs of fields add together.

Points of all fields and pairs add up, with the base score, to the score of an application.
As JSON and CSV the same tables go to other programs; as SQL the whole model scores a table
of applications inside a database, to the same points."""

EXAMPLES: Final = """\
examples:
  # the built-in model
  alama models show

  # the scorecard for applications that give the core fields alone
  alama models show model.json --card compact

  # score inside the warehouse
  alama models show model.json --out score.sql"""

BUILD_DESCRIPTION: Final = """\
Make the model that comes with the package again: its population, its recipe, its seed are all
in the package, so the result has the same id, or something that matters has changed. Takes
some minutes and the training extra. Exits with 1 where the id is another."""

EXPORT_DESCRIPTION: Final = """\
Write a model that any score of this installation names to a file: whoever has the receipt of the
score replays it with this file and its policy. The id is that of the receipt or of `alama scores
show`, whole."""

ROLLBACK_DESCRIPTION: Final = """\
Go back to the model of its own that answered a lender in live mode before the one of now: every
process uses it within a second, and each request is answered by one model from its beginning to
its end. The policy stays as it is. A model that was itself rolled back is not gone back to: it
answers again when it is signed again, `alama onboard approve --candidate ID`. Where no other model
is left, `alama lenders pause` leaves every decision to a person."""

ROLLBACK_EXAMPLES: Final = """\
examples:
  alama models rollback umoja --by "W. Mutua" --reason "arrears of new loans, incident 44\""""

FORMATS: Final = ("table", "json", "csv", "sql")


def register(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    show = actions.add_parser(
        "show",
        help="the scorecard as a table, JSON, CSV or SQL",
        description=SHOW_DESCRIPTION,
        epilog=EXAMPLES,
    )
    add = show.add_argument
    add(
        "model",
        nargs="?",
        type=Path,
        metavar="MODEL",
        help="a model file (default: the built-in model)",
    )
    add("--card", metavar="NAME", help="which scorecard (default: the largest; all for SQL)")
    add("--format", choices=FORMATS, help="default: by the ending of --out, else table")
    add("--currency", type=str.upper, metavar="CODE", help="of money (default: the model's)")
    add("--out", type=Path, metavar="FILE", help="write to a file instead of the terminal")
    show.set_defaults(run=run)
    exported = actions.add_parser(
        "export", help="the model that a score names, as a file", description=EXPORT_DESCRIPTION
    )
    exported.add_argument("id", metavar="ID", help="sha256: and 64 digits")
    exported.add_argument("--out", type=Path, required=True, metavar="FILE", help="a JSON file")
    exported.set_defaults(run=export)
    back = actions.add_parser(
        "rollback",
        help="let the model before answer a lender again",
        description=ROLLBACK_DESCRIPTION,
        epilog=ROLLBACK_EXAMPLES,
    )
    back.add_argument("lender", metavar="LENDER", help="`alama lenders list` shows them")
    back.add_argument("--by", required=True, metavar="NAME", help="who goes back")
    back.add_argument("--reason", required=True, metavar="TEXT", help="why: the audit keeps it")
    back.set_defaults(run=rollback)
    models_recalibrate.register(actions)
    challengers.register(actions)
    build = actions.add_parser(
        "build-builtin",
        help="make the built-in model again, to the same hash",
        description=BUILD_DESCRIPTION,
    )
    build.add_argument("--out", type=Path, required=True, metavar="MODEL", help="a JSON file")
    build.add_argument("--report", type=Path, metavar="PAGE", help="its validation report")
    build.set_defaults(run=build_builtin, extra="train")


def run(args: argparse.Namespace) -> int:
    """Show one card of a model in the form asked for."""
    model = model_at(args.model)
    args.format = args.format or _format_of(args.out)
    if args.out is None:
        _show(model, args)
    else:
        with promised(args.out) as output:
            output.write(_written(model, args).encode())
    return 0


def export(args: argparse.Namespace) -> int:
    """Write the artefact of a stored model, having seen that it is the one of that id."""
    with existing_installation() as opened:
        artefact = opened.registry.model(args.id)
    model = models.stored(artefact, args.id)
    with promised(args.out) as output:
        output.write(artefact)
    words.remark(f"{args.out}: {model.name}.")
    return 0


def rollback(args: argparse.Namespace) -> int:
    """Let the model before answer again."""
    with existing_installation() as opened:
        model_id = Approval.at(opened).roll_back(args.lender, args.by, args.reason)
    words.say(f"{model_id} answers for {args.lender} in live mode again.")
    words.remark(f"Where it stands: alama onboard status {args.lender}")
    return 0


def build_builtin(args: argparse.Namespace) -> int:
    """Build, write, and hold the id against the one that is shipped."""
    # Here, not above: the training libraries take seconds to load, and may not be installed.
    from alama.training.builtin import build  # noqa: PLC0415

    shipped = builtin().id
    with ExitStack() as outputs:
        out = outputs.enter_context(promised(args.out))
        report = None if args.report is None else outputs.enter_context(promised(args.report))
        with terminal.share("Building") as watch:
            judged = build(terminal.usable_cores(), watch)
        out.write(encode(judged.model))
        if report is not None and judged.validation is not None:
            report.write(render(judged.model, judged.validation, judged.notes).encode())
    same = judged.model.id == shipped
    terminal.stdout().print(f"{judged.model.id}\n", markup=False, soft_wrap=True, end="")
    if not same:
        terminal.warn(f"the built-in model is another: {shipped}")
    return 0 if same else 1


def _show(model: Model, args: argparse.Namespace) -> None:
    if args.format == "table":
        card = _card(model, args.card)
        card_table.show(model, card, args.currency, terminal.stdout())
    else:
        terminal.stdout().out(_written(model, args), end="", highlight=False)


def _written(model: Model, args: argparse.Namespace) -> str:
    if args.format == "sql":
        cards = model.cards if args.card is None else (_card(model, args.card),)
        return as_sql(model, cards, args.currency)
    card = _card(model, args.card)
    if args.format == "json":
        return as_json(listing(model, card, args.currency))
    if args.format == "csv":
        return as_csv(listing(model, card, args.currency))
    return card_table.plain(model, card, args.currency, terminal.WIDTH_UNSEEN)


def _format_of(out: Path | None) -> str:
    """Take the format from a file's ending where nobody named one."""
    ending = "" if out is None else out.suffix.lower().removeprefix(".")
    return ending if ending in FORMATS else FORMATS[0]


def _card(model: Model, name: str | None) -> Card:
    if name is None:
        return model.cards[-1]
    for card in model.cards:
        if card.name == name:
            return card
    message = f"the model has no scorecard {name}"
    known = ", ".join(card.name for card in model.cards)
    raise FileProblem(message, hint=f"it has {known}")
