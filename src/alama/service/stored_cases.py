"""The applications that were scored, to be decided once more by another policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.core.application import may_have_been_word
from alama.core.errors import InvalidApplication
from alama.core.intake import Intake
from alama.core.lending.simulation import Case
from alama.service.errors import Erased
from alama.service.opening import open_score

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alama.core.catalogue import Catalogue
    from alama.service.book import Book
    from alama.service.ports import Scores
    from alama.service.records import StoredScore
    from alama.service.vault.vault import Vault

PAGE: Final = 2_000
"""Applications that are fetched at a time, some 6 MB."""


class StoredCases:
    """The applications of one book, the newest first, known by their request ids.

    How many there are is not known beforehand. `unfit` counts those of the latest reading that the
    catalogue does not know how to read: an earlier model may have asked for other fields. `erased`
    counts those that nobody can read any more.
    """

    total = None

    def __init__(self, scores: Scores, vault: Vault, book: Book, catalogue: Catalogue) -> None:
        """Take the catalogue of the model that will score them."""
        self._scores = scores
        self._vault = vault
        self._book = book
        self._intake = Intake(catalogue, may_have_been_word)
        self.unfit = 0
        self.erased = 0

    def first(self, count: int) -> Iterator[Case]:
        """Read the newest so many, or all there are."""
        self.unfit = self.erased = 0
        before: str | None = None
        while count > 0:
            page = self._scores.applications(self._book, before, min(count, PAGE))
            for stored in page:
                case = self._case(stored)
                if case is not None:
                    yield case
            if len(page) < min(count, PAGE):
                return
            count -= len(page)
            before = page[-1].row.request_id

    def remarks(self) -> list[str]:
        """Say what the latest reading has left out."""
        left_out = (
            (self.unfit, "that this model cannot read were left out"),
            (self.erased, "that were erased are not among them"),
        )
        return [f"{count:,} {what}" for count, what in left_out if count]

    def _case(self, stored: StoredScore) -> Case | None:
        try:
            sent = open_score(self._vault, stored).application
            return Case(stored.row.request_id, self._intake.read(sent))
        except InvalidApplication:
            self.unfit += 1
        except Erased:
            self.erased += 1
        return None
