"""What officers decided, held against the acts that say so, both ways, and against the scores.

There may be as many reviews as a tenth of all scores. So they are read past what the acts said, and
of each act no more is remembered than that takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from alama.monitoring.reviews import open_noted
from alama.platform.book import Book, Mode
from alama.platform.errors import StoreUnfit
from alama.protection.audit.findings import Finding, Trouble
from alama.protection.audit.records import ReviewColumns, ReviewRow, ReviewsTold

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alama.protection.audit.checks import LenderKeys
    from alama.protection.audit.store import Moment
    from alama.vault.vault import Vault


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
