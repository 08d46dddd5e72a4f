"""Receipts: one decision, whole, with the proof that it is the one that was given.

A receipt holds what was sent and what was concluded from it, the place of its digest in the audit
log, and the signature of the installation under the entry there. Whoever has it needs no database
to see that nothing was changed, and with the model and the policy that it names they can decide
again. docs/receipts.md tells how, step by step.

There is one way to write a receipt. A file that says the same in other bytes is refused, so that
nobody has to wonder what a changed byte may mean.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Final, Literal

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from msgspec import UNSET, Meta, UnsetType

from alama.core import chain
from alama.core.chain import digest
from alama.core.errors import InvalidReceipt

SCHEMA: Final = "alama.receipt/1"
SIZE_MAX: Final = 2**18
"""Bytes beyond which a document is refused unread: a body of 64 KiB doubles at most in writing."""

WHOLE_MAX: Final = 2**53 - 1
"""The largest whole number that every reader of JSON has."""

Salt = Annotated[str, Meta(pattern="^[0-9a-f]{32}$", max_length=32, description="16 bytes.")]
Hash = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", max_length=64, description="32 bytes.")]
Moment = Annotated[int, Meta(ge=0, le=WHOLE_MAX, description="Microseconds since 1970, UTC.")]


class KeptScore(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is kept of a score in clear, to be listed and counted."""

    lender: Annotated[str, Meta(description="Whose book it is in.")]
    mode: Annotated[str, Meta(description="test or live.")]
    request_id: Annotated[str, Meta(description="Names the score for ever.")]
    created_us: Moment
    key_id: Annotated[str, Meta(description="The key that asked.")]
    model_id: Annotated[str, Meta(description="Content hash of the model.")]
    policy_id: Annotated[str, Meta(description="Content hash of the policy.")]
    score: Annotated[int, Meta(ge=0, le=WHOLE_MAX, description="In points.")]
    tier: Annotated[str, Meta(description="Risk tier, A the safest.")]
    default_probability: Annotated[float, Meta(description="Of this loan, as a fraction.")]
    decision: Annotated[str, Meta(description="APPROVED, REVIEW or DECLINED.")]
    recommended_limit: Annotated[float, Meta(description="In the lender's currency.")]
    recommended_term_days: Annotated[int, Meta(ge=0, le=WHOLE_MAX, description="In days.")]
    recommended_apr: Annotated[float, Meta(description="Percent a year.")]
    processing_ms: Annotated[int, Meta(ge=0, le=WHOLE_MAX, description="Milliseconds taken.")]
    expected_loss: Annotated[float, Meta(description="Of the loan as offered, in money.")]


class LogEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The entry of the audit log that the score is part of, its body aside."""

    writer: Annotated[str, Meta(description="Names the chain.")]
    number: Annotated[int, Meta(ge=0, le=WHOLE_MAX, description="Of the entry in its chain.")]
    created_us: Moment
    kind: Annotated[str, Meta(description="Of the entry: `scores`.")]
    previous_hash: Annotated[Hash, Meta(description="Of the entry before.")]
    root: Annotated[Hash, Meta(description="Merkle root over the scores of the entry.")]
    hash: Annotated[Hash, Meta(description="Of all the above; it is what is signed.")]


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One level of a Merkle tree: the neighbour that the hash so far is joined with."""

    side: Annotated[Literal["left", "right"], Meta(description="Where the neighbour stands.")]
    hash: Annotated[Hash, Meta(description="Of the neighbour.")]


class Proof(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The way from the record to a signature, each step of which can be gone again."""

    salt: Annotated[Salt, Meta(description="Keys the digest; nobody can guess at it without.")]
    applicant_key_id: Annotated[
        str | None, Meta(description="The key of the applicant, as the log has it; null: of none.")
    ]
    digest: Annotated[Hash, Meta(description="SHA-256 of the record: what the log knows of it.")]
    path: Annotated[
        tuple[Step, ...], Meta(description="Merkle audit path (RFC 6962), from the leaf upwards.")
    ]
    entry: Annotated[LogEntry, Meta(description="The entry that names the score.")]
    public_key: Annotated[Hash, Meta(description="The installation's, of Ed25519.")]
    signature: Annotated[
        str,
        Meta(pattern="^[0-9a-f]{128}$", max_length=128, description="64 bytes, over the hash."),
    ]


class Receipt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A decision that can be verified and given again without the service that gave it."""

    schema: Annotated[str, Meta(description="The form of this document and its version.")]
    score: Annotated[KeptScore, Meta(description="The decision in clear.")]
    application: Annotated[str, Meta(description="The request body, byte for byte as it was sent.")]
    assessment: Annotated[
        dict[str, Any], Meta(description="All that was concluded from it, to the last digit.")
    ]
    proof: Annotated[Proof, Meta(description="The way from here to a signature.")]
    fields_id: Annotated[
        str | UnsetType,
        Meta(description="Content hash of the lender's own fields, where it has declared any."),
    ] = UNSET


# ------------------------------------------------------------------------ reading and writing

_HINT: Final = "save it again, byte for byte, from GET /v1/scores/{request_id}/receipt"

_pack: Final = msgspec.msgpack.Encoder().encode


def encode(receipt: Receipt) -> bytes:
    """Write a receipt in the only way there is, indented for people who read it."""
    return msgspec.json.format(msgspec.json.encode(receipt), indent=2) + b"\n"


def decode(document: bytes) -> Receipt:
    """Read a receipt strictly, or raise `InvalidReceipt` and say what is wrong with it."""
    if len(document) > SIZE_MAX:
        raise InvalidReceipt(f"the receipt is larger than {SIZE_MAX // 1024} KiB", hint=_HINT)
    try:
        receipt = msgspec.json.decode(document, type=Receipt)
        record_of(receipt)  # a number in it may be larger than any record holds
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OverflowError) as error:
        raise InvalidReceipt(f"this is not a receipt: {error}", hint=_HINT) from error
    if receipt.schema != SCHEMA:
        raise InvalidReceipt(
            f"the receipt says schema {receipt.schema[:40]!r}; this version reads {SCHEMA!r}",
            hint="verify it with the version of Alama that wrote it",
        )
    if encode(receipt) != document:
        raise InvalidReceipt("the receipt is not written as it was given", hint=_HINT)
    return receipt


def record_of(receipt: Receipt) -> bytes:
    """Give the record as it was kept and digested, byte for byte: MessagePack, as JSON tells it."""
    record = {
        "application": receipt.application.encode(),
        "assessment": receipt.assessment,
        "salt": bytes.fromhex(receipt.proof.salt),
    }
    own = {} if receipt.fields_id is UNSET else {"fields": receipt.fields_id}
    return _pack(record | own)


# ---------------------------------------------------------------------------------- verifying


class Check(StrEnum):
    """The steps from what a receipt says to a signature, in their order."""

    RECORD = "record"
    PATH = "path"
    ENTRY = "entry"
    SIGNATURE = "signature"


def failures(receipt: Receipt) -> tuple[Check, ...]:
    """Give the steps that do not hold. Where none fails, whoever has the key has signed it all.

    Whose key that is, a receipt cannot say: hold its public key against one that you know.
    """
    proof, entry = receipt.proof, receipt.proof.entry
    held = {
        Check.RECORD: _digest_of(receipt).hex() == proof.digest,
        Check.PATH: _root_of(receipt).hex() == entry.root,
        Check.ENTRY: entry.kind == chain.SCORES and _hash_of(entry).hex() == entry.hash,
        Check.SIGNATURE: _is_signed(proof),
    }
    return tuple(check for check, holds in held.items() if not holds)


def _digest_of(receipt: Receipt) -> bytes:
    salt = bytes.fromhex(receipt.proof.salt)
    return digest(salt, msgspec.structs.astuple(receipt.score), record_of(receipt))


def _root_of(receipt: Receipt) -> bytes:
    score, proof = receipt.score, receipt.proof
    named = chain.Named(
        score.lender,
        score.mode,
        score.request_id,
        proof.applicant_key_id,
        bytes.fromhex(proof.digest),
    )
    steps = [
        chain.Step(bytes.fromhex(step.hash), is_left=step.side == "left") for step in proof.path
    ]
    return chain.climb(_pack(named), steps)


def _hash_of(entry: LogEntry) -> bytes:
    header = chain.Header(
        bytes.fromhex(entry.previous_hash),
        entry.writer,
        entry.number,
        entry.created_us,
        entry.kind,
        bytes.fromhex(entry.root),
    )
    return header.hash


def _is_signed(proof: Proof) -> bool:
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(proof.public_key))
    try:
        key.verify(bytes.fromhex(proof.signature), bytes.fromhex(proof.entry.hash))
    except InvalidSignature:
        return False
    return True


# ------------------------------------------------------------------------------------- making


def make(score: KeptScore, record: bytes, link: chain.Link, public_key: bytes) -> Receipt:
    """Put a receipt together from what is kept: a record, opened, and the entry that names it.

    Nothing is checked that whoever gets it checks: `failures` says whether it holds.
    """
    kept = msgspec.msgpack.decode(record, type=_Kept)
    names = chain.names(link.body)
    place = next(place for place, named in enumerate(names) if is_named(score, named))
    return Receipt(
        schema=SCHEMA,
        score=score,
        application=kept.application.decode(),
        assessment=kept.assessment,
        proof=Proof(
            salt=kept.salt.hex(),
            applicant_key_id=names[place].applicant_key_id,
            digest=names[place].digest.hex(),
            path=tuple(
                Step("left" if step.is_left else "right", step.beside.hex())
                for step in chain.path(chain.leaves(link.kind, link.body), place)
            ),
            entry=LogEntry(
                writer=link.writer,
                number=link.number,
                created_us=link.created_us,
                kind=link.kind,
                previous_hash=link.previous_hash.hex(),
                root=link.header.root.hex(),
                hash=link.hash.hex(),
            ),
            public_key=public_key.hex(),
            signature=link.signature.hex(),
        ),
        fields_id=kept.fields,
    )


def is_named(score: KeptScore, named: chain.Named) -> bool:
    """Say whether an entry of the log means this score by a name."""
    return named[:3] == (score.lender, score.mode, score.request_id)


class _Kept(msgspec.Struct, frozen=True):
    """A record as `alama.scoring.records` packs it, whatever an assessment held in its day."""

    application: bytes
    assessment: dict[str, Any]
    salt: bytes
    fields: str | UnsetType = UNSET
