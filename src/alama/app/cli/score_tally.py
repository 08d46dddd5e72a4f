"""`alama scores tally`: what the models of a lender have met and given, as counts."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from alama.app.cli import tally_table
from alama.app.cli.installed import existing_installation
from alama.core import model as models
from alama.platform.book import Book, Mode
from alama.platform.days import DAY_US
from alama.platform.errors import InvalidName
from alama.platform.terminal import terminal
from alama.platform.terminal import terminal as words
from alama.scoring.store import Scores

if TYPE_CHECKING:
    from collections.abc import Iterable

    from alama.core.model import Model
    from alama.core.tally import Tally
    from alama.platform.terminal.command import Subparsers


DESCRIPTION: Final = """\
Show how often each decision, tier and score was given in the last days, and into which bands each
field of the applications fell, next to the data that the model was trained on. A field that has
moved by 10% would look as in training if one in ten applicants were in another band. These are
counts that were made as the scores were given: what was deleted since, and whose applicants were
erased, is still in them. Days are UTC."""

EXAMPLES: Final = """\
examples:
  alama scores tally demo --days 7
  alama scores tally demo --field avg_inflow"""

_DAYS: Final = 30
_DAYS_MAX: Final = 3_660


def register(actions: Subparsers) -> None:
    parser = actions.add_parser(
        "tally",
        help="decisions, scores and fields of some days, counted",
        description=DESCRIPTION,
        epilog=EXAMPLES,
    )
    add = parser.add_argument
    add("lender", nargs="?", default="demo", metavar="LENDER", help="default: %(default)s")
    add(
        "--mode",
        choices=[mode.value for mode in Mode],
        default=Mode.TEST.value,
        help="default: %(default)s",
    )
    add(
        "--days",
        type=_days,
        default=_DAYS,
        metavar="N",
        help="how many, today included (default: %(default)s)",
    )
    add("--field", metavar="NAME", help="every band of this field, and nothing else")
    parser.set_defaults(run=show)


def show(args: argparse.Namespace) -> int:
    """Show the counts of some days, model by model, the one that gave most scores first."""
    with existing_installation() as opened:
        last_day = opened.clock() // DAY_US
        first_day = last_day - args.days + 1
        lender = opened.registry.lender(args.lender)
        found = Scores.at(opened).tally(Book(lender.id, Mode(args.mode)), first_day, last_day)
        known = {one: models.stored(opened.registry.model(one), one) for one in found}
    days = f"{words.day(first_day * DAY_US)} to {words.day(last_day * DAY_US)}"
    if not found:
        words.remark(f"{lender.id} has no scores in {args.mode} mode, {days}.")
        return 0
    field = None if args.field is None else _field(args.field, known.values())
    words.remark(f"{lender.id}, {args.mode} mode, {days}:")
    for place, model_id in enumerate(sorted(found, key=lambda one: -found[one].count)):
        if place:
            words.say("")
        _draw(known[model_id], found[model_id], lender.currency, field)
    return 0


def _draw(model: Model, tally: Tally, currency: str, field: str | None) -> None:
    console = terminal.stdout()
    if field is not None:
        words.say(tally_table.field_drawing(model, tally, currency, field, console))
        return
    words.say(tally_table.drawing(model, tally, currency, console))
    few = [name for name, card in tally.cards.items() if card.count < tally_table.ENOUGH]
    if few:
        words.remark(
            f"Of fewer than {tally_table.ENOUGH} scores (card {', '.join(few)}) it cannot be told "
            "how far a field has moved."
        )


def _field(name: str, models: Iterable[Model]) -> str:
    """Give the one spelling of a field that some card reads, whichever it was asked for by."""
    read: set[str] = set()
    for model in models:
        # The last card reads every field that another one does.
        read |= {feature.field for feature in model.cards[-1].features}
        if name in model.catalogue.position:
            name = model.catalogue.field(name).name
    if name not in read:
        raise InvalidName(
            "no model that gave these scores reads such a field",
            hint=f"they read {', '.join(sorted(read))}",
        )
    return name


def _days(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= _DAYS_MAX):
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 to {_DAYS_MAX}")
    return int(text)
