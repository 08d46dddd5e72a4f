"""POST /v1/fields: fields from a statement, derived and not stored."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Meta

from alama.core.assess import Proven
from alama.core.errors import FieldProblem, MalformedDocument
from alama.lenders.mappings import Files
from alama.lenders.records import OnboardingIncomplete
from alama.platform.book import Scope
from alama.platform.errors import Busy, ModelUnavailable
from alama.platform.http import parameters
from alama.platform.http.bodies import json_body
from alama.platform.http.exchange import INT32, Call, Reply, encode_json, private_json
from alama.platform.http.operation import FILE, Json, Operation, Success, reference
from alama.platform.http.problems import (
    BadParameter,
    BodyTooLarge,
    InvalidFile,
    InvalidRequest,
    UnsupportedMediaType,
)
from alama.scoring import evidence
from alama.scoring.api import REFERENCE_RULE, is_reference
from alama.statements.checks import AGE_DAYS_MAX
from alama.statements.deriving import Asked, Found
from alama.statements.formulas import VERSION
from alama.statements.multipart import Part, parts
from alama.statements.pdf.reader import PasswordNeeded, PdfTooCostly
from alama.statements.places import Place, UnknownPlace, by_offset, place_of
from alama.statements.problems import MappingNeeded, MappingProposal, StatementUnreadable
from alama.statements.tables import Columns

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from alama.core.lending.ready_policy import ReadyPolicy
    from alama.lenders.mappings import Mappings
    from alama.scoring.admission import Admission
    from alama.scoring.directory import Caller
    from alama.statements.desk import Desk
    from alama.statements.tables import Layout

BYTES_MAX: Final = 8 << 20
FILES_MAX: Final = 12
NAME_MAX: Final = 200
_COUNTRY: Final = re.compile("[A-Za-z]{2}")
FORM: Final = "multipart/form-data"

Figure = Annotated[float, Meta(description="As the formula of its name gives it.")]


class UnreadRow(msgspec.Struct, frozen=True):
    """A row that could not be read."""

    row: Annotated[int, Meta(ge=0, description="Its place.", extra_json_schema=INT32)]
    reason: Annotated[str, Meta(description="Why, without anything that it holds.")]


class UnknownWords(msgspec.Struct, frozen=True):
    """Words with which rows begin that no pattern knows."""

    words: Annotated[str, Meta(description="Without their figures.")]
    rows: Annotated[int, Meta(ge=1, description="How many begin so.", extra_json_schema=INT32)]


class WalletRead(msgspec.Struct, frozen=True):
    """What was read of the statements, and what not."""

    format: Annotated[str, Meta(description="What the files are. An open set: expect more.")]
    currency: Annotated[str | None, Meta(description="ISO 4217; null: the statement says none.")]
    rows: Annotated[int, Meta(ge=0, description="Rows there are.", extra_json_schema=INT32)]
    rows_read: Annotated[int, Meta(ge=0, description="Of these read.", extra_json_schema=INT32)]
    transactions: Annotated[
        int, Meta(ge=0, description="Acts, whose legs are rows.", extra_json_schema=INT32)
    ]
    unread: Annotated[
        list[UnreadRow], Meta(description="The first that could not be read; a hundred at most.")
    ]
    unknown: Annotated[
        list[UnknownWords],
        Meta(description="Words that tell no kind; their rows count as other."),
    ]


class WalletCoverage(msgspec.Struct, frozen=True):
    """What the figures stand on."""

    as_of: Annotated[date, Meta(description="The day of application; nothing of it counts.")]
    first_day: Annotated[date | None, Meta(description="Of the window; null: no full month.")]
    last_day: Annotated[date | None, Meta(description="Of the window.")]
    months: Annotated[
        int, Meta(ge=0, le=6, description="Full months of the window.", extra_json_schema=INT32)
    ]
    transactions: Annotated[
        int, Meta(ge=0, description="Acts before the day.", extra_json_schema=INT32)
    ]
    first_transaction: Annotated[date | None, Meta(description="Day of the first act.")]
    last_transaction: Annotated[date | None, Meta(description="Day of the last act.")]
    may_be_older: Annotated[
        bool,
        Meta(description="Money was there before the first act: `mm_months` is at least so many."),
    ]


class StatementCheck(msgspec.Struct, frozen=True):
    """One check of whether the statement is genuine."""

    name: Annotated[str, Meta(description="Which. An open set: expect more.")]
    verdict: Annotated[str, Meta(description="pass, fail or cannot_tell.")]
    evidence: Annotated[str, Meta(description="What was seen, for an officer.")]


class FieldsReply(msgspec.Struct, frozen=True):
    """Fields of an application, derived from a statement; nothing of it was kept."""

    formulas: Annotated[str, Meta(description="The set of formulas and its version.")]
    fields: Annotated[
        dict[str, Figure],
        Meta(
            description="Those that this lender may send: with `evidence`, and `applicant_ref` if "
            "one was named, a body for POST /v1/score."
        ),
    ]
    derived: Annotated[
        dict[str, Figure],
        Meta(description="Others that are derived, for a lender that declares them."),
    ]
    missing: Annotated[dict[str, str], Meta(description="Fields without a figure, each with why.")]
    coverage: WalletCoverage
    checks: list[StatementCheck]
    doubtful: Annotated[
        bool,
        Meta(description="A check failed, or two could not tell: a person has to look."),
    ]
    read: WalletRead
    digest: Annotated[str, Meta(description="SHA-256 of what was sent as files.")]
    evidence: Annotated[
        str | None,
        Meta(
            description="Proves to POST /v1/score that the fields were derived here: for a week of "
            "the applicant who was named; for three days of whoever it first comes with, where "
            "nobody was. Null for a day of application that is long past."
        ),
    ]


REPLIES: Final = (FieldsReply, MappingProposal)


def fields_reply(found: Found, sendable: Collection[str], token: str | None) -> bytes:
    """Give what was found, in the words of the interface; `sendable` are fields of applications."""
    told = msgspec.to_builtins(found)
    figures = found.fields
    told["fields"] = {name: figures[name] for name in figures if name in sendable}
    told["derived"] = {name: figures[name] for name in figures if name not in sendable}
    told["evidence"] = token
    return encode_json(msgspec.convert(told, FieldsReply))


# --------------------------------------------------------------------------------- requests


class _Form(msgspec.Struct, kw_only=True):
    """What came beside the files."""

    as_of: date | None = None
    opened_on: date | None = None
    applicant_ref: str | None = None
    country: str | None = None
    zone: str | None = None
    applicant_name: str | None = None
    password: str | None = None
    mapping: Columns | None = None


_TOLD: Final = {
    "as_of": "must be a day such as 2026-11-15",
    "opened_on": "must be a day such as 2024-01-31",
    "applicant_ref": REFERENCE_RULE,
    "country": "must be a country of two letters whose clock is known, such as KE",
    "zone": "must be a zone that is known, such as Africa/Nairobi or +03:00",
    "applicant_name": f"must be a name of at most {NAME_MAX} characters",
    "password": f"must be a text of at most {NAME_MAX} characters",
    "mapping": "must be an object that names the columns: at, amount or paid_in and paid_out, "
    "details, balance, and how dates and decimals are written",
}


def _fits(text: str) -> bool:
    return len(text) <= NAME_MAX


_RULE: Final[Mapping[str, Callable[[str], object]]] = {
    "country": _COUNTRY.fullmatch,
    "applicant_ref": is_reference,
}


def _form(told: dict[str, object]) -> _Form:
    """Read what stands beside the files, with every broken rule at once."""
    read = _Form()
    problems = []
    for name, value in told.items():
        if name not in _TOLD:
            problems.append(FieldProblem(name, "unknown_field", "is not known here"))
            continue
        try:
            kind = Columns if name == "mapping" else date if name in {"as_of", "opened_on"} else str
            if isinstance(value, str) and name == "mapping":
                value = msgspec.json.decode(value)  # noqa: PLW2901 - a part of a form is text
            converted = msgspec.convert(value, kind)
            msgspec.json.encode(converted)  # what no document can hold is refused here
            if isinstance(converted, str) and not _RULE.get(name, _fits)(converted):
                problems.append(FieldProblem(name, "invalid_value", _TOLD[name]))
            setattr(read, name, converted)
        except (msgspec.MsgspecError, UnicodeDecodeError, ValueError, RecursionError):
            problems.append(FieldProblem(name, "invalid_value", _TOLD[name]))
    if problems:
        raise InvalidRequest(problems)
    return read


def _of_form(form: list[Part]) -> tuple[list[bytes], _Form]:
    files = [part.content for part in form if part.name == "file"]
    if not 1 <= len(files) <= FILES_MAX:
        told = f"must come once at least, and {FILES_MAX} times at most"
        raise InvalidRequest([FieldProblem("file", "missing_field", told)])
    beside = {part.name: part.content for part in form if part.name != "file"}
    try:
        return files, _form({name: content.decode() for name, content in beside.items()})
    except UnicodeDecodeError:
        raise InvalidFile("a part of the form is not UTF-8") from None


def _of_json(body: bytes) -> tuple[list[bytes], _Form]:
    if body.lstrip()[:1] == b"[":
        raise MalformedDocument("is not a JSON object")
    try:
        # The transactions are passed over here: a process beside the service reads them.
        sent = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        beside = {name: msgspec.json.decode(sent[name]) for name in _TOLD if name in sent}
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise MalformedDocument("is not a JSON object") from None
    except RecursionError:
        raise MalformedDocument("is nested too deeply") from None
    if not bytes(sent.get("transactions", b"")).startswith(b"["):
        told = "must be a list of transactions"
        raise InvalidRequest([FieldProblem("transactions", "missing_field", told)])
    return [body], _form(beside)


# Tools that make clients put no files beside words into a form: its parts stand in words.
_FORM: Final[Json] = {
    **FILE,
    "description": "A form: `file`, once for each file of the wallet, and the parts named above; "
    "and `mapping`, JSON that names the columns of a table. Or a JSON object: `transactions`, a "
    "list, beside the same parts.",
}


# ------------------------------------------------------------------------------- operations


_DAY: Final = timedelta(days=1)
EARLIEST_AS_OF: Final = date(2000, 1, 1)
YEARS_MAX: Final = 50
"""Of a wallet: more months than `mm_months` may have are a slip."""
_EVIDENCE_DAYS: Final = 7


class FieldsEndpoint:
    """Derives fields from statements."""

    def __init__(self, admission: Admission, desk: Desk, mappings: Mappings[Layout]) -> None:
        self._admission = admission
        self._desk = desk
        self._mappings = mappings

    @Operation(
        path="/v1/fields",
        method="POST",
        id="deriveFields",
        tag="Statements",
        summary="Derive fields from a statement",
        description="Reads one statement of a wallet or an account, or several of the same one, "
        f"and derives the fields of an application by the published formulas `{VERSION}`; says "
        "what they stand on, and whether the statement holds together. Nothing is stored. Send a "
        "form with the files as `file` (PDF or CSV of M-PESA and MTN, Orange Money, camt.053, GSMA "
        "JSON, any table with a `mapping`), or transactions as a JSON object. Beside them may "
        "stand `as_of`, the day of application (default: today), `opened_on`, `country` and "
        "`zone` (default: those of the policy), `password`, `applicant_name`, which is compared "
        "with the holder's, and `applicant_ref`, for whom alone the `evidence` is then good. "
        "Together at most 8 MiB.",
        scope=Scope.WRITE,
        files={FORM: _FORM, "application/json": _FORM},
        body_told="Statements as `file` in a form, or transactions as a JSON object; beside them "
        "what is named above. At most 8 MiB.",
        replies={
            200: Success(
                "The fields, not stored.", reference("FieldsReply"), examples=("derived_fields",)
            )
        },
        refusals=(
            MalformedDocument,
            BadParameter,
            OnboardingIncomplete,
            ModelUnavailable,
            Busy,
            BodyTooLarge,
            UnsupportedMediaType,
            InvalidRequest,
            InvalidFile,
            StatementUnreadable,
            MappingNeeded,
            PasswordNeeded,
            PdfTooCostly,
        ),
    )
    async def derive(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.WRITE)
        parameters.read(call, ())
        policy = caller.active_model().policy
        content_type = call.headers.get(b"content-type", b"")
        if content_type.lower().startswith(FORM.encode()):
            body = await call.body(BYTES_MAX)
            if body is None:
                raise BodyTooLarge(f"the body is larger than {BYTES_MAX >> 20} MiB")
            files, form = _of_form(parts(content_type, body))
        else:
            files, form = _of_json(await json_body(call, BYTES_MAX))
        now = datetime.fromtimestamp(call.arrival.at_us / 1e6, UTC)
        asked = _asked(files, form, policy, now)
        if asked.columns is None:
            lender = caller.book.lender
            kept = await asyncio.to_thread(self._mappings.each, lender, Files.STATEMENTS)
            layouts = tuple(one.mapping for one in kept)
            asked = msgspec.structs.replace(asked, layouts=layouts)
        found = await self._desk.read(caller.book, asked)
        _require_currency(found, policy)
        expected = evidence.covered(caller.active_model(), found.fields)
        sendable = {name for name, value in expected.items() if value is not None}
        token = _token(caller, form.applicant_ref, found, call.arrival.at_us)
        return private_json(fields_reply(found, sendable, token), headers)


def _asked(files: list[bytes], form: _Form, policy: ReadyPolicy, now: datetime) -> Asked:
    place = _place(form, policy)
    today = now.astimezone(place.zone).date()
    as_of = form.as_of or today
    opened_on = form.opened_on or as_of
    problems = []
    if not EARLIEST_AS_OF <= as_of <= today + _DAY:
        told = f"must be {EARLIEST_AS_OF} or later, and not yet to come"
        problems.append(FieldProblem("as_of", "invalid_value", told))
    elif not _years_before(as_of) <= opened_on <= as_of:
        told = f"must be before the day of application, and not more than {YEARS_MAX} years"
        problems.append(FieldProblem("opened_on", "invalid_value", told))
    if problems:
        raise InvalidRequest(problems)
    offset = now.astimezone(place.zone).utcoffset() or timedelta(0)
    return Asked(
        files=files,
        as_of=as_of,
        utc_offset_s=round(offset.total_seconds()),
        weekend=tuple(sorted(place.weekend)),
        opened_on=form.opened_on,
        applicant_name=form.applicant_name,
        password=form.password,
        columns=form.mapping,
        age_days_max=policy.evidence.days_max or AGE_DAYS_MAX,
    )


def _years_before(day: date) -> date:
    return day - timedelta(days=YEARS_MAX * 365)


def _place(form: _Form, policy: ReadyPolicy) -> Place:
    if form.country is None and form.zone is None:
        return place_of_policy(policy)
    try:
        return place_of(
            policy.policy.jurisdiction if form.country is None else form.country, form.zone
        )
    except UnknownPlace:
        name = "country" if form.zone is None else "zone"
        raise InvalidRequest([FieldProblem(name, "invalid_value", _TOLD[name])]) from None


def place_of_policy(policy: ReadyPolicy) -> Place:
    """Give clock and weekend of a lender by the jurisdiction of its policy, or else its clock."""
    told = policy.policy
    try:
        return place_of(told.jurisdiction)
    except UnknownPlace:
        return by_offset(told.daily.utc_offset_hours)


def _require_currency(found: Found, policy: ReadyPolicy) -> None:
    """Refuse figures in other money than the lender's: nobody would see it in them."""
    told, wanted = found.read.currency, policy.policy.currency
    if told is not None and told != wanted:
        raise StatementUnreadable(
            f"the statement is in another currency than {wanted}, in which the policy lends",
            hint="send the statement of a wallet in the lender's currency",
        )


def _token(caller: Caller, applicant_ref: str | None, found: Found, now_us: int) -> str | None:
    today = datetime.fromtimestamp(now_us / 1e6, UTC).date()
    if (today - found.coverage.as_of).days > _EVIDENCE_DAYS:
        return None
    proven = Proven(
        digest=found.digest,
        formulas=found.formulas,
        day=found.coverage.as_of.isoformat(),
        fields=(),  # which of them a score has stood on, the evidence says when it comes with one
        checks=tuple((one.name, one.verdict.value) for one in found.checks),
        doubtful=found.doubtful,
    )
    return evidence.token(caller, applicant_ref, proven, found.fields, now_us)
