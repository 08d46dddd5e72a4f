"""Reviews: an officer decides where the service left it to a person, or otherwise than it did.

The first review of a score stands. Two who decide at once would else undo each other unseen, and
what an officer has lent on could be rewritten later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from alama.core.characters import visible_lines
from alama.service.errors import AlreadyReviewed, InvalidName
from alama.service.onboarding.words import require_person
from alama.service.outcomes.notes import open_note
from alama.service.outcomes.records import RULINGS, Sequel

if TYPE_CHECKING:
    from alama.service.book import Book
    from alama.service.outcomes.records import Judgement, Review, StoredReview, StoredSequel
    from alama.service.ports import Clock
    from alama.service.vault.vault import Vault

NOTE_MAX: Final = 500
"""Letters of an officer's own words."""


class Kept(NamedTuple):
    """The review of a score that stands, and whether it was kept just now."""

    stored: StoredReview
    is_new: bool


class Reviewed(NamedTuple):
    """The same, with the note in clear."""

    review: Review
    is_new: bool


class ReviewStore(Protocol):
    """Where reviews are kept. Every method may raise `StoreUnavailable`."""

    def keep(
        self, book: Book, request_id: str, said: Judgement, key_id: str | None, at_us: int
    ) -> Kept:
        """Keep the first review of a score, announce it and note it in the audit, all or nothing.

        Where the score has one already, that is given and nothing is done. `UnknownScore`; `Erased`
        with what remains of the score. `key_id` is the API key that it came with, if one did.
        """
        ...

    def sequel(self, book: Book, request_id: str) -> StoredSequel:
        """What became of a score; of one that is not there, nothing."""
        ...


class Reviews:
    """What officers decide, and what became of scores."""

    def __init__(self, store: ReviewStore, vault: Vault, clock: Clock) -> None:
        """Use a store, and the vault that opens what officers noted."""
        self._store = store
        self._vault = vault
        self._clock = clock

    def review(
        self, book: Book, request_id: str, said: Judgement, key_id: str | None = None
    ) -> Reviewed:
        """Keep what an officer decided. The same said again gives what was kept the first time.

        `AlreadyReviewed` where something else was said before; `UnknownScore`; `Erased`, for nobody
        can look any more at what would be decided on; `InvalidName` where the name or the note
        cannot be one.
        """
        assert said.decision in RULINGS
        note = require_note(said.note)
        said = said._replace(person=require_person(said.person), note=note)
        kept = self._store.keep(book, request_id, said, key_id, self._clock())
        review = open_note(self._vault, kept.stored)
        if review.judgement != said:
            raise AlreadyReviewed(review.reviewed_us)
        return Reviewed(review, kept.is_new)

    def sequel(self, book: Book, request_id: str) -> Sequel:
        """Give what became of a score, as far as it is known; `Erased` as in `open_note`."""
        return opened(self._vault, self._store.sequel(book, request_id))


def opened(vault: Vault, stored: StoredSequel) -> Sequel:
    """Give what became of a score with the note in clear."""
    review = None if stored.review is None else open_note(vault, stored.review)
    return Sequel(review, stored.outcome)


def require_note(note: str) -> str:
    """Give a note without the space around it, or raise `InvalidName`."""
    if not is_note(note):
        raise InvalidName(
            f"a note has at most {NOTE_MAX} characters, and none that steers a terminal",
            hint="say what decided it; what is longer belongs into the file of the loan",
        )
    return note.strip()


def is_note(text: str) -> bool:
    """Say whether a text may be a note: lines of plain text, or nothing at all."""
    try:
        text.encode()
    except UnicodeEncodeError:  # a terminal can hand over what is no text
        return False
    return len(text) <= NOTE_MAX and visible_lines(text) == text
