"""The pack's view of selection: whom the history never saw, and where its loans do not reach."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.pages import bars, numbers, page
from alama.pages.bars import Bar
from alama.pages.markup import join
from alama.pages.page import Tile
from alama.training.validation import pack_charts
from alama.training.validation.pack_evidence import loan_rates

if TYPE_CHECKING:
    from alama.pages.markup import Markup
    from alama.training.validation.pack import Pack
    from alama.training.validation.selection import Selection
    from alama.training.validation.support import Support

_PSI_WATCH: Final = 0.1
_FIELDS_SHOWN: Final = 10
_WHOLE_FROM: Final = 100.0


def selection(pack: Pack) -> Markup:
    """Show booked against applied, and what lies outside what was booked."""
    found = pack.selection
    if found.booked == found.applications:
        return join(
            page.paragraph(
                f"Every one of the {numbers.count(found.applications)} applications in the file "
                "was booked. Either nobody was turned away, or those who were are not in the file: "
                "only the lender knows which. In the second case the model is too kind to people "
                "unlike the booked, and the next history should hold all applications."
            ),
            _support(pack, found),
        )
    return join(
        page.paragraph(
            f"Of {numbers.count(found.applications)} applications "
            f"{numbers.count(found.booked)} were booked ({numbers.percent(found.booked_share)}), "
            "and the model learned from those alone. Where the booked differ from those who "
            "apply, its probabilities are an extrapolation, and an officer who knew more than the "
            "fields say makes the booked look better than their fields: probabilities of the rest "
            "are then too low by an amount that no history of booked loans can show. A small cell "
            "of applications accepted at random would."
        ),
        page.figure(
            pack_charts.scores(found),
            "Scores by this candidate, in steps of 20 points. The booked against all who applied: "
            f"PSI {numbers.fixed(found.score_psi)}.",
        ),
        page.side_by_side(
            page.figure(
                bars.bars(
                    [Bar(field.field, field.psi) for field in found.fields[:_FIELDS_SHOWN]],
                    numbers.fixed,
                    "PSI of each field, booked against applied",
                    full_at_least=_PSI_WATCH * 1.1,
                    limits=((_PSI_WATCH, "0.1 watch"),),
                ),
                "The fields by which the earlier policy chose stand on top.",
            ),
            page.table(
                ["Field", "Median, applied", "Median, booked"],
                [
                    [field.field, _amount(field.applied_median), _amount(field.booked_median)]
                    for field in found.fields[:_FIELDS_SHOWN]
                    if field.applied_median is not None
                ],
            ),
        ),
        _support(pack, found),
    )


def _amount(value: float | None) -> str:
    if value is None:
        return numbers.NOTHING
    return numbers.large(value) if abs(value) >= _WHOLE_FROM else numbers.exact(round(value, 3))


def _support(pack: Pack, found: Selection) -> Markup:
    return join(
        page.heading("Outside what was booked"),
        _reached(pack, found) if pack.support is None else _booked_support(pack, pack.support),
        _outside_table(found),
        "" if pack.support is None else _what_keeps_out(pack.support),
        "" if pack.support is None else _loans_by_support(pack.support),
    )


def _reached(pack: Pack, found: Selection) -> Markup:
    """Say what lies outside where nothing is known of those who were not booked."""
    if found.outside_approved:
        return page.paragraph(
            "Some applications outside what was booked are approved: the policy does not look."
        )
    return page.paragraph(
        f"The policy \u201c{pack.policy.name}\u201d leaves applications to a person whose "
        f"fields do not go together as those of the booked do ({_asked(pack)}). None of those "
        "outside is approved without a person. Declined among them: "
        f"{numbers.count(found.outside_declined)}."
    )


def _booked_support(pack: Pack, support: Support) -> Markup:
    """Say who was seldom booked, and what becomes of them."""
    found = pack.selection
    rest = found.applications - found.booked
    seldom_rest = support.outside - support.outside_booked
    return join(
        page.paragraph(
            "Where the earlier policy seldom lent, no loan says how such people repay, and the "
            "model can only guess. So it also learned who was booked. An application is outside "
            "when its like were booked less than half as often as on average: a chance below "
            f"{numbers.percent(support.chance_min, 0)}, where "
            f"{numbers.percent(support.booked_share, 0)} of all were booked. It is outside, too, "
            "when a value lies where next to nobody was booked, or when its fields do not go "
            f"together as those of the booked do ({_asked(pack)})."
        ),
        page.tiles(
            [
                Tile(
                    "Seldom booked",
                    _part(support.outside, found.applications),
                    f"{numbers.count(support.outside)} of {numbers.count(found.applications)}",
                    "of all applications",
                ),
                Tile(
                    "Among those not booked",
                    _part(seldom_rest, rest),
                    f"{numbers.count(seldom_rest)} of {numbers.count(rest)}",
                    "people of whom the history says nothing",
                ),
                Tile(
                    "Among the booked",
                    _part(support.outside_booked, found.booked),
                    f"{numbers.count(support.outside_booked)} of {numbers.count(found.booked)}",
                    "loans made against the pattern",
                ),
                Tile(
                    "Approved all the same",
                    numbers.count(support.outside_approved),
                    f"of {numbers.count(support.outside)}",
                    "of the seldom booked, without a person",
                ),
                Tile(
                    "Declined",
                    numbers.count(support.outside_declined),
                    f"of {numbers.count(support.outside)}",
                    "of the seldom booked, by a rule or for want of money",
                ),
            ]
        ),
        _verdict(pack, support),
    )


def _verdict(pack: Pack, support: Support) -> Markup:
    if pack.policy.unlike_share is None:
        return page.paragraph(
            f"{numbers.plural(support.outside_approved, 'application')} outside would be approved "
            "without a person, and others declined by a score that can only guess: the policy does "
            "not look at what is unlike training (unlike_share is not set)."
        )
    if support.outside_approved:
        return page.paragraph(
            f"{numbers.plural(support.outside_approved, 'application')} outside would be approved "
            "without a person: a person should find out why."
        )
    declined = (
        "None is declined."
        if not support.outside_declined
        else f"{numbers.plural(support.outside_declined, 'application')} would be declined by a "
        "rule of the policy, or because no loan can be repaid."
    )
    return page.paragraph(
        "Nobody outside is approved or declined by a score: each goes to REVIEW, with "
        f"\u201cseldom_booked\u201d as the rule, unless something else declines it. {declined}"
    )


def _outside_table(found: Selection) -> Markup:
    """Show for booked and not booked what lies outside for whatever reason."""
    rest = found.applications - found.booked
    rows = [_outside_row("booked", found.booked, found.outside_booked, found.predicted_booked)]
    if rest:
        rows.append(
            _outside_row("not booked", rest, found.outside_not_booked, found.predicted_not_booked)
        )
    return page.table(
        ["Applications", "Count", "Outside, for any reason", "Predicted, those inside"], rows
    )


def _outside_row(name: str, count: int, outside: float, predicted: float) -> list[str]:
    return [
        name,
        numbers.count(count),
        numbers.percent(outside, 2),
        numbers.percent(predicted) if outside < 1.0 else numbers.NOTHING,
    ]


def _what_keeps_out(support: Support) -> Markup:
    parts = [
        page.figure(
            bars.bars(
                [Bar(one.field, one.share) for one in support.kept_out[:_FIELDS_SHOWN]],
                numbers.percent,
                "Which field keeps people out",
            ),
            "Of the seldom booked, the share for whom this field counts most against being booked.",
        )
    ]
    if support.ends:
        parts.append(
            page.table(
                ["Field", "Next to nobody below", "Next to nobody above"],
                [[end.field, _amount(end.lowest), _amount(end.highest)] for end in support.ends],
            )
        )
    return join(page.heading("What keeps people out"), page.side_by_side(*parts))


def _loans_by_support(support: Support) -> Markup:
    return join(
        page.heading("Calibration inside and outside"),
        page.paragraph(
            "The booked loans of the out-of-time part, on both sides. Inside, predicted and "
            "observed should agree. The few outside were lent to against the pattern, mostly for "
            "a reason that no field tells: that they repay says little about the others there."
        ),
        loan_rates(
            {
                "inside": support.loans_inside,
                "outside (seldom booked)": support.loans_outside,
            }
        ),
    )


def _part(some: int, whole: int) -> str:
    return numbers.percent(some / whole) if whole else numbers.NOTHING


def _asked(pack: Pack) -> str:
    policy = pack.policy
    asked = []
    if policy.unlike_share is not None:
        asked.append(f"stranger than all but {numbers.percent(policy.unlike_share, 2)} of them")
    if policy.outside_times is not None:
        asked.append(f"or {numbers.exact(policy.outside_times)} times beyond the largest value")
    return " ".join(asked) or "this policy does not look at it"
