"""Two decisions as DiCE sees them: a function from rows to the probability of being approved.

Approved is what has a probability of a half or more, as DiCE has it; how far a row is from there is
told in log-odds of default.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from alama.core.calibration import POINTS_PER_LOG_ODDS
from alama.core.kernel import BatchScorecard, Words
from alama.core.model import money_factor
from alama.core.recourse.answer import APPROVAL, score_needed

if TYPE_CHECKING:
    from collections.abc import Sequence

    import lightgbm
    from numpy.typing import NDArray

    from alama.core.lending.ready_policy import ReadyPolicy
    from bench.engine.forests import Encoder

    Floats = NDArray[np.float64]

_ROUNDING: Final = 0.5
"""Points that rounding a score may add."""


class Surface(ABC):
    """What scikit-learn calls a classifier; a subclass says how far rows are from approval."""

    names: Sequence[str]

    @abstractmethod
    def margins(self, frame: pd.DataFrame) -> Floats:
        """Give by how many log-odds of default each row is approved; negative where it is not."""

    def predict_proba(self, frame: pd.DataFrame) -> Floats:
        approved = 1.0 / (1.0 + np.exp(-self.margins(frame)))
        return np.column_stack([1.0 - approved, approved])

    def predict(self, frame: pd.DataFrame) -> NDArray[np.intp]:
        return (self.margins(frame) >= 0.0).astype(np.intp)

    def approves(self, rows: Sequence[dict[str, Any]]) -> list[bool]:
        frame = pd.DataFrame(rows, columns=list(self.names))
        approved: list[bool] = (self.margins(frame) >= 0.0).tolist()
        return approved


class Forest(Surface):
    """A boosted forest and a cut-off."""

    def __init__(self, booster: lightgbm.Booster, encoder: Encoder, cut_log_odds: float) -> None:
        self.booster = booster
        self.names = encoder.names
        self._codes = encoder.codes
        self._cut_log_odds = cut_log_odds

    @classmethod
    def approving(
        cls,
        booster: lightgbm.Booster,
        encoder: Encoder,
        rows: Sequence[dict[str, Any]],
        share: float,
    ) -> Forest:
        """Give the forest with the cut-off that approves this share of some rows."""
        margins = cls(booster, encoder, 0.0).margins(pd.DataFrame(rows))
        return cls(booster, encoder, float(np.quantile(-margins, share)))

    def matrix(self, frame: pd.DataFrame) -> Floats:
        matrix = np.empty((len(frame), len(self.names)))
        for place, name in enumerate(self.names):
            if (codes := self._codes.get(name)) is not None:
                matrix[:, place] = [codes.get(word, np.nan) for word in frame[name]]
            else:
                matrix[:, place] = frame[name].to_numpy(dtype=np.float64)
        return matrix

    def margins(self, frame: pd.DataFrame) -> Floats:
        raw = self.booster.predict(self.matrix(frame), raw_score=True)
        return self._cut_log_odds - np.asarray(raw)


class Card(Surface):
    """Our own full card and the score that an approval needs, by the kernel.

    Rules and affordability are left out: they are no function that DiCE could walk along.
    """

    def __init__(self, policy: ReadyPolicy, names: Sequence[str]) -> None:
        model = policy.model
        factor = money_factor(model.model, model.currency)
        self.names = names
        self._card = BatchScorecard(model.model.cards[-1], model.catalogue, factor)
        self._numeric = {field.name for field in model.catalogue.fields if field.numeric}
        self._points_min = score_needed(APPROVAL, policy.policy) - _ROUNDING

    def margins(self, frame: pd.DataFrame) -> Floats:
        columns = {
            name: frame[name].to_numpy(dtype=np.float64)
            if name in self._numeric
            else _words(frame[name])
            for name in self.names
        }
        return (self._card.score(columns).points - self._points_min) / POINTS_PER_LOG_ODDS


def _words(column: pd.Series) -> Words:
    codes, vocabulary = pd.factorize(column.astype(object))
    return Words(codes.astype(np.int32), [str(word) for word in vocabulary])
