"""Evidence: that figures were derived here from a statement, and how it looked.

A token says so over the fields, the digest of what was read and the checks, for one book and a
while, under a key of the lender that never leaves the vault. It is a part of a request and of a
record, and never of what a model reads.
"""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import TYPE_CHECKING, Final

import msgspec

from alama.core.assess import Proven
from alama.core.errors import FieldProblem, InvalidApplication
from alama.core.intake import members
from alama.core.lending.policy import Rule
from alama.core.product import PRODUCT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from alama.platform.book import Book
    from alama.scoring.directory import Caller
    from alama.vault.ring import Ring

NAME: Final = "evidence"
GOOD_FOR_US: Final = 7 * 86_400 * 1_000_000
"""How long figures are taken for new: a statement read last month tells nothing of this one."""

TOKEN_MAX: Final = 16_384
_VERSION: Final = "alama.evidence/1"
_MARK: Final = b'"evidence"'

_INVALID: Final = FieldProblem(
    NAME, "evidence_invalid", "is not evidence as it was given to this lender"
)
_EXPIRED: Final = FieldProblem(
    NAME, "evidence_expired", "is too old; have the statement read again"
)


class Evidence(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a token says, and until when, in microseconds since 1970."""

    version: str
    lender: str
    mode: str
    made_us: int
    until_us: int
    fields: dict[str, float]
    proven: Proven


def token(ring: Ring, book: Book, proven: Proven, fields: dict[str, float], now_us: int) -> str:
    """Sign what was derived for a book."""
    told = Evidence(
        _VERSION, book.lender, book.mode.value, now_us, now_us + GOOD_FOR_US, fields, proven
    )
    payload = msgspec.json.encode(told, order="deterministic")
    return f"{_text(payload)}.{_text(ring.evidence(payload))}"


def _text(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def split(body: bytes) -> tuple[bytes, object]:
    """Give an application without its evidence, and that; None where it has none."""
    if _MARK not in body:
        return body, None
    sent = members(body)
    told = [value for name, value in sent if name == NAME]
    if not told:
        return body, None
    if len(told) > 1:
        raise InvalidApplication([FieldProblem(NAME, "duplicate_field", "stands twice")])
    rest = (f"{json.dumps(name)}:{json.dumps(value)}" for name, value in sent if name != NAME)
    return f"{{{','.join(rest)}}}".encode(), told[0]


def vouched(caller: Caller, body: bytes, sent: object, now_us: int) -> Caller:
    """Give the caller as this one request is decided: by the evidence that came with it.

    Raises `InvalidApplication` for evidence that is not of this book, too old, or of other figures
    than the application has; it names each field.
    """
    if sent is None:
        return caller
    told = _opened(caller.ring, caller.book, sent, now_us)
    active = caller.active_model()
    forbidden = {name for _, name in active.policy.forbidden}
    said = dict(members(body))
    problems = [
        FieldProblem(name, "evidence_differs", "is not what was derived from the statement")
        for name, value in told.fields.items()
        if name not in forbidden and not _is_same(said, name, value)
    ]
    if problems:
        raise InvalidApplication(problems)
    always = active.always
    if told.proven.doubtful:
        always = (*always, Rule.STATEMENT_DOUBTFUL)
    vouched_for = active._replace(always=always, proven=told.proven)
    return msgspec.structs.replace(caller, active=vouched_for)


def _is_same(said: Mapping[str, object], name: str, value: float) -> bool:
    other = PRODUCT.field(name).other_spelling if name in PRODUCT.position else None
    told = [said[key] for key in (name, other) if key is not None and said.get(key) is not None]
    return len(told) == 1 and isinstance(told[0], (int, float)) and told[0] == value


def _opened(ring: Ring, book: Book, sent: object, now_us: int) -> Evidence:
    told = _read(ring, sent)
    if told is None:
        raise InvalidApplication([_INVALID])
    if (told.lender, told.mode) != (book.lender, book.mode.value):
        raise InvalidApplication([_INVALID])
    if now_us > told.until_us:
        raise InvalidApplication([_EXPIRED])
    return told


def _read(ring: Ring, sent: object) -> Evidence | None:
    if not isinstance(sent, str) or len(sent) > TOKEN_MAX or not sent.isascii():
        return None
    payload, _, seal = sent.partition(".")
    try:
        raw, signed = (
            urlsafe_b64decode(part + "==="[: -len(part) % 4]) for part in (payload, seal)
        )
    except ValueError:
        return None
    if not hmac.compare_digest(ring.evidence(raw), signed):
        return None
    try:
        told = msgspec.json.decode(raw, type=Evidence)
    except (msgspec.DecodeError, UnicodeDecodeError):  # of a version that is gone
        return None
    return told if told.version == _VERSION else None
