"""What a model met and gave in some days, drawn in a terminal: nothing but counts."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.console import Group
from rich.text import Text

from alama.batch.listing import Labels
from alama.core import model as models
from alama.core.calibration import SCORE_MAX, SCORE_MIN
from alama.core.lending.policy import Decision
from alama.core.model import Model, money_factor
from alama.core.scorecard import cuts_in
from alama.core.tables import MISSING, Card
from alama.core.tally import SCORE_STEP, CardTally, Tally
from alama.lenders.installation import existing_installation
from alama.platform.book import Book, Mode
from alama.platform.days import DAY_US
from alama.platform.errors import InvalidName
from alama.platform.terminal import terminal
from alama.platform.terminal import terminal as words
from alama.platform.terminal.tables import Glyphs, Scale, columns, glyphs, plain_table
from alama.scoring.store import Scores

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console, RenderableType

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
        words.say(field_drawing(model, tally, currency, field, console))
        return
    words.say(drawing(model, tally, currency, console))
    few = [name for name, card in tally.cards.items() if card.count < ENOUGH]
    if few:
        words.remark(
            f"Of fewer than {ENOUGH} scores (card {', '.join(few)}) it cannot be told "
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


ENOUGH: Final = 500
"""Scores from which on it says something how far a field has moved: of fewer, some twenty bands
look moved by chance alone."""

_STYLE: Final = "cyan"
_BAR_WIDTH: Final = 30
_BAND_WIDTH_MAX: Final = 32
_GAP: Final = 2
_FIGURES: Final = ("scores", "share", "in training")
_FIGURES_WIDTH: Final = sum(len(head) + _GAP for head in _FIGURES) + 3
"""Of their heads, and a little more: 1,000,000 and 100.0% are wider than what stands above them."""
_HEIGHT: Final = 5
_COLUMN_POINTS: Final = 10
_MARK_POINTS: Final = 100
_TRAINING_WIDTH: Final = 100
"""From this width on a line has room for the bands of the training data beside those of today."""


class Met(NamedTuple):
    """The bands of one field: what they hold, how often they were met, and their share in training.

    In the order of the table, except that the last of them is "not given".
    """

    field: str
    unit: str
    bands: tuple[str, ...]
    counts: tuple[int, ...]
    trained: tuple[float, ...]

    @property
    def shares(self) -> tuple[float, ...]:
        """How much of all that was met each band has."""
        return tuple(count / sum(self.counts) for count in self.counts)

    @property
    def moved(self) -> float:
        """The share of applicants that would have to be in another band to look as in training."""
        pairs = zip(self.shares, self.trained, strict=True)
        return sum(abs(share - trained) for share, trained in pairs) / 2.0


def drawing(model: Model, tally: Tally, currency: str, console: Console) -> RenderableType:
    """Draw decisions, tiers and scores, and a line for each field of each card."""
    made_of = glyphs(console)
    parts: list[RenderableType] = [
        *_header(model),
        _given(tally, made_of),
        Text(),
        *_scores(tally.steps, made_of),
    ]
    for card, counted in _cards(model, tally):
        met = met_by(model, card, counted, currency)
        parts += [Text(), _title(card, counted), _fields(met, counted.count, console)]
    return Group(*parts)


def field_drawing(
    model: Model, tally: Tally, currency: str, field: str, console: Console
) -> RenderableType:
    """Draw the bands of one field, for each card that reads it."""
    parts: list[RenderableType] = [*_header(model)]
    for card, counted in _cards(model, tally):
        for met in met_by(model, card, counted, currency):
            if met.field == field:
                parts += [_title(card, counted), _bands(met, console), Text()]
    return Group(*parts[:-1])


def met_by(model: Model, card: Card, counted: CardTally, currency: str) -> list[Met]:
    """Give the bands of every field of a card, with money in a currency."""
    factor = money_factor(model, currency)
    found = []
    for feature, counts in zip(card.features, counted.bands, strict=True):
        field = model.catalogue.field(feature.field)
        labels = Labels(feature, field, cuts_in(feature, model.catalogue, factor))
        slots = [*range(1, len(feature.main)), MISSING]
        padded = [*counts, *[0] * (len(feature.main) - len(counts))]
        found.append(
            Met(
                field=feature.field,
                unit=field.unit.replace("money", currency),
                bands=tuple(labels.of([slot]) for slot in slots),
                counts=tuple(padded[slot] for slot in slots),
                trained=tuple(feature.shares[slot] for slot in slots),
            )
        )
    return found


def _cards(model: Model, tally: Tally) -> Iterator[tuple[Card, CardTally]]:
    for card in model.cards:
        if card.name in tally.cards:
            yield card, tally.cards[card.name]


def _header(model: Model) -> list[RenderableType]:
    return [Text(model.name, "bold"), Text(model.id, "dim"), Text()]


def _title(card: Card, counted: CardTally) -> Text:
    scores = f"{counted.count:,} score{'' if counted.count == 1 else 's'}"
    return Text.assemble((f"card {card.name}", "bold"), f": {scores}")


def _given(tally: Tally, made_of: Glyphs) -> RenderableType:
    """Draw how often each decision, each tier and each card was given."""
    table = plain_table("", "", "scores", "share", "")
    for place in (2, 3):
        table.columns[place].justify = "right"
    scale = Scale(0.0, 1.0, _BAR_WIDTH)
    decisions = {**{one.value: 0 for one in Decision}, **tally.decisions}
    tiers = {name: tally.tiers[name] for name in sorted(tally.tiers)}
    cards = {name: card.count for name, card in tally.cards.items()}
    for what, counts in (("decision", decisions), ("tier", tiers), ("card", cards)):
        for place, (name, count) in enumerate(counts.items()):
            share = count / tally.count
            table.add_row(
                Text("" if place else what, "dim"),
                name,
                f"{count:,}",
                f"{share:.1%}",
                scale.bar(0.0, share, made_of, guide=0.0, style=_STYLE) if count else "",
            )
        if what != "card":
            table.add_row()
    return table


def _scores(steps: Sequence[int], made_of: Glyphs) -> list[RenderableType]:
    """Draw the scores as columns over their range."""
    counts = [0] * ((SCORE_MAX - SCORE_MIN) // _COLUMN_POINTS + 1)
    for step, count in enumerate(steps):
        counts[step * SCORE_STEP // _COLUMN_POINTS] += count
    drawn = columns(counts, max(counts), _HEIGHT, made_of)
    marks = "".join(
        f"{mark:<{_MARK_POINTS // _COLUMN_POINTS}}"
        for mark in range(SCORE_MIN, SCORE_MAX + 1, _MARK_POINTS)
    )
    return [
        Text("scores", "dim"),
        *(Text(line.rstrip(), _STYLE) for line in drawn),
        Text(made_of.line * len(counts), "dim"),
        Text(marks.rstrip(), "dim"),
    ]


def _fields(met: Sequence[Met], count: int, console: Console) -> RenderableType:
    """Draw a line for each field, those first that have moved most where that can be told."""
    roomy = console.width >= _TRAINING_WIDTH
    heads = ["field", "bands", *(["in training"] if roomy else []), "not given", "moved"]
    table = plain_table(*heads)
    for column in table.columns:
        column.no_wrap = True
    for column in table.columns[-2:]:
        column.justify = "right"
    made_of, told = glyphs(console), count >= ENOUGH
    for one in sorted(met, key=lambda one: -one.moved) if told else met:
        top = max(*one.shares, *one.trained)
        (now,), (trained,) = (columns(s[:-1], top, 1, made_of) for s in (one.shares, one.trained))
        table.add_row(
            one.field,
            Text(now, _STYLE),
            *([Text(trained, "dim")] if roomy else []),
            f"{one.shares[-1]:.1%}" if one.shares[-1] or one.trained[-1] else "",
            f"{one.moved:.1%}" if told else "",
        )
    return table


def _bands(met: Met, console: Console) -> RenderableType:
    """Draw a line for each band of a field that was ever met, with a mark where training had it."""
    head = f"{met.field}, {met.unit}" if met.unit else met.field
    table = plain_table(head)
    band_width = min(max(len(text) for text in (head, *met.bands)), _BAND_WIDTH_MAX)
    table.columns[0].width = band_width
    for figure in _FIGURES:
        table.add_column(figure, justify="right", no_wrap=True)
    table.add_column("")
    made_of = glyphs(console)
    left = console.width - band_width - _FIGURES_WIDTH - _GAP
    scale = Scale(0.0, max(*met.shares, *met.trained), min(max(left, 1), _BAR_WIDTH))
    rows = zip(met.bands, met.counts, met.shares, met.trained, strict=True)
    for band, count, share, trained in rows:
        if count:
            bar = scale.bar(0.0, share, made_of, guide=trained, style=_STYLE)
        else:
            bar = Text(" " * scale.cell(trained) + made_of.guide, "dim")
        if count or trained:
            table.add_row(band, f"{count:,}", f"{share:.1%}", f"{trained:.1%}", bar)
    return table
