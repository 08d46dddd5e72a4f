"""The lending policy: a lender's appetite as one document that a risk officer can own.

It turns a score into a tier and a decision, and says what may be offered and how it is priced. Like
a model it is JSON without code, named by the hash of its content, so that a stored decision says
for ever which policy made it. Money is in units of the policy's currency; a *share* is 0 to 1.
"""

from __future__ import annotations

import math
import re
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import msgspec

from alama.core import calibration, document
from alama.core.document import Document, Format
from alama.core.errors import InvalidPolicy
from alama.core.money import REFERENCE_INFLOW_MONTHLY
from alama.core.units import Apr, Money

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA: Final = "alama.policy/1"
SIZE_MAX: Final = 2**20
"""Bytes beyond which a document is refused unread."""

STEPS_MAX: Final = 1000
"""The most steps up to a cap: more would be precision that nobody lends by."""

TERM_DAYS_MAX: Final = 3650
APR_MIN: Final = 0.1
"""Of funding and margin together, so that no price is shown as nothing."""


class Decision(StrEnum):
    """What is said to the applicant, the best first. An open set for those who read replies."""

    APPROVED = "APPROVED"
    REVIEW = "REVIEW"
    DECLINED = "DECLINED"


_SEVERITY: Final = {decision: rank for rank, decision in enumerate(Decision)}


class Rule(StrEnum):
    """What can decide against an application. The codes are public and stay."""

    TIER_BELOW_CUTOFF = "tier_below_cutoff"
    TIER_IN_REVIEW = "tier_in_review"
    UNAFFORDABLE = "unaffordable"
    OFFER_BELOW_CUTOFF = "offer_below_cutoff"


class StandardLoan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is assumed to be asked for where an application does not say."""

    amount: Money
    term_days: int


class Tier(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Scores of at least `score_min` that no better tier has, and how they are treated.

    What falls due per 30 days, all loans together, may take `inflow_share` of the monthly inflow;
    no limit goes beyond `limit_max`.
    """

    name: str
    score_min: int
    decision: Decision
    inflow_share: float
    limit_max: int


class Pricing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a loan has to earn; `alama.core.pricing` has the arithmetic.

    `loss_given_default` is the share of what is due that a default loses. Running a loan costs
    `cost_per_loan` in money and `cost_share` of its amount, once, whatever its term.
    """

    loss_given_default: float
    cost_per_loan: Money
    cost_share: float
    funding: Apr
    margin: Apr
    apr_max: Apr


class Policy(Document, frozen=True, forbid_unknown_fields=True):
    """The whole policy. Tiers stand best first, terms shortest first; limits are whole steps."""

    name: str
    currency: str
    standard_loan: StandardLoan
    tiers: tuple[Tier, ...]
    terms_days: tuple[int, ...]
    limit_step: int
    pricing: Pricing


_FORMAT: Final = Format(Policy, SCHEMA, "policy", SIZE_MAX, InvalidPolicy, "write it anew")

content_id = document.content_id
encode = document.encode


def seal(policy: Policy) -> Policy:
    """Give the policy with the id that its content has, or raise `InvalidPolicy`."""
    check(policy)
    return document.seal(policy)


def decode(written: bytes) -> Policy:
    """Read a policy strictly, or raise `InvalidPolicy` and say what is wrong, and where."""
    policy = _FORMAT.decode(written)
    check(policy)
    return policy


def check(policy: Policy) -> None:
    """Raise `InvalidPolicy` for the first place where the policy contradicts itself.

    Tiers must not get more generous as scores fall: with that, a better value of a monotone field
    never worsens a decision, the limit at a term, or the price of the same loan.
    """
    for where, fault in _faults(policy):
        raise InvalidPolicy(f"the policy's {where} {fault}")


def _faults(policy: Policy) -> Iterator[tuple[str, str]]:
    if not policy.name.strip():
        yield "name", "is empty"
    if not re.fullmatch("[A-Z]{3}", policy.currency):
        yield "currency", "must be three capital letters"
    if policy.limit_step < 1:
        yield "limit_step", "must be above 0"
    yield from _term_faults(policy)
    yield from _tier_faults(policy)
    yield from _pricing_faults(policy.pricing)


def _term_faults(policy: Policy) -> Iterator[tuple[str, str]]:
    terms = policy.terms_days
    if not terms:
        yield "terms_days", "must offer a term"
    for place, days in enumerate(terms):
        if not 1 <= days <= TERM_DAYS_MAX:
            yield f"terms_days[{place}]", f"must be 1 to {TERM_DAYS_MAX} days"
    for place, (shorter, longer) in enumerate(pairwise(terms), start=1):
        if longer <= shorter:
            yield f"terms_days[{place}]", "must be longer than the term before"
    if not 0.0 < policy.standard_loan.amount < math.inf:
        yield "standard_loan.amount", "must be above 0"
    if policy.standard_loan.term_days not in terms:
        yield "standard_loan.term_days", "must be one of terms_days"


def _tier_faults(policy: Policy) -> Iterator[tuple[str, str]]:
    tiers = policy.tiers
    if not tiers:
        yield "tiers", "must have one tier at least"
        return
    for place, tier in enumerate(tiers):
        where = f"tiers[{place}]"
        if not tier.name.strip() or tier.name in {other.name for other in tiers[:place]}:
            yield f"{where}.name", "must be a name that no tier above has"
        if not 0.0 <= tier.inflow_share <= 1.0:
            yield f"{where}.inflow_share", "must be 0 to 1"
        steps, rest = divmod(tier.limit_max, policy.limit_step)
        if rest or not 1 <= steps <= STEPS_MAX:
            yield (
                f"{where}.limit_max",
                f"must be a multiple of limit_step, at most {STEPS_MAX}-fold",
            )
        if not calibration.SCORE_MIN <= tier.score_min <= calibration.SCORE_MAX:
            yield (
                f"{where}.score_min",
                f"must be {calibration.SCORE_MIN} to {calibration.SCORE_MAX}",
            )
    for place, (better, worse) in enumerate(pairwise(tiers), start=1):
        for field, fault in _disorder(better, worse):
            yield f"tiers[{place}].{field}", f"{fault} that of {better.name}"
    if tiers[-1].score_min > calibration.SCORE_MIN:
        where = f"tiers[{len(tiers) - 1}].score_min"
        yield where, f"must be {calibration.SCORE_MIN}: every score needs a tier"


def _disorder(better: Tier, worse: Tier) -> Iterator[tuple[str, str]]:
    """Yield where a tier is not worse than the one above it."""
    if worse.score_min >= better.score_min:
        yield "score_min", "must be below"
    if _SEVERITY[worse.decision] < _SEVERITY[better.decision]:
        yield "decision", "must not be better than"
    if worse.inflow_share > better.inflow_share:
        yield "inflow_share", "must not exceed"
    if worse.limit_max > better.limit_max:
        yield "limit_max", "must not exceed"


def _pricing_faults(pricing: Pricing) -> Iterator[tuple[str, str]]:
    if not 0.0 <= pricing.loss_given_default < 1.0:
        yield "pricing.loss_given_default", "must be at least 0 and below 1"
    for name in ("cost_per_loan", "cost_share", "funding", "margin"):
        if not 0.0 <= getattr(pricing, name) < math.inf:
            yield f"pricing.{name}", "must not be negative"
    if pricing.funding + pricing.margin < APR_MIN:
        yield "pricing.margin", f"must be at least {APR_MIN} together with funding"
    if not pricing.funding + pricing.margin < pricing.apr_max < math.inf:
        yield "pricing.apr_max", "must be above funding and margin together"


# ------------------------------------------------------------------------ the default


def default_policy(currency: str) -> Policy:
    """Give a policy to start from: money in proportion to the currency's reference inflow.

    The figures are of short digital loans without security: cautious, plausible, and nobody's. A
    lender replaces them by their own losses, costs and appetite, and by the caps of their law.
    """
    inflow = REFERENCE_INFLOW_MONTHLY.get(currency)
    if inflow is None:
        raise InvalidPolicy(
            f"there is no default policy for the currency {currency}",
            hint=f"there is one for {', '.join(sorted(REFERENCE_INFLOW_MONTHLY))}",
        )
    step = _round_step(inflow // 40)
    return seal(
        Policy(
            schema=SCHEMA,
            id="",
            name=f"default {currency}",
            currency=currency,
            standard_loan=StandardLoan(Money(_in_steps(inflow * 0.5, step)), term_days=30),
            tiers=(
                Tier("A", 690, Decision.APPROVED, 0.40, _in_steps(inflow * 2.5, step)),
                Tier("B", 650, Decision.APPROVED, 0.35, _in_steps(inflow * 1.5, step)),
                Tier("C", 605, Decision.APPROVED, 0.30, _in_steps(inflow * 0.75, step)),
                Tier("D", 555, Decision.REVIEW, 0.25, _in_steps(inflow * 0.5, step)),
                Tier("E", 300, Decision.DECLINED, 0.20, _in_steps(inflow * 0.25, step)),
            ),
            # A shorter loan would have to earn its losses within days, at a price beyond any cap.
            terms_days=(30, 60, 90, 120, 180),
            limit_step=step,
            pricing=Pricing(
                loss_given_default=0.6,
                cost_per_loan=Money(inflow / 1000),
                cost_share=0.01,
                funding=Apr(14.0),
                margin=Apr(10.0),
                apr_max=Apr(150.0),
            ),
        )
    )


def _round_step(amount: int) -> int:
    """Give the largest of 1, 2, 2.5 and 5 times a power of ten that is no larger."""
    power = 10 ** (len(str(amount)) - 1)
    return max(int(power * times) for times in (1, 2, 2.5, 5) if power * times <= amount)


def _in_steps(amount: float, step: int) -> int:
    return round(amount / step) * step
