"""Evidence: that figures were derived here from a statement, and how it looked.

A token says so over every figure, the digest of what was read and the checks, for one book, one
applicant and a while, under a key of the lender that never leaves the vault. Whoever is not named
when it is made is whoever it first comes with: the commit of that score remembers it. It is a part
of a request and of a record, and never of what a model reads.
"""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import TYPE_CHECKING, Final

import msgspec

from alama.core.application import in_range
from alama.core.assess import Proven
from alama.core.catalogue import Kind
from alama.core.errors import FieldProblem, InvalidApplication
from alama.core.intake import members
from alama.core.lending.policy import Rule
from alama.core.product import PRODUCT
from alama.scoring.records import IDEMPOTENCY_KEPT_US

if TYPE_CHECKING:
    from collections.abc import Mapping

    from alama.core.catalogue import Field
    from alama.platform.book import Book
    from alama.scoring.directory import ActiveModel, Caller
    from alama.vault.ring import Ring

NAME: Final = "evidence"
GOOD_FOR_US: Final = 7 * 86_400 * 1_000_000
"""How long figures are taken for new: a statement read last month tells nothing of this one."""

UNNAMED_GOOD_FOR_US: Final = IDEMPOTENCY_KEPT_US
"""And those of whoever was not named: as long as it is remembered with whom they came."""

TOKEN_MAX: Final = 16_384
_VERSION: Final = "alama.evidence/2"
_REFERENCE: Final = "applicant_ref"
_MARK: Final = b'"evidence"'

_INVALID: Final = FieldProblem(
    NAME, "evidence_invalid", "is not evidence as it was given to this lender"
)
_EXPIRED: Final = FieldProblem(
    NAME, "evidence_expired", "is too old; have the statement read again"
)
_REQUIRED: Final = FieldProblem(
    NAME, "evidence_required", "is missing; the lender's policy asks for figures of a statement"
)
_OF_ANOTHER: Final = FieldProblem(
    NAME, "evidence_of_another", "was given for another applicant than applicant_ref names"
)


class Evidence(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a token says, and until when, in microseconds since 1970.

    `holder` is a keyed digest of whom it was given for; None: nobody was named. `fields` are all
    figures that were derived, also those that the lender does not declare.
    """

    version: str
    lender: str
    mode: str
    made_us: int
    until_us: int
    holder: str | None
    fields: dict[str, float]
    proven: Proven


def token(
    caller: Caller, applicant_ref: str | None, proven: Proven, fields: dict[str, float], now_us: int
) -> str:
    """Sign what was derived for a book, and for one applicant if one is named."""
    ring, book = caller.ring, caller.book
    holder, good_for_us = None, UNNAMED_GOOD_FOR_US
    if applicant_ref is not None:
        holder, good_for_us = _holder(caller, applicant_ref, now_us), GOOD_FOR_US
    told = Evidence(
        _VERSION, book.lender, book.mode.value, now_us, now_us + good_for_us, holder, fields, proven
    )
    payload = msgspec.json.encode(told, order="deterministic")
    return f"{_text(payload)}.{_text(ring.evidence(payload))}"


def _holder(caller: Caller, applicant_ref: str, made_us: int) -> str:
    """Give what a token knows an applicant by: in each another, so that none tells of the next."""
    subject = caller.subject(applicant_ref.strip())
    return _text(caller.ring.evidence(b"holder|%d|" % made_us + subject))


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

    Raises `InvalidApplication` for evidence that is not of this book or applicant, too old, or of
    other figures than the application has; it names each field. So it does for none, if the policy
    asks for it.
    """
    active = caller.active_model()
    if sent is None:
        if active.policy.evidence.required:
            raise InvalidApplication([_REQUIRED])
        return caller
    told = _opened(caller.ring, caller.book, sent, now_us)
    said = dict(members(body))
    if told.holder is not None and not _is_holder(caller, told, said.get(_REFERENCE)):
        raise InvalidApplication([_OF_ANOTHER])
    expected = covered(active, told.fields)
    problems = [
        FieldProblem(name, "evidence_differs", "is not what was derived from the statement")
        for name, value in expected.items()
        if not _is_same(said, active.model.catalogue.field(name), value)
    ]
    if problems:
        raise InvalidApplication(problems)
    always = active.always
    if told.proven.doubtful:
        always = (*always, Rule.STATEMENT_DOUBTFUL)
    derived = tuple(name for name, value in expected.items() if value is not None)
    vouched_for = active._replace(
        always=always,
        proven=msgspec.structs.replace(told.proven, fields=derived),
        unclaimed=_name(caller.ring, told) if told.holder is None else None,
    )
    return msgspec.structs.replace(caller, active=vouched_for)


def _name(ring: Ring, told: Evidence) -> bytes:
    """Give what evidence is remembered by, whatever the letters it was sent in."""
    return ring.evidence(b"claim|" + msgspec.json.encode(told, order="deterministic"))


def _is_holder(caller: Caller, told: Evidence, reference: object) -> bool:
    if not isinstance(reference, str) or told.holder is None:
        return False
    return hmac.compare_digest(told.holder, _holder(caller, reference, told.made_us))


def covered(active: ActiveModel, derived: Mapping[str, float]) -> dict[str, float | None]:
    """Give what an application has to say of each figure that it may send; None: nothing.

    A figure that the lender's own field of its name cannot hold is not to be sent.
    """
    catalogue = active.model.catalogue
    forbidden = {name for _, name in active.policy.forbidden}
    found: dict[str, float | None] = {}
    for name, value in derived.items():
        if name in catalogue.position and name not in forbidden:
            field = catalogue.field(name)
            if field.numeric:
                found[name] = value if _holds(field, value) else None
    return found


def _holds(field: Field, value: float) -> bool:
    if field.name in PRODUCT.position:
        return True  # or else the intake says so
    return in_range(field, value) and (field.kind is not Kind.INTEGER or float(value).is_integer())


def _is_same(said: Mapping[str, object], field: Field, value: float | None) -> bool:
    spellings = (field.name, field.other_spelling)
    told = [said[key] for key in spellings if key is not None and said.get(key) is not None]
    if value is None:
        return not told
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
