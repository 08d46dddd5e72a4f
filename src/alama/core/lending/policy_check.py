"""What makes a policy one that can be lent by: every figure in its range, nothing contradictory.

Tiers must not get more generous as scores fall: with that, a better value of a monotone field never
worsens a decision, the limit at a term, or the price of the same loan. A policy's own rules can
break this; `unsteady` says which.
"""

from __future__ import annotations

import json
import math
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.core import calibration, document
from alama.core.catalogue import Direction
from alama.core.errors import InvalidExpression, InvalidPolicy, PolicyFault
from alama.core.expressions import Slope, parse
from alama.core.lending.loan import AMOUNT, TERM
from alama.core.lending.policy import SEVERITY, Decision, Rule
from alama.core.lending.pricing import YEAR_DAYS
from alama.core.likeness import SHARE_MAX
from alama.core.product import PRODUCT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alama.core.catalogue import Catalogue
    from alama.core.lending.policy import Policy, Tier

Path = tuple[str | int, ...]
Fault = tuple[Path, str]

STEPS_MAX: Final = 1000
"""The most steps up to a cap: more would be precision that nobody lends by."""

TERM_DAYS_MAX: Final = 3650
TIERS_MAX: Final = 26
RULES_MAX: Final = 100
TEXT_MAX: Final = 200
RETENTION_DAYS_MAX: Final = 36_500
OUTSIDE_TIMES_MAX: Final = 1e6
UTC_OFFSETS: Final = range(-12, 15)
MONEY_MAX: Final = 10**12
RATE_MAX: Final = 10_000.0
CHARGES_MAX: Final = 10.0
APR_MIN: Final = 0.1
"""Of funding and margin together, so that no price is shown as nothing."""

_SHOWN_MAX: Final = 60
_BARE_KEY: Final = re.compile(f"[A-Za-z0-9_-]{{1,{_SHOWN_MAX}}}")
_RULE_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")
_TIER_NAME: Final = re.compile(r"[A-Za-z0-9+-]{1,8}")
_CODES: Final = frozenset(rule.value for rule in Rule)


def seal(policy: Policy, catalogue: Catalogue = PRODUCT) -> Policy:
    """Give the policy with the id that its content has, or raise `InvalidPolicy`."""
    if found := list(faults(policy, catalogue)):
        raise InvalidPolicy.of(PolicyFault(None, spell(path), fault) for path, fault in found)
    return document.seal(policy)


def spell(path: Path) -> str:
    """Write a path as people do: `tiers[0].score_min`."""
    return "".join(map(_spelled, path)).removeprefix(".")


def _spelled(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    # Whatever stands in quotes in a text is shown so, without its control characters.
    return f".{step}" if _BARE_KEY.fullmatch(step) else f".{json.dumps(step[:_SHOWN_MAX])}"


def faults(policy: Policy, catalogue: Catalogue) -> Iterator[Fault]:
    """Yield where a policy contradicts itself, or asks for what cannot be."""
    for name in ("name", "version", "jurisdiction"):
        if not _is_line(getattr(policy, name)):
            yield (name,), f"must be a text of 1 to {TEXT_MAX} characters on one line"
    if not re.fullmatch("[A-Z]{3}", policy.currency):
        yield ("currency",), "must be three capital letters"
    if not 1 <= policy.limit_step <= MONEY_MAX:
        yield ("limit_step",), f"must be 1 to {MONEY_MAX:_}"
    yield from _term_faults(policy)
    yield from _tier_faults(policy)
    yield from _rule_faults(policy, catalogue)
    yield from _data_faults(policy, catalogue)
    yield from _pricing_faults(policy)
    yield from _daily_faults(policy)


def _is_line(text: str) -> bool:
    return bool(text.strip()) and len(text) <= TEXT_MAX and text.isprintable()


def _term_faults(policy: Policy) -> Iterator[Fault]:
    terms = policy.terms_days
    if not terms:
        yield ("terms_days",), "must offer a term"
    for place, days in enumerate(terms):
        if not 1 <= days <= TERM_DAYS_MAX:
            yield ("terms_days", place), f"must be 1 to {TERM_DAYS_MAX} days"
    for place, (shorter, longer) in enumerate(pairwise(terms), start=1):
        if longer <= shorter:
            yield ("terms_days", place), "must be longer than the term before"
    if not 0.0 < policy.standard_loan.amount <= MONEY_MAX:
        yield ("standard_loan", "amount"), f"must be above 0 and at most {MONEY_MAX:_}"
    if policy.standard_loan.term_days not in terms:
        yield ("standard_loan", "term_days"), "must be one of terms_days"


# ------------------------------------------------------------------------ tiers


def _tier_faults(policy: Policy) -> Iterator[Fault]:
    tiers = policy.tiers
    if not 1 <= len(tiers) <= TIERS_MAX:
        yield ("tiers",), f"must be 1 to {TIERS_MAX} tiers"
        return
    for place, tier in enumerate(tiers):
        for key, fault in _faults_of(tier, policy):
            yield ("tiers", place, key), fault
        if tier.name in {other.name for other in tiers[:place]}:
            yield ("tiers", place, "name"), "is the name of a tier above"
    for place, (better, worse) in enumerate(pairwise(tiers), start=1):
        for key, fault in _disorder(better, worse):
            yield ("tiers", place, key), f"{fault} that of {better.name}"
    if tiers[-1].score_min != calibration.SCORE_MIN:
        fault = f"must be {calibration.SCORE_MIN} in the last tier: every score needs a tier"
        yield ("tiers", len(tiers) - 1, "score_min"), fault


def _faults_of(tier: Tier, policy: Policy) -> Iterator[tuple[str, str]]:
    if not _TIER_NAME.fullmatch(tier.name):
        yield "name", "must be 1 to 8 letters, digits, + or -"
    if not 0.0 <= tier.inflow_share <= 1.0:
        yield "inflow_share", "must be 0 to 1"
    if not _is_whole_steps(tier.limit_max, policy.limit_step):
        yield "limit_max", f"must be a multiple of limit_step, at most {STEPS_MAX}-fold"
    if not calibration.SCORE_MIN <= tier.score_min <= calibration.SCORE_MAX:
        yield "score_min", f"must be {calibration.SCORE_MIN} to {calibration.SCORE_MAX}"


def _is_whole_steps(limit: int, step: int) -> bool:
    if not 1 <= step <= MONEY_MAX:  # which is told as what it is
        return True
    steps, rest = divmod(limit, step)
    return not rest and 1 <= steps <= STEPS_MAX


def _disorder(better: Tier, worse: Tier) -> Iterator[tuple[str, str]]:
    """Yield where a tier is not worse than the one above it."""
    if worse.score_min >= better.score_min:
        yield "score_min", "must be below"
    if SEVERITY[worse.decision] < SEVERITY[better.decision]:
        yield "decision", "must not be better than"
    if worse.inflow_share > better.inflow_share:
        yield "inflow_share", "must not exceed"
    if worse.limit_max > better.limit_max:
        yield "limit_max", "must not exceed"


# ------------------------------------------------------------------------ rules and data


def _rule_faults(policy: Policy, catalogue: Catalogue) -> Iterator[Fault]:
    if len(policy.rules) > RULES_MAX:
        yield ("rules",), f"must be at most {RULES_MAX}"
        return
    names: set[str] = set()
    for place, rule in enumerate(policy.rules):
        if not _RULE_NAME.fullmatch(rule.name):
            yield (
                ("rules", place, "name"),
                "must be lower-case letters, digits and _, a letter first, at most 40 of them",
            )
        elif rule.name in _CODES or rule.name in names:
            yield ("rules", place, "name"), "is taken by another rule"
        names.add(rule.name)
        if rule.decision is Decision.APPROVED:
            fault = (
                f"must be {Decision.REVIEW} or {Decision.DECLINED}: a rule can only decide against"
            )
            yield ("rules", place, "decision"), fault
        if rule.says and not _is_line(rule.says):
            yield ("rules", place, "says"), f"must be one line of at most {TEXT_MAX} characters"
        try:
            parse(rule.when, catalogue)
        except InvalidExpression as error:
            advice = f"; {error.hint}" if error.hint else ""
            yield (
                ("rules", place, "when"),
                f"is wrong at column {error.column}: {error.fault}{advice}",
            )


def _data_faults(policy: Policy, catalogue: Catalogue) -> Iterator[Fault]:
    affordability, sufficiency = policy.affordability, policy.sufficiency
    if not 0.0 <= affordability.existing_repayments_share <= 1.0:
        yield ("affordability", "existing_repayments_share"), "must be 0 to 1"
    ratio = affordability.outflow_ratio_max
    if ratio is not None and not 0.0 < ratio < math.inf:
        yield ("affordability", "outflow_ratio_max"), "must be above 0 and finite"
    most = sum(field.name not in {AMOUNT, TERM} for field in catalogue.model_fields)
    if not 0 <= sufficiency.fields_min <= most:
        fault = f"must be 0 to {most}, the fields there are beside amount and term"
        yield ("sufficiency", "fields_min"), fault
    times = sufficiency.outside_times
    if times is not None and not 1.0 <= times <= OUTSIDE_TIMES_MAX:
        yield ("sufficiency", "outside_times"), f"must be 1 to {OUTSIDE_TIMES_MAX:_.0f}"
    share = sufficiency.unlike_share
    if share is not None and not 0.0 < share <= SHARE_MAX:
        yield ("sufficiency", "unlike_share"), f"must be above 0 and at most {SHARE_MAX}"
    for name in ("retention_days", "notice_days"):
        days = getattr(policy.law, name)
        if days is not None and not 0 <= days <= RETENTION_DAYS_MAX:
            yield ("law", name), f"must be 0 to {RETENTION_DAYS_MAX} days"
    for place, name in enumerate(policy.law.forbidden_fields):
        if name in catalogue.position and catalogue.field(name).required:
            yield ("law", "forbidden_fields", place), "is required, so it cannot be forbidden"


# ------------------------------------------------------------------------ money


_PRICING_MOST: Final = {
    "cost_per_loan": float(MONEY_MAX),
    "cost_share": 1.0,
    "funding": RATE_MAX,
    "margin": RATE_MAX,
    "fee_per_loan": float(MONEY_MAX),
    "fee_share": 1.0,
}


def _pricing_faults(policy: Policy) -> Iterator[Fault]:
    pricing, caps = policy.pricing, policy.caps
    if not 0.0 <= pricing.loss_given_default < 1.0:
        yield ("pricing", "loss_given_default"), "must be at least 0 and below 1"
    for name, most in _PRICING_MOST.items():
        if not 0.0 <= getattr(pricing, name) <= most:
            yield ("pricing", name), f"must be 0 to {most:_.0f}"
    if pricing.funding + pricing.margin < APR_MIN:
        yield ("pricing", "margin"), f"must be at least {APR_MIN} together with funding"
    if not 0.0 < caps.apr_max <= RATE_MAX:
        yield ("caps", "apr_max"), f"must be above 0 and at most {RATE_MAX:_.0f}"
    elif pricing.funding + pricing.margin >= caps.apr_max:
        yield ("caps", "apr_max"), "must be above funding and margin together"
    if caps.charges_max is not None:
        # At the longest term a bound on all charges is the lowest bound on the price.
        years = max(policy.terms_days, default=YEAR_DAYS) / YEAR_DAYS
        least = APR_MIN / 100.0 * years
        if not least <= caps.charges_max <= CHARGES_MAX:
            fault = f"must be {least:.2g} (for a price of {APR_MIN} %) to {CHARGES_MAX:.0f}"
            yield ("caps", "charges_max"), fault
    if caps.below_break_even is Decision.APPROVED:
        yield ("caps", "below_break_even"), f"must be {Decision.REVIEW} or {Decision.DECLINED}"


def _daily_faults(policy: Policy) -> Iterator[Fault]:
    for name in ("volume_max", "expected_loss_max"):
        bound = getattr(policy.daily, name)
        if bound is not None and not 0.0 <= bound < math.inf:
            yield ("daily", name), "must be finite and not negative"
    if policy.daily.utc_offset_hours not in UTC_OFFSETS:
        yield ("daily", "utc_offset_hours"), "must be -12 to 14"


# ------------------------------------------------------------------------ monotone


class Unsteady(NamedTuple):
    """A rule that can turn against an applicant as a value becomes better."""

    rule: str
    field: str
    why: str


def unsteady(policy: Policy, catalogue: Catalogue = PRODUCT) -> Iterator[Unsteady]:
    """Yield the rules under which a better value of a directed field may worsen the decision.

    Where there is none, the policy is certified: tiers, limits and prices never do. What
    `sufficiency` leaves to a person is apart: a value that nobody has ever seen is not "better".
    """
    for rule in policy.rules:
        expression = parse(rule.when, catalogue)
        for field in catalogue.fields:
            if field.direction is Direction.FREE or field.name not in expression.fields:
                continue
            slope = expression.slope(field.name)
            harmless = Slope.FALLS if field.direction is Direction.SAFER else Slope.RISES
            if slope in {Slope.CONSTANT, harmless}:
                continue
            better = "grows" if field.direction is Direction.SAFER else "falls"
            why = "may" if slope is Slope.UNKNOWN else "will"
            yield Unsteady(
                rule.name, field.name, f"it {why} begin to fire as {field.name} {better}"
            )
