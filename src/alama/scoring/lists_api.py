"""/v1/lists: put applicants on the block list or the watch list, and take them off."""

from __future__ import annotations

import json
from collections import Counter
from datetime import date
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Meta

from alama.core.application import CONTROLS
from alama.core.errors import FieldProblem
from alama.core.intake import members
from alama.platform.book import Scope
from alama.platform.days import DAY_US, day_number, moment, moment_if
from alama.platform.http import fields, parameters
from alama.platform.http.bodies import json_body
from alama.platform.http.exchange import Call, Reply, Utc, encode_json, private_json
from alama.platform.http.fields import SPACE, Rule
from alama.platform.http.operation import (
    AT_US,
    BODY,
    FIELDS_TOLD,
    RATE,
    Json,
    Operation,
    Success,
    cursor_parameter,
    reference,
)
from alama.platform.http.problems import BadParameter, InvalidRequest
from alama.platform.timeouts import run_with_timeout
from alama.scoring.api import REFERENCE, REFERENCE_RULE, is_reference
from alama.scoring.lists import (
    AT_ONCE,
    TEXT_MAX,
    Listed,
    ListEntry,
    Listing,
    ListKeeping,
    ListName,
    ListReason,
    ListsFull,
    Put,
    is_line,
    names_applicant,
)
from alama.scoring.scores_api import PAGE_DEFAULT, PAGE_MAX
from alama.vault.ring import APPLICANT_KEY_PREFIX

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from alama.core.errors import AlamaError
    from alama.lenders.installation import Installation
    from alama.scoring.admission import Admission
    from alama.scoring.directory import Caller

TAG: Final = "Lists"
ENTRIES: Final = "entries"
BODY_MAX: Final = 512 * 1024
APPLICANT_KEY_PATTERN: Final = "^apk_[0-9a-f]{28}$"
_EXAMPLE_KEY: Final = "apk_065bfeda25e0005d1f0a9c3b7e42"
YEARS: Final = range(2000, 2101)
TIMEOUT_S: Final = 30.0

RULES: Final = {
    "applicant_ref": Rule(str, REFERENCE_RULE),
    "list": Rule(str, f"must be {' or '.join(ListName)}"),
    "reason": Rule(str, f"must be one of {', '.join(ListReason)}"),
    "name": Rule(str, f"must be a name on one line, at most {TEXT_MAX} characters"),
    "until": Rule(str, "must be a date such as 2027-06-30, the last day on the list"),
    "note": Rule(str, f"must be one line, at most {TEXT_MAX} characters, and name no applicant"),
}
"""What the fields of bodies must be, by their names."""

_APPLICANT = Annotated[
    str,
    Meta(
        description="What is sent as `applicant_ref`, letter by letter.",
        examples=["customer-7f3a"],
        extra_json_schema={name: rule for name, rule in REFERENCE.items() if name != "type"},
    ),
]
_LINE: Final = f"^[^{CONTROLS}]*[^{SPACE}{CONTROLS}][^{CONTROLS}]*$"
_NAME = Annotated[
    str,
    Meta(
        description="Who says so.",
        examples=["W. Mutua"],
        extra_json_schema={"maxLength": TEXT_MAX, "pattern": _LINE},
    ),
]


class NewListEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who is to be put on which list, and why."""

    applicant_ref: _APPLICANT
    list: Annotated[
        ListName,
        Meta(description="`block`: every application is declined. `watch`: a person decides."),
    ]
    reason: Annotated[
        ListReason, Meta(description="Why. Reasons are counted; `other` says that none fits.")
    ]
    name: _NAME
    until: Annotated[
        date | None,
        Meta(
            description="The last day on the list, UTC; null: until somebody removes them.",
            extra_json_schema={"pattern": "^(20[0-9]{2}|2100)-"},
        ),
    ] = None
    note: Annotated[
        str,
        Meta(
            description="One line for whoever asks why. It is kept in clear: name the case, not "
            "the applicant, who reads it in an export.",
            extra_json_schema={"maxLength": TEXT_MAX, "pattern": f"^[^{CONTROLS}]*$"},
        ),
    ] = ""


class ListEntries(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whom to put on lists: all of them, or nobody where one cannot be."""

    entries: Annotated[
        tuple[NewListEntry, ...],
        Meta(min_length=1, max_length=AT_ONCE, description="One for each applicant."),
    ]


class OffList(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whom to take off the lists."""

    applicant_ref: _APPLICANT
    name: _NAME


class OnList(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whose entry is asked for."""

    applicant_ref: _APPLICANT


class ListEntryReply(msgspec.Struct, frozen=True):
    """An entry in a list. It names nobody."""

    applicant_key: Annotated[str, Meta(description="Names the applicant, as the audit does.")]
    list: Annotated[str, Meta(description="`block` or `watch`. An open set: expect more.")]
    reason: Annotated[str, Meta(description="Why, as it is counted. An open set: expect more.")]
    name: Annotated[str, Meta(description="Who said so.")]
    note: Annotated[str, Meta(description="In their words; empty: none were given.")]
    listed_at: Annotated[Utc, Meta(description="When it came, in UTC.")]
    ends_at: Annotated[Utc | None, Meta(description="In UTC; null: not by itself.")]
    key_id: Annotated[str | None, Meta(description="The API key that it came with, if one did.")]


class FoundEntry(msgspec.Struct, frozen=True):
    """The entry of an applicant."""

    entry: Annotated[ListEntryReply | None, Meta(description="null: on no list.")]


class ListPage(msgspec.Struct, frozen=True):
    """Entries, whoever was known last first."""

    data: Annotated[list[ListEntryReply], Meta(description="At most `limit` of them.")]
    next_cursor: Annotated[
        str | None, Meta(description="Send it as `cursor` for the next page; null on the last.")
    ]


class ListResult(msgspec.Struct, frozen=True):
    """What became of one entry."""

    applicant_key: Annotated[str, Meta(description="Names the applicant, as the audit does.")]
    result: Annotated[
        str,
        Meta(
            description="`added`; `changed`: they were on a list before; `unchanged`: the same was "
            "said before. An open set: expect more."
        ),
    ]


class ListResults(msgspec.Struct, frozen=True):
    """What became of the entries of one request."""

    results: Annotated[list[ListResult], Meta(description="One for each entry, in the order sent.")]
    counts: Annotated[
        dict[str, Annotated[int, Meta(ge=1)]],
        Meta(description="How many there were of each result.", examples=[{"added": 2}]),
    ]


class ListRemoval(msgspec.Struct, frozen=True):
    """What a removal has done."""

    removed: Annotated[bool, Meta(description="false: the applicant was on no list.")]


REQUESTS: Final = (NewListEntry, ListEntries, OffList, OnList)
REPLIES: Final = (ListResults, ListRemoval, FoundEntry, ListPage)
PARAMETERS: Final[dict[str, Json]] = {
    "list": {
        "name": "list",
        "in": "query",
        "description": "Entries of this list alone.",
        "schema": {"type": "string", "enum": list(ListName)},
    },
    "list_cursor": cursor_parameter(APPLICANT_KEY_PATTERN, _EXAMPLE_KEY),
}


class ListEndpoints:
    """The lists of the book of the key."""

    def __init__(self, admission: Admission, lists: ListKeeping) -> None:
        self._admission = admission
        self._lists = lists

    @classmethod
    def at(cls, admission: Admission, installed: Installation) -> ListEndpoints:
        """Knows the lists of an installation."""
        return cls(admission, ListKeeping.at(installed))

    @Operation(
        path="/v1/lists/entries",
        method="POST",
        id="listApplicants",
        tag=TAG,
        summary="Put applicants on a list",
        description="Whoever is on the block list is declined, whoever is on the watch list is "
        "left to a person, within a second, in every process, whatever they apply with. One "
        "is on one list at most: said anew, the last word counts. The same sent again changes "
        "nothing, so no `Idempotency-Key` is needed. They need not have applied before.",
        scope=Scope.LISTS_WRITE,
        body="ListEntries",
        body_told="An object whose only field, `entries`, is a list of 1 to 1,000 entries. At most "
        "512 KiB of UTF-8, plain or gzip.",
        requests=("list_entries",),
        replies={
            200: Success(
                "What became of each entry.",
                reference("ListResults"),
                headers=RATE,
                examples=("list_results",),
            )
        },
        refusals=(*BODY, ListsFull),
    )
    async def put(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.LISTS_WRITE)
        parameters.read(call, ())
        body = await json_body(call, BODY_MAX)
        listed = await run_with_timeout(lambda: self._put(caller, body), TIMEOUT_S)
        return private_json(results_reply(listed), headers)

    def _put(self, caller: Caller, body: bytes) -> Sequence[Listed]:
        return self._lists.put(caller.book, read(body), caller.key.id)

    @Operation(
        path="/v1/lists/entries",
        method="GET",
        id="listListed",
        tag=TAG,
        summary="Read the lists",
        description="Entries name nobody: the lender's own references are kept nowhere in clear. "
        "Ask for those at `/v1/lists/find`.",
        scope=Scope.LISTS_READ,
        parameters=("list", "limit", "list_cursor"),
        replies={
            200: Success(
                "A page of entries.", reference("ListPage"), headers=RATE, examples=("list_page",)
            )
        },
        refusals=(BadParameter,),
    )
    async def page(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.LISTS_READ)
        asked = parameters.read(call, ("list", "limit", "cursor"))
        name = _list_name(asked.get("list"))
        limit = parameters.limit(asked.get("limit"), PAGE_DEFAULT, PAGE_MAX)
        cursor = parameters.cursor(asked.get("cursor"), APPLICANT_KEY_PREFIX)
        found = await run_with_timeout(
            lambda: self._lists.page(caller.book, cursor, limit + 1, name)
        )
        return private_json(page_reply(found, limit), headers)

    @Operation(
        path="/v1/lists/remove",
        method="POST",
        id="unlistApplicant",
        tag=TAG,
        summary="Take an applicant off the lists",
        description="From within a second on, in every process, their applications are decided as "
        "those of others are. What was decided before stays. Sent again, it says that they were on "
        "none.",
        scope=Scope.LISTS_WRITE,
        body="OffList",
        body_told=FIELDS_TOLD,
        requests=("off_list",),
        replies={
            200: Success(
                "They are on no list.",
                reference("ListRemoval"),
                headers=RATE,
                examples=("list_removal",),
            )
        },
        refusals=BODY,
    )
    async def remove(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.LISTS_WRITE)
        parameters.read(call, ())
        sent = fields.read(OffList, await json_body(call), RULES, _CHECKS)
        entry = await run_with_timeout(
            lambda: self._lists.remove(caller.book, sent.applicant_ref, sent.name)
        )
        return private_json(encode_json(ListRemoval(entry is not None)), headers)

    @Operation(
        path="/v1/lists/find",
        method="POST",
        id="findListed",
        tag=TAG,
        summary="Ask whether an applicant is on a list",
        description="The reference is in the body, so that it stands in no log of addresses. An "
        "entry whose time is over is given too, and decides nothing any more.",
        scope=Scope.LISTS_READ,
        body="OnList",
        body_told=FIELDS_TOLD,
        requests=("on_list",),
        replies={
            200: Success(
                "Their entry, if there is one.",
                reference("FoundEntry"),
                headers=RATE,
                examples=("found_entry",),
            )
        },
        refusals=BODY,
    )
    async def find(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.LISTS_READ)
        parameters.read(call, ())
        sent = fields.read(OnList, await json_body(call), RULES, _CHECKS)
        entry = await run_with_timeout(lambda: self._lists.find(caller.book, sent.applicant_ref))
        return private_json(found_reply(entry), headers)


def _list_name(said: str | None) -> ListName | None:
    if said is not None and said not in set(ListName):
        raise BadParameter(f"list must be {' or '.join(ListName)}")
    return None if said is None else ListName(said)


def read(body: bytes) -> list[Listing]:
    """Read whom to put on lists, or raise what `fields.read` does."""
    sent = fields.read_list(
        NewListEntry, members(body), ENTRIES, RULES, _CHECKS, length_max=AT_ONCE
    )
    found = [_listing(one) for one in sent]
    faults = [
        FieldProblem("note", "out_of_range", RULES["note"].told).within(ENTRIES, place)
        for place, one in enumerate(found)
        if names_applicant(one)
    ]
    if faults:
        raise InvalidRequest(faults)
    return found


def _listing(sent: NewListEntry) -> Listing:
    until_us = None if sent.until is None else (day_number(sent.until) + 1) * DAY_US
    return Listing(
        sent.applicant_ref, sent.list, sent.reason, sent.name, until_us, sent.note.strip()
    )


def _require_reference(text: str) -> None:
    if not is_reference(text):
        raise ValueError


def _require_line(text: str) -> None:
    if not is_line(text):
        raise ValueError


def _require_note(text: str) -> None:
    if text.strip() and not is_line(text):
        raise ValueError


def _in_our_time(given: date | None) -> None:
    if given is not None and given.year not in YEARS:
        raise ValueError


_CHECKS: Final[Mapping[str, fields.Check]] = {
    "applicant_ref": _require_reference,
    "name": _require_line,
    "note": _require_note,
    "until": _in_our_time,
}


# ------------------------------------------------------------------------------ replies


def entry_reply(entry: ListEntry) -> ListEntryReply:
    """Give an entry as the contract has it."""
    return ListEntryReply(
        entry.applicant_key_id,
        entry.name.value,
        entry.reason.value,
        entry.person,
        entry.note,
        moment(entry.listed_us),
        moment_if(entry.until_us),
        entry.key_id,
    )


def results_reply(listed: Sequence[Listed]) -> bytes:
    """Say what became of each entry."""
    results = [ListResult(one.entry.applicant_key_id, one.put.value) for one in listed]
    return encode_json(ListResults(results, dict(Counter(one.result for one in results))))


def found_reply(entry: ListEntry | None) -> bytes:
    """Give the entry of an applicant, if there is one."""
    return encode_json(FoundEntry(None if entry is None else entry_reply(entry)))


def page_reply(found: Sequence[ListEntry], limit: int) -> bytes:
    """Give one page; the cursor of the next one is the last key, if there may be more."""
    shown = [entry_reply(one) for one in found[:limit]]
    more = len(found) > limit
    return encode_json(ListPage(shown, shown[-1].applicant_key if more else None))


# ------------------------------------------------------------------------------ examples

_ENTRY: Final = ListEntry(
    _EXAMPLE_KEY,
    ListName.BLOCK,
    ListReason.FRAUD,
    "W. Mutua",
    "case 12 of 2026",
    AT_US,
    None,
    "key_4f1d2c7b9a035e68",
)


def requests() -> dict[str, Json]:
    """Give the bodies of requests by name, each with what it is for."""
    named = {"applicant_ref": "customer-7f3a"}
    entry = {**named, "list": "block", "reason": "fraud", "name": "W. Mutua"}
    entry["note"] = _ENTRY.note
    off = {**named, "name": "W. Mutua"}
    return {
        "list_entries": {"summary": "One applicant is blocked", "value": {ENTRIES: [entry]}},
        "off_list": {"summary": "An applicant is taken off", "value": off},
        "on_list": {"summary": "One applicant, by your reference", "value": named},
    }


def replies() -> dict[str, Json]:
    """Give the bodies of replies by name."""
    said = {
        "list_results": ("Put on the list", results_reply([Listed(_ENTRY, Put.ADDED)])),
        "list_removal": ("Taken off", encode_json(ListRemoval(True))),  # noqa: FBT003
        "found_entry": ("On the block list", found_reply(_ENTRY)),
        "list_page": ("The last page", page_reply([_ENTRY], 1)),
    }
    return {
        name: {"summary": summary, "value": json.loads(body)}
        for name, (summary, body) in said.items()
    }


def refusals() -> dict[str, tuple[AlamaError, ...]]:
    """Give problems by the paths that they are met at."""
    return {"/v1/lists/entries": (ListsFull(),)}
