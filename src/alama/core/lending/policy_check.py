"""What makes a policy one that can be lent by, and what is sound in it and yet looks wrong.

Tiers must not get more generous as scores fall: with that, a better value of a monotone field never
worsens a decision, the limit at a term, or the price of the same loan. A policy's own rules can
break this; `unsteady` says which.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from alama.core import calibration, document
from alama.core.application import fold
from alama.core.catalogue import WORD_LENGTH_MAX, Catalogue, Direction, Field, Use
from alama.core.errors import InvalidExpression, InvalidPolicy, PolicyFault, did_you_mean
from alama.core.expressions.certainty import Slope
from alama.core.expressions.expression import Expression, parse
from alama.core.lending.cash_flow import YEAR_DAYS, AprKind, Periods
from alama.core.lending.loan import AMOUNT, TERM
from alama.core.lending.policy import (
    SEVERITY,
    UNSAID,
    Decision,
    Fees,
    Kind,
    OwnRule,
    Policy,
    PortfolioCap,
    Product,
    Repayment,
    Rule,
    Tier,
    policy_of,
    products_of,
    products_under,
)
from alama.core.likeness import SHARE_MAX
from alama.core.memory import with_memory
from alama.core.product import PRODUCT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from alama.core.lending.jurisdiction import Jurisdiction, Sourced


Path = tuple[str | int, ...]
Fault = tuple[Path, str]

STEPS_MAX: Final = 1000
"""The most steps up to a cap: more would be precision that nobody lends by."""

STATEMENT_DAYS_MAX: Final = 366
TERM_DAYS_MAX: Final = 3650
EVERY_DAYS: Final = (7, 14, 30)
PAYMENT_SHARE_MAX: Final = 10.0
TIERS_MAX: Final = 26
RULES_MAX: Final = 100
LOAN_RULES_MAX: Final = 10
"""Each of them is tried on many loans of every application."""

TERMS_MAX: Final = 24
TEXT_MAX: Final = 200
RETENTION_DAYS_MAX: Final = 36_500
OUTSIDE_TIMES_MAX: Final = 1e6
COUNT_MAX: Final = 1_000
"""Of applications in a day, of days that a payment is late, of a ladder's steps."""

UTC_OFFSETS: Final = range(-12, 15)
MONEY_MAX: Final = 10**12
RATE_MAX: Final = 10_000.0
CHARGES_MAX: Final = 10.0
PORTFOLIO_MAX: Final = 50
PRODUCTS_MAX: Final = 10
"""Each is laid out for the model as a policy of its own."""

WORDS_MAX: Final = 100
BOUNDS: Final = ("number_max", "volume_max", "expected_loss_max")
EXPLORED_SHARE_MAX: Final = 0.5
EXPLORED_DAILY_MAX: Final = 10_000
APR_MIN: Final = 0.1
"""Of funding and margin together, so that no price is shown as nothing."""

PERCENT_MIN: Final = 2.0
PERCENT_MAX: Final = 100.0
"""Between these a share was written in percent."""

SHARE_LIKE_MAX: Final = 10.0
"""A cap in percent up to which it looks like a share: 1.5 for 150 percent."""

_SHOWN_MAX: Final = 60
_NAMED_MAX: Final = 40
_BARE_KEY: Final = re.compile(f"[A-Za-z0-9_-]{{1,{_SHOWN_MAX}}}")
_RULE_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")
_NAME_FAULT: Final = "must be lower-case letters, digits and _, a letter first, at most 40 of them"
_TIER_NAME: Final = re.compile(r"[A-Za-z0-9+-]{1,8}")
_CODES: Final = frozenset(rule.value for rule in Rule)


def seal(policy: Policy, catalogue: Catalogue = PRODUCT) -> Policy:
    """Give the policy with the id that its content has, or raise `InvalidPolicy`."""
    if found := list(faults(policy, catalogue)):
        tree = msgspec.to_builtins(policy)
        raise InvalidPolicy.of(PolicyFault(None, spell(path, tree), fault) for path, fault in found)
    return document.seal(policy)


def spell(path: Path, tree: Mapping[str, Any]) -> str:
    """Write a path as people do: `tiers.B.score_min`, or `tiers[2].score_min` for want of a name.

    The tree is the policy as its text has it. Places are counted from 1.
    """
    spelled = ""
    for place, step in enumerate(path):
        name = _name_at(path[: place + 1], tree) if isinstance(step, int) else step
        spelled += f"[{int(step) + 1}]" if name is None else _spelled(name)
    return spelled.removeprefix(".")


def _spelled(step: str) -> str:
    # Whatever stands in quotes in a text is shown so, without its control characters.
    return f".{step}" if _BARE_KEY.fullmatch(step) else f".{json.dumps(step[:_SHOWN_MAX])}"


def _name_at(path: Path, tree: Mapping[str, Any]) -> str | None:
    """Give the name of a tier or a rule, if it has one that no other has."""
    *above, place = path
    elements: Any = tree
    for step in above:
        elements = elements.get(step) if isinstance(elements, dict) else _element(elements, step)
    if not isinstance(place, int) or not isinstance(elements, list | tuple):
        return None
    names = [one.get("name") if isinstance(one, dict) else None for one in elements]
    name = names[place] if place < len(names) else None
    return name if isinstance(name, str) and name and names.count(name) == 1 else None


def _element(elements: object, place: str | int) -> object:
    if not isinstance(elements, list | tuple) or not isinstance(place, int):
        return None
    return elements[place] if place < len(elements) else None


def faults(policy: Policy, catalogue: Catalogue) -> Iterator[Fault]:
    """Yield where a policy contradicts itself, or asks for what cannot be."""
    whole = list(_faults(policy, catalogue))
    yield from whole
    if not isinstance(policy.products, msgspec.UnsetType):
        yield from _product_faults(policy, policy.products, set(whole), catalogue)
    yield from _capped_product_faults(policy)


def _faults(policy: Policy, catalogue: Catalogue) -> Iterator[Fault]:
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
    yield from _repayment_faults(policy)
    yield from _borrower_faults(policy)
    yield from _daily_faults(policy)
    yield from _portfolio_faults(policy)
    yield from _exploration_faults(policy)


def _as_share(value: float) -> str:
    """Say how to write a share that was written in percent."""
    return f": {value / 100:g} for {value:g} percent" if PERCENT_MIN <= value <= PERCENT_MAX else ""


def _is_line(text: str) -> bool:
    return bool(text.strip()) and len(text) <= TEXT_MAX and text.isprintable()


def _term_faults(policy: Policy) -> Iterator[Fault]:
    terms = policy.terms_days
    if not 1 <= len(terms) <= TERMS_MAX:
        yield ("terms_days",), f"must offer 1 to {TERMS_MAX} terms"
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


# -------------------------------------------------------------------------------------------- tiers


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
            yield ("tiers", place, key), fault
    if tiers[-1].score_min != calibration.SCORE_MIN:
        fault = f"must be {calibration.SCORE_MIN} in the last tier: every score needs a tier"
        yield ("tiers", len(tiers) - 1, "score_min"), fault


def _faults_of(tier: Tier, policy: Policy) -> Iterator[tuple[str, str]]:
    if not _TIER_NAME.fullmatch(tier.name):
        yield "name", "must be 1 to 8 letters, digits, + or -"
    elif tier.name.upper() in SEVERITY:
        yield "name", "must not be a decision: as a target it means that"
    elif tier.name.isdecimal():
        yield "name", "must not be digits alone: as a target they mean a score"
    if not 0.0 <= tier.inflow_share <= 1.0:
        yield "inflow_share", f"must be 0 to 1{_as_share(tier.inflow_share)}"
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
    """Yield where a tier is not worse than the one above it, with both values."""
    above = f"{better.name}'s"
    if worse.score_min >= better.score_min:
        yield "score_min", f"is {worse.score_min}, not below {above} {better.score_min}"
    if SEVERITY[worse.decision] < SEVERITY[better.decision]:
        yield "decision", f"is {worse.decision}, better than {above} {better.decision}"
    if worse.inflow_share > better.inflow_share:
        yield "inflow_share", f"is {worse.inflow_share:g}, above {above} {better.inflow_share:g}"
    if worse.limit_max > better.limit_max:
        yield "limit_max", f"is {worse.limit_max:_}, above {above} {better.limit_max:_}"


# ----------------------------------------------------------------------------------- rules and data


def _rule_faults(policy: Policy, catalogue: Catalogue) -> Iterator[Fault]:
    if len(policy.rules) > RULES_MAX:
        yield ("rules",), f"must be at most {RULES_MAX}"
        return
    names: set[str] = set()
    for place, rule in enumerate(policy.rules):
        if not _RULE_NAME.fullmatch(rule.name):
            yield ("rules", place, "name"), _NAME_FAULT
        elif rule.name in _CODES:
            yield ("rules", place, "name"), "is a code of Alama's own; choose another name"
        elif rule.name in names:
            yield ("rules", place, "name"), "is the name of a rule above"
        names.add(rule.name)
        for key, fault in _faults_of_rule(rule, policy, catalogue):
            yield ("rules", place, key), fault
    loan_rules = sum(_speaks_of_the_loan(rule.when, catalogue) for rule in policy.rules)
    if loan_rules > LOAN_RULES_MAX:
        yield ("rules",), f"must be at most {LOAN_RULES_MAX} that speak of amount or term"


def _faults_of_rule(
    rule: OwnRule, policy: Policy, catalogue: Catalogue
) -> Iterator[tuple[str, str]]:
    if rule.decision is Decision.APPROVED:
        fault = f"must be {Decision.REVIEW} or {Decision.DECLINED}: a rule can only decide against"
        yield "decision", fault
    if rule.says and not _is_line(rule.says):
        yield "says", f"must be one line of at most {TEXT_MAX} characters"
    for fault in _condition_faults(rule.when, catalogue):
        yield "when", fault
    if isinstance(rule.limit_max, msgspec.UnsetType):
        if isinstance(rule.decision, msgspec.UnsetType):
            yield "decision", "is missing, and there is no limit_max in its place"
        return
    if not _is_whole_steps(rule.limit_max, policy.limit_step):
        yield "limit_max", f"must be a multiple of limit_step, at most {STEPS_MAX}-fold"
    if AMOUNT in _fields_of(rule.when, catalogue):
        yield "when", f"reads {AMOUNT}, which limit_max already bounds: leave it out"


def _condition_faults(when: str, catalogue: Catalogue) -> Iterator[str]:
    try:
        expression = parse(when, with_memory(catalogue))
    except InvalidExpression as error:
        advice = f"; {error.hint}" if error.hint else ""
        yield f"is wrong at column {error.column}: {error.fault}{advice}"
        return
    for name in sorted(expression.sought & {AMOUNT, TERM}):
        yield f"asks whether {name} is missing, and it never is: the standard loan stands in for it"


def _speaks_of_the_loan(when: str, catalogue: Catalogue) -> bool:
    return bool(_fields_of(when, catalogue) & {AMOUNT, TERM})


def _fields_of(when: str, catalogue: Catalogue) -> frozenset[str]:
    try:
        return parse(when, with_memory(catalogue)).fields
    except InvalidExpression:
        return frozenset()


def _data_faults(policy: Policy, catalogue: Catalogue) -> Iterator[Fault]:
    affordability, sufficiency = policy.affordability, policy.sufficiency
    if not 0.0 <= affordability.existing_repayments_share <= 1.0:
        fault = f"must be 0 to 1{_as_share(affordability.existing_repayments_share)}"
        yield ("affordability", "existing_repayments_share"), fault
    ratio = affordability.outflow_ratio_max
    if ratio is not None and not 0.0 < ratio < math.inf:
        yield ("affordability", "outflow_ratio_max"), "must be above 0 and finite"
    most = sum(
        field.use is Use.MODEL and field.name not in {AMOUNT, TERM} for field in catalogue.fields
    )
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
    yield from _forbidden_faults(policy, catalogue)


def _forbidden_faults(policy: Policy, catalogue: Catalogue) -> Iterator[Fault]:
    for place, name in enumerate(policy.law.forbidden_fields):
        if name in catalogue.position:
            if catalogue.field(name).required:
                yield ("law", "forbidden_fields", place), "is required, so it cannot be forbidden"
        elif name not in catalogue.prohibited:
            meant = did_you_mean(name, [*catalogue.position, *catalogue.prohibited])
            fault = f"is neither a field nor a name that is always refused; {meant}".rstrip("; ")
            yield ("law", "forbidden_fields", place), fault


# -------------------------------------------------------------------------------------------- money


_FEES: Final = ("fee_per_loan", "fee_share")
_PRICING_MOST: Final = {
    "cost_per_loan": float(MONEY_MAX),
    "cost_share": 1.0,
    "funding": RATE_MAX,
    "margin": RATE_MAX,
    "fee_per_loan": float(MONEY_MAX),
    "fee_share": 1.0,
}


def _pricing_faults(policy: Policy) -> Iterator[Fault]:
    pricing = policy.pricing
    if not 0.0 <= pricing.loss_given_default < 1.0:
        fault = f"must be at least 0 and below 1{_as_share(pricing.loss_given_default)}"
        yield ("pricing", "loss_given_default"), fault
    for name, most in _PRICING_MOST.items():
        if not 0.0 <= getattr(pricing, name) <= most:
            advice = _as_share(getattr(pricing, name)) if most == 1.0 else ""
            yield ("pricing", name), f"must be 0 to {most:_.0f}{advice}"
    if pricing.funding + pricing.margin < APR_MIN:
        yield ("pricing", "margin"), f"must be at least {APR_MIN} together with funding"
    yield from _cap_faults(policy)


def _cap_faults(policy: Policy) -> Iterator[Fault]:
    pricing, caps = policy.pricing, policy.caps
    if not 0.0 < caps.apr_max <= RATE_MAX:
        yield ("caps", "apr_max"), f"must be above 0 and at most {RATE_MAX:_.0f}"
    elif pricing.funding >= caps.apr_max:
        yield ("caps", "apr_max"), _below_costs(policy)
    if caps.charges_max is not None:
        # At the longest term a bound on all charges is the lowest bound on the price.
        years = max(policy.terms_days, default=YEAR_DAYS) / YEAR_DAYS
        least = APR_MIN / 100.0 * years
        if not least <= caps.charges_max <= CHARGES_MAX:
            fault = f"must be {least:.2g} (for a price of {APR_MIN} %) to {CHARGES_MAX:.0f}"
            yield ("caps", "charges_max"), fault
    if caps.below_break_even is Decision.APPROVED:
        yield ("caps", "below_break_even"), f"must be {Decision.REVIEW} or {Decision.DECLINED}"
    longest = max(policy.terms_days, default=YEAR_DAYS) / YEAR_DAYS
    charged = min(caps.apr_max / 100.0 * longest, caps.charges_max or math.inf)
    if 0.0 < charged < pricing.fee_share <= 1.0:
        fault = f"is above the caps at every term: they leave {charged:.2g} of the amount at most"
        yield ("pricing", "fee_share"), fault


def _below_costs(policy: Policy) -> str:
    cap, pricing = policy.caps.apr_max, policy.pricing
    meant = f"; did you mean {100 * cap:g}?" if cap <= SHARE_LIKE_MAX else ""
    costs = pricing.funding + pricing.margin
    what, so = f"funding and margin together, {costs:g}", "no price earns that margin"
    if pricing.funding >= cap:
        what, so = f"funding, {pricing.funding:g}", "every loan would lose money"
    return f"is {cap:g} percent a year, not above {what} percent: {so}{meant}"


def _repayment_faults(policy: Policy) -> Iterator[Fault]:
    said = policy.repayment
    if isinstance(said, msgspec.UnsetType):
        return
    if said.every_days not in EVERY_DAYS:
        yield ("repayment", "every_days"), f"must be {', '.join(map(str, EVERY_DAYS))}"
        return
    for name, least, most in (
        ("saving", 0.0, 1.0),
        ("payment_share_max", 0.01, PAYMENT_SHARE_MAX),
        ("fee_tax", 0.0, 1.0),
    ):
        value = getattr(said, name)
        if value is not None and not least <= value <= most:
            yield ("repayment", name), f"must be {least:g} to {most:g}{_as_share(value)}"
    terms = policy.terms_days
    if said.kind is Kind.INSTALMENTS:
        for place, days in enumerate(terms):
            if days % said.every_days:
                fault = f"must be a whole number of payments, one every {said.every_days} days"
                yield ("terms_days", place), fault
    if said.fees is Fees.DEDUCTED and _is_possible(policy):
        yield from _deducted_faults(policy, said)


def _is_possible(policy: Policy) -> bool:
    """Say whether the figures that a fee is judged by can be; where not, that is told."""
    pricing, terms = policy.pricing, policy.terms_days
    return (
        1 <= policy.limit_step <= MONEY_MAX
        and 0.0 < policy.caps.apr_max <= RATE_MAX
        and all(0.0 <= getattr(pricing, name) <= _PRICING_MOST[name] for name in _FEES)
        and all(1 <= days <= TERM_DAYS_MAX for days in terms)
    )


def _deducted_faults(policy: Policy, said: Repayment) -> Iterator[Fault]:
    """Yield where a fee that is deducted alone costs more than a cap allows."""
    pricing, amount = policy.pricing, float(policy.limit_step)
    fee = (pricing.fee_share * amount + pricing.fee_per_loan) * (1.0 + said.fee_tax)
    if not fee:
        return
    for days in policy.terms_days:
        periods = Periods(days, said.every_days if said.kind is Kind.INSTALMENTS else None)
        if periods.count < 1 or fee >= amount:
            most = 0.0
        elif said.capped_apr is AprKind.SIMPLE:
            most = periods.total_share(said.capped_apr, policy.caps.apr_max) * amount - amount
        else:
            most = amount - amount / periods.total_share(said.capped_apr, policy.caps.apr_max)
        most = min(most, amount * (policy.caps.charges_max or math.inf))
        if fee > most:
            fault = (
                f"is above the caps with fee_per_loan: {fee:,.2f} on {amount:,.0f}, {days} days, "
                f"where they leave {most:,.2f}"
            )
            yield ("pricing", "fee_share"), fault
            return


def _borrower_faults(policy: Policy) -> Iterator[Fault]:
    money = f"must be above 0 and at most {MONEY_MAX:_}"
    if not isinstance(policy.borrower, msgspec.UnsetType):
        asked, late = policy.borrower.asked_per_day_max, policy.borrower.late_days_max
        if asked is not None and not 1 <= asked <= COUNT_MAX:
            yield ("borrower", "asked_per_day_max"), f"must be 1 to {COUNT_MAX}"
        if late is not None and not 0 <= late <= COUNT_MAX:
            yield ("borrower", "late_days_max"), f"must be 0 to {COUNT_MAX}"
    if not isinstance(policy.evidence, msgspec.UnsetType):
        days = policy.evidence.days_max
        if days is not None and not 1 <= days <= STATEMENT_DAYS_MAX:
            yield ("evidence", "days_max"), f"must be 1 to {STATEMENT_DAYS_MAX}"
    exposure = policy.exposure
    if exposure is not msgspec.UNSET and not 0.0 < exposure.balance_max <= MONEY_MAX:
        yield ("exposure", "balance_max"), money
    if not isinstance(policy.ladder, msgspec.UnsetType):
        if not 0.0 < policy.ladder.first_limit <= MONEY_MAX:
            yield ("ladder", "first_limit"), money
        if not 0.0 < policy.ladder.times <= COUNT_MAX:
            yield ("ladder", "times"), f"must be above 0 and at most {COUNT_MAX}"


def _daily_faults(policy: Policy) -> Iterator[Fault]:
    for name in ("volume_max", "expected_loss_max"):
        bound = getattr(policy.daily, name)
        if bound is not None and not 0.0 <= bound < math.inf:
            yield ("daily", name), "must be finite and not negative"
    if policy.daily.utc_offset_hours not in UTC_OFFSETS:
        yield ("daily", "utc_offset_hours"), "must be -12 to 14"


# ------------------------------------------------------------------------------------ the portfolio


def _portfolio_faults(policy: Policy) -> Iterator[Fault]:
    caps = policy.portfolio
    if isinstance(caps, msgspec.UnsetType):
        return
    if not 1 <= len(caps) <= PORTFOLIO_MAX:
        yield ("portfolio",), f"must be 1 to {PORTFOLIO_MAX} caps"
        return
    taken = {rule.name for rule in policy.rules}
    for place, cap in enumerate(caps):
        if not _RULE_NAME.fullmatch(cap.name):
            yield ("portfolio", place, "name"), _NAME_FAULT
        elif cap.name in _CODES:
            yield ("portfolio", place, "name"), "is a code of Alama's own; choose another name"
        elif cap.name in taken:
            yield ("portfolio", place, "name"), "is the name of a rule or of a cap above"
        taken.add(cap.name)
        for key, fault in _cap_of_portfolio_faults(cap, policy):
            yield ("portfolio", place, key), fault


def _cap_of_portfolio_faults(cap: PortfolioCap, policy: Policy) -> Iterator[tuple[str, str]]:
    bounds = (cap.number_max, cap.volume_max, cap.expected_loss_max)
    if all(most is None for most in bounds):
        yield "number_max", "is missing, as volume_max and expected_loss_max are: name a bound"
    for key, most in zip(BOUNDS, bounds, strict=True):
        if most is not None and not 0 <= most <= MONEY_MAX:
            yield key, f"must be 0 to {MONEY_MAX:_}"
    if cap.decision is Decision.APPROVED:
        yield "decision", f"must be {Decision.REVIEW} or {Decision.DECLINED}"
    if cap.says and not _is_line(cap.says):
        yield "says", f"must be one line of at most {TEXT_MAX} characters"
    for tier in cap.tiers:
        if tier not in {known.name for known in policy.tiers}:
            yield "tiers", f"names {tier[:_NAMED_MAX]}, which is no tier of this policy"
    if len(cap.regions) > WORDS_MAX or not all(map(_is_word, cap.regions)):
        yield "regions", f"must be at most {WORDS_MAX} words of 1 to {WORD_LENGTH_MAX} characters"


def _is_word(text: str) -> bool:
    # As it is counted, by which some letters are two.
    return _is_line(text) and len(fold(text)) <= WORD_LENGTH_MAX


def _exploration_faults(policy: Policy) -> Iterator[Fault]:
    asked = policy.exploration
    if isinstance(asked, msgspec.UnsetType):
        return
    if not 0.0 < asked.share <= EXPLORED_SHARE_MAX:
        fault = f"must be above 0 and at most {EXPLORED_SHARE_MAX:g}{_as_share(asked.share)}"
        yield ("exploration", "share"), fault
    if not 1 <= asked.daily_max <= EXPLORED_DAILY_MAX:
        yield ("exploration", "daily_max"), f"must be 1 to {EXPLORED_DAILY_MAX:_}"
    if not _is_whole_steps(asked.limit_max, policy.limit_step):
        fault = f"must be a multiple of limit_step, at most {STEPS_MAX}-fold"
        yield ("exploration", "limit_max"), fault
    cutoff = cutoff_of(policy)
    if cutoff is None or cutoff <= calibration.SCORE_MIN:
        said = "no tier" if cutoff is None else "every tier"
        yield ("exploration",), f"has no cut-off to look below: {said} is {Decision.APPROVED}"
    elif not calibration.SCORE_MIN <= asked.score_min < cutoff:
        fault = f"must be {calibration.SCORE_MIN} to {cutoff - 1}: below the cut-off, {cutoff}"
        yield ("exploration", "score_min"), fault


def cutoff_of(policy: Policy) -> int | None:
    """Give the least score that is approved; None where none is."""
    approved = [tier.score_min for tier in policy.tiers if tier.decision is Decision.APPROVED]
    return min(approved, default=None)


# ----------------------------------------------------------------------------------------- products


def _product_faults(
    policy: Policy, products: tuple[Product, ...], whole: set[Fault], catalogue: Catalogue
) -> Iterator[Fault]:
    """Yield what is wrong with the products; what is wrong with the policy is told without them."""
    if not 1 <= len(products) <= PRODUCTS_MAX:
        yield ("products",), f"must be 1 to {PRODUCTS_MAX}"
        return
    if sum(product.default for product in products) != 1:
        yield ("products",), "need one with default = true, and one alone: for whoever names none"
    tiers = [tier.name for tier in policy.tiers]
    for place, product in enumerate(products):
        if not _RULE_NAME.fullmatch(product.name):
            yield ("products", place, "name"), _NAME_FAULT
        elif product.name in {other.name for other in products[:place]}:
            yield ("products", place, "name"), "is the name of a product above"
        own = policy_of(policy, product)
        # Reports, caps and goals name tiers whatever the product is.
        if [tier.name for tier in own.tiers] != tiers:
            yield ("products", place, "tiers"), f"must be those of the policy: {', '.join(tiers)}"
            continue
        yield from _of_product(policy, place, product, _faults(own, catalogue), whole)


def _capped_product_faults(policy: Policy) -> Iterator[Fault]:
    """Yield which caps of the portfolio name a product that the policy has not."""
    known = {product.name for product in products_of(policy)}
    caps = policy.portfolio
    for place, cap in enumerate(() if isinstance(caps, msgspec.UnsetType) else caps):
        for name in products_under(cap):
            if name not in known:
                fault = f"names {name[:_NAMED_MAX]}, which is no product of this policy"
                yield ("portfolio", place, "products"), fault


def _of_product(
    policy: Policy, place: int, product: Product, found: Iterable[Fault], whole: Collection[Fault]
) -> Iterator[Fault]:
    """Yield what was found of a policy as it is for a product, unless of the whole as well."""
    for path, fault in found:
        if path[0] in product.own:
            yield ("products", place, *path), fault
        elif (path, fault) not in whole:
            key = spell(path, msgspec.to_builtins(policy))
            yield ("products", place), f"does not go with {key}, which {fault}"


# ----------------------------------------------------------------------------------------- monotone


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
    catalogue = with_memory(catalogue)
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


# ------------------------------------------------------------------------------------------- doubts


def doubts_about(
    policy: Policy, catalogue: Catalogue, packs: Sequence[Jurisdiction]
) -> Iterator[Fault]:
    """Yield what deserves a second look in a sound policy; `packs` are all that are known.

    A doubt refuses nothing. A lender may well ask for less than the pack of a place says, or know
    better than it; but not without having been told.
    """
    whole = list(_doubts_about(policy, catalogue, packs))
    yield from whole
    if not isinstance(policy.products, msgspec.UnsetType):
        for place, product in enumerate(policy.products):
            found = _doubts_about(policy_of(policy, product), catalogue, packs)
            yield from _of_product(policy, place, product, found, whole)


def _doubts_about(
    policy: Policy, catalogue: Catalogue, packs: Sequence[Jurisdiction]
) -> Iterator[Fault]:
    yield from _unit_doubts(policy)
    yield from _room_doubts(policy)
    yield from _rule_doubts(policy, catalogue)
    pack = next((pack for pack in packs if pack.code == policy.jurisdiction), None)
    if pack is None:
        yield ("jurisdiction",), _unknown_pack(policy.jurisdiction, packs)
        return
    if pack.currencies and policy.currency not in pack.currencies:
        money = " or ".join(pack.currencies)
        yield ("currency",), f"is {policy.currency}; the pack of {pack.name} is for {money}"
    yield from _price_doubts(policy, pack)
    yield from _record_doubts(policy, pack)


def _unit_doubts(policy: Policy) -> Iterator[Fault]:
    """Doubt rates that look like shares."""
    for name in ("funding", "margin"):
        rate = getattr(policy.pricing, name)
        if 0.0 < rate < 1.0:
            yield ("pricing", name), _as_percent(rate)
    if policy.caps.apr_max <= SHARE_LIKE_MAX:
        yield ("caps", "apr_max"), _as_percent(policy.caps.apr_max)


def _room_doubts(policy: Policy) -> Iterator[Fault]:
    """Doubt a cap that leaves no room, and a policy that does not say how loans are repaid."""
    if policy.pricing.funding + policy.pricing.margin >= policy.caps.apr_max:
        yield ("caps", "apr_max"), _below_costs(policy)
    if isinstance(policy.repayment, msgspec.UnsetType):
        said = (
            "is not there: priced as repaid at once on the last day, and judged as if all room of "
            "earlier months were saved for it"
        )
        yield ("repayment",), said


def _as_percent(rate: float) -> str:
    return f"is {rate:g} percent a year: did you mean {100 * rate:g}?"


def _rule_doubts(policy: Policy, catalogue: Catalogue) -> Iterator[Fault]:
    catalogue = with_memory(catalogue)
    forbidden = {
        catalogue.field(name).name: name
        for name in policy.law.forbidden_fields
        if name in catalogue.position
    }
    for place, rule in enumerate(policy.rules):
        expression = parse(rule.when, catalogue)
        path = ("rules", place, "when")
        if (certain := expression.certainly) is not None:
            said = "always" if certain else "never"
            yield path, f"is {said} true: {_ranges(expression, catalogue)}"
        if not rule.says:
            said = f"has no text, so an applicant would read {rule.name} instead"
            yield ("rules", place, "says"), said
        for name in sorted(forbidden.keys() & expression.fields):
            yield path, f"reads {name}, which law.forbidden_fields refuses in every request"


def _ranges(expression: Expression, catalogue: Catalogue) -> str:
    fields = [catalogue.field(name) for name in sorted(expression.fields)]
    return ", ".join(f"{field.name} {_range(field)}" for field in fields)


def _range(field: Field) -> str:
    low = field.minimum if field.above is None else field.above
    least = "" if low is None else f"{'from' if field.above is None else 'above'} {low:_.15g}"
    most = "" if field.maximum is None else f"up to {field.maximum:_.15g}"
    given = "always given" if field.required else ""
    return "is " + " ".join(filter(None, (least, most, "and" if least or most else "", given)))


def _unknown_pack(code: str, packs: Sequence[Jurisdiction]) -> str:
    spellings = {
        spelling.casefold(): pack.code for pack in packs for spelling in (pack.code, pack.name)
    }
    near = difflib.get_close_matches(code.strip().casefold(), spellings, n=1)
    known = ", ".join(pack.code for pack in packs)
    advice = f"did you mean {spellings[near[0]]}?" if near else f"there is {known}"
    return f"{code[:_NAMED_MAX]} is no known pack, so no law was looked at; {advice}"


def _price_doubts(policy: Policy, pack: Jurisdiction) -> Iterator[Fault]:
    caps = policy.caps
    if pack.apr_max and caps.apr_max > pack.apr_max.value:
        yield ("caps", "apr_max"), _beyond(caps.apr_max, pack.apr_max, pack)
    yield from _definition_doubts(policy, pack)
    most = pack.charges_max
    if most and (caps.charges_max is None or caps.charges_max > most.value):
        yield ("caps", "charges_max"), _beyond(caps.charges_max, most, pack)
    share = pack.inflow_share_max
    for place, tier in enumerate(policy.tiers):
        if share and tier.inflow_share > share.value:
            yield ("tiers", place, "inflow_share"), _beyond(tier.inflow_share, share, pack)


def _definition_doubts(policy: Policy, pack: Jurisdiction) -> Iterator[Fault]:
    said = UNSAID if isinstance(policy.repayment, msgspec.UnsetType) else policy.repayment
    for name in ("capped_apr", "shown_apr"):
        figure, mine = getattr(pack, name), getattr(said, name)
        if figure and figure.value is not mine:
            told = f"is {mine}; the pack of {pack.name} has {figure.value}: {_cited(figure)}"
            yield ("repayment", name), told
    if pack.fee_tax and said.fee_tax < pack.fee_tax.value:
        yield ("repayment", "fee_tax"), _beyond(said.fee_tax, pack.fee_tax, pack)


def _record_doubts(policy: Policy, pack: Jurisdiction) -> Iterator[Fault]:
    for name in ("retention_days", "notice_days"):
        figure, days = getattr(pack, name), getattr(policy.law, name)
        if figure and (days is None or days < figure.value):
            yield ("law", name), _beyond(days, figure, pack)
    if pack.forbidden_fields:
        kept = set(policy.law.forbidden_fields)
        if missing := [name for name in pack.forbidden_fields.value if name not in kept]:
            cited = _cited(pack.forbidden_fields)
            said = f"lacks {', '.join(missing)}, which the pack of {pack.name} has: {cited}"
            yield ("law", "forbidden_fields"), said


def _beyond(value: float | None, figure: Sourced[float] | Sourced[int], pack: Jurisdiction) -> str:
    mine = "is not there" if value is None else f"is {value:g}"
    return f"{mine}; the pack of {pack.name} has {figure.value:g}: {_cited(figure)}"


def _cited(
    figure: Sourced[float] | Sourced[int] | Sourced[tuple[str, ...]] | Sourced[AprKind],
) -> str:
    return f"{figure.rule} [{figure.source}; {figure.dated}; check with counsel]"
