"""Drafts: a policy to start from, as a text that explains itself.

The figures are of short digital loans without security: cautious, plausible, and nobody's. Money is
in proportion to the currency's reference inflow. A lender replaces them by their own losses, costs
and appetite; what a law says comes from its pack, with the source beside it.
"""

from __future__ import annotations

import json
import textwrap
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import msgspec

from alama.core.errors import InvalidPolicy, did_you_mean
from alama.core.lending import policy_check
from alama.core.lending.cash_flow import AprKind
from alama.core.lending.jurisdiction import Jurisdiction
from alama.core.lending.policy import (
    SCHEMA,
    Affordability,
    Borrowing,
    Caps,
    CounterOffers,
    Daily,
    Decision,
    Exposure,
    Fees,
    Kind,
    Ladder,
    Law,
    Policy,
    Pricing,
    Repayment,
    StandardLoan,
    Sufficiency,
    Tier,
)
from alama.core.model import REFERENCE_INFLOW_MONTHLY
from alama.core.units import Apr, Money

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


_WIDTH: Final = 98
_GROUPED_FROM: Final = 10_000

_HEAD: Final = """\
A lending policy: what follows from a score. Change a figure, then

    alama policy check FILE            is it sound?
    alama policy simulate FILE ...     what would it have done?
    alama policy activate FILE ...     from the next second on

Money is in the policy's currency. A share is 0 to 1. Rates are percent a year."""

_FIRST_KEYS: Final = (
    "schema",
    "name",
    "version",
    "currency",
    "jurisdiction",
    "terms_days",
    "limit_step",
    "counter_offers",
)

_TABLES: Final[Mapping[str, str]] = {
    "standard_loan": "What is taken to be asked for where an application does not say.",
    "tiers": (
        "Tiers, best first. A tier has the scores from score_min on that no better one has. What "
        "falls due in a month on all loans may take inflow_share of the monthly inflow; no limit "
        "is above limit_max, a whole number of steps. A tier must not be more generous than the "
        "one above it."
    ),
    "rules": (
        "Rules of your own. Where `when` is true the decision is this one, or a worse one; `says` "
        "tells people why. With limit_max in place of a decision no limit is above it. `when` "
        "compares fields, numbers and words: < <= > >= == != in, + - * /, "
        "and or not, `is missing`, `is given`. A rule about a field that is missing does not fire."
    ),
    "affordability": "What the inflow has to carry beside the loan.",
    "sufficiency": (
        "When the data do not carry a decision, and a person has to look. Leave a line out to not "
        "look at it."
    ),
    "repayment": (
        'How a loan is paid back: in equal "instalments", or as a "bullet", at once on its last '
        "day. Price, room and yearly rates follow from these payments."
    ),
    "borrower": (
        "What is remembered of those whom applicant_ref names: who asked often is left to a "
        "person, and no loan is given beside one that is late. Leave a line out to not look at it."
    ),
    "evidence": "What the figures of an application have to stand on. Files go without.",
    "exposure": "What a borrower may owe in all, the new loan included.",
    "ladder": (
        "How loans grow: what a borrower owes in all, the new loan included, is at most the first "
        "limit, or so many times the largest loan that was paid back."
    ),
    "pricing": "What a loan has to earn. docs/policy.md has the arithmetic.",
    "caps": "What a price may be at most, fees included.",
    "daily": (
        "What may be approved in one day; after that every decision is REVIEW until the next one."
    ),
    "portfolio": (
        "Caps of the portfolio: what may be approved in a day or a month of all loans, or of the "
        "regions, tiers and products that a cap lists; beyond one the decision is this one."
    ),
    "exploration": (
        "A test: of applications that nothing but their tier is against, with a score of score_min "
        "or more, this share is approved by lot, with small loans, so many a day at most."
    ),
    "law": "What the place asks for beside a price.",
    "products": (
        "Kinds of loans, of which `product` in a request chooses one; the default one is for "
        "whoever names none. What stands in a product takes the place of the policy's whole table."
    ),
}

_KEYS: Final[Mapping[str, str]] = {
    "version": "yours: say what changed",
    "terms_days": "the terms on offer, shortest first; those that the model never saw are left out",
    "limit_step": "limits are whole steps",
    "counter_offers": 'another loan that would be approved: "show", "approve" or "none"',
    "affordability.existing_repayments_share": (
        "of the inflow, where an application does not say what is repaid on other loans"
    ),
    "affordability.outflow_ratio_max": "spending beyond this many times the inflow: REVIEW",
    "sufficiency.fields_min": "how many of the model's fields must be given, amount and term apart",
    "sufficiency.outside_times": "a number this many times beyond all that training saw: REVIEW",
    "sufficiency.unlike_share": "stranger than all but this share of those in training: REVIEW",
    "repayment.every_days": "between instalments: 7, 14 or 30",
    "repayment.fees": '"deducted" from what is paid out, or "added" to what is paid back',
    "repayment.saving": "of a bullet: the share of earlier months' room that counts for it",
    "repayment.payment_share_max": "no payment is above this share of a month's inflow",
    "repayment.fee_tax": "what the state takes on top of a fee, as a share of it",
    "repayment.capped_apr": 'caps.apr_max is held by: "simple", "nominal" or "effective"',
    "repayment.shown_apr": "recommended_apr is by",
    "borrower.late_days_max": "a payment on another loan later than this: DECLINED",
    "borrower.asked_per_day_max": "whoever asked so often in the 24 hours before: REVIEW",
    "evidence.required": "no score without the evidence of a statement",
    "evidence.days_max": "one that ends more days before the application: REVIEW",
    "exposure.balance_max": "approvals of the last three days count as owed",
    "ladder.first_limit": "of those who have paid nothing back yet",
    "ladder.times": "the largest loan that was paid back",
    "pricing.loss_given_default": "share of what is due that a default loses",
    "pricing.cost_per_loan": "once, in money",
    "pricing.cost_share": "once, as a share of the amount",
    "pricing.funding": "what your money costs",
    "pricing.margin": "what is to be left",
    "pricing.fee_per_loan": "a part of the price that is taken as a fee, in money",
    "pricing.fee_share": "and as a share of the amount",
    "caps.apr_max": "percent a year",
    "caps.charges_max": "interest and fees together, as a share of the amount; in duplum is 1.0",
    "caps.below_break_even": "where every loan on offer would lose money at the cap",
    "daily.volume_max": "sum of the limits",
    "daily.expected_loss_max": "sum of what they are expected to lose",
    "daily.utc_offset_hours": "of your clock, in whole hours ahead of UTC; 3 in Nairobi",
    "portfolio.number_max": "how many loans",
    "portfolio.volume_max": "sum of the limits",
    "portfolio.expected_loss_max": "sum of what they are expected to lose",
    "exploration.share": "of those in the cell: the chance of each",
    "exploration.score_min": "the lower end of the cell; the upper one is the cut-off",
    "exploration.limit_max": "of each such loan",
    "exploration.daily_max": "how many of them in a day",
    "law.retention_days": "for the record: how long scores have to be kept",
    "law.notice_days": "for the record: how long before its terms change a borrower is told",
    "law.forbidden_fields": "a request that holds one of them is refused",
}

_COULD_BE: Final[Mapping[str, str]] = {
    "affordability.outflow_ratio_max": "1.5",
    "sufficiency.outside_times": "3.0",
    "sufficiency.unlike_share": "0.001",
    "repayment.payment_share_max": "0.8",
    "borrower.late_days_max": "0",
    "borrower.asked_per_day_max": "3",
    "caps.charges_max": "1.0",
    "daily.volume_max": "1_000_000",
    "daily.expected_loss_max": "50_000",
    "portfolio.number_max": "100",
    "portfolio.volume_max": "1_000_000",
    "portfolio.expected_loss_max": "50_000",
    "law.retention_days": "2557",
    "law.notice_days": "30",
}

_RULE_COULD_BE: Final = """\
[[rules]]
name = "new_wallet"
when = "mm_months < 3"
decision = "DECLINED"
says = "the wallet is younger than three months"
"""


def write(policy: Policy, remarks: Mapping[str, Sequence[str]] | None = None) -> str:
    """Write a policy; `remarks` are further comments before a key, by its dotted name."""
    return "\n".join(_lines(policy, remarks or {})) + "\n"


def _lines(policy: Policy, remarks: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for line in _HEAD.splitlines():
        yield f"# {line}".rstrip()
    for remark in remarks.get("", ()):
        yield "#"
        yield from _comment(remark)
    yield ""
    for key in _FIRST_KEYS:
        if getattr(policy, key) is not msgspec.UNSET:
            yield from _key(key, key, getattr(policy, key), remarks)
    for name, meaning in _TABLES.items():
        part = getattr(policy, name)
        if part is msgspec.UNSET:
            continue
        yield ""
        yield from _comment(meaning)
        if not isinstance(part, tuple):
            yield f"[{name}]"
            yield from _keys(name, part, remarks)
            continue
        yield from _elements(name, part, remarks)


def _elements(
    name: str, elements: Sequence[msgspec.Struct], remarks: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    for place, element in enumerate(elements):
        if place:
            yield ""
        yield f"[[{name}]]"
        yield from _keys(name, element, remarks)
    if not elements:
        yield from (f"# {line}" for line in _RULE_COULD_BE.splitlines())


def _keys(table: str, part: msgspec.Struct, remarks: Mapping[str, Sequence[str]]) -> Iterator[str]:
    said = {key: getattr(part, key) for key in part.__struct_fields__}
    inner: dict[str, Sequence[msgspec.Struct]] = {}
    for key, value in said.items():
        if isinstance(value, msgspec.Struct):
            inner[f"[{table}.{key}]"] = [value]
        elif isinstance(value, tuple) and value and isinstance(value[0], msgspec.Struct):
            inner[f"[[{table}.{key}]]"] = value
        elif value is not msgspec.UNSET:
            yield from _key(key, f"{table}.{key}", value, remarks)
    for header, parts in inner.items():
        for one in parts:
            yield from ("", header)
            yield from _keys(header.strip("[]"), one, remarks)


def _key(
    key: str, dotted: str, value: object, remarks: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    for remark in remarks.get(dotted, ()):
        yield from _comment(remark)
    meaning = f"  # {_KEYS[dotted]}" if dotted in _KEYS else ""
    if value is None and dotted not in _COULD_BE:
        return
    if value is None:
        yield f"# {key} = {_COULD_BE[dotted]}{meaning}"
    else:
        yield f"{key} = {_written(value)}{meaning}"


def _comment(text: str) -> Iterator[str]:
    for line in textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False):
        yield f"# {line}"


def _written(value: object) -> str:
    match value:
        case bool() | StrEnum():
            return json.dumps(value)
        case str() if '"' in value and "'" not in value and value.isprintable():
            return f"'{value}'"
        case str():
            return json.dumps(value, ensure_ascii=False)
        case tuple():
            return f"[{', '.join(map(_written, value))}]"
        case float() if not value.is_integer() or abs(value) >= 2.0**53 or repr(value) == "-0.0":
            return repr(value)
        case int() | float():
            # A whole number reads back as the float that it is.
            return f"{int(value):_}" if abs(value) >= _GROUPED_FROM else f"{int(value)}"
    raise AssertionError(value)


NEUTRAL: Final = Jurisdiction(code="neutral", name="No law assumed", currencies=())

_APR_MAX: Final = 150.0
_FUNDING: Final = 14.0
_MARGIN: Final = 10.0
_PAYMENT_SHARE_MAX: Final = 0.8
_ASKED_PER_DAY_MAX: Final = 3
_RUNG_TIMES: Final = 2.0

_TIERS: Final = (
    # name, least score, decision, share of the inflow, limit in reference inflows
    ("A", 690, Decision.APPROVED, 0.40, 2.5),
    ("B", 650, Decision.APPROVED, 0.35, 1.5),
    ("C", 605, Decision.APPROVED, 0.30, 0.75),
    ("D", 555, Decision.REVIEW, 0.25, 0.5),
    ("E", 300, Decision.DECLINED, 0.20, 0.25),
)


def default_policy(currency: str) -> Policy:
    """Give the policy of a lender that has none of its own: no law assumed."""
    return draft(currency, NEUTRAL)


def default_text(currency: str) -> bytes:
    return write(default_policy(currency)).encode()


def draft(currency: str, place: Jurisdiction, name: str | None = None) -> Policy:
    """Give a policy to start from, within what the pack says."""
    inflow = REFERENCE_INFLOW_MONTHLY.get(currency)
    if inflow is None:
        known = sorted(REFERENCE_INFLOW_MONTHLY)
        raise InvalidPolicy(
            f"there is no default policy for the currency {currency}",
            hint=f"{did_you_mean(currency, known)}there is one for {', '.join(known)}",
        )
    step = _round_step(inflow // 40)
    apr_max = place.apr_max.value if place.apr_max else _APR_MAX
    share_max = place.inflow_share_max.value if place.inflow_share_max else 1.0
    return policy_check.seal(
        Policy(
            schema=SCHEMA,
            id="",
            name=name or f"default {currency}",
            version="1",
            currency=currency,
            jurisdiction=place.code,
            # A shorter loan would have to earn its losses within days, at a price beyond any cap.
            terms_days=(30, 60, 90, 120, 180),
            limit_step=step,
            standard_loan=StandardLoan(Money(_in_steps(inflow * 0.5, step)), term_days=30),
            tiers=tuple(
                Tier(tier, score, decision, min(share, share_max), _in_steps(inflow * times, step))
                for tier, score, decision, share, times in _TIERS
            ),
            affordability=Affordability(existing_repayments_share=0.05, outflow_ratio_max=1.5),
            sufficiency=Sufficiency(fields_min=4, outside_times=3.0, unlike_share=0.001),
            pricing=Pricing(
                loss_given_default=0.6,
                cost_per_loan=Money(inflow / 1000),
                cost_share=0.01,
                funding=Apr(_FUNDING),
                margin=Apr(_MARGIN),
            ),
            caps=Caps(
                apr_max=Apr(apr_max),
                charges_max=place.charges_max.value if place.charges_max else None,
                below_break_even=Decision.REVIEW,
            ),
            repayment=Repayment(
                kind=Kind.INSTALMENTS,
                fees=Fees.DEDUCTED,
                payment_share_max=_PAYMENT_SHARE_MAX,
                fee_tax=place.fee_tax.value if place.fee_tax else 0.0,
                capped_apr=place.capped_apr.value if place.capped_apr else AprKind.NOMINAL,
                shown_apr=place.shown_apr.value if place.shown_apr else AprKind.NOMINAL,
            ),
            borrower=Borrowing(late_days_max=0, asked_per_day_max=_ASKED_PER_DAY_MAX),
            exposure=Exposure(Money(_in_steps(inflow * _TIERS[0][4], step))),
            ladder=Ladder(Money(_in_steps(inflow, step)), times=_RUNG_TIMES),
            law=_law(place),
            daily=Daily(utc_offset_hours=place.utc_offset_hours),
            counter_offers=CounterOffers.SHOW,
        )
    )


def _law(place: Jurisdiction) -> Law:
    return Law(
        retention_days=place.retention_days.value if place.retention_days else None,
        notice_days=place.notice_days.value if place.notice_days else None,
        forbidden_fields=place.forbidden_fields.value if place.forbidden_fields else (),
    )


def draft_text(policy: Policy, place: Jurisdiction) -> str:
    """Write a draft with the source of every figure that is a law's."""
    remarks = {key: [remark] for key, remark in _remarks(place)}
    if place is not NEUTRAL:
        opening = f"{place.name}: no legal advice. Check every figure of a law with counsel."
        remarks[""] = [opening, *place.notes]
    return write(policy, remarks)


_KEYS_OF_LAW: Final = {
    "apr_max": "caps.apr_max",
    "charges_max": "caps.charges_max",
    "capped_apr": "repayment.capped_apr",
    "shown_apr": "repayment.shown_apr",
    "fee_tax": "repayment.fee_tax",
    "retention_days": "law.retention_days",
    "notice_days": "law.notice_days",
    "forbidden_fields": "law.forbidden_fields",
}


def _remarks(place: Jurisdiction) -> Iterator[tuple[str, str]]:
    for field, key in _KEYS_OF_LAW.items():
        figure = getattr(place, field)
        if figure is not None:
            yield key, f"{figure.rule} [{figure.source}; {figure.dated}; check with counsel]"
    if place.apr_max is None:
        yield "caps.apr_max", "No law's that we know of: a bound to start from. Set your own."
    elif place.apr_max.value <= _FUNDING + _MARGIN:
        said = f"A cap of {place.apr_max.value:g} leaves no room for these: loans lose money, "
        yield "pricing.funding", f"{said}and are left to a person. Funding and margin are yours."
    if place.inflow_share_max is not None:
        figure = place.inflow_share_max
        said = f"{figure.rule} [{figure.source}; {figure.dated}; check with counsel]"
        yield "affordability.existing_repayments_share", f"On inflow_share: {said}"


def _round_step(amount: int) -> int:
    """Give the largest of 1, 2, 2.5 and 5 times a power of ten that is no larger."""
    power = 10 ** (len(str(amount)) - 1)
    return max(int(power * times) for times in (1, 2, 2.5, 5) if power * times <= amount)


def _in_steps(amount: float, step: int) -> int:
    return round(amount / step) * step
