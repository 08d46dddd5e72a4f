"""Reviews in a database: sealed, announced and noted in the transaction that keeps them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from sqlalchemy import select

from alama.api.render import listed
from alama.core.digest import SALT_BYTES
from alama.service.audit.review_acts import score_reviewed
from alama.service.errors import Erased, UnknownScore
from alama.service.outcomes.notes import Noted
from alama.service.outcomes.reviewing import Kept
from alama.service.vault import envelope
from alama.service.webhooks.events import EventKind
from alama.storage import schema
from alama.storage.deploying import in_book, of_book
from alama.storage.event_rows import announce
from alama.storage.lender_keys import LenderKeys
from alama.storage.scores import stored_score, whole_scores
from alama.storage.sealed_texts import Resealed
from alama.storage.sequels import reviews_of, sequels_of
from alama.storage.upserts import insert_new

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection

    from alama.service.book import Book
    from alama.service.outcomes.records import Judgement, StoredReview, StoredSequel
    from alama.service.records import ScoreRow, StoredScore
    from alama.service.vault.vault import Vault
    from alama.storage.acts import ActLog
    from alama.storage.database import Database

_SAID: Final = ("model_id", "score", "tier", "default_probability")
"""Columns of a score that its review repeats under the same names."""


class SqlReviews:
    """The reviews in a database; see `alama.service.outcomes.reviewing.ReviewStore`."""

    def __init__(self, database: Database, log: ActLog, vault: Vault) -> None:
        """Use an open database and the keys of its lenders; every review is written down."""
        self._database = database
        self._log = log
        self._vault = vault
        self._lender_keys = LenderKeys(database, vault)

    def keep(
        self, book: Book, request_id: str, said: Judgement, key_id: str | None, at_us: int
    ) -> Kept:
        self._vault.ring(book.lender)  # may make keys: not within a transaction
        with self._database.writing() as connection:
            score = _held(connection, book, request_id)
            stands = reviews_of(connection, book, [request_id]).get(request_id)
            if stands is not None:
                return Kept(stands, is_new=False)
            noted = Noted(os.urandom(SALT_BYTES), said.note)
            sealed = self._sealed(connection, score, noted.packed)
            came = {"key_id": key_id, "reviewed_us": at_us}
            values = _columns(score.row, said, sealed) | came
            is_new = insert_new(connection, schema.reviews, values)
            # Unless it is ours, another process was quicker just now.
            kept = reviews_of(connection, book, [request_id])[request_id]
            if is_new:
                _announce(connection, kept, score.row)
                digest = noted.digest(said.reason.value)
                self._log.append(connection, score_reviewed(book, kept.review, digest))
            return Kept(kept, is_new)

    def sequel(self, book: Book, request_id: str) -> StoredSequel:
        with self._database.reading() as connection:
            return sequels_of(connection, book, [request_id])[request_id]

    def _sealed(self, connection: Connection, score: StoredScore, note: bytes) -> Resealed:
        """Seal a note as the record of its score is, also where that is empty: none stands out."""
        row = score.row
        where = envelope.place_in(row.book, row.request_id, envelope.REVIEW)
        if score.applicant is not None:
            data_key = self._vault.data_key(row.lender, row.mode, score.applicant)
            return Resealed(envelope.seal(data_key, note, where), None, score.applicant.id)
        ring = self._lender_keys.ring(connection.connection.cursor(), row.lender)
        return Resealed(ring.own_key(where).seal(note, where), ring.seal_key_id, None)


def _columns(row: ScoreRow, said: Judgement, note: Resealed) -> dict[str, object]:
    """Give a review of a score as its table has it, but for when and with which key it came."""
    return {
        **of_book(row.book),
        "request_id": row.request_id,
        "decision": said.decision,
        "reason": said.reason.value,
        "person": said.person,
        "score_us": row.created_us,
        "given_decision": row.decision,
        **{name: getattr(row, name) for name in _SAID},
        "note": note.text,
        "seal_key_id": note.seal_key_id,
        "applicant_key_id": note.applicant_key_id,
    }


def _held(connection: Connection, book: Book, request_id: str) -> StoredScore:
    """Give a score that nobody can erase or delete until the commit.

    The key of its applicant first, and then the score, as whoever deletes both does. `Erased` where
    the key is no more.
    """
    scores, keys = schema.scores, schema.applicant_keys
    this = in_book(scores, book) & (scores.c.request_id == request_id)
    key_id = connection.execute(select(scores.c.applicant_key_id).where(this)).scalar()
    _hold(connection, keys.c.id, keys.c.id == key_id)
    _hold(connection, scores.c.request_id, this)
    row = connection.execute(whole_scores().where(this)).first()
    if row is None:
        raise UnknownScore
    score = stored_score(row)
    if score.applicant is not None and score.applicant.erased_us is not None:
        raise Erased(score.applicant.erased_us, listed(score.row.summary))
    return score


def _hold(connection: Connection, column: ColumnElement[str], this: ColumnElement[bool]) -> None:
    # A rotation of the lender's key goes on meanwhile: it changes no column that names a row.
    connection.execute(select(column).where(this).with_for_update(read=True, key_share=True))


def _announce(connection: Connection, kept: StoredReview, row: ScoreRow) -> None:
    """Tell what was decided. Neither who decided nor why is for others to know."""
    review = kept.review
    data = {
        "request_id": review.request_id,
        "decision": review.decision,
        "given_decision": review.given_decision,
        "overrides": review.overrides,
        "tier": row.tier,
        "model": row.model_id,
    }
    kind = EventKind.SCORE_REVIEWED
    announce(connection, kept.book, kind, review.request_id, data, review.reviewed_us)
