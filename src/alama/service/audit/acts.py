"""Acts of administration: what was done, to what, and who said so.

Each is an entry of the chain `main`, written in the transaction of the deed: there is no act
without its entry, and no entry of what did not happen. No act holds what an applicant said.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import msgspec

from alama.core.chain import Head
from alama.service import ids

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from alama.service.applicants import Erasure, Hold
    from alama.service.book import Book
    from alama.service.keys import Key
    from alama.service.lenders import Lender
    from alama.service.policies import Deployment, Pause
    from alama.service.retention import Plan
    from alama.service.vault.applicant import ApplicantKeyRow

Detail = str | int | None


class Kind(StrEnum):
    """All that can be done, as the log names it. Kinds are added, never renamed."""

    LENDER_ADDED = "lender_added"
    KEY_ISSUED = "key_issued"
    KEY_ROTATED = "key_rotated"
    KEY_REVOKED = "key_revoked"
    DEPLOYED = "deployed"
    POLICY_DEPLOYED = "policy_deployed"
    PAUSED = "paused"
    RESUMED = "resumed"
    MASTER_KEY_ROTATED = "master_key_rotated"
    LENDER_KEY_ROTATED = "lender_key_rotated"
    APPLICANT_KEY_ROTATED = "applicant_key_rotated"
    SIGNING_KEY_ROTATED = "signing_key_rotated"
    APPLICANT_ERASED = "applicant_erased"
    """The subject is the id of the applicant's key."""
    APPLICANT_EXPORTED = "applicant_exported"
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
    TRAINING_ASKED = "training_asked"
    CANDIDATE_MADE = "candidate_made"
    CANDIDATE_SIGNED = "candidate_signed"
    """The subject is the id of the candidate. With the last that is missing it is deployed."""
    ROLLED_BACK = "rolled_back"
    """Beside the deployment that it is."""
    OUTCOMES_RECORDED = "outcomes_recorded"
    """One for each batch: how many, and the hash of the bytes that they were sent in."""
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
_FINGERPRINT_DIGITS: Final = 16
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

    kind: Kind
    lender: str | None = None
    mode: str | None = None
    subject: str | None = None
    details: dict[str, Detail] = {}
    by: str | None = None
    deleted: bytes = b""
    """Of a retention run: the ids of the scores that it has deleted, 14 bytes each."""


encode: Final = msgspec.msgpack.Encoder().encode
decode: Final = msgspec.msgpack.Decoder(Act).decode


def in_book(
    kind: Kind,
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


# ------------------------------------------------------------------------------- the registry


def lender_added(lender: Lender) -> Act:
    details: dict[str, Detail] = {
        "name": lender.name,
        "currency": lender.currency,
        "created_us": lender.created_us,
    }
    return Act(Kind.LENDER_ADDED, lender.id, details=details)


def key_issued(key: Key) -> Act:
    return in_book(Kind.KEY_ISSUED, key.book, key.id, _terms(key))


def key_rotated(new: Key, old_id: str, old_expires_us: int) -> Act:
    replaced: dict[str, Detail] = {REPLACES: old_id, REPLACED_EXPIRES_US: old_expires_us}
    return in_book(Kind.KEY_ROTATED, new.book, new.id, replaced | _terms(new))


def key_revoked(key: Key) -> Act:
    return in_book(Kind.KEY_REVOKED, key.book, key.id, {"revoked_us": key.revoked_us})


def deployed(book: Book, deployment: Deployment) -> Act:
    return in_book(Kind.DEPLOYED, book, details=_in_force(deployment), by=deployment.signed.by)


def policy_deployed(book: Book, deployment: Deployment) -> Act:
    details = _in_force(deployment)
    return in_book(Kind.POLICY_DEPLOYED, book, details=details, by=deployment.signed.by)


def _in_force(deployment: Deployment) -> dict[str, Detail]:
    signed = deployment.signed
    return {
        "model_id": deployment.model_id,
        "policy_id": deployment.policy_id,
        "note": signed.note,
        "created_us": signed.at_us,
        "signed_by": signed.by,
    }


def paused(book: Book, pause: Pause) -> Act:
    details: dict[str, Detail] = {"reason": pause.reason, "paused_us": pause.since_us}
    return in_book(Kind.PAUSED, book, details=details)


def resumed(book: Book, pause: Pause) -> Act:
    return in_book(Kind.RESUMED, book, details={"paused_us": pause.since_us})


def _terms(key: Key) -> dict[str, Detail]:
    return {
        "scopes": " ".join(key.scopes),
        "expires_us": key.expires_us,
        "days": key.days,
        "created_us": key.created_us,
        "hint": key.hint,
        "digest": key.digest.hex(),  # says nothing without the pepper
    }


# ------------------------------------------------------------------------------- applicants


def applicant_exported(book: Book, key_id: str, scores: int, by: str | None) -> Act:
    return in_book(Kind.APPLICANT_EXPORTED, book, key_id, {"scores": scores}, by)


def applicant_erased(book: Book, erasure: Erasure, by: str | None) -> Act:
    details: dict[str, Detail] = {
        "scores": erasure.scores,
        "replies": erasure.replies,
        ERASED_US: erasure.erased_us,
    }
    return in_book(Kind.APPLICANT_ERASED, book, erasure.key_id, details, by)


def hold_placed(hold: Hold, by: str | None) -> Act:
    details: dict[str, Detail] = {
        HOLD: hold.number,
        "reason": hold.reason,
        "placed_us": hold.placed_us,
    }
    return in_book(Kind.HOLD_PLACED, hold.book, hold.key_id, details, by)


def hold_released(hold: Hold, by: str | None) -> Act:
    details: dict[str, Detail] = {HOLD: hold.number, "released_us": hold.released_us}
    return in_book(Kind.HOLD_RELEASED, hold.book, hold.key_id, details, by)


def retention_run(plan: Plan, request_ids: Sequence[str], by: str | None) -> Act:
    """Say which scores go with this batch, each by the bytes of its id."""
    details: dict[str, Detail] = {
        BEFORE_US: plan.before_us,
        "days": plan.days,
        "scores": len(request_ids),
    }
    act = in_book(Kind.RETENTION_RUN, plan.book, details=details, by=by)
    return msgspec.structs.replace(act, deleted=b"".join(map(ids.raw, request_ids)))


def clock_accepted(before_us: int, at_us: int, by: str | None) -> Act:
    """Say that it is this time, and by how much that is earlier than what stamped before."""
    set_back_s = max(before_us - at_us, 0) // 1_000_000
    return Act(Kind.CLOCK_ACCEPTED, details={SET_BACK_S: set_back_s}, by=by)


def set_back_us(act: Act) -> int:
    """Give by how much the clock was set back with such an act, in microseconds."""
    return int(act.details.get(SET_BACK_S) or 0) * 1_000_000


def deleted_in(act: Act) -> list[bytes]:
    """Give the ids of the scores that a retention run has deleted, as bytes."""
    packed = act.deleted
    return [packed[at : at + ids.RAW_BYTES] for at in range(0, len(packed), ids.RAW_BYTES)]


# ------------------------------------------------------------------------------- keys


def applicant_key_rotated(
    book: Book, old: ApplicantKeyRow, new: ApplicantKeyRow, texts: int, by: str | None
) -> Act:
    """Say that a key is another under the same id: of each its wrapped form, as a hash."""
    details: dict[str, Detail] = {
        "texts": texts,
        "was": _fingerprint(old.wrapped),
        "is": _fingerprint(new.wrapped),
    }
    return in_book(Kind.APPLICANT_KEY_ROTATED, book, new.id, details, by)


def _fingerprint(wrapped: bytes | None) -> str:
    return hashlib.sha256(wrapped or b"").hexdigest()[:_FINGERPRINT_DIGITS]


def signing_key_rotated(new_id: str, old_id: str, vouched: str, by: str | None) -> Act:
    """Say which key signs from now on; `vouched` is what it says of the one before it."""
    details: dict[str, Detail] = {RETIRES: old_id, VOUCHED: vouched}
    return Act(Kind.SIGNING_KEY_ROTATED, subject=new_id, details=details, by=by)


# ------------------------------------------------------------------------------- chains


def chain_opened(head: Head) -> Act:
    return Act(Kind.CHAIN_OPENED, subject=head.writer, details=_at(head))


def chain_closed(head: Head) -> Act:
    return Act(Kind.CHAIN_CLOSED, subject=head.writer, details=_at(head))


def heads_noted(heads: Iterable[Head]) -> Act:
    details: dict[str, Detail] = {
        head.writer: f"{head.number} {head.hash.hex()}" for head in sorted(heads)
    }
    return Act(Kind.HEADS_NOTED, details=details)


def heads_in(act: Act) -> list[Head]:
    """Give the entries of other chains that an act bears witness to.

    What is no head was damaged since, and is left out: whoever verifies the act finds that.
    """
    if act.kind in {Kind.CHAIN_OPENED, Kind.CHAIN_CLOSED}:
        said = {str(act.subject): f"{act.details.get(_NUMBER)!s} {act.details.get(_HASH)!s}"}
    elif act.kind is Kind.HEADS_NOTED:
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
