"""What is sound in a policy and yet looks wrong: a unit mistaken, a rule without effect, a law.

A doubt refuses nothing. A lender may well ask for less than the pack of a place says, or know
better than it; but not without having been told.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

from alama.core.expressions import parse
from alama.core.lending.policy_check import SHARE_LIKE_MAX

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from alama.core.catalogue import Catalogue, Field
    from alama.core.expressions import Expression
    from alama.core.lending.jurisdiction import Jurisdiction, Sourced
    from alama.core.lending.policy import Policy
    from alama.core.lending.policy_check import Fault

_NAMED_MAX: Final = 40


def doubts_about(
    policy: Policy, catalogue: Catalogue, packs: Sequence[Jurisdiction]
) -> Iterator[Fault]:
    """Yield what deserves a second look in a sound policy; `packs` are all that are known."""
    yield from _unit_doubts(policy)
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


# ------------------------------------------------------------------------ units


def _unit_doubts(policy: Policy) -> Iterator[Fault]:
    """Doubt rates that look like shares."""
    for name in ("funding", "margin"):
        rate = getattr(policy.pricing, name)
        if 0.0 < rate < 1.0:
            yield ("pricing", name), _as_percent(rate)
    if policy.caps.apr_max <= SHARE_LIKE_MAX:
        yield ("caps", "apr_max"), _as_percent(policy.caps.apr_max)


def _as_percent(rate: float) -> str:
    return f"is {rate:g} percent a year: did you mean {100 * rate:g}?"


# ------------------------------------------------------------------------ rules


def _rule_doubts(policy: Policy, catalogue: Catalogue) -> Iterator[Fault]:
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


# ------------------------------------------------------------------------ law


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
    most = pack.charges_max
    if most and (caps.charges_max is None or caps.charges_max > most.value):
        yield ("caps", "charges_max"), _beyond(caps.charges_max, most, pack)
    share = pack.inflow_share_max
    for place, tier in enumerate(policy.tiers):
        if share and tier.inflow_share > share.value:
            yield ("tiers", place, "inflow_share"), _beyond(tier.inflow_share, share, pack)


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


def _cited(figure: Sourced[float] | Sourced[int] | Sourced[tuple[str, ...]]) -> str:
    return f"{figure.rule} [{figure.source}; {figure.dated}; check with counsel]"
