"""What officers decided, held against the acts that say so, both ways, and against the scores.

There may be as many reviews as a tenth of all scores. So they are read past what the acts said, and
of each act no more is remembered than that takes.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from alama.service import ids
from alama.service.audit import acts
from alama.service.audit.findings import Finding, Trouble
from alama.service.book import Book, Mode
from alama.service.errors import StoreUnfit
from alama.service.outcomes.notes import open_noted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alama.service.audit.acts import Act
    from alama.service.audit.lender_keys import LenderKeys
    from alama.service.audit.trail import Moment
    from alama.service.records import ApplicantKey
    from alama.service.vault.vault import Vault

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
        for raw in acts.deleted_in(run) if book else ():
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


def check_reviews(
    moment: Moment, told: ReviewsTold, vault: Vault, lender_keys: LenderKeys
) -> Iterator[Finding]:
    """Check every review: it says what the act and the score do.

    Of the reason and the note that is told by their digest, as long as the note can be opened.
    """
    for row in moment.reviews():
        said = told.pop(row)
        if said is None:
            yield _finding(row.request_id, "no act says that it was made")
            continue
        yield from _differences(row.request_id, said.columns, row.columns)
        for name in row.strange:
            yield _finding(row.request_id, f"{name} is not that of its score")
        if not row.strange and _can_be_opened(row, lender_keys):
            yield from _opened(row, vault, said.digest)
    for request_id in told.left():
        yield _finding(request_id, "it was taken away")


def _can_be_opened(row: ReviewRow, lender_keys: LenderKeys) -> bool:
    key = row.applicant
    if key is not None:
        # Of a key that was erased, or is not as it was, it is told elsewhere, once.
        is_whole = key.erased_us is None and bool(key.wrapped)
        return is_whole and lender_keys.has(row.lender, key.lender_key_id)
    return row.seal_key_id is None or lender_keys.has(row.lender, row.seal_key_id)


def _opened(row: ReviewRow, vault: Vault, known: object) -> Iterator[Finding]:
    book = Book(row.lender, Mode(row.mode))  # which an act has named
    try:
        noted = open_noted(vault, book, row.request_id, row.note, row.seal_key_id, row.applicant)
    except StoreUnfit:
        yield _finding(row.request_id, "its note does not open")
    else:
        if noted.digest(row.reason) != known:
            yield _finding(row.request_id, "its reason or its note is not what was said")


def _differences(request_id: str, said: ReviewColumns, found: ReviewColumns) -> Iterator[Finding]:
    for name, was, now in zip(ReviewColumns._fields, said, found, strict=True):
        if was != now:
            yield _finding(request_id, f"{name} is {now!r}, and was set to {was!r}")


def _finding(request_id: str, what: str) -> Finding:
    return Finding(Trouble.STANDING, f"review of {request_id}", what)


def _shared(value: object) -> object:
    """Give the same text each time: there are few decisions, people and keys."""
    return sys.intern(value) if isinstance(value, str) else value
