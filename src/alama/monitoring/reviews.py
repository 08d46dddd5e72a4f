"""Reviews: an officer decides where the service left it to a person, or otherwise than it did."""

from __future__ import annotations

import os
import secrets
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import select

from alama.core.application import fold, visible_lines
from alama.core.chain import SALT_BYTES, digest
from alama.core.errors import AlamaError, InvalidPolicy
from alama.core.intake import members
from alama.core.lending import policy_text
from alama.core.lending.circumstances import Segment
from alama.core.lending.ready_policy import REGION, caps_of
from alama.lenders.records import require_person
from alama.lenders.store import Registry
from alama.memory.borrower import after_review, hour_of
from alama.memory.loans import BorrowerChanges
from alama.monitoring.sequels import reviews_of, sequels_of
from alama.platform.acts import DIGEST, Act, ActKind, ActLog, Detail, act_in_book
from alama.platform.database import tables
from alama.platform.database.books import in_book, of_book
from alama.platform.database.statements import insert_new
from alama.platform.errors import Erased, InvalidName, Kind
from alama.platform.event_bundles import announce
from alama.platform.events import EventKind
from alama.policies.policies import policy_by_id, text_in_force
from alama.scoring import schema
from alama.scoring.counts import Approvals, Caps
from alama.scoring.holds import HOUR_US, Approved
from alama.scoring.records import ScoreRow, StoredScore, UnknownScore
from alama.scoring.replay import open_score
from alama.scoring.sequels import (
    APPROVED,
    DECLINED,
    RULINGS,
    Judgement,
    Review,
    Sequel,
    StoredReview,
    StoredSequel,
)
from alama.scoring.store import stored_score, whole_scores
from alama.vault import envelope
from alama.vault import schema as vault_schema
from alama.vault.sealed_texts import Resealed
from alama.vault.store import LenderKeys
from alama.vault.vault import Locked, Vault, damaged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection
    from sqlalchemy.engine.interfaces import DBAPICursor

    from alama.core.lending.policy import Policy
    from alama.lenders.installation import Installation
    from alama.memory.loans import Change
    from alama.platform.book import Book
    from alama.platform.clock import Clock
    from alama.platform.database.database import Database
    from alama.vault.ring import ApplicantKey
    from alama.vault.store import DataKey


NOTE_MAX: Final = 500
"""Letters of an officer's own words."""


class AlreadyReviewed(AlamaError):
    """Somebody has decided on a score before, and otherwise."""

    kind = Kind(HTTPStatus.CONFLICT, "already_reviewed", "Already reviewed")

    def __init__(self, reviewed_us: int) -> None:
        when = datetime.fromtimestamp(reviewed_us / 1_000_000, UTC)
        super().__init__(
            f"this score was reviewed on {when:%Y-%m-%d at %H:%M} UTC, and the first review stands",
            hint="read the score: its review says what was decided, by whom and why",
        )
        self.reviewed_us = reviewed_us


class PortfolioFull(AlamaError):
    """A cap of the portfolio that declines has no room for a loan, whoever approves it."""

    kind = Kind(HTTPStatus.CONFLICT, "portfolio_full", "Portfolio full")

    def __init__(self, caps: Sequence[str]) -> None:
        super().__init__(
            f"the policy has no room for this loan below its cap {', '.join(caps)}",
            hint="send the review again once there is room, or decline",
        )


class Kept(NamedTuple):
    """The review of a score that stands, and whether it was kept just now."""

    stored: StoredReview
    is_new: bool


class Reviewed(NamedTuple):
    """The same, with the note in clear."""

    review: Review
    is_new: bool


# ------------------------------------------------------------------------------- notes


class Noted(NamedTuple):
    """A note in clear, and the salt that it is sealed behind.

    The audit keeps a digest of the reason and the note under that salt: once nobody can open the
    note, nobody can hold a guess at either against the digest.
    """

    salt: bytes
    text: str

    @property
    def packed(self) -> bytes:
        """Both as one text, to be sealed."""
        return self.salt + self.text.encode()

    def digest(self, reason: str) -> str:
        """Give what the audit knows the reason and the note by."""
        return digest(self.salt, (reason,), self.text.encode()).hex()


def unpack(packed: bytes) -> Noted:
    """Read again what was packed; `ValueError` if it is none."""
    if len(packed) < SALT_BYTES:
        raise ValueError
    return Noted(packed[:SALT_BYTES], packed[SALT_BYTES:].decode())


def open_note(vault: Vault, stored: StoredReview) -> Review:
    """Read what an officer decided, with their own words; `Erased`, or `StoreUnfit`."""
    book, review, sealed, seal_key_id, applicant_key = stored
    noted = open_noted(vault, book, review.request_id, sealed, seal_key_id, applicant_key)
    return review._replace(note=noted.text)


def open_noted(
    vault: Vault,
    book: Book,
    request_id: str,
    sealed: bytes,
    seal_key_id: str | None,
    applicant_key: ApplicantKey | None,
) -> Noted:
    """Read the words of an officer on a score; errors as in `open_note`."""
    locked = Locked(book, request_id, envelope.REVIEW, sealed)
    packed = vault.opened(locked, seal_key_id, applicant_key)
    try:
        return unpack(packed)
    except ValueError:
        raise damaged(request_id) from None


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


# ------------------------------------------------------------------------------- keeping


_SAID: Final = ("model_id", "score", "tier", "default_probability")
"""Columns of a score that its review repeats under the same names."""


class ReviewStore:
    """The reviews in a database; every one is written to the log of acts."""

    def __init__(self, database: Database, log: ActLog, vault: Vault) -> None:
        self._database = database
        self._log = log
        self._vault = vault
        self._lender_keys = LenderKeys(database, vault)
        self._memory = BorrowerChanges(database, vault)
        self._registry = Registry(database, log)
        self._caps = Caps(database)
        self._approvals = Approvals(database.parameter_mark, secrets.token_hex(8))

    def keep(
        self, book: Book, request_id: str, said: Judgement, key_id: str | None, at_us: int
    ) -> Kept:
        """Keep the first review of a score, announce it and note it in the audit, all or nothing.

        Where the score has one already, that is given and nothing is done. `UnknownScore`; `Erased`
        with what remains of the score. `key_id` is the API key that it came with, if one did.
        `PortfolioFull` where a cap that declines has no room for what would be approved.
        """
        self._vault.ring(book.lender)  # may make keys: not within a transaction
        policy = self._in_force(book)
        with self._database.writing() as connection:
            score, held = _held(connection, self._memory, book, request_id)
            stands = reviews_of(connection, book, [request_id]).get(request_id)
            if stands is not None:
                return Kept(stands, is_new=False)
            noted = Noted(os.urandom(SALT_BYTES), said.note)
            sealed = self._sealed(connection, score, noted.packed)
            came = {"key_id": key_id, "reviewed_us": at_us}
            values = _columns(score.row, said, sealed) | came
            is_new = insert_new(connection, tables.reviews, values)
            # Unless it is ours, another process was quicker just now.
            kept = reviews_of(connection, book, [request_id])[request_id]
            if is_new:
                self._count(connection.connection.cursor(), policy, score, said, at_us)
                _announce(connection, kept, score.row)
                changes = {key_id: _decided(score.row, said, at_us) for key_id in held}
                self._memory.change(connection, book, held, changes, at_us)
                digest = noted.digest(said.reason.value)
                self._log.append(connection, _reviewed(book, kept.review, digest))
            return Kept(kept, is_new)

    def _count(
        self,
        cursor: DBAPICursor,
        policy: Policy | None,
        score: StoredScore,
        said: Judgement,
        at_us: int,
    ) -> None:
        """Count what a person approves where the service did not, from now on; or the other way.

        What was approved and is declined now gives its room back, to the hour that it was taken in.
        Where the policy in force cannot be read, nobody can say what its caps are, and none binds.
        """
        row = score.row
        if said.decision == row.decision or APPROVED not in {said.decision, row.decision}:
            return
        region = self._region(policy, score)
        one = Approved(1, row.recommended_limit, row.expected_loss)
        self._caps.wait(cursor, row.book)
        if said.decision == APPROVED:
            segment = Segment(region, row.tier, row.product)
            if policy is not None:
                full = self._caps.day(cursor, row.book, policy, at_us).full(segment, *one[1:3])
                declining = {cap.name for cap in caps_of(policy) if cap.decision == DECLINED}
                if refusing := [name for name in full if name in declining]:
                    raise PortfolioFull(refusing)
            counted = (row.lender, row.mode, at_us // HOUR_US, segment)
            self._approvals.count(cursor, {counted: one})
        else:
            if region is not None:  # as it was counted
                given = policy_by_id(self._registry, row.book, row.policy_id)
                region = region if region in _regions(given) else None
            segment = Segment(region, row.tier, row.product)
            counted = (row.lender, row.mode, row.created_us // HOUR_US, segment)
            self._approvals.count(cursor, {counted: one.negative})

    def _in_force(self, book: Book) -> Policy | None:
        """Give the policy that answers in a book; None where what is stored of it is damaged."""
        try:
            return policy_text.unjudged(text_in_force(self._registry, book))
        except InvalidPolicy:
            return None

    def _region(self, policy: Policy | None, score: StoredScore) -> str | None:
        """Give the region of a loan, if a cap asks for it."""
        regions = set() if policy is None else _regions(policy)
        if not regions:
            return None
        said = dict(members(open_score(self._vault, score).application)).get(REGION)
        region = fold(said) if isinstance(said, str) else None
        return region if region in regions else None

    def sequel(self, book: Book, request_id: str) -> StoredSequel:
        """What became of a score; of one that is not there, nothing."""
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


def _regions(policy: Policy) -> set[str]:
    return {fold(region) for cap in caps_of(policy) for region in cap.regions}


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


def _decided(row: ScoreRow, said: Judgement, at_us: int) -> Change:
    """Give how a borrower is remembered once a person has decided: it is promised, or not."""
    approved, hour = said.decision == APPROVED, hour_of(at_us)
    limit, request_id = row.recommended_limit, row.request_id
    return lambda one: after_review(one, hour, limit, request_id, approved=approved)


def _held(
    connection: Connection, memory: BorrowerChanges, book: Book, request_id: str
) -> tuple[StoredScore, dict[str, DataKey]]:
    """Give a score that nobody can erase or delete until the commit, and the key it is under.

    The key of its applicant first, and then the score, as whoever deletes both does. `Erased` where
    the key is no more.
    """
    scores, keys = schema.scores, vault_schema.applicant_keys
    this = in_book(scores, book) & (scores.c.request_id == request_id)
    key_id = connection.execute(select(scores.c.applicant_key_id).where(this)).scalar()
    held = memory.hold(connection, keys.c.id == key_id)
    # A rotation of the lender's key goes on meanwhile: it changes no column that names a row.
    query = select(scores.c.request_id).where(this)
    connection.execute(query.with_for_update(read=True, key_share=True))
    row = connection.execute(whole_scores().where(this)).first()
    if row is None:
        raise UnknownScore
    score = stored_score(row)
    if score.applicant is not None and score.applicant.erased_us is not None:
        raise Erased(score.applicant.erased_us, score.row.summary)
    return score, held


def _announce(connection: Connection, kept: StoredReview, row: ScoreRow) -> None:
    """Announce what was decided. Neither who decided nor why is for others to know."""
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


def _reviewed(book: Book, review: Review, digest: str) -> Act:
    """Say who decided what on which score, and what the service had said.

    `digest` is that of `Noted`, for neither the reason nor the note: the log is kept for ever, and
    both tell of the applicant.
    """
    details: dict[str, Detail] = {
        "decision": review.decision,
        "given_decision": review.given_decision,
        "reviewed_us": review.reviewed_us,
        "key_id": review.key_id,
        DIGEST: digest,
    }
    return act_in_book(ActKind.SCORE_REVIEWED, book, review.request_id, details, review.person)


# ------------------------------------------------------------------------------- reviewing


class Reviews:
    """What officers decide, and what became of scores.

    The first review of a score stands. Two who decide at once would else undo each other unseen,
    and what an officer has lent on could be rewritten later.
    """

    def __init__(self, store: ReviewStore, vault: Vault, clock: Clock) -> None:
        self._store = store
        self._vault = vault
        self._clock = clock

    @classmethod
    def at(cls, installed: Installation) -> Reviews:
        """What officers decided, and what became of the scores of an installation."""
        store = ReviewStore(installed.database, installed.log, installed.vault)
        return cls(store, installed.vault, installed.clock)

    def review(
        self, book: Book, request_id: str, said: Judgement, key_id: str | None = None
    ) -> Reviewed:
        """Keep what an officer decided. The same said again gives what was kept the first time.

        `AlreadyReviewed` where something else was said before; `PortfolioFull`; `UnknownScore`;
        `Erased`, for nobody can look any more at what would be decided on; `InvalidName` where the
        name or the note cannot be one.
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
