"""What whoever signs a candidate should have an answer to. Gates block; these ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.platform.pages import numbers
from alama.training.validation.tiers import Light, LoanRate, TierRate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alama.training.validation.metrics import Interval
    from alama.training.validation.pack import Pack


PSI_WATCH: Final = 0.1
_ASKING: Final = frozenset({Light.AMBER, Light.RED})


def open_questions(pack: Pack) -> tuple[str, ...]:
    """Give them in sentences, the weightiest first; none where nothing stands out."""
    return (*_behind(pack), *_lights(pack), *_groups(pack), *_moved(pack), *_stale(pack))


def _behind(pack: Pack) -> Iterator[str]:
    """Name the models that rank better than the candidate, more than chance explains."""
    if pack.current is not None and pack.current.behind:
        yield (
            "The model in use ranks these loans better than the candidate, more than chance "
            f"explains: the candidate's lead in AUC is "
            f"{_lead(pack.current.ahead, pack.current.ahead_interval)}. Why change?"
        )
    for peer in pack.validation.cards[-1].peers:
        if peer.ahead_interval.high < 0.0:
            yield (
                f"A {peer.name} on the same fields ranks these loans better, more than chance "
                f"explains: the candidate's lead in AUC is "
                f"{_lead(peer.ahead, peer.ahead_interval)}."
            )


def _lead(ahead: float, interval: Interval) -> str:
    low, high = (numbers.signed(end, 3) for end in (interval.low, interval.high))
    return f"{numbers.signed(ahead, 3)} ({numbers.between(low, high)})"


def _lights(pack: Pack) -> Iterator[str]:
    """Name what was predicted too far from what happened."""
    rates: list[tuple[str, LoanRate | TierRate]] = [
        ("The whole out-of-time part", pack.overall),
        *((f"Tier {tier.name}", tier) for tier in pack.tiers),
    ]
    for name, rate in rates:
        if rate.light in _ASKING:
            yield (
                f"{name} is {rate.light.value}: {numbers.percent(rate.predicted)} was predicted "
                f"and {numbers.percent(rate.observed)} defaulted."
            )
    for attribute in pack.fairness:
        for group in attribute.groups:
            if group.light in _ASKING:
                yield (
                    f"{attribute.name} \u201c{group.name}\u201d is {group.light.value}: "
                    f"{numbers.percent(group.predicted)} was predicted and "
                    f"{numbers.percent(group.observed)} defaulted."
                )


def _groups(pack: Pack) -> Iterator[str]:
    for attribute in pack.fairness:
        if attribute.below_four_fifths:
            yield (
                f"{attribute.name}: {', '.join(attribute.below_four_fifths)} are approved less "
                "than four fifths as often as the group approved most often. What explains it?"
            )


def _moved(pack: Pack) -> Iterator[str]:
    """Name the fields that moved between the loans learned from and those judged by."""
    moved: dict[str, float] = {}
    for card in pack.validation.cards:
        for shift in card.stability.features:
            moved[shift.field] = max(shift.psi, moved.get(shift.field, 0.0))
    named = [
        f"{field} ({numbers.fixed(psi, 2)})"
        for field, psi in sorted(moved.items(), key=lambda one: -one[1])
        if psi > PSI_WATCH
    ]
    if named:
        yield (
            "These fields moved between the loans learned from and those judged by (PSI above "
            f"{PSI_WATCH:g}): {', '.join(named)}. Will they go on? Terms move by themselves: the "
            "outcomes of the last months are those of short loans."
        )


def _stale(pack: Pack) -> Iterator[str]:
    if pack.history.stale:
        yield f"{pack.history.books_age}. Do people still borrow and repay as then?"
