"""How often a model met each band and gave each score: counts, no record of anyone.

Records are sealed, and gone once their applicant is erased. What a lender has to watch for years,
whether applicants and scores drift, is counted while an assessment is at hand.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import msgspec

from alama.core.calibration import SCORE_MIN
from alama.core.tables import MISSING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from alama.core.assess import Assessment


SCORE_STEP: Final = 5
"""Points that are counted together. The edges of a model's reference (every 25 points) and the
usual cut-offs of a policy fall between two steps, so what lies above and below can be told."""


PEOPLE_MIN: Final = 20
"""Scores below which bands could tell what single applicants said."""


class Seen(msgspec.Struct, frozen=True, gc=False):
    """What is counted of one assessment; a fraction of its size, for it waits to be counted."""

    card: str
    slots: tuple[int, ...]
    score: int
    tier: str
    decision: str


def seen(said: Assessment, assumed: Sequence[int] = ()) -> Seen:
    """Give what is counted of an assessment, one that tells into which bands its values fell.

    `assumed` are the places, in its card, of what nobody said (see `asked.assumed`). It is counted
    as missing, which it was in training: else a lender whose applicants name no loan would seem to
    have drifted.
    """
    slots = said.slots
    assert slots
    if assumed:
        changed = list(slots)
        for at in assumed:
            changed[at] = MISSING
        slots = tuple(changed)
    # `value` is slow on Python 3.11.
    return Seen(said.card, slots, said.score, said.tier, said.decision._value_)


class CardTally(msgspec.Struct, array_like=True):
    """What one scorecard has met and given. Not frozen: it is counted in place.

    `bands` has a list for each feature of the card, in its order, with the count of each slot. It
    may be of fewer scores than the rest: see `drop_small`.
    `steps` counts the scores from `SCORE_MIN` on, by `SCORE_STEP`. These lists end with the last
    place that was ever counted, so that equal counts are equal tallies.
    """

    bands: list[list[int]] = msgspec.field(default_factory=list)
    steps: list[int] = msgspec.field(default_factory=list)
    tiers: dict[str, int] = msgspec.field(default_factory=dict)
    decisions: dict[str, int] = msgspec.field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many scores it gave."""
        return sum(self.steps)

    def add(self, said: Seen) -> None:
        """Count one assessment by this card."""
        bands = self.bands
        if len(bands) != len(said.slots):
            assert not bands
            bands = self.bands = [[] for _ in said.slots]
        for counts, slot in zip(bands, said.slots, strict=False):  # they are equal; it is faster
            try:
                counts[slot] += 1
            except IndexError:
                _grow(counts, slot + 1)
                counts[slot] = 1
        step = (said.score - SCORE_MIN) // SCORE_STEP
        try:
            self.steps[step] += 1
        except IndexError:
            _grow(self.steps, step + 1)
            self.steps[step] = 1
        tier, decision = said.tier, said.decision
        self.tiers[tier] = self.tiers.get(tier, 0) + 1
        self.decisions[decision] = self.decisions.get(decision, 0) + 1

    def merge(self, other: CardTally) -> None:
        """Add the counts of another tally of the same card."""
        if other.bands:
            self.bands = self.bands or [[] for _ in other.bands]
            for mine, others in zip(self.bands, other.bands, strict=True):
                _add_all(mine, others)
        _add_all(self.steps, other.steps)
        for mine_named, others_named in (
            (self.tiers, other.tiers),
            (self.decisions, other.decisions),
        ):
            for name, count in others_named.items():
                mine_named[name] = mine_named.get(name, 0) + count


class Tally(msgspec.Struct, array_like=True):
    """What one model has met and given, by the name of the scorecard that answered."""

    cards: dict[str, CardTally] = msgspec.field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many scores it gave."""
        return sum(card.count for card in self.cards.values())

    @property
    def steps(self) -> Sequence[int]:
        """The scores of all cards, as `CardTally` counts them."""
        total: list[int] = []
        for card in self.cards.values():
            _add_all(total, card.steps)
        return total

    @property
    def tiers(self) -> Mapping[str, int]:
        """The tiers of all cards."""
        return sum((Counter(card.tiers) for card in self.cards.values()), Counter())

    @property
    def decisions(self) -> Mapping[str, int]:
        """The decisions on the scores of all cards."""
        return sum((Counter(card.decisions) for card in self.cards.values()), Counter())

    def add(self, said: Seen) -> None:
        """Count one assessment by this model."""
        card = self.cards.get(said.card)
        if card is None:
            card = self.cards[said.card] = CardTally()
        card.add(said)

    def merge(self, other: Tally) -> None:
        """Add the counts of another tally of the same model."""
        for name, card in other.cards.items():
            self.cards.setdefault(name, CardTally()).merge(card)

    def drop_small(self) -> None:
        """Forget the bands of cards that gave fewer than `PEOPLE_MIN` scores.

        The bands of a single score are what one applicant said, field by field. How often each
        score, tier and decision was given stays: no more than each score in clear says.
        """
        for card in self.cards.values():
            if card.count < PEOPLE_MIN:
                card.bands = []


encode: Final = msgspec.msgpack.Encoder().encode
decode: Final = msgspec.msgpack.Decoder(Tally).decode


def _add_all(mine: list[int], others: Sequence[int]) -> None:
    _grow(mine, len(others))
    for place, count in enumerate(others):
        mine[place] += count


def _grow(counts: list[int], length: int) -> None:
    """Append noughts up to a length."""
    if len(counts) < length:
        counts.extend([0] * (length - len(counts)))
