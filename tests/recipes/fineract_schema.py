"""What Fineract's published API document says of the operations that the recipe uses.

A transcript by hand, not the document itself. It is of the OpenAPI 3.0 document of Apache Fineract
1.16.0-SNAPSHOT that the repository apache/fineract-backoffice-ui holds as public/api/fineract.json:

    commit   0df5472daf047b173244f5b4d1f29425bd459efa
    SHA-256  de8e93453481caf2e70b99fb73c99f36599a4aeffa4aed03f548e96e0c7bce1f
    from the image apache/fineract, whose digest is
             sha256:39808718e767eedf7f3666d0df495643ed133b94e9857a614a925ba56b3ab6d2

Of its 958 operations the 11 of `OPERATIONS` were transcribed: method, path, parameters of the
query, body and answer. Each type names its schema there and has the members that matter here, with
their types; one that is not listed is refused, so that neither the recipe nor the stand-in can rely
on what is not announced.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import msgspec
from msgspec import UNSET, Struct, UnsetType

Text = str | UnsetType
Flag = bool | UnsetType
Whole = int | UnsetType
Number = float | int | UnsetType
Day = date | UnsetType


class Announced(Struct, forbid_unknown_fields=True, kw_only=True, rename="camel"):
    """An object of the document. Hardly any of its members is required there."""


class Option(Announced):
    """Such as GetLoansLoanIdTermPeriodFrequencyType."""

    id: Whole = UNSET
    code: Text = UNSET
    description: Text = UNSET


class LoanStatus(Announced):
    """GetLoansLoanIdStatus."""

    id: Whole = UNSET
    code: Text = UNSET
    description: Text = UNSET
    pending_approval: Flag = UNSET
    waiting_for_disbursal: Flag = UNSET
    active: Flag = UNSET
    closed: Flag = UNSET
    closed_obligations_met: Flag = UNSET
    closed_written_off: Flag = UNSET
    closed_rescheduled: Flag = UNSET
    overpaid: Flag = UNSET


class LoanTimeline(Announced):
    """GetLoansLoanIdTimeline."""

    submitted_on_date: Day = UNSET
    approved_on_date: Day = UNSET
    actual_disbursement_date: Day = UNSET
    charged_off_on_date: Day = UNSET
    closed_on_date: Day = UNSET


class LoanSummary(Announced):
    """GetLoansLoanIdSummary."""

    principal_disbursed: Number = UNSET
    total_repayment: Number = UNSET
    total_outstanding: Number = UNSET
    total_written_off: Number = UNSET
    overdue_since_date: Day = UNSET


class Delinquency(Announced):
    """GetLoansLoanIdDelinquencySummary."""

    past_due_days: Whole = UNSET
    past_due_date: Day = UNSET
    delinquent_days: Whole = UNSET


class Loan(Announced):
    """GetLoansLoanIdResponse."""

    id: Whole = UNSET
    account_no: Text = UNSET
    client_id: Whole = UNSET
    client_name: Text = UNSET
    principal: Number = UNSET
    term_frequency: Whole = UNSET
    term_period_frequency_type: Option | UnsetType = UNSET
    loan_purpose_id: Whole = UNSET
    loan_purpose_name: Text = UNSET
    status: LoanStatus | UnsetType = UNSET
    timeline: LoanTimeline | UnsetType = UNSET
    summary: LoanSummary | UnsetType = UNSET
    delinquent: Delinquency | UnsetType = UNSET
    overpaid_on_date: Day = UNSET


class LoanPage(Announced):
    """GetLoansResponse."""

    page_items: list[Loan]
    total_filtered_records: Whole = UNSET


class Client(Announced):
    """GetClientsClientIdResponse."""

    id: Whole = UNSET
    account_no: Text = UNSET
    active: Flag = UNSET
    display_name: Text = UNSET
    office_id: Whole = UNSET
    office_name: Text = UNSET
    status: Option | UnsetType = UNSET


class DataTable(Announced):
    """GetDataTablesResponse."""

    application_table_name: Text = UNSET
    registered_table_name: Text = UNSET


class NewColumn(Announced):
    """PostColumnHeaderData."""

    name: str
    type: str
    length: Whole = UNSET
    mandatory: Flag = UNSET
    unique: Flag = UNSET
    indexed: Flag = UNSET
    code: Text = UNSET

    def __post_init__(self) -> None:
        if self.type not in {"Boolean", "Date", "DateTime", "Decimal", "Number", "String", "Text"}:
            raise ValueError(f"no column has the type {self.type}")
        if (self.type == "String") != (self.length is not UNSET):
            raise ValueError(f"{self.name}: a String, and nothing else, has a length")
        if not re.fullmatch(r"[A-Za-z]([\w ]*[A-Za-z0-9])?", self.name):
            raise ValueError(f"{self.name} is no name of a column")


class NewDataTable(Announced):
    """PostDataTablesRequest."""

    apptable_name: str
    datatable_name: str
    columns: list[NewColumn]
    multi_row: Flag = UNSET
    entity_sub_type: Text = UNSET


class DataTableMade(Announced):
    """PostDataTablesResponse."""

    resource_identifier: Text = UNSET


class Made(Announced):
    """HookCreateResponse, PostDataTablesAppTableIdResponse."""

    resource_id: Whole = UNSET


class HookEvent(Announced):
    """HookEventData."""

    entity_name: Text = UNSET
    action_name: Text = UNSET


class NewHook(Announced):
    """HookCreateRequest."""

    name: Text = UNSET
    display_name: Text = UNSET
    is_active: Flag = UNSET
    template_id: Whole = UNSET
    events: list[HookEvent] | UnsetType = UNSET
    config: dict[str, str] | UnsetType = UNSET


class HookField(Announced):
    """HookFieldData."""

    field_name: Text = UNSET
    field_value: Text = UNSET


class Hook(Announced):
    """HookData."""

    id: Whole = UNSET
    name: Text = UNSET
    display_name: Text = UNSET
    is_active: Flag = UNSET
    events: list[HookEvent] | UnsetType = UNSET
    config: list[HookField] | UnsetType = UNSET


class NewNote(Announced):
    """NoteCreateRequest."""

    note: str

    def __post_init__(self) -> None:
        if len(self.note) > 65_535:
            raise ValueError("the note is too long")


class NoteMade(Announced):
    """NoteCreateResponse."""

    entity_id: Whole = UNSET
    office_id: Whole = UNSET
    resource_id: Whole = UNSET


class Note(Announced):
    """NoteData."""

    id: Whole = UNSET
    loan_id: Whole = UNSET
    note: Text = UNSET
    created_by_username: Text = UNSET
    created_on: datetime | UnsetType = UNSET


class Operation(NamedTuple):
    """What may be asked, and what is answered. `Any`: the document says no more than text."""

    method: str
    path: str
    answer: Any
    body: Any = None
    query: Mapping[str, type] = {}


_WORDS = ("externalId", "orderBy", "sortOrder", "accountNo", "status", "associations")
_LOAN_PAGE = dict.fromkeys(_WORDS, str) | dict.fromkeys(("offset", "limit", "clientId"), int)
_LOAN = dict.fromkeys(("associations", "exclude", "fields", "staffInSelectedOfficeOnly"), str)
_ROWS = "/v1/datatables/{datatable}/{apptableId:int}"
_NOTES = "/v1/{resourceType}/{resourceId:int}/notes"

OPERATIONS = (
    Operation("GET", "/v1/loans", LoanPage, query=_LOAN_PAGE),
    Operation("GET", "/v1/loans/{loanId:int}", Loan, query=_LOAN),
    Operation("GET", "/v1/clients/{clientId:int}", Client),
    Operation("GET", "/v1/datatables", list[DataTable], query={"apptable": str}),
    Operation("POST", "/v1/datatables", DataTableMade, NewDataTable),
    Operation("GET", _ROWS, Any, query={"order": str}),
    Operation("POST", _ROWS, Made, dict[str, Any]),
    Operation("GET", _NOTES, list[Note]),
    Operation("POST", _NOTES, NoteMade, NewNote),
    Operation("GET", "/v1/hooks", list[Hook]),
    Operation("POST", "/v1/hooks", Made, NewHook),
)


def asked(method: str, target: str, body: bytes) -> tuple[Operation, dict[str, str], Any]:
    """The operation of a request, what its path names, and its body; ValueError if it is none."""
    parts = urlsplit(target)
    for operation in OPERATIONS:
        pattern = re.sub(r"\{(\w+):int\}", r"(?P<\1>[0-9]+)", operation.path)
        pattern = re.sub(r"(?<!\?P<)\{(\w+)\}", r"(?P<\1>[^/]+)", pattern)
        found = re.fullmatch(pattern, parts.path)
        if found and operation.method == method:
            for name, text in parse_qsl(parts.query, strict_parsing=bool(parts.query)):
                operation.query[name](text)  # KeyError: it has no such parameter
            if operation.body is None:
                assert not body, "it takes no body"
                return operation, found.groupdict(), None
            return operation, found.groupdict(), msgspec.json.decode(body, type=operation.body)
    raise ValueError(f"{method} {parts.path} is no operation")
