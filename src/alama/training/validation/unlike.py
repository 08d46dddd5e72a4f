"""Whether the model knows its own kind: how many hold-out rows it calls unlike its training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from alama.core.kernel import BatchScorecard
from alama.core.likeness import ReadyLikeness
from alama.core.tables import MISSING
from alama.training.making.likeness import strangeness_of_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from alama.core.model import Model
    from alama.training.dataset import Dataset

    Places = NDArray[np.intp]

SHOWN_SHARES: Final = (0.01, 0.001, 0.0001)


class UnlikeShare(msgspec.Struct, frozen=True):
    """Rows called unlike training where `asked` of the training rows are, as shares.

    `holdout` is of rows as they are, `shuffled` of the same with every field dealt out anew: each
    value is an ordinary one, and together they are nobody's.
    """

    asked: float
    holdout: float
    shuffled: float


def unlike_shares(
    model: Model, holdout: Dataset, chosen: Places, *, seed: int
) -> tuple[UnlikeShare, ...]:
    """Measure the model as served, `chosen` being the card of each row; nothing without likeness.

    A card without a likeness calls nothing unlike.
    """
    if not model.likeness:
        return ()
    rng = np.random.default_rng([seed, 5])
    called = np.zeros((len(SHOWN_SHARES), 2))
    known = {likeness.card: likeness for likeness in model.likeness}
    for place, card in enumerate(model.cards):
        rows = np.flatnonzero(chosen == place)
        if not len(rows) or card.name not in known:
            continue
        slots = BatchScorecard(card, model.catalogue).slots(holdout.take(rows).columns)
        ready = ReadyLikeness(known[card.name])
        as_they_are = strangeness_of_rows(ready.likeness, slots)
        shuffled = strangeness_of_rows(ready.likeness, dealt_anew(slots, rng))
        for number, asked in enumerate(SHOWN_SHARES):
            beyond = (as_they_are > ready.limit(asked), shuffled > ready.limit(asked))
            called[number] += np.count_nonzero(beyond, axis=1)
    return tuple(
        UnlikeShare(asked, *shares)
        for asked, shares in zip(SHOWN_SHARES, (called / len(holdout)).tolist(), strict=True)
    )


def dealt_anew(slots: Sequence[Places], rng: np.random.Generator) -> list[Places]:
    """Shuffle each field among the rows that give it: the same values, no longer together."""
    shuffled = []
    for slot in slots:
        given = np.flatnonzero(slot != MISSING)
        dealt = slot.copy()
        dealt[given] = slot[rng.permutation(given)]
        shuffled.append(dealt)
    return shuffled
