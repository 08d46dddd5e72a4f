"""Acts of administration: what was done, to what, and who said so; the log that they stand in.

Each is an entry of the chain `main`, written in the transaction of the deed: there is no act
without its entry, and no entry of what did not happen. No act holds what an applicant said.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

import msgspec

from alama.core import chain
from alama.core.chain import MAIN, Head, Link, Signer
from alama.platform.clock import TOLERANCE_US, Clock
from alama.platform.database import tables
from alama.platform.database.statements import Inserts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sqlalchemy import Connection
    from sqlalchemy.engine.interfaces import DBAPICursor

    from alama.platform.book import Book
    from alama.platform.database.database import Database


Detail = str | int | None


class ActKind(StrEnum):
    """All that can be done, as the log names it. Kinds are added, never renamed."""

    LENDER_ADDED = "lender_added"
    KEY_ISSUED = "key_issued"
    KEY_ROTATED = "key_rotated"
    KEY_REVOKED = "key_revoked"
    DEPLOYED = "deployed"
    POLICY_DEPLOYED = "policy_deployed"
    FIELDS_ACTIVATED = "fields_activated"
    PAUSED = "paused"
    RESUMED = "resumed"
    MASTER_KEY_ROTATED = "master_key_rotated"
    LENDER_KEY_ROTATED = "lender_key_rotated"
    APPLICANT_KEY_ROTATED = "applicant_key_rotated"
    SIGNING_KEY_ROTATED = "signing_key_rotated"
    APPLICANT_ERASED = "applicant_erased"
    """The subject is the id of the applicant's key."""
    APPLICANT_EXPORTED = "applicant_exported"
    APPLICANT_LISTED = "applicant_listed"
    APPLICANT_UNLISTED = "applicant_unlisted"
    HOLD_PLACED = "hold_placed"
    HOLD_RELEASED = "hold_released"
    RETENTION_RUN = "retention_run"
    """One for each batch: `deleted` are the scores of the book that went with it."""
    CHAIN_OPENED = "chain_opened"
    CHAIN_CLOSED = "chain_closed"
    """The subject is the writer of the chain; `number` and `hash` are those of its last entry."""
    ENDPOINT_ADDED = "endpoint_added"
    ENDPOINT_CHANGED = "endpoint_changed"
    ENDPOINT_REMOVED = "endpoint_removed"
    ENDPOINT_SECRET_ROTATED = "endpoint_secret_rotated"  # noqa: S105  the name of a deed
    ENDPOINT_DISABLED = "endpoint_disabled"
    """By nobody: too little arrived there, or the receiver said that it is gone."""
    PILOT_SET = "pilot_set"
    SHADOW_BEGUN = "shadow_begun"
    HISTORY_RECEIVED = "history_received"
    """Over HTTP: nobody has read it yet."""
    HISTORY_KEPT = "history_kept"
    HISTORY_FORGOTTEN = "history_forgotten"
    MAPPING_KEPT = "mapping_kept"
    MAPPING_REMOVED = "mapping_removed"
    """How the files of a lender are read. The subject of both is the kind of files."""
    TRAINING_ASKED = "training_asked"
    CANDIDATE_MADE = "candidate_made"
    CANDIDATE_SIGNED = "candidate_signed"
    """The subject is the id of the candidate. With the last that is missing it is deployed."""
    ROLLED_BACK = "rolled_back"
    """Beside the deployment that it is."""
    OUTCOMES_RECORDED = "outcomes_recorded"
    """One for each batch: how many, and the hash of the bytes that they were sent in."""
    LOANS_RECORDED = "loans_recorded"
    """As above, of the events of loans."""
    SCORE_REVIEWED = "score_reviewed"
    """The subject is the id of the score."""
    DRIFT_DETECTED = "drift_detected"
    CHALLENGER_SET = "challenger_set"
    CHALLENGER_ENDED = "challenger_ended"
    """The subject of both is the id of the model."""
    CLOCK_ACCEPTED = "clock_accepted"
    """A person says that the time of this entry is right, and by how much it was set back."""
    HEADS_NOTED = "heads_noted"
    """`details` has the number and the hash of the last entry of each chain, by its writer."""


ADDRESS: Final = "address"
BEFORE_US: Final = "before_us"
DIGEST: Final = "digest"
ERASED_US: Final = "erased_us"
GATES: Final = "gates"
GATES_FAILED: Final = "gates_failed"
REASON: Final = "reason"
GATES_HASH: Final = "gates_hash"
HOLD: Final = "hold"
LIMITS: Final = "limits"
PACK_HASH: Final = "pack_hash"
PAGE_HASH: Final = "page_hash"
REPORT_HASH: Final = "report_hash"
REPLACES: Final = "replaces"
REPLACED_EXPIRES_US: Final = "which_expires_us"
RETIRES: Final = "retires"
SET_BACK_S: Final = "set_back_s"
SHA256: Final = "sha256"
VOUCHED: Final = "vouched"
_NUMBER: Final = "number"
_HASH: Final = "hash"

FOR_PROGRAMS: Final = frozenset(
    {
        ADDRESS,
        DIGEST,
        GATES,
        GATES_HASH,
        LIMITS,
        PACK_HASH,
        PAGE_HASH,
        REPORT_HASH,
        SET_BACK_S,
        VOUCHED,
        "hint",
        "created_us",
        "placed_us",
        "reviewed_us",
        "set_by",
        "set_us",
        "signed_by",
        "signed_us",
    }
)
"""Details that a verification needs, and nobody reads."""


class Act(msgspec.Struct, frozen=True, omit_defaults=True):
    """One deed. `subject` is the id of what it was done to; `by` is who said so, if they did."""

    kind: ActKind
    lender: str | None = None
    mode: str | None = None
    subject: str | None = None
    details: dict[str, Detail] = {}
    by: str | None = None
    deleted: bytes = b""
    """Of a retention run: the ids of the scores that it has deleted, 14 bytes each."""


encode: Final = msgspec.msgpack.Encoder().encode
decode: Final = msgspec.msgpack.Decoder(Act).decode


def act_in_book(
    kind: ActKind,
    book: Book,
    subject: str | None = None,
    details: dict[str, Detail] | None = None,
    by: str | None = None,
) -> Act:
    """Give a deed that was done in one book."""
    return Act(kind, book.lender, book.mode.value, subject, details or {}, by)


def said_by(act: Act, by: str) -> Act:
    """Give the same deed with who said so."""
    return msgspec.structs.replace(act, by=by)


def clock_accepted(before_us: int, at_us: int, by: str | None) -> Act:
    """Say that it is this time, and by how much that is earlier than what stamped before."""
    set_back_s = max(before_us - at_us, 0) // 1_000_000
    return Act(ActKind.CLOCK_ACCEPTED, details={SET_BACK_S: set_back_s}, by=by)


def set_back_us(act: Act) -> int:
    """Give by how much the clock was set back with such an act, in microseconds."""
    return int(act.details.get(SET_BACK_S) or 0) * 1_000_000


# ------------------------------------------------------------------------------- chains


def chain_opened(head: Head) -> Act:
    return Act(ActKind.CHAIN_OPENED, subject=head.writer, details=_at(head))


def chain_closed(head: Head) -> Act:
    return Act(ActKind.CHAIN_CLOSED, subject=head.writer, details=_at(head))


def heads_noted(heads: Iterable[Head]) -> Act:
    details: dict[str, Detail] = {
        head.writer: f"{head.number} {head.hash.hex()}" for head in sorted(heads)
    }
    return Act(ActKind.HEADS_NOTED, details=details)


def heads_in(act: Act) -> list[Head]:
    """Give the entries of other chains that an act bears witness to.

    What is no head was damaged since, and is left out: whoever verifies the act finds that.
    """
    if act.kind in {ActKind.CHAIN_OPENED, ActKind.CHAIN_CLOSED}:
        said = {str(act.subject): f"{act.details.get(_NUMBER)!s} {act.details.get(_HASH)!s}"}
    elif act.kind is ActKind.HEADS_NOTED:
        said = {writer: str(head) for writer, head in act.details.items()}
    else:
        said = {}
    heads = [_head(writer, head) for writer, head in said.items()]
    return [head for head in heads if head is not None]


def _at(head: Head) -> dict[str, Detail]:
    return {_NUMBER: head.number, _HASH: head.hash.hex()}


def _head(writer: str, said: str) -> Head | None:
    number, _, digest = said.partition(" ")
    try:
        return Head(writer, int(number), bytes.fromhex(digest))
    except ValueError:
        return None


# ------------------------------------------------------------------------------- the log


_LOCK: Final = 0x616C616D61  # any number that nobody else locks: "alama"

# Whoever writes a SQLite file has it to themselves already.
_WAIT_FOR_OTHERS: Final = f"SELECT pg_advisory_xact_lock({_LOCK})"
_HEAD: Final = (
    f"SELECT writer, number, hash, created_us FROM {tables.audit_entries.name} "  # noqa: S608  our own names
    f"WHERE writer = '{MAIN}' ORDER BY number DESC LIMIT 1"
)


class ActLog:
    """Appends to the chain that all processes share.

    Its entries are numbered without a gap, so one transaction at a time may append: let it be the
    last that a transaction does, for the next one waits until it is over.
    """

    def __init__(
        self, database: Database, signer: Callable[[], Signer], clock: Clock, by: str
    ) -> None:
        self._embedded = database.embedded
        self._rows = Inserts(tables.audit_entries.name, Link._fields, database.parameter_mark)
        self._signer = signer
        self._clock = clock
        self._by = by  # who acts where an act does not say

    def append(self, connection: Connection, act: Act) -> None:
        """Write an act down; it stands if and only if the transaction is committed."""
        self.append_driving(connection.connection.cursor(), act)

    def append_driving(self, cursor: DBAPICursor, act: Act) -> None:
        """Do as `append` does, with a cursor of the driver."""
        if not self._embedded:
            cursor.execute(_WAIT_FOR_OTHERS)
        cursor.execute(_HEAD)
        last = cursor.fetchone()
        head, at_us = chain.start(MAIN), self._clock()
        if last is not None:
            head = Head._make(last[:-1])
            # No entry is older than the one before it, if clocks are about right.
            if at_us < last[-1] <= at_us + TOLERANCE_US:
                at_us = last[-1]
        body = encode(act if act.by else said_by(act, self._by))
        link = chain.follow(head, at_us, act.kind.value, body, self._signer())
        self._rows.run(cursor, [link])
