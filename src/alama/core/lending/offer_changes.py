"""What becomes of the offers of those whose decision stays, counted and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from alama.core.lending.simulation import Switch

DECISION: Final = "decision"
LIMIT: Final = "limit"
TERM: Final = "term"
PRICE: Final = "price"


class OfferChanges(NamedTuple):
    """How many are offered something else; one offer can change in several ways."""

    changed: int
    lower: int
    higher: int
    shorter: int
    longer: int
    cheaper: int
    dearer: int


def offer_changes(reoffered: Iterable[Switch]) -> OfferChanges:
    """Count in which way offers change; dearer is a higher APR, whatever the term."""
    found = [0] * len(OfferChanges._fields)
    for _, old, new in reoffered:
        found[0] += 1
        for place, was, would in (
            (1, old.limit, new.limit),
            (3, old.term_days, new.term_days),
            (5, old.apr, new.apr),
        ):
            if would != was:
                found[place + (would > was)] += 1
    return OfferChanges._make(found)


def told(changes: OfferChanges, count: Callable[[int], str]) -> str:
    """Say in which ways offers change: "12 with a lower limit, 3 dearer"."""
    phrases = (
        (changes.lower, "with a lower limit"),
        (changes.higher, "with a higher limit"),
        (changes.shorter, "for a shorter term"),
        (changes.longer, "for a longer term"),
        (changes.dearer, "dearer"),
        (changes.cheaper, "cheaper"),
    )
    return ", ".join(f"{count(number)} {phrase}" for number, phrase in phrases if number)


def what_changes(switch: Switch) -> tuple[str, ...]:
    """Name what the two policies say differently on one application: decision, limit, term, price.

    An offer that is withdrawn or made anew has no term or price to compare with.
    """
    old, new = switch.old, switch.new
    found = [DECISION] if old.decision is not new.decision else []
    if old.limit != new.limit:
        found.append(LIMIT)
    if old.offer and new.offer:
        found += [TERM] if old.term_days != new.term_days else []
        found += [PRICE] if old.apr != new.apr else []
    return tuple(found)
