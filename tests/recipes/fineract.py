"""A stand-in for Fineract: what our transcript of its API document has, and nothing else.

Every request has to be one of the transcript, and so does every answer. Two rules are from
elsewhere: a table with one row for a loan takes no second one, and a hook has the headers and the
body that apache/fineract has in

    WebHookService                       commit 1a66eace22df887d7768cc665f379a3bf9a0815e
    SynchronousCommandProcessingService  commit 09d788586dd29c3a2a3fd83e875f646b73999b84
"""

from __future__ import annotations

import base64
import json
import threading
from collections import defaultdict
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

import httpx
import msgspec

from tests.ports import HOST
from tests.recipes.fineract_schema import NewColumn, NewHook, NewNote, asked
from tests.recipes.wire import Program

TENANT = "umoja"
USER, PASSWORD, HOOK_SECRET = "scorer", "secret", "0f5c1e8a44b7d96e"
STATUS = {
    "pending": (100, "submitted.and.pending.approval", "pendingApproval"),
    "approved": (200, "approved", "waitingForDisbursal"),
    "active": (300, "active", "active"),
    "repaid": (600, "closed.obligations.met", "closedObligationsMet"),
    "written_off": (601, "closed.written.off", "closedWrittenOff"),
    "rejected": (500, "rejected", None),
}
FLAGS = {flag for _, _, flag in STATUS.values() if flag} | {"closedRescheduled", "overpaid"}


def hook_url(port: int) -> str:
    """Where a scorer that listens on a port takes hooks."""
    return f"http://{HOST}:{port}/{HOOK_SECRET}/"


class Fineract:
    """Clients, loans, data tables, notes and hooks of one tenant, over HTTP."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.faults: list[str] = []
        """What was asked or answered against the document."""
        self.clients: dict[int, dict[str, Any]] = {}
        self.loans: dict[int, dict[str, Any]] = {}
        self.rows: defaultdict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
        self.notes: defaultdict[int, list[str]] = defaultdict(list)
        self.columns: dict[str, list[NewColumn]] = {}
        self.hooks: list[NewHook] = []
        self.listed = 0
        """How often all loans were asked for."""
        self.refuses: dict[int, int] = {}
        """The status with which it refuses to tell of a loan."""
        self.answers: dict[int, bytes] = {}
        """What it says of a loan, against the document."""
        self.sorts = True
        """Whether it gives loans in the order that was asked for."""
        self.writes_dates_as_lists = False
        """As it does where nobody has asked for another form, whatever the document says."""
        handler = type("Handler", (_Handler,), {"fineract": self})
        self._server = ThreadingHTTPServer((HOST, 0), handler)
        self.url = f"http://{HOST}:{self._server.server_port}/fineract-provider/api"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def submit(self, loan_id: int, **mobile_money: Any) -> None:
        """A client, with what is known of the phone, applies for a loan."""
        client_id = loan_id + 1_000
        self.clients[client_id] = {"id": client_id, "officeName": "Nyeri", "displayName": "W. M."}
        if mobile_money:
            self.rows["mobile_money"][client_id] = {"client_id": client_id} | mobile_money
        self.loans[loan_id] = {
            "id": loan_id,
            "clientId": client_id,
            "principal": 9_000.0,
            "termFrequency": 2,
            "termPeriodFrequencyType": {
                "id": 2,
                "code": "termFrequency.periodFrequencyType.months",
                "description": "Months",
            },
            "loanPurposeName": "business",
        }
        self.becomes(loan_id, "pending")

    def becomes(self, loan_id: int, state: str, **more: Any) -> None:
        number, code, holds = STATUS[state]
        status: dict[str, Any] = {flag: flag == holds for flag in FLAGS}
        status |= {"id": number, "code": f"loanStatusType.{code}"}
        status["closed"] = code.startswith("closed")
        self.loans[loan_id] = self.loans[loan_id] | {"status": status} | more

    def tell(self, port: int, action: str, loan_id: int, tenant: str = TENANT) -> int:
        """Send a hook, as a loan has changed; the status of the answer."""
        client_id = self.loans[loan_id]["clientId"]
        body = {
            "entityName": "LOAN",
            "actionName": action,
            "createdBy": 1,
            "createdByName": "mifos",
            "createdByFullName": "App Administrator",
            "request": {"locale": "en"},
            "officeId": 1,
            "clientId": client_id,
            "response": {"clientId": client_id, "loanId": loan_id, "resourceId": loan_id},
            "timestamp": datetime.now(UTC).isoformat(),
        }
        return self.send(port, action, body, tenant)

    def send(self, port: int, action: str, body: object, tenant: str = TENANT) -> int:
        headers = {
            "X-Fineract-Entity": "LOAN",
            "X-Fineract-Action": action,
            "Fineract-Platform-TenantId": tenant,
            "X-Fineract-Endpoint": self.url,
        }
        with httpx.Client(trust_env=False, timeout=10) as client:
            return client.post(hook_url(port), json=body, headers=headers).status_code

    # --------------------------------------------------------------------------- what is asked

    def answer(self, method: str, target: str, body: bytes) -> tuple[int, bytes] | None:
        """Status and body; None where nobody is left to hear them."""
        try:
            operation, path, told = asked(method, target, body)
            loan = int(path.get("loanId", 0))
            if loan in self.refuses or loan in self.answers:
                return self.refuses.get(loan, 200), self.answers.get(loan, b"{}")
            kind = "notes" if operation.path.endswith("notes") else operation.path.split("/")[2]
            query = dict(parse_qsl(urlsplit(target).query))
            more = (query, told) if kind == "loans" else (told,)
            status, said = getattr(self, f"_{kind}")(path, *more)
            if status == httpx.codes.OK:
                msgspec.convert(said, operation.answer)  # its dates as the document has them
        except (ValueError, TypeError, LookupError, AssertionError) as error:
            self.faults.append(f"{method} {target}: {error!r}")
            return 500, b"{}"
        changed = method == "POST" and status == httpx.codes.OK
        if changed and self._program.changed(method, target, body):
            return None
        return status, json.dumps(_listed(said) if self.writes_dates_as_lists else said).encode()

    def _page(self, query: dict[str, str]) -> dict[str, Any]:
        assert (query["orderBy"], query["sortOrder"]) == ("id", "DESC")
        loans = sorted(self.loans.values(), key=lambda loan: -loan["id"] if self.sorts else 0)
        first = int(query["offset"])
        page = loans[first : first + int(query["limit"])]
        return {"pageItems": page, "totalFilteredRecords": len(loans)}

    def _loans(self, path: dict[str, str], query: dict[str, str], _: None) -> tuple[int, Any]:
        if not path:
            page = self._page(query)
            self.listed += 1  # now, since who waits for it submits loans that are not of this page
            return 200, page
        loan = self.loans.get(int(path["loanId"]))
        return (200, loan) if loan else (404, {})

    def _clients(self, path: dict[str, str], _: None) -> tuple[int, Any]:
        return 200, self.clients[int(path["clientId"])]

    def _datatables(self, path: dict[str, str], told: Any) -> tuple[int, Any]:
        if path:
            return self._rows(path["datatable"], int(path["apptableId"]), told)
        if told is None:
            return 200, [{"registeredTableName": name} for name in self.columns]
        assert told.apptable_name == "m_loan"
        assert told.datatable_name not in self.columns, "there is such a table"
        self.columns[told.datatable_name] = told.columns
        return 200, {"resourceIdentifier": told.datatable_name}

    def _rows(self, table: str, of: int, told: dict[str, Any] | None) -> tuple[int, Any]:
        rows = self.rows[table]
        if told is None:
            return 200, [rows[of]] if of in rows else []
        assert of in self.loans
        assert of not in rows, "there is a row of this loan"
        assert told.pop("locale") == "en"
        columns = {column.name: column for column in self.columns[table]}
        assert told.keys() <= columns.keys()
        assert all(name in told for name, column in columns.items() if column.mandatory is True)
        rows[of] = {"loan_id": of} | told
        return 200, {"resourceId": of}

    def _notes(self, path: dict[str, str], told: NewNote | None) -> tuple[int, Any]:
        assert path["resourceType"] == "loans"
        notes = self.notes[int(path["resourceId"])]
        if told is None:
            return 200, [{"id": n, "note": text} for n, text in enumerate(notes, start=1)]
        notes.append(told.note)
        return 200, {"resourceId": len(notes)}

    def _hooks(self, _: object, told: NewHook | None) -> tuple[int, Any]:
        if told is None:
            return 200, [{"displayName": str(hook.display_name)} for hook in self.hooks]
        self.hooks.append(told)
        return 200, {"resourceId": len(self.hooks)}


def _listed(said: Any) -> Any:
    """Dates as [2026, 11, 16]."""
    match said:
        case dict():
            return {name: _dated(name, _listed(value)) for name, value in said.items()}
        case list():
            return [_listed(value) for value in said]
    return said


def _dated(name: str, value: Any) -> Any:
    is_date = name.endswith("Date") and isinstance(value, str)
    return [int(part) for part in value.split("-")] if is_date else value


class _Handler(BaseHTTPRequestHandler):
    fineract: Fineract
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._reply()

    def do_POST(self) -> None:
        self._reply()

    def log_message(self, *_: object) -> None:
        pass

    def _reply(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        base, _, target = self.path.partition("/api")
        secret = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if base != "/fineract-provider":
            reply: tuple[int, bytes] | None = (404, b"{}")
        elif (
            self.headers.get("Authorization") != f"Basic {secret}"
            or self.headers.get("Fineract-Platform-TenantId") != TENANT
        ):
            reply = (401, b"{}")
        else:
            reply = self.fineract.answer(self.command, target, body)
        if reply is None:
            self.close_connection = True
            return
        status, said = reply
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)
