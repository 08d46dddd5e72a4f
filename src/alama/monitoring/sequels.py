"""What became of scores, read together: what officers decided, and how the loans went.

Beside them what other models would have said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from sqlalchemy import select

from alama.core.monitoring.news import State
from alama.monitoring import schema
from alama.platform.database import tables
from alama.platform.database.books import in_book
from alama.platform.errors import StoreUnfit
from alama.scoring.sequels import (
    Outcome,
    Review,
    ReviewReason,
    Shadowed,
    StoredReview,
    StoredSequel,
)
from alama.vault import schema as vault_schema
from alama.vault.ring import ApplicantKey

if TYPE_CHECKING:
    from collections.abc import Sequence
    from enum import StrEnum

    from sqlalchemy import Connection, Row

    from alama.platform.book import Book


W = TypeVar("W", bound="StrEnum")

_AT_ONCE: Final = 1_000
"""Scores that one statement asks for: SQLite counts its parameters."""

_IN_CLEAR: Final = [name for name in Review._fields if name != "note"]
_REVIEW: Final = [
    tables.reviews.c[name] for name in (*_IN_CLEAR, "note", "seal_key_id", "applicant_key_id")
]
_KEY: Final = [vault_schema.applicant_keys.c[name] for name in ApplicantKey._fields]
_OUTCOME: Final = [schema.outcomes.c[name] for name in Outcome._fields]
_SHADOW: Final = [schema.shadow_scores.c[name] for name in Shadowed._fields]


def sequels_of(
    connection: Connection, book: Book, request_ids: Sequence[str]
) -> dict[str, StoredSequel]:
    """Give what became of each of some scores of a book, by their ids."""
    reviews: dict[str, StoredReview] = {}
    outcomes: dict[str, Outcome] = {}
    for first in range(0, len(request_ids), _AT_ONCE):
        some = request_ids[first : first + _AT_ONCE]
        reviews |= reviews_of(connection, book, some)
        outcomes |= outcomes_of(connection, book, some)
    return {one: StoredSequel(reviews.get(one), outcomes.get(one)) for one in request_ids}


def reviews_of(
    connection: Connection, book: Book, request_ids: Sequence[str]
) -> dict[str, StoredReview]:
    """Give the reviews of some scores of a book with the keys of their applicants."""
    table, keys = tables.reviews, vault_schema.applicant_keys
    query = (
        select(*_REVIEW, *_KEY)
        .select_from(table.outerjoin(keys, keys.c.id == table.c.applicant_key_id))
        .where(in_book(table, book), table.c.request_id.in_(request_ids))
    )
    stored = (_stored(book, row) for row in connection.execute(query))
    return {one.review.request_id: one for one in stored}


def _stored(book: Book, row: Row[Any]) -> StoredReview:
    said = dict(zip(_IN_CLEAR, row, strict=False))
    said["reason"] = _word(ReviewReason, said["reason"], f"review of {said['request_id']}")
    note, seal_key_id, applicant_key_id, *key = row[len(_IN_CLEAR) :]
    applicant = None
    if applicant_key_id is not None:
        # Where its row is not there nothing opens the note, and that is to be said of it.
        gone = ApplicantKey(applicant_key_id, "", None, None)
        applicant = gone if key[0] is None else ApplicantKey._make(key)
    return StoredReview(book, Review(**said, note=""), note, seal_key_id, applicant)


def outcomes_of(
    connection: Connection, book: Book, request_ids: Sequence[str]
) -> dict[str, Outcome]:
    """Give what is known of the loans of some scores of a book."""
    table = schema.outcomes
    query = select(*_OUTCOME).where(in_book(table, book), table.c.request_id.in_(request_ids))
    rows = (Outcome._make(row) for row in connection.execute(query))
    return {
        row.request_id: row._replace(state=_word(State, row.state, f"outcome of {row.request_id}"))
        for row in rows
    }


def shadows_of(
    connection: Connection, book: Book, request_ids: Sequence[str]
) -> dict[str, list[Shadowed]]:
    """Give what other models would have said to some scores of a book, where any was asked."""
    table, challengers = schema.shadow_scores, schema.challengers
    # Their key has the model before the score: without it the whole book would be read.
    asked = select(challengers.c.model_id).where(in_book(challengers, book))
    found: dict[str, list[Shadowed]] = {}
    for first in range(0, len(request_ids), _AT_ONCE):
        query = (
            select(table.c.request_id, *_SHADOW)
            .where(
                in_book(table, book),
                table.c.model_id.in_(asked),
                table.c.request_id.in_(request_ids[first : first + _AT_ONCE]),
            )
            .order_by(table.c.request_id, table.c.model_id)
        )
        for request_id, *said in connection.execute(query):
            found.setdefault(request_id, []).append(Shadowed(*said))
    return found


def _word(words: type[W], word: str, of: str) -> W:
    """Read a word of a list that may have been changed past us."""
    try:
        return words(word)
    except ValueError:
        raise StoreUnfit(
            f"the {of} is damaged: there is no such {words.__name__}",
            hint="restore its row from a backup",
        ) from None
