"""Scores the loan applications of a Fineract, and tells Alama how the loans ended: see README.md.

    python scorer.py setup      makes the data table and the hook in Fineract, once
    python scorer.py serve      the service

A hook is a hint that a loan has changed, and no more: what is done follows from the loan as it is
now. So hooks may come twice, late, in any order, from anybody, or not at all. Whatever is about to
be sent is kept in `scorer.db` before, so the service may be killed at any time.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import re
import signal
import sqlite3
import sys
import time
import tomllib
import traceback
import urllib.error
import urllib.request
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from hmac import compare_digest
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from alama_client import Alama, AlamaError, InvalidApplication, Score

Json = Any

HERE = Path(__file__).parent
STORE = Path(os.environ.get("STORE", HERE / "scorer.db"))
MAPPING = Path(os.environ.get("MAPPING", HERE / "mapping.toml"))
PORT = int(os.environ.get("PORT", "9010"))
HOOK_URL = os.environ.get("HOOK_URL", "")
HOOK_SECRET = urlsplit(HOOK_URL).path.strip("/").rpartition("/")[2]
TENANT = os.environ.get("FINERACT_TENANT", "default")
SWEEP_S = float(os.environ.get("SWEEP_S", "3600"))
RETRY_S = float(os.environ.get("RETRY_S", "15"))
RETRY_S_MAX = 60 * RETRY_S
FINERACT_TIMEOUT_S = 30
BODY_BYTES_MAX = 1_000_000
HINTS_MAX = 10_000
PAGE = 200
NOT_FOUND = 404
SECRET_LENGTH_MIN = 16
ID_MAX = 2**63
TABLE = "alama_decision"
COLUMNS = (
    {"name": "request_id", "type": "String", "length": 64, "mandatory": True},
    {"name": "decision", "type": "String", "length": 20, "mandatory": True},
    {"name": "score", "type": "Number", "mandatory": True},
    {"name": "tier", "type": "String", "length": 5, "mandatory": True},
    {"name": "reasons", "type": "Text"},
)
NAMES = tuple(str(column["name"]) for column in COLUMNS)
EVENTS = (
    *("CREATE", "UPDATE", "APPROVE", "DISBURSE", "REPAYMENT", "WRITEOFF", "CLOSE"),
    *("CLOSEASRESCHEDULED", "ADJUST"),
)
PLACES = re.compile(r"\{(.*?)\}")
DAYS = {"days": 1, "weeks": 7, "months": 30, "years": 365}
NO_LOAN = ("loanStatusType.rejected", "loanStatusType.withdrawn.by.client")

TABLES = """
pragma journal_mode = wal;
create table if not exists queue (loan_id int primary key, news int not null);
create table if not exists decisions (
    loan_id int primary key, application text not null, request_id text, decision text, score int,
    tier text, reasons text, written int not null default 0, finished int not null default 0);
create table if not exists outcomes (
    loan_id int, outcome text, day text, repaid real, disbursed real, result text,
    primary key (loan_id, outcome));
create table if not exists seen (loan_id int not null);
"""

log = logging.getLogger("scorer")


class MappingWrong(Exception):
    """What `mapping.toml` says cannot be: a person has to mend it."""


class AnswerWrong(Exception):
    """Fineract has answered what nobody has announced."""


TROUBLE = (MappingWrong, AnswerWrong, AlamaError, OSError, HTTPException, sqlite3.Error)
"""What is not of our making; every other exception is a defect of ours."""


def an_object(said: Json, **members: type | tuple[type, ...]) -> dict[str, Json]:
    """What Fineract has said, if it is an object with these members."""
    if not isinstance(said, dict):
        raise AnswerWrong("Fineract was to answer with an object")
    for name, kind in members.items():
        if not isinstance(said.get(name), kind):
            raise AnswerWrong(f"Fineract has answered without {name}, or with one of another type")
    return said


def objects(said: Json, **members: type | tuple[type, ...]) -> list[dict[str, Json]]:
    """What Fineract has said, if it is a list of objects with these members."""
    if not isinstance(said, list):
        raise AnswerWrong("Fineract was to answer with a list")
    return [an_object(each, **members) for each in said]


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect is a failure: whoever it names would be sent the password."""

    def redirect_request(self, *_: object) -> None:
        return None


class Fineract:
    """The few calls of Fineract's API that are needed."""

    def __init__(self, url: str, user: str, password: str) -> None:
        self._url = url.rstrip("/")
        secret = base64.b64encode(f"{user}:{password}".encode()).decode()
        self._headers = {
            "Authorization": f"Basic {secret}",
            "Fineract-Platform-TenantId": TENANT,
            "Accept": "application/json",
            "Content-Type": "application/json",
        }
        self._opener = urllib.request.build_opener(NoRedirect)

    def get(self, path: str) -> Json:
        return self._ask("GET", path, None)

    def post(self, path: str, body: Json) -> Json:
        return self._ask("POST", path, json.dumps(body).encode())

    def loan(self, loan_id: int) -> Json:
        said = self.get(f"/v1/loans/{loan_id}?associations=all")
        return an_object(said, id=int, status=dict)

    def loans(self, offset: int) -> list[Json]:
        """A page of all loans, the newest first."""
        order = f"orderBy=id&sortOrder=DESC&offset={offset}&limit={PAGE}"
        said = an_object(self.get(f"/v1/loans?{order}"), pageItems=list)
        return objects(said["pageItems"], id=int)

    def rows(self, table: str, of: int) -> list[Json]:
        """The rows of a data table that belong to a client or a loan."""
        return objects(self.get(f"/v1/datatables/{quote(table)}/{of}"))

    def _ask(self, method: str, path: str, body: bytes | None) -> Json:
        request = urllib.request.Request(  # noqa: S310  the operator's own address
            self._url + path, body, self._headers, method=method
        )
        with self._opener.open(request, timeout=FINERACT_TIMEOUT_S) as reply:
            said = reply.read()
        try:
            return json.loads(said)
        except (ValueError, RecursionError):
            raise AnswerWrong("Fineract has answered with no JSON") from None


def keep(sql: str, *values: object) -> None:
    """Write to the store; when this returns, it is on the disk."""
    with closing(sqlite3.connect(STORE, timeout=30)) as store, store:
        store.execute(sql, values)


def kept(sql: str, *values: object) -> list[sqlite3.Row]:
    with closing(sqlite3.connect(STORE, timeout=30)) as store:
        store.row_factory = sqlite3.Row
        return store.execute(sql, values).fetchall()


# ------------------------------------------------------------------------- from hook to queue

wake = Event()


def queue(loan_id: int, news: int = 1) -> None:
    """Have a loan looked at; if there is news of it, again if that is happening at this moment.

    News beyond `HINTS_MAX` is dropped: the next sweep finds new applications and late loans.
    """
    keep(
        "insert into queue select ?1, ?2"
        " where ?2 = 0 or (select count(*) from queue where news > 0) < ?3"
        " on conflict do update set news = news + ?2",
        *(loan_id, news, HINTS_MAX),
    )
    wake.set()


def loan_of(body: bytes) -> int | None:
    """The loan that a hook speaks of; None where it speaks of none, as when a command failed."""
    try:
        told = json.loads(body)["response"]
        loan_id = told.get("loanId") or told["resourceId"]
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return None
    return loan_id if isinstance(loan_id, int) and 0 < loan_id < ID_MAX else None


class Hook(BaseHTTPRequestHandler):
    """Takes a hook: write it down, answer, work later."""

    timeout = 10  # seconds, for who sends half of one

    def do_POST(self) -> None:
        secret = self.path.rstrip("/").rpartition("/")[2]
        known = compare_digest(secret.encode(), HOOK_SECRET.encode())
        if known:
            self.take()
        self.send_response(204 if known else NOT_FOUND)
        self.end_headers()

    def take(self) -> None:
        length = self.headers.get("content-length", "")
        read = re.fullmatch("[0-9]{1,7}", length) and int(length) <= BODY_BYTES_MAX
        body = self.rfile.read(int(length)) if read else b""
        ours = self.headers.get("Fineract-Platform-TenantId") == TENANT
        if ours and self.headers.get("X-Fineract-Entity") == "LOAN" and (loan := loan_of(body)):
            try:
                queue(loan)
            except sqlite3.Error as error:  # the next sweep finds what it was about
                log.warning("loan %d: its hook was dropped: %s", loan, error)

    def log_message(self, *_: object) -> None:
        pass


# ------------------------------------------------------------------------- from loan to application


def read_mapping(path: Path) -> Json:
    """The mapping, if every place in it is one of a loan, a client or a table that it names."""
    mapping = tomllib.loads(path.read_text("utf-8"))
    if not isinstance(mapping.get("default_days"), int):
        raise MappingWrong("default_days: is a number of days")
    for table, kind in mapping["tables"].items():
        if kind not in {"client", "loan"}:
            raise MappingWrong(f'{table}: is attached to "client" or to "loan"')
    for field, place in mapping["fields"].items():
        for name in PLACES.findall(place) or [place]:
            if name.partition(".")[0] not in {"loan", "client", *mapping["tables"]}:
                raise MappingWrong(f"{field}: {name} is neither of loan, client nor of a table")
    return mapping


def application_of(fineract: Fineract, mapping: Json, loan: Json) -> dict[str, Json]:
    """The fields of `mapping.toml`, with the values of a loan."""
    ids = {"loan": loan["id"], "client": loan["clientId"]}
    client = an_object(fineract.get(f"/v1/clients/{ids['client']}"))
    sources = {"loan": loan | {"term_days": term_days(loan)}, "client": client}
    for table, kind in mapping["tables"].items():
        rows = fineract.rows(table, ids[kind])
        sources[table] = Row(rows[0]) if rows else {}
    found = {field: value_of(place, sources) for field, place in mapping["fields"].items()}
    return {field: value for field, value in found.items() if value not in (None, "")}


class Row(dict[str, Json]):
    """A row of a data table. It has all columns, so that one it has not is a mistake."""

    def get(self, name: str, _: object = None) -> Json:
        if name not in self:
            raise MappingWrong(f"no column of the data table is named {name}")
        return self[name]


def value_of(place: str, sources: Json) -> Json:
    """The value at a place; None where it, or a part of its text, is empty."""
    if names := PLACES.findall(place):
        values = {name: value_of(name, sources) for name in names}
        return None if None in values.values() else PLACES.sub(lambda m: str(values[m[1]]), place)
    value: Json = sources
    for name in place.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def term_days(loan: Json) -> int | None:
    unit = str((loan.get("termPeriodFrequencyType") or {}).get("code")).rpartition(".")[2]
    return loan["termFrequency"] * DAYS[unit] if unit in DAYS and "termFrequency" in loan else None


def day_of(told: Json) -> date | None:
    """A day, which Fineract writes as `2026-11-16` or as [2026, 11, 16]."""
    try:
        return date(*told) if isinstance(told, list) else date.fromisoformat(told) if told else None
    except (TypeError, ValueError, OverflowError):
        raise AnswerWrong("Fineract has answered with a date that is none") from None


# ------------------------------------------------------------------------- from decision to loan


def decide(fineract: Fineract, alama: Alama, mapping: Json, loan: Json) -> None:
    """Score a loan that waits for approval, and write the decision to it: each step once."""
    loan_id = loan["id"]
    if not decision_of(loan_id):
        application = json.dumps(application_of(fineract, mapping, loan))
        keep("insert into decisions (loan_id, application) values (?, ?)", loan_id, application)
    (row,) = decision_of(loan_id)
    if row["request_id"] is None:
        try:
            score = alama.score(
                json.loads(row["application"]),  # what was sent before, if we were killed since
                expand=["reasons"],
                idempotency_key=f"fineract-{TENANT}-{loan_id}",
            )
        except InvalidApplication as error:  # the next hook of this loan tries what is there then
            keep("delete from decisions where loan_id = ?", loan_id)
            broken = "; ".join(f"{each.field} {each.detail}" for each in error.errors)
            text = f"Alama could not score this application: {broken}."
            note(fineract, loan_id, text, known_by=text)
            return
        keep_decision(loan_id, score)
    write_decision(fineract, loan_id)


def adopt(fineract: Fineract, loan_id: int) -> None:
    """Keep the decision that Fineract has, if it has one: our store was lost."""
    if rows := fineract.rows(TABLE, loan_id):
        row = an_object(rows[0], request_id=str, decision=str, score=(int, float), tier=str)
        row["reasons"] = row.get("reasons") or ""
        sql = "insert into decisions values (?, '', ?, ?, ?, ?, ?, 0, 0)"
        keep(sql, loan_id, *(row[name] for name in NAMES))


def decision_of(loan_id: int) -> list[sqlite3.Row]:
    return kept("select * from decisions where loan_id = ?", loan_id)


def keep_decision(loan_id: int, score: Score) -> None:
    """Keep what was decided, and no longer what was said of a person."""
    keep(
        "update decisions set application = '', request_id = ?, decision = ?, score = ?, tier = ?,"
        " reasons = ? where loan_id = ?",
        *(score.request_id, score.decision, score.score, score.tier),
        *(" ".join(reason.text for reason in score.reasons or ()), loan_id),
    )
    log.info("loan %d: %s, %s", loan_id, score.decision, score.request_id)


def write_decision(fineract: Fineract, loan_id: int) -> None:
    (row,) = decision_of(loan_id)
    if row["written"]:
        return
    if not fineract.rows(TABLE, loan_id):
        entry = {name: row[name] for name in NAMES}
        fineract.post(f"/v1/datatables/{TABLE}/{loan_id}", entry | {"locale": "en"})
    decided = f"{row['decision']}, score {row['score']}, tier {row['tier']}"
    text = f"Alama: {decided}. {row['reasons']} ({row['request_id']})"
    note(fineract, loan_id, text, known_by=row["request_id"])
    keep("update decisions set written = 1 where loan_id = ?", loan_id)


def note(fineract: Fineract, loan_id: int, text: str, *, known_by: str) -> None:
    """Add a note to a loan, unless it has one that says so."""
    path = f"/v1/loans/{loan_id}/notes"
    if not any(known_by in str(each.get("note")) for each in objects(fineract.get(path))):
        fineract.post(path, {"note": text})


# ------------------------------------------------------------------------- from loan to outcome


def outcome_of(loan: Json, default_days: int) -> tuple[str, date | None] | None:
    """What has become of a loan, and when; None while there is nothing to say."""
    status, timeline = loan["status"], loan.get("timeline") or {}
    closed = day_of(timeline.get("closedOnDate"))
    if status.get("closedObligationsMet"):
        return "repaid", closed
    if status.get("overpaid"):
        return "repaid", day_of(loan.get("overpaidOnDate")) or closed
    if status.get("closedWrittenOff"):
        return "written_off", closed
    if status.get("closedRescheduled"):
        return "restructured", closed
    late = (loan.get("delinquent") or {}).get("pastDueDays") or 0
    if status.get("active") and late >= default_days:
        return "defaulted", datetime.now(UTC).date() - timedelta(days=late - default_days)
    return None


def report(alama: Alama, mapping: Json, loan: Json) -> None:
    """Tell Alama what has become of a loan that it has scored, each thing once."""
    loan_id = loan["id"]
    if found := outcome_of(loan, mapping["default_days"]):
        outcome, day = found
        summary = loan.get("summary") or {}
        keep(
            "insert or ignore into outcomes values (?, ?, ?, ?, ?, null)",
            *(loan_id, outcome, (day or datetime.now(UTC).date()).isoformat()),
            *(summary.get("totalRepayment"), summary.get("principalDisbursed")),
        )
    unsaid = "select * from outcomes natural join decisions where loan_id = ? and result is null"
    for row in kept(unsaid, loan_id):
        amounts = {"repaid_amount": row["repaid"], "disbursed_amount": row["disbursed"]}
        told = alama.record_outcome(row["request_id"], row["outcome"], row["day"], **amounts)
        if told.result == "in_the_future":  # Fineract's calendar is ahead: said again later
            continue
        sql = "update outcomes set result = ? where loan_id = ? and outcome = ?"
        keep(sql, told.result, loan_id, row["outcome"])
        log.info("loan %d: %s, %s %s", loan_id, row["outcome"], told.result, told.message or "")
    status = loan["status"]
    over = status.get("closed") or status.get("overpaid") or status.get("code") in NO_LOAN
    if over and not kept(unsaid, loan_id):
        keep("update decisions set finished = 1 where loan_id = ?", loan_id)


# ------------------------------------------------------------------------- the service


def examine(fineract: Fineract, alama: Alama, mapping: Json, loan_id: int) -> None:
    """Do what a loan is in need of, as it is now."""
    try:
        loan = fineract.loan(loan_id)
    except urllib.error.HTTPError as error:
        if error.code != NOT_FOUND:
            raise
        keep("update decisions set finished = 1 where loan_id = ?", loan_id)  # it was deleted
        return
    if not decision_of(loan_id):
        adopt(fineract, loan_id)
    if loan["status"].get("pendingApproval"):
        if "clientId" in loan:  # a loan of a group is nobody's phone
            decide(fineract, alama, mapping, loan)
    elif kept("select 1 from decisions where loan_id = ? and request_id is not null", loan_id):
        write_decision(fineract, loan_id)
        report(alama, mapping, loan)


def sweep(fineract: Fineract) -> None:
    """Find what no hook has told: Fineract sends each once, and none when a loan falls behind.

    The first time all loans are looked at: any of them may have a decision that our store has lost.
    """
    for row in kept("select loan_id from decisions where not finished"):
        queue(row["loan_id"], news=0)
    ((known,),) = kept("select max(loan_id) from seen")
    first, known = known is None, known or 0
    offset, newest = 0, known
    while True:
        page = fineract.loans(offset)
        for loan in page:
            status = loan.get("status")
            waits = not isinstance(status, dict) or status.get("pendingApproval")  # or is odd
            if first or (loan["id"] > known and waits):
                queue(loan["id"], news=0)
        ids = [loan["id"] for loan in page]
        newest = max(newest, *ids, 0)
        sorted_down = ids == sorted(ids, reverse=True)  # if not, all of them are looked at
        if len(page) < PAGE or (sorted_down and ids[-1] <= known):
            break
        offset += PAGE
    keep("insert or replace into seen (rowid, loan_id) values (1, ?)", newest)


class Failure(NamedTuple):
    """That a loan could not be looked at: how often in a row, after which news, and until when."""

    times: int
    news: int
    until: float


failures: dict[int, Failure] = {}


def work(fineract: Fineract, alama: Alama, mapping: Json) -> None:
    """Look at the loans of the queue, the newest first, until a hook tells of another.

    One that fails stays there, and is tried again later, or at once when there is news of it.
    """
    for loan_id, news in kept("select loan_id, news from queue order by loan_id desc"):
        last = failures.get(loan_id, Failure(0, 0, 0.0))
        if last.news == news and time.monotonic() < last.until:
            continue
        try:
            examine(fineract, alama, mapping, loan_id)
            keep("delete from queue where loan_id = ? and news = ?", loan_id, news)
        except Exception as error:  # noqa: BLE001  one loan must not keep the others waiting
            wait_s = tell(f"loan {loan_id}", error, last.times + 1)
            failures[loan_id] = Failure(last.times + 1, news, time.monotonic() + wait_s)
        else:
            failures.pop(loan_id, None)
        if wake.is_set():
            return


def tell(of: str, error: Exception, times: int) -> float:
    """Log what has failed so many times in a row; the seconds after which to try it again."""
    wait_s = min(RETRY_S * 2.0 ** min(times - 1, 30), RETRY_S_MAX)
    level = logging.WARNING if isinstance(error, TROUBLE) else logging.ERROR
    log.log(level, "%s: %s; again in %g s", of, what(error), wait_s)
    return wait_s


def what(error: Exception) -> str:
    """What went wrong, without anything about a person: of a defect its place, not its words."""
    match error:
        case urllib.error.HTTPError():
            return f"{error} {urlsplit(error.url).path}"
        case MappingWrong() | AnswerWrong() | AlamaError() | OSError() | sqlite3.Error():
            return str(error)
        case HTTPException():
            return type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    places = (f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames)
    return f"{type(error).__name__} at {', '.join(places)}"


def serve(fineract: Fineract, alama: Alama, mapping: Json) -> None:
    server = ThreadingHTTPServer((os.environ.get("HOST", "127.0.0.1"), PORT), Hook)
    Thread(target=server.serve_forever, daemon=True).start()
    log.info("hooks are taken on port %d, tenant %s", PORT, TENANT)
    next_sweep, failed = 0.0, 0
    while True:
        if time.monotonic() >= next_sweep:
            try:
                sweep(fineract)
                wait_s, failed = SWEEP_S, 0
            except Exception as error:  # noqa: BLE001  hooks are still to be worked on
                failed += 1
                wait_s = tell("new loans", error, failed)
            next_sweep = time.monotonic() + wait_s
        wake.clear()
        try:
            work(fineract, alama, mapping)
        except sqlite3.Error as error:
            tell("the queue", error, 1)
        wake.wait(min(RETRY_S, max(0.0, next_sweep - time.monotonic())))


def setup(fineract: Fineract) -> None:
    """Make the data table and the hook; what is there already stays."""
    tables = objects(fineract.get("/v1/datatables"))
    if TABLE not in {each.get("registeredTableName") for each in tables}:
        table = {"datatableName": TABLE, "apptableName": "m_loan", "multiRow": False}
        fineract.post("/v1/datatables", table | {"columns": list(COLUMNS)})
    if "Alama" not in {each.get("displayName") for each in objects(fineract.get("/v1/hooks"))}:
        hook = {
            "name": "Web",
            "displayName": "Alama",
            "isActive": True,
            "events": [{"entityName": "LOAN", "actionName": action} for action in EVENTS],
            "config": {"Payload URL": HOOK_URL, "Content Type": "json"},
        }
        fineract.post("/v1/hooks", hook)


def main() -> None:
    if len(HOOK_SECRET) < SECRET_LENGTH_MIN:
        sys.exit(f"HOOK_URL: ends with a secret of {SECRET_LENGTH_MIN} characters or more")
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    env = os.environ
    fineract = Fineract(env["FINERACT_URL"], env["FINERACT_USER"], env["FINERACT_PASSWORD"])
    if sys.argv[1:] == ["setup"]:
        setup(fineract)
        return
    with closing(sqlite3.connect(STORE)) as store:
        STORE.chmod(0o600)
        store.executescript(TABLES)
    mapping = read_mapping(MAPPING)
    with Alama(env.get("ALAMA_URL", "http://127.0.0.1:8000"), env["ALAMA_KEY"]) as alama:
        serve(fineract, alama, mapping)


if __name__ == "__main__":
    main()
