"""The pack of a recalibrated model as one page: what moves, why, and whether it may be signed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.pages import charts, numbers, page, signoff
from alama.pages.charts import Rate
from alama.pages.markup import Markup, join, tag
from alama.pages.page import Section, Tile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.core.monitoring.level import Band
    from alama.core.monitoring.recalibration_pack import GateResult, Pack

_GATES: Final = {
    "recent_outcomes": "Enough recent outcomes",
    "shift_no_chance": "More than chance",
    "shift_size": "A level, and no more",
    "calibration_slope": "Calibration slope",
    "later_half": "Holds for later loans",
}
_SHORT_ID: Final = 8


def recalibration_page(pack: Pack, unsigned: str | None = None) -> str:
    """Give the pack as one self-contained HTML page, without script.

    `unsigned` says why nobody signs for it, whatever the gates say; None where people do.
    """
    sections = [
        Section("verdict", "Verdict", _verdict(pack, unsigned)),
        Section("change", "What changes", _change(pack)),
        Section("evidence", "Predicted and realised", _evidence(pack)),
        Section("later", "The earlier loans against the later", _later(pack)),
        Section("limits", "Limits", _limits(pack)),
        Section("signoff", "Sign-off", _signoff(pack, unsigned)),
    ]
    return page.document(
        f"Recalibration of {pack.from_name} ({_short(pack.model_id)})",
        _header(pack, unsigned),
        sections,
        f"Alama recalibration pack of model {pack.model_id}. Intervals are 95 %.",
    )


def _header(pack: Pack, unsigned: str | None) -> Markup:
    failed = len(_blocking(pack))
    found = (
        "Every gate is passed" if pack.passed else f"{numbers.plural(failed, 'gate')} not passed"
    )
    follows = ": it may be approved" if pack.passed else ": it cannot be approved"
    verdict = f"{found}{follows}." if unsigned is None else f"{found}. {unsigned}."
    return join(
        tag("p", "Recalibration pack", class_="kicker"),
        tag("h1", pack.name, " ", page.badge(_short(pack.model_id))),
        tag("p", tag("strong", verdict), f" {_sentence(pack)}", class_="lead"),
        tag("p", pack.model_id, class_="id"),
    )


def _sentence(pack: Pack) -> str:
    direction = "fewer" if pack.points > 0.0 else "more"
    return (
        f"Of {numbers.count(pack.loans)} mature loans since {pack.since}, "
        f"{numbers.percent(pack.observed)} defaulted where {numbers.percent(pack.predicted)} was "
        f"predicted: {direction} than promised. Every score moves by "
        f"{numbers.signed(pack.points, 1)} points, and nothing else changes."
    )


def _verdict(pack: Pack, unsigned: str | None) -> Markup:
    blocks = page.note("A gate that is not passed blocks approval, whoever signs.")
    return join(
        page.table(
            ["Gate", "", "What was found", "Limit"],
            [_gate_row(gate) for gate in pack.gates],
            words=4,
        ),
        blocks if unsigned is None else "",
        page.tiles(_tiles(pack)),
        _questions(pack, unsigned),
    )


def _gate_row(gate: GateResult) -> list[str]:
    word = page.badge("passed") if gate.passed else tag("strong", "not passed")
    return [_GATES.get(gate.name, gate.name), word, gate.words, gate.limit]


def _tiles(pack: Pack) -> list[Tile]:
    low, high = _interval(pack)
    return [
        Tile(
            "Shift of every score",
            f"{numbers.signed(pack.points, 1)} points",
            numbers.between(numbers.signed(low, 1), numbers.signed(high, 1)),
            "What each score gains or loses, whoever applies.",
        ),
        Tile(
            "Predicted until now",
            numbers.percent(pack.predicted),
            "",
            "The mean of what the model said of these loans.",
        ),
        Tile(
            "Realised",
            numbers.percent(pack.observed),
            f"{numbers.count(pack.defaults)} of {numbers.count(pack.loans)}",
            "The share that became a default, and what the new version predicts of them.",
        ),
    ]


def _interval(pack: Pack) -> tuple[float, float]:
    """Give the 95 % interval of the points that scores move by."""
    reach = 1.96 * pack.shift_error * abs(pack.points / pack.shift) if pack.shift else 0.0
    return pack.points - reach, pack.points + reach


def _questions(pack: Pack, unsigned: str | None) -> str:
    if not pack.questions:
        return ""
    return join(
        page.heading("To be answered" if unsigned else "To be answered before signing"),
        tag("ul", *(tag("li", question) for question in pack.questions), class_="findings"),
    )


def _change(pack: Pack) -> Markup:
    return join(
        page.paragraph(
            f"The base of every scorecard moves by {numbers.signed(pack.points, 2)} points, "
            f"{numbers.signed(-pack.shift, 3)} in log-odds of repayment. Bands, points, pairs and "
            "directions are those of the model that answers now, so every explanation keeps its "
            "contributions and nobody changes place with anybody."
        ),
        page.paragraph(
            "What follows from the level does change: tiers, decisions, limits and prices, for "
            "they hang on the score and on the probability. ",
            tag("code", "alama policy simulate POLICY --on scores"),
            ", once as it is and once with ",
            tag("code", "--model MODEL"),
            ", shows on stored applications what that means for approvals, before anybody signs.",
        ),
        page.facts(
            [
                ("Recalibrated from", f"{pack.from_name}, {pack.from_model_id}"),
                ("Made on", pack.made_on),
                ("Loans scored since", pack.since),
                ("Mature", f"{pack.days_past_due} days after the due date"),
                ("Known of those approved", _known(pack)),
            ]
        ),
    )


def _known(pack: Pack) -> str:
    told, approved = numbers.count(pack.coverage.told), numbers.count(pack.coverage.approved)
    return f"{told} of {approved}, in months whose loans are all mature"


def _evidence(pack: Pack) -> Markup:
    return join(
        page.side_by_side(
            page.figure(
                charts.reliability(_rates(pack.before), "As it answers now"),
                "As it answers now: above the line more default than predicted, below it fewer.",
            ),
            page.figure(
                charts.reliability(_rates(pack.after), "As recalibrated"),
                "As recalibrated: the same loans, moved sideways until their mean is right.",
            ),
        ),
        page.table(
            ["Band", "Loans", "Predicted before", "Predicted after", "Realised", "Interval"],
            [
                [
                    str(place),
                    numbers.count(was.loans),
                    numbers.percent(was.predicted),
                    numbers.percent(now.predicted),
                    numbers.percent(now.observed),
                    numbers.between(numbers.percent(now.low), numbers.percent(now.high)),
                ]
                for place, (was, now) in enumerate(
                    zip(pack.before, pack.after, strict=True), start=1
                )
            ],
            "Loans in order of risk, in bands of about the same size",
        ),
    )


def _later(pack: Pack) -> Markup:
    if pack.later is None:
        return page.paragraph("One half of the loans is too few of a kind to be judged alone.")
    later = pack.later
    return join(
        page.paragraph(
            "A level that is fitted and judged on the same loans always looks right. So it was "
            "fitted once more on the earlier half alone, and judged on the later half, which it "
            "had not seen."
        ),
        page.table(
            ["On the later half", "Loans", "Defaults", "Loss before", "Loss after"],
            [
                [
                    f"shift {numbers.signed(later.shift, 3)} log-odds",
                    numbers.count(later.loans),
                    numbers.count(later.defaults),
                    numbers.fixed(later.loss_before, 5),
                    numbers.fixed(later.loss_after, 5),
                ]
            ],
            "Mean log loss; less is better",
        ),
    )


def _limits(pack: Pack) -> Markup:
    listed = (
        "Outcomes are of loans that were given. Those who were declined may stand elsewhere.",
        "A loan of which nothing was said counts neither as repaid nor as a default.",
        "A level follows the past year; it does not foresee the next one.",
        "What the first validation pack says of ranking still holds, of calibration it does not.",
        f"A default is what the model's definition says: {pack.days_past_due} days past due.",
    )
    return tag("ul", *(tag("li", one) for one in listed))


def _signoff(pack: Pack, unsigned: str | None) -> Markup:
    if unsigned is not None:
        return page.paragraph(f"{unsigned}.")
    if not pack.passed:
        return signoff.blocked(_GATES.get(gate.name, gate.name) for gate in _blocking(pack))
    return join(
        signoff.room(
            "this level for the model that answers now, by the ids below",
            [("Model", pack.model_id), ("Recalibrated from", pack.from_model_id)],
        ),
        page.paragraph(
            "It answers once the people whom the terms of the lender ask for have signed: ",
            tag("code", "alama onboard approve"),
            ". To go back to the model of now: ",
            tag("code", "alama models rollback"),
            ".",
        ),
    )


def _blocking(pack: Pack) -> list[GateResult]:
    return [gate for gate in pack.gates if not gate.passed]


def _rates(bands: Sequence[Band]) -> list[Rate]:
    return [Rate(one.predicted, one.observed, one.low, one.high, one.loans) for one in bands]


def _short(model_id: str) -> str:
    return model_id.removeprefix("sha256:")[:_SHORT_ID]
