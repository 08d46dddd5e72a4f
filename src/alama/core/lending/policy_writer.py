"""A policy as a text that explains itself: every key with what it means, ready to be changed.

`read(write(policy)) == policy`. What a policy leaves open stands there as a comment, so that
whoever opens the text sees what could be asked for.
"""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Final

from alama.core.lending.policy import Decision

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import msgspec

    from alama.core.lending.policy import Policy

_WIDTH: Final = 98
_GROUPED_FROM: Final = 10_000

_HEAD: Final = """\
A lending policy: what follows from a score. Change a figure, then

    alama policy check FILE            is it sound?
    alama policy simulate FILE ...     what would it have done?
    alama policy activate FILE ...     from the next second on

Money is in the policy's currency. A share is 0 to 1. Rates are percent a year."""

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
        "tells people why. `when` compares fields, numbers and words: < <= > >= == != in, + - * /, "
        "and or not, `is missing`, `is given`. A rule about a field that is missing does not fire."
    ),
    "affordability": "What the inflow has to carry beside the loan.",
    "sufficiency": (
        "When the data do not carry a decision, and a person has to look. Leave a line out to not "
        "look at it."
    ),
    "pricing": "What a loan has to earn. docs/policy.md has the arithmetic.",
    "caps": "What a price may be at most, fees included.",
    "daily": (
        "What may be approved in one day; after that every decision is REVIEW until the next one."
    ),
    "law": "What the place asks for beside a price.",
}

_KEYS: Final[Mapping[str, str]] = {
    "version": "yours: say what changed",
    "terms_days": "the terms on offer, shortest first; those that the model never saw are left out",
    "limit_step": "limits are whole steps",
    "affordability.existing_repayments_share": (
        "of the inflow, where an application does not say what is repaid on other loans"
    ),
    "affordability.outflow_ratio_max": "spending beyond this many times the inflow: REVIEW",
    "sufficiency.fields_min": "how many of the model's fields must be given, amount and term apart",
    "sufficiency.outside_times": "a number this many times beyond all that training saw: REVIEW",
    "sufficiency.unlike_share": "stranger than all but this share of those in training: REVIEW",
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
    "law.retention_days": "for the record: how long scores have to be kept",
    "law.notice_days": "for the record: how long before its terms change a borrower is told",
    "law.forbidden_fields": "a request that holds one of them is refused",
}

_COULD_BE: Final[Mapping[str, str]] = {
    "affordability.outflow_ratio_max": "1.5",
    "sufficiency.outside_times": "3.0",
    "sufficiency.unlike_share": "0.001",
    "caps.charges_max": "1.0",
    "daily.volume_max": "1_000_000",
    "daily.expected_loss_max": "50_000",
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
    for key in (
        "schema",
        "name",
        "version",
        "currency",
        "jurisdiction",
        "terms_days",
        "limit_step",
    ):
        yield from _key(key, key, getattr(policy, key), remarks)
    for name, meaning in _TABLES.items():
        yield ""
        yield from _comment(meaning)
        part = getattr(policy, name)
        if not isinstance(part, tuple):
            yield f"[{name}]"
            yield from _keys(name, part, remarks)
            continue
        for place, element in enumerate(part):
            if place:
                yield ""
            yield f"[[{name}]]"
            yield from _keys(name, element, remarks)
        if not part:
            yield from (f"# {line}" for line in _RULE_COULD_BE.splitlines())


def _keys(table: str, part: msgspec.Struct, remarks: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for key in part.__struct_fields__:
        yield from _key(key, f"{table}.{key}", getattr(part, key), remarks)


def _key(
    key: str, dotted: str, value: object, remarks: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    for remark in remarks.get(dotted, ()):
        yield from _comment(remark)
    meaning = f"  # {_KEYS[dotted]}" if dotted in _KEYS else ""
    if value is None:
        yield f"# {key} = {_COULD_BE[dotted]}{meaning}"
    else:
        yield f"{key} = {_written(value)}{meaning}"


def _comment(text: str) -> Iterator[str]:
    for line in textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False):
        yield f"# {line}"


def _written(value: object) -> str:
    match value:
        case Decision():
            return json.dumps(value.value)
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
