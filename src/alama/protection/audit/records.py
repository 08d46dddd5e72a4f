"""What a verification reads, as the tables have it.

There may be as many reviews as a tenth of all scores. So they are read past what the acts said, and
of each act no more is remembered than that takes.
"""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from alama.platform import acts, ids
from alama.protection import retention

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alama.platform.acts import Act
    from alama.vault.ring import ApplicantKey


class DocumentKind(StrEnum):
    """What a document is, and where it is kept."""

    MODEL = "model"
    POLICY = "policy"
    CANDIDATE = "candidate"


class StoredDocument(NamedTuple):
    """A document; `name` is what its row is known by, `id` the hash that it must have."""

    kind: DocumentKind
    name: str
    id: str
    content: bytes


class HistoryFile(NamedTuple):
    """A file that is kept; `digest` is the hash that the act and its row have of it."""

    id: str
    lender: str
    digest: str
    part_count: int


Books = dict[tuple[str, str], dict[str, "ReviewSaid"]]


class ReviewColumns(NamedTuple):
    """What an act says of a review, and the table must. Somebody may have put anything there."""

    decision: object
    given_decision: object
    reviewed_us: object
    key_id: object
    person: object


class ReviewSaid(NamedTuple):
    """The same, and the digest of the reason and the note."""

    columns: ReviewColumns
    digest: object


class ReviewRow(NamedTuple):
    """A review as it stands in the table, its note sealed.

    `strange` names the columns in which it is not what its score is; none where that is gone.
    """

    lender: str
    mode: str
    request_id: str
    columns: ReviewColumns
    reason: str
    strange: tuple[str, ...]
    note: bytes
    seal_key_id: str | None
    applicant: ApplicantKey | None


class ReviewsTold:
    """Follows the acts, one after another."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._said: Books = {}

    def take(self, act: Act) -> None:
        """Note a review."""
        said = [act.details.get(name) for name in ReviewColumns._fields[:-1]]
        columns = ReviewColumns._make(map(_shared, (*said, act.by)))
        self._book(act)[str(act.subject)] = ReviewSaid(columns, act.details.get(acts.DIGEST))

    def forget(self, run: Act) -> None:
        """Leave out the reviews of scores that a retention run has deleted."""
        book = self._book(run)
        for raw in retention.deleted_in(run) if book else ():
            book.pop(ids.PREFIX + raw.hex(), None)

    def pop(self, row: ReviewRow) -> ReviewSaid | None:
        """Give what was said of a review, and forget it; None: no act speaks of it."""
        return self._said.get((row.lender, row.mode), {}).pop(row.request_id, None)

    def left(self) -> Iterator[str]:
        """Give the ids of scores whose reviews were asked for by nobody."""
        for book in self._said.values():
            yield from book

    def _book(self, act: Act) -> dict[str, ReviewSaid]:
        return self._said.setdefault((str(act.lender), str(act.mode)), {})


def _shared(value: object) -> object:
    """Give the same text each time: there are few decisions, people and keys."""
    return sys.intern(value) if isinstance(value, str) else value
