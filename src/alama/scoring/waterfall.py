"""An assessment drawn in text: from the base score to the score, one bar a field.

What is said to the applicant is in their language; what is said about it is for whoever sits at the
terminal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.text import Text

from alama.batch.listing import NOT_GIVEN, number
from alama.core import calibration
from alama.core.application import Value, visible
from alama.core.assess import Assessment, ExplainedScore
from alama.core.lending.policy import Decision, Policy
from alama.platform.terminal.tables import Glyphs, Scale, glyphs, style_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console

    from alama.core.catalogue import Catalogue
    from alama.core.lending.offer import Offer
    from alama.core.lending.ready_policy import ReadyPolicy
    from alama.core.model import ReadyModel


# An assessment drawn in text: from the base score to the score, one bar a field.


WIDTH_MAX: Final = 110
_BAR_WIDTH_MIN: Final = 16
_VALUE_WIDTH_MAX: Final = 20
_POINTS_WIDTH: Final = 8
_GAUGE_WIDTH_MAX: Final = 64
_TICK_GAP_MIN: Final = 9
_ID_SHOWN: Final = len("sha256:") + 12

DECISION_STYLES: Final = {
    Decision.APPROVED: "bold green",
    Decision.REVIEW: "bold yellow",
    Decision.DECLINED: "bold red",
}

_BASE: Final = "base score"
_SCORE: Final = "score"


class Beside(NamedTuple):
    """What is known beside an answer: where it is from, and what its values are.

    `objections` are the words of rules, by their codes. Where it is not `priced`, nobody has said
    what its price is made of.
    """

    sources: Sequence[str]
    catalogue: Catalogue
    currency: str | None
    objections: Mapping[str, str] = {}
    priced: bool = True


def drawing(
    ready: ReadyModel, policy: ReadyPolicy | None, said: ExplainedScore, console: Console
) -> Text:
    """Draw an answer by the model and the policy that gave it."""
    model = ready.model
    sources = [f"{model.name}, {said.card} scorecard, {short_id(model.id)}"]
    objections = {}
    if policy is not None:
        product = said.product if isinstance(said, Assessment) else None
        named = _field_title(policy.policy) + (f", product {product}" if product else "")
        sources.append(f"{named}, {short_id(policy.id)}")
        objections = {rule.name: rule.says for rule in policy.policy.rules if rule.says}
    beside = Beside(sources, ready.catalogue, ready.currency, objections)
    return picture(said, beside, console)


def picture(said: ExplainedScore, beside: Beside, console: Console) -> Text:
    """Give the whole answer, as wide as the console is but no wider than eyes follow."""
    width = min(console.width, WIDTH_MAX)
    made_of = glyphs(console)
    lines = [
        Text(),
        _headline(said),
        _gauge(said.score, width, made_of),
        *(_decision(said, beside) if isinstance(said, Assessment) else ()),
        Text(),
        *_waterfall(beside, said, width, made_of),
        Text(),
        *(Text(source, "dim") for source in beside.sources),
        Text(_SCALE_NOTE, "dim"),
    ]
    return Text("\n").join(lines)


def short_id(content_id: str) -> str:
    """Give as much of the id of a model or a policy as people compare."""
    return content_id[:_ID_SHOWN]


_SCALE_NOTE: Final = (
    f"{calibration.ANCHOR_POINTS:.0f} points are a default probability of "
    f"{1.0 / (1.0 + calibration.ANCHOR_ODDS):.0%}; every "
    f"{calibration.POINTS_TO_DOUBLE_THE_ODDS:.0f} points double the odds of repayment"
)


def _headline(said: ExplainedScore) -> Text:
    chance = said.default_probability
    odds = f"{(1.0 - chance) / chance:,.1f} to 1" if chance else "beyond counting"
    return Text.assemble(
        "score ",
        (str(said.score), "bold"),
        "   default probability ",
        (f"{chance:.2%}", "bold"),
        "   odds of repayment ",
        (odds, "bold"),
    )


def _decision(said: Assessment, beside: Beside) -> list[Text]:
    """Say what the policy makes of the score, and what the offer's price is made of."""
    # Why the policy's own rules objected, in the words of those who wrote them.
    told = [code for code in said.rules if code in beside.objections]
    objections = [Text(f"{code}: {beside.objections[code]}") for code in told]
    answer = Text.assemble(
        "tier ", (said.tier, "bold"), "   ", (said.decision.value, DECISION_STYLES[said.decision])
    )
    if said.rules:
        answer.append(f" ({', '.join(said.rules)})")
    offer, price = said.offer, said.offer.price
    objections += _counter_offers(said, beside.currency)
    if not offer.limit:
        return [Text(), answer, *objections]
    answer.append("   ").append_text(offer_in_words(offer, beside.currency))
    parts = (
        f"{offer.apr:.2f}% = expected loss {price.expected_loss:.2f} + running cost "
        f"{price.running_cost:.2f} + funding {price.funding:.2f} + margin {price.margin:.2f}"
    )
    if price.tax:
        parts += f" + tax {price.tax:.2f}"
    return [Text(), answer, *([Text(parts, "dim")] if beside.priced else ()), *objections]


def _counter_offers(said: Assessment, currency: str | None) -> Iterator[Text]:
    """Say which other loans would be approved, or which one was."""
    counter = said.counter
    if counter is None:
        return
    if counter.as_asked:
        yield Text(f"a counter-offer; the loan asked for: {', '.join(counter.as_asked)}")
        return
    for loan, what in ((counter.approved, "approved"), (counter.review, "left to a person")):
        if loan is not None:
            money = " ".join(filter(None, (currency, number(loan.amount))))
            terms = f"{money} for {loan.term_days} days at {loan.apr:.2f}% a year"
            yield Text(f"asked for, {terms} would be {what}")


def offer_in_words(offer: Offer, currency: str | None) -> Text:
    """Say how much, for how long and at what price."""
    return Text.assemble(
        "up to ",
        (" ".join(filter(None, (currency, number(offer.limit)))), "bold"),
        " for ",
        (f"{offer.term_days} days", "bold"),
        " at ",
        (f"{offer.apr:.2f}%", "bold"),
        " a year",
    )


def _field_title(policy: Policy) -> str:
    """Name a policy so that it can be told from a model: many are called a policy already."""
    is_told = policy.name.casefold().endswith("policy")
    return policy.name if is_told else f"{policy.name} policy"


def _gauge(score: int, width: int, made_of: Glyphs) -> Text:
    low, high = calibration.SCORE_MIN, calibration.SCORE_MAX
    length = min(width, _GAUGE_WIDTH_MAX) - len(f"{low}  {high}")
    place = round((score - low) / (high - low) * (length - 1))
    return Text.assemble(
        (f"{low} {made_of.line * place}", "dim"),
        (made_of.mark, "bold"),
        (f"{made_of.line * (length - 1 - place)} {high}", "dim"),
    )


@dataclass(frozen=True, slots=True)
class _Columns:
    """Widths of the columns in front of the bars."""

    name: int
    value: int

    @property
    def all(self) -> int:
        return self.name + 2 + self.value + _POINTS_WIDTH + 2

    def line(self, name: Text, value: Text, points: Text, bar: Text) -> Text:
        name.align("left", self.name + 2)
        value.truncate(self.value, overflow="ellipsis", pad=True)
        points.align("right", _POINTS_WIDTH)
        whole = Text.assemble(name, value, points, "  ", bar)
        whole.rstrip()
        return whole


def _waterfall(beside: Beside, said: ExplainedScore, width: int, made_of: Glyphs) -> list[Text]:
    """Draw each contribution from where the last one ended."""
    parts = said.contributions
    base = said.base
    ends = list(accumulate((part.points for part in parts), initial=base))
    values = [_value(beside, part.feature, part.value) for part in parts]
    columns = _Columns(
        name=max(len(text) for text in (_BASE, *(part.feature for part in parts))),
        value=min(_VALUE_WIDTH_MAX, max(map(len, values), default=0)),
    )
    scale = Scale(min(ends), max(ends), max(width - columns.all, _BAR_WIDTH_MIN))
    lines = [columns.line(Text(_BASE), Text(), Text(f"{base:.1f}"), _mark(scale, base, made_of))]
    for part, value, (start, end) in zip(parts, values, pairwise(ends), strict=True):
        style = style_of(part.points) if part.points else "dim"
        bar = scale.bar(start, end, made_of, guide=base) if part.points else Text()
        shown = Text(value, "dim" if part.value is None else "")
        lines.append(
            columns.line(Text(part.feature), shown, Text(f"{part.points:+.1f}", style), bar)
        )
    last = Text(str(said.score), "bold")
    lines.append(columns.line(Text(_SCORE, "bold"), Text(), last, _mark(scale, ends[-1], made_of)))
    lines.append(Text(" " * columns.all) + _axis(scale))
    return lines


def _mark(scale: Scale, value: float, made_of: Glyphs) -> Text:
    return Text(" " * (scale.cell(value)) + made_of.mark, "bold")


def _axis(scale: Scale) -> Text:
    """Write round numbers of points under the bars, as many as have room."""
    step = next(
        (
            size
            for size in (5, 10, 20, 50, 100, 200)
            if size / (scale.high - scale.low) * scale.width >= _TICK_GAP_MIN
        ),
        500,
    )
    axis = ""
    for tick in range(math.ceil(scale.low / step) * step, math.floor(scale.high) + 1, step):
        label = str(tick)
        start = scale.cell(tick) - len(label) // 2
        if start >= len(axis) + (1 if axis else 0):
            axis = axis.ljust(start) + label
    return Text(axis, "dim")


def _value(beside: Beside, feature: str, value: Value) -> str:
    if value is None:
        return NOT_GIVEN
    if isinstance(value, str):
        return visible(value)
    # A field that a later version has brought is a number like any other.
    is_known = beside.currency is not None and feature in beside.catalogue.position
    is_money = is_known and beside.catalogue.field(feature).money
    return f"{beside.currency} {number(value)}" if is_money else number(value)
