"""Drafts: a policy to start from, for a currency and a jurisdiction.

The figures are of short digital loans without security: cautious, plausible, and nobody's. Money is
in proportion to the currency's reference inflow. A lender replaces them by their own losses, costs
and appetite; what a law says comes from its pack, with the source beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.core.errors import InvalidPolicy, did_you_mean
from alama.core.lending import policy_check, policy_writer
from alama.core.lending.jurisdiction import Jurisdiction
from alama.core.lending.policy import (
    SCHEMA,
    Affordability,
    Caps,
    Daily,
    Decision,
    Law,
    Policy,
    Pricing,
    StandardLoan,
    Sufficiency,
    Tier,
)
from alama.core.money import REFERENCE_INFLOW_MONTHLY
from alama.core.units import Apr, Money

if TYPE_CHECKING:
    from collections.abc import Iterator

NEUTRAL: Final = Jurisdiction(code="neutral", name="No law assumed", currencies=())

_APR_MAX: Final = 150.0
_FUNDING: Final = 14.0
_MARGIN: Final = 10.0

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
    """Give the text of the default policy."""
    return policy_writer.write(default_policy(currency)).encode()


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
                # Below a low cap there must be room for what a loan costs and loses.
                funding=Apr(min(_FUNDING, round(apr_max / 3))),
                margin=Apr(min(_MARGIN, round(apr_max / 6))),
            ),
            caps=Caps(
                apr_max=Apr(apr_max),
                charges_max=place.charges_max.value if place.charges_max else None,
                below_break_even=Decision.REVIEW,
            ),
            law=Law(
                retention_days=place.retention_days.value if place.retention_days else None,
                notice_days=place.notice_days.value if place.notice_days else None,
                forbidden_fields=place.forbidden_fields.value if place.forbidden_fields else (),
            ),
            daily=Daily(utc_offset_hours=place.utc_offset_hours),
        )
    )


def draft_text(policy: Policy, place: Jurisdiction) -> str:
    """Write a draft with the source of every figure that is a law's."""
    remarks = {key: [remark] for key, remark in _remarks(place)}
    if place is not NEUTRAL:
        opening = f"{place.name}: no legal advice. Check every figure of a law with counsel."
        remarks[""] = [opening, *place.notes]
    return policy_writer.write(policy, remarks)


_KEYS_OF_LAW: Final = {
    "apr_max": "caps.apr_max",
    "charges_max": "caps.charges_max",
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
    elif round(place.apr_max.value / 6) < _MARGIN:
        said = f"Lower than elsewhere, to leave room below a cap of {place.apr_max.value:g}: "
        yield "pricing.funding", f"{said}funding and margin are yours to set."
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
