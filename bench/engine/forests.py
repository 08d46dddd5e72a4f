"""Rows as a boosted forest reads them: one matrix, words as numbers, NaN where missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from alama.core.kernel import Words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from alama.training.dataset import Dataset

    Floats = NDArray[np.float64]


class Encoder:
    """Numbers the words of one dataset, so that another can be read the same way."""

    def __init__(self, data: Dataset) -> None:
        self.names = tuple(data.columns)
        self.codes = {
            name: {word: code for code, word in enumerate(column.vocabulary)}
            for name, column in data.columns.items()
            if isinstance(column, Words)
        }

    @property
    def word_places(self) -> list[int]:
        """Give the places of the columns of words."""
        return [place for place, name in enumerate(self.names) if name in self.codes]

    def matrix(self, data: Dataset) -> Floats:
        """Give rows x fields; a word the encoder does not know is missing."""
        matrix = np.empty((len(data), len(self.names)))
        for place, name in enumerate(self.names):
            column = data.columns[name]
            if isinstance(column, Words):
                known = self.codes[name]
                by_code = [*(known.get(word, np.nan) for word in column.vocabulary), np.nan]
                matrix[:, place] = np.array(by_code)[column.codes]
            else:
                matrix[:, place] = column
        return matrix
