"""The scorer for Fineract, against the real service and our transcript of Fineract's API document.

No Fineract runs here: the README of the recipe says what that leaves open.
"""

from __future__ import annotations

import re
import signal
import socket
import sqlite3
import sys
import time
import urllib.error
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, date, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest

from alama.platform.book import Book, Mode
from alama_client import Alama
from recipes.fineract import scorer
from sdk.contract.runner import SDK
from tests.databases import sqlite_url
from tests.e2e.service import Service
from tests.ports import HOST, free_port
from tests.recipes.fineract import HOOK_SECRET, PASSWORD, TENANT, USER, Fineract, hook_url
from tests.recipes.wire import Program, Wire

RECIPE = SDK.parent / "recipes" / "fineract"
WAIT_S_MAX = 60.0
PHONE: dict[str, Any] = {
    "months": 26,
    "average_inflow": 23_800.0,
    "average_balance": None,
    "balance_stability": 0.58,
    "airtime_regularity": 0.71,
}

_numbers = count(1)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    home = tmp_path_factory.mktemp("fineract")
    with Service(sqlite_url(home), home, 1, None).running() as running:
        yield running


class Bench:
    """The scorer between a service and a stand-in for Fineract."""

    def __init__(self, service: Service, home: Path, stack: ExitStack) -> None:
        book = Book(f"umoja-{next(_numbers)}", Mode.TEST)
        service.lender(book.lender)
        self.key = service.key(book)
        self.program = Program()
        self.port = free_port()
        self.fineract = stack.enter_context(Fineract(self.program))
        wire = stack.enter_context(Wire(service.server.url, self.program, self.port))
        stack.enter_context(self.program)  # it ends before those it talks to
        mapping = (RECIPE / "mapping.toml").read_text("utf-8")
        edited = mapping.replace('"client-{client.id}"', '"{mobile_money.reference}"')
        assert edited != mapping
        (home / "mapping.toml").write_text(edited, "utf-8")
        self._home = home
        self._environment = {
            "ALAMA_URL": wire.url,
            "ALAMA_KEY": self.key,
            "FINERACT_URL": self.fineract.url,
            "FINERACT_USER": USER,
            "FINERACT_PASSWORD": PASSWORD,
            "FINERACT_TENANT": TENANT,
            "MAPPING": str(home / "mapping.toml"),
            "STORE": str(home / "scorer.db"),
            "PORT": str(self.port),
            "HOOK_URL": hook_url(self.port),
            "RETRY_S": "0.2",
            "PYTHONPATH": str(SDK / "python" / "src"),
        }

    def start(self, sweep_s: float, *, killing: bool = False) -> None:
        command = (sys.executable, RECIPE / "scorer.py", "serve")
        environment = self._environment | {"SWEEP_S": str(sweep_s)}
        self.program.start(command, self._home, environment, killing=killing)

    def set_up(self) -> None:
        command = (sys.executable, RECIPE / "scorer.py", "setup")
        self.program.start(command, self._home, self._environment)
        assert self.program.ended()[0] == 0

    def tell(self, action: str, *loans: int) -> None:
        for loan in loans:
            assert self.fineract.tell(self.port, action, loan) == 204

    def start_on_hooks_alone(self) -> None:
        """Start it, and wait until it has looked for itself, which it does not do again."""
        self.start(3_600)
        wait_for(lambda: self.fineract.listed > 0 and self._listens())

    def until(self, reached: Callable[[], bool]) -> None:
        """Let it run until something is true, then end it."""
        self.start(0.5)
        wait_for(reached)
        self.end()

    def killed_until(self, reached: Callable[[], bool]) -> None:
        """The same, but every change that it makes kills it."""
        while not self.program.lives:
            self.start(0.5, killing=True)
            wait_for(lambda: not self.program.lives or reached())
            if not self.program.lives:
                assert self.program.ended()[0] == -signal.SIGKILL
        self.end()

    def end(self) -> None:
        self.program.kill()
        self.program.ended()

    def _listens(self) -> bool:
        try:
            return self.fineract.send(self.port, "CREATE", {}) == 204
        except httpx.TransportError:
            return False


def wait_for(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S_MAX
    while not reached():
        assert time.monotonic() < deadline, "it has not come about"
        time.sleep(0.05)


@pytest.fixture
def bench(service: Service, tmp_path: Path) -> Iterator[Bench]:
    with ExitStack() as stack:
        bench = Bench(service, tmp_path, stack)
        bench.set_up()
        yield bench
        assert bench.fineract.faults == []


def stored(service: Service, bench: Bench) -> dict[str, dict[str, Any]]:
    """Every score of the lender by the reference of its applicant, of which each has one."""
    listed = service.get("/v1/scores?limit=100", key=bench.key).json()["data"]
    paths = [f"/v1/scores/{score['request_id']}" for score in listed]
    found = [service.get(path, key=bench.key).json() for path in paths]
    by_reference = {score["application"]["applicant_ref"]: score for score in found}
    assert len(by_reference) == len(found), "somebody was scored twice"
    return by_reference


def outcomes(service: Service, bench: Bench) -> dict[str, str]:
    """What Alama was told of each applicant of whom it was told anything."""
    found = stored(service, bench).items()
    return {who: score["outcome"]["outcome"] for who, score in found if score["outcome"]}


def today() -> date:
    return datetime.now(UTC).date()


@pytest.mark.long
def test_each_application_is_scored_once_whenever_the_scorer_is_killed(
    service: Service, bench: Bench
) -> None:
    fineract = bench.fineract
    fineract.submit(1, reference="fixture-approved", **PHONE)
    fineract.submit(2, reference="fixture-declined", **PHONE)
    fineract.submit(3, reference="customer-3", **PHONE)
    fineract.submit(4)  # nothing is known of the phone

    bench.killed_until(lambda: all(fineract.notes[loan] for loan in (1, 2, 3, 4)))

    rows, scores = fineract.rows["alama_decision"], stored(service, bench)
    assert {loan: row["decision"] for loan, row in rows.items()} == {
        1: "APPROVED",
        2: "DECLINED",
        3: "REVIEW",
    }
    assert {row["request_id"] for row in rows.values()} == {
        score["request_id"] for score in scores.values()
    }
    for loan, row in rows.items():
        (note,) = fineract.notes[loan]
        assert row["request_id"] in note
        assert row["reasons"]
        assert row["reasons"] in note
    (note,) = fineract.notes[4]
    assert "mm_months is required" in note
    sent = scores["customer-3"]["application"]
    assert (sent["requested_amount"], sent["requested_term_days"]) == (9_000, 60)
    assert (sent["region"], sent["loan_purpose"]) == ("Nyeri", "business")


@pytest.mark.long
def test_hooks_may_come_twice_and_in_any_order(service: Service, bench: Bench) -> None:
    fineract = bench.fineract
    bench.start_on_hooks_alone()
    fineract.submit(1, reference="customer-1", **PHONE)
    fineract.submit(2)
    bench.tell("REPAYMENT", 2, 1)
    bench.tell("CREATE", 2, 1, 1, 2)
    wait_for(lambda: all(fineract.notes[loan] for loan in (1, 2)))

    client = fineract.loans[2]["clientId"]
    fineract.rows["mobile_money"][client] = {"reference": "customer-2"} | PHONE
    bench.tell("UPDATE", 2)  # somebody has mended what was missing
    bench.tell("CREATE", 1)
    wait_for(lambda: 2 in fineract.rows["alama_decision"] and len(fineract.notes[2]) == 2)

    assert [len(fineract.notes[loan]) for loan in (1, 2)] == [1, 2]
    assert stored(service, bench).keys() == {"customer-1", "customer-2"}


@pytest.mark.long
def test_what_nobody_has_sent_by_right_changes_nothing(service: Service, bench: Bench) -> None:
    fineract = bench.fineract
    bench.start_on_hooks_alone()
    fineract.submit(1, reference="customer-1", **PHONE)
    fineract.submit(2, reference="customer-2", **PHONE)
    assert fineract.tell(bench.port, "CREATE", 1, tenant="another") == 204
    failed = {"entityName": "LOAN", "status": "Exception", "response": {"errorCode": "1"}}
    bodies: list[object] = [failed, {}, [], "x"]
    for body in (*bodies, {"response": {"loanId": 2**70}}, {"response": {"loanId": 9}}):
        assert fineract.send(bench.port, "CREATE", body) == 204

    bench.tell("CREATE", 2)
    wait_for(lambda: bool(fineract.notes[2]))
    assert stored(service, bench).keys() == {"customer-2"}


@pytest.mark.long
def test_what_becomes_of_the_loans_is_told_once(service: Service, bench: Bench) -> None:
    fineract = bench.fineract
    fineract.writes_dates_as_lists = True
    for loan in (1, 2, 3, 4):
        fineract.submit(loan, reference=f"customer-{loan}", **PHONE)
    bench.until(lambda: all(fineract.notes[loan] for loan in (1, 2, 3, 4)))

    closed = {"timeline": {"closedOnDate": today().isoformat()}}
    paid = {"summary": {"totalRepayment": 9_900.0, "principalDisbursed": 9_000.0}}
    fineract.becomes(1, "repaid", **closed, **paid)
    fineract.becomes(2, "active", delinquent={"pastDueDays": 30})  # of which no hook tells
    fineract.becomes(3, "written_off", **closed)
    fineract.becomes(4, "rejected")

    expected = {"customer-1": "repaid", "customer-2": "defaulted", "customer-3": "written_off"}
    bench.killed_until(lambda: outcomes(service, bench) == expected)
    assert stored(service, bench)["customer-1"]["outcome"]["repaid_amount"] == 9_900
    assert [len(fineract.notes[loan]) for loan in (1, 2, 3, 4)] == [1, 1, 1, 1]


@pytest.mark.long
def test_who_was_decided_on_is_not_scored_again_by_a_scorer_that_has_lost_its_store(
    service: Service, bench: Bench, tmp_path: Path
) -> None:
    fineract = bench.fineract
    fineract.submit(1, reference="customer-1", **PHONE)
    bench.until(lambda: bool(fineract.notes[1]))
    (tmp_path / "scorer.db").unlink()
    fineract.rows["mobile_money"][fineract.loans[1]["clientId"]]["months"] = 5
    fineract.becomes(1, "pending")
    fineract.submit(2, reference="customer-2", **PHONE)

    def adopted() -> list[str]:
        with closing(sqlite3.connect(tmp_path / "scorer.db")) as store:
            sql = "select request_id from decisions where loan_id = 1 and written"
            return [row[0] for row in store.execute(sql)]

    bench.until(lambda: bool(fineract.notes[2] and adopted()))

    scores = stored(service, bench)
    assert scores.keys() == {"customer-1", "customer-2"}
    assert adopted() == [scores["customer-1"]["request_id"]]
    assert len(fineract.notes[1]) == 1


@pytest.mark.long
def test_what_becomes_of_running_and_closed_loans_is_told_by_a_scorer_that_has_lost_its_store(
    service: Service, bench: Bench, tmp_path: Path
) -> None:
    fineract = bench.fineract
    for loan in (1, 2, 3):
        fineract.submit(loan, reference=f"customer-{loan}", **PHONE)
    bench.until(lambda: all(fineract.notes[loan] for loan in (1, 2, 3)))
    (tmp_path / "scorer.db").unlink()
    fineract.becomes(1, "active")
    fineract.becomes(2, "repaid", timeline={"closedOnDate": today().isoformat()})
    fineract.becomes(3, "active", delinquent={"pastDueDays": 30})
    fineract.submit(4, reference="customer-4", **PHONE)  # lent without us
    fineract.becomes(4, "active", delinquent={"pastDueDays": 30})

    expected = {"customer-2": "repaid", "customer-3": "defaulted"}
    bench.until(lambda: outcomes(service, bench) == expected)

    fineract.becomes(1, "written_off", timeline={"closedOnDate": today().isoformat()})
    bench.until(lambda: outcomes(service, bench) == expected | {"customer-1": "written_off"})
    assert stored(service, bench).keys() == {"customer-1", "customer-2", "customer-3"}
    assert [len(fineract.notes[loan]) for loan in (1, 2, 3, 4)] == [1, 1, 1, 0]


def start_alone(program: Program, fineract: Fineract, home: Path, user: str) -> None:
    """Start it beside a Fineract and without an Alama, and wait until it has a store."""
    environment = {
        "ALAMA_KEY": "alama_test_unused",
        "FINERACT_URL": fineract.url,
        "FINERACT_USER": user,
        "FINERACT_PASSWORD": PASSWORD,
        "FINERACT_TENANT": TENANT,
        "STORE": str(home / "scorer.db"),
        "PORT": (port := str(free_port())),
        "HOOK_URL": hook_url(int(port)),
        "RETRY_S": "0.2",
        "PYTHONPATH": str(SDK / "python" / "src"),
    }
    program.start((sys.executable, RECIPE / "scorer.py", "serve"), home, environment)
    wait_for((home / "scorer.db").exists)


@pytest.mark.long
def test_a_store_that_fails_for_a_while_does_not_end_it(tmp_path: Path) -> None:
    with Program() as program, Fineract(program) as fineract:
        start_alone(program, fineract, tmp_path, USER)
        wait_for(lambda: fineract.listed > 0)
        with closing(sqlite3.connect(tmp_path / "scorer.db")) as store:
            store.execute("drop table queue")
        time.sleep(1)
        assert program.lives
        program.kill()
        said = program.ended()[1]
    assert "WARNING the queue: no such table: queue; again in 0.2 s" in said


@pytest.mark.long
def test_a_fineract_that_refuses_is_asked_less_and_less_often(tmp_path: Path) -> None:
    with Program() as program, Fineract(program) as fineract:
        start_alone(program, fineract, tmp_path, "another")
        time.sleep(3)
        program.kill()
        said = program.ended()[1]
    waits = re.findall(r"WARNING new loans: .* 401: .*; again in (\S+) s", said)
    assert waits[:3] == ["0.2", "0.4", "0.8"]
    assert len(waits) <= 5


@pytest.mark.long
def test_setting_up_twice_makes_nothing_twice(bench: Bench) -> None:
    bench.set_up()
    assert list(bench.fineract.columns) == [scorer.TABLE]
    (hook,) = bench.fineract.hooks
    assert hook.config == {"Payload URL": hook_url(bench.port), "Content Type": "json"}


@pytest.mark.parametrize(
    ("number", "unit", "days"),
    [(45, "days", 45), (6, "weeks", 42), (2, "months", 60), (1, "x", None)],
)
def test_a_term_is_counted_in_days(number: int, unit: str, days: int | None) -> None:
    kind = {"code": f"termFrequency.periodFrequencyType.{unit}"}
    assert scorer.term_days({"termFrequency": number, "termPeriodFrequencyType": kind}) == days


def test_a_loan_is_a_default_on_the_day_it_became_one() -> None:
    loan = {"status": {"active": True}, "delinquent": {"pastDueDays": 37}}
    assert scorer.outcome_of(loan, 30) == ("defaulted", today() - timedelta(days=7))
    assert scorer.outcome_of(loan, 60) is None
    overpaid = {"status": {"overpaid": True}, "overpaidOnDate": [2026, 11, 16]}
    assert scorer.outcome_of(overpaid, 30) == ("repaid", date(2026, 11, 16))


@pytest.fixture
def fineract(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fineract]:
    """A stand-in that is asked from within this process, beside an empty store."""
    monkeypatch.setattr(scorer, "STORE", tmp_path / "scorer.db")
    monkeypatch.setattr(scorer, "TENANT", TENANT)
    monkeypatch.setattr(scorer, "HOOK_SECRET", HOOK_SECRET)
    monkeypatch.setattr(scorer, "failures", {})
    with closing(sqlite3.connect(tmp_path / "scorer.db")) as store:
        store.executescript(scorer.TABLES)
    with Fineract(Program()) as fineract:
        yield fineract
        assert fineract.faults == []


def queued() -> list[int]:
    return [row["loan_id"] for row in scorer.kept("select loan_id from queue order by loan_id")]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_since_it_would_be_sent_the_password(
    status: int, fineract: Fineract
) -> None:
    class Elsewhere(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("location", f"{fineract.url}/v1/datatables")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with serving(Elsewhere) as port:
        api = scorer.Fineract(f"http://{HOST}:{port}", USER, PASSWORD)
        with pytest.raises(urllib.error.HTTPError, match=str(status)):
            api.get("/v1/datatables")


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    """The port on which a handler answers."""
    with ThreadingHTTPServer((HOST, 0), handler) as server:
        Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.mark.parametrize(
    ("length", "body"),
    [
        (b"\xb2", b""),
        (b"9" * 5_000, b""),
        (b"-1", b""),
        (b"9999999", b""),
        (b"900000", b"[" * 900_000),
    ],
    ids=["superscript", "endless", "negative", "too_long", "deep"],
)
@pytest.mark.usefixtures("fineract")
def test_a_hook_of_any_form_is_answered(length: bytes, body: bytes) -> None:
    head = f"POST /{HOOK_SECRET}/ HTTP/1.1\r\nFineract-Platform-TenantId: {TENANT}\r\n"
    head += "X-Fineract-Entity: LOAN\r\nContent-Length: "
    with serving(scorer.Hook) as port, socket.create_connection((HOST, port), 5) as client:
        client.sendall(head.encode() + length + b"\r\n\r\n" + body)
        assert client.recv(100).startswith(b"HTTP/1.0 204 ")
    assert queued() == []


@pytest.mark.usefixtures("fineract")
def test_who_sends_half_a_hook_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scorer.Hook, "timeout", scorer.Hook.timeout / 100)
    with serving(scorer.Hook) as port, socket.create_connection((HOST, port), 5) as client:
        client.sendall(f"POST /{HOOK_SECRET}/ HTTP/1.1\r\nContent-Length: 9\r\n\r\n{{".encode())
        assert client.recv(100) == b""


def test_a_hook_without_the_secret_changes_nothing(fineract: Fineract) -> None:
    fineract.submit(1)
    with serving(scorer.Hook) as port:
        for path in ("", "another/", f"{HOOK_SECRET}x/", f"{HOOK_SECRET}/x", "%C3%A9/"):
            reply = httpx.post(f"http://{HOST}:{port}/{path}", trust_env=False)
            assert reply.status_code == 404
        assert fineract.tell(port, "CREATE", 1) == 204
    assert queued() == [1]


@pytest.mark.parametrize("secret", ["", "short"])
def test_an_address_for_hooks_that_anybody_may_guess_is_refused(
    secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scorer, "HOOK_SECRET", secret)
    with pytest.raises(SystemExit, match="HOOK_URL"):
        scorer.main()


def test_more_hooks_than_can_be_worked_on_are_left_to_the_next_search(
    fineract: Fineract, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scorer, "HINTS_MAX", 2)
    for loan in (1, 2, 3):
        fineract.submit(loan)
        scorer.queue(loan)
    assert queued() == [1, 2]
    scorer.sweep(scorer.Fineract(fineract.url, USER, PASSWORD))
    assert queued() == [1, 2, 3]


def test_a_store_that_is_busy_is_no_defect_and_ends_nothing(
    fineract: Fineract,
    work: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def busy(*_: object) -> None:
        raise sqlite3.OperationalError("database is locked")

    fineract.submit(1)
    fineract.becomes(1, "active")
    scorer.queue(1)
    monkeypatch.setattr(scorer, "keep", busy)
    work()
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert record.message == "loan 1: database is locked; again in 15 s"
    assert queued() == [1]


def test_one_odd_loan_of_a_page_does_not_hide_the_others(fineract: Fineract) -> None:
    api = scorer.Fineract(fineract.url, USER, PASSWORD)
    scorer.sweep(api)
    fineract.answers[0] = (  # of all loans
        b'{"pageItems": [{"id": 3, "status": {"pendingApproval": true}},'
        b' {"id": 2, "status": "weird"}, {"id": 1, "status": {"active": true}}]}'
    )
    scorer.sweep(api)
    assert queued() == [2, 3]  # the odd one is told of when it is looked at


@pytest.mark.parametrize("sorts", [True, False], ids=["sorted", "unsorted"])
def test_new_applications_are_found_page_by_page(
    *, sorts: bool, fineract: Fineract, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scorer, "PAGE", 2)
    fineract.sorts = sorts
    api = scorer.Fineract(fineract.url, USER, PASSWORD)
    for loans in ([1, 2, 3, 4, 5], [6, 7, 8], []):
        for loan in loans:
            fineract.submit(loan)
        fineract.listed = 0
        scorer.sweep(api)
        assert queued() == loans
        assert not sorts or fineract.listed <= 1 + len(loans) / 2
        scorer.keep("delete from queue")
    assert len(scorer.kept("select * from seen")) == 1


def test_the_first_search_finds_every_loan_and_the_next_those_that_wait(
    fineract: Fineract,
) -> None:
    api = scorer.Fineract(fineract.url, USER, PASSWORD)
    for first in (1, 4):
        for loan, state in enumerate(("pending", "active", "repaid"), start=first):
            fineract.submit(loan)
            fineract.becomes(loan, state)
        scorer.sweep(api)
        assert queued() == ([1, 2, 3] if first == 1 else [4])
        scorer.keep("delete from queue")


class Clock:
    """The time of the scorer, which stands still until it is moved."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1_000.0
        monkeypatch.setattr(scorer, "time", self)

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def work(fineract: Fineract) -> Iterator[Callable[[], None]]:
    """Works through the queue once; no loan of these tests comes as far as Alama."""
    api = scorer.Fineract(fineract.url, USER, PASSWORD)
    with Alama("http://127.0.0.1:9", "unused") as alama:

        def once() -> None:
            scorer.wake.clear()
            scorer.work(api, alama, {"default_days": 30})

        yield once


def test_a_new_application_does_not_wait_for_all_that_were_queued_before(
    work: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    examined: list[int] = []

    def examine(_fineract: object, _alama: object, _mapping: object, loan_id: int) -> None:
        examined.append(loan_id)
        if examined == [3]:
            scorer.queue(4)  # a hook

    monkeypatch.setattr(scorer, "examine", examine)
    for loan in (1, 2, 3):
        scorer.queue(loan)
    work()
    work()
    assert examined == [3, 4, 2, 1]
    assert queued() == []


def test_a_loan_that_fails_waits_longer_each_time_and_not_for_ever(
    fineract: Fineract,
    work: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Clock(monkeypatch)
    fineract.submit(1)
    fineract.refuses[1] = 403
    scorer.queue(1)
    for wait in (15, 30, 60, 120, 240, 480, 900, 900):
        for _ in range(2):  # the second time is too early
            work()
        (record,) = caplog.records
        assert record.levelname == "WARNING"
        assert "loan 1: HTTP Error 403" in record.message
        assert record.message.endswith(f"/v1/loans/1; again in {wait} s")
        caplog.clear()
        clock.now += wait

    work()
    scorer.queue(1)  # a hook: something has changed
    del fineract.refuses[1]
    fineract.becomes(1, "active")
    work()
    assert queued() == []


def test_another_loan_does_not_wait_for_one_that_fails(
    fineract: Fineract, work: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    Clock(monkeypatch)
    for loan in (1, 2, 3):
        fineract.submit(loan)
        fineract.becomes(loan, "active")
        scorer.queue(loan)
    fineract.refuses[2] = 400
    work()
    assert queued() == [2]


def test_a_defect_is_logged_with_its_place_and_without_what_it_says(
    fineract: Fineract,
    work: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def defect(*_: object) -> None:
        raise KeyError("Wanjiku")

    Clock(monkeypatch)
    monkeypatch.setattr(scorer, "adopt", defect)
    fineract.submit(1)
    scorer.queue(1)
    work()
    (record,) = caplog.records
    assert record.levelname == "ERROR"
    assert re.fullmatch(
        r"loan 1: KeyError at (scorer.py:\d+, )+test_fineract.py:\d+; again in 15 s", record.message
    )
    assert queued() == [1]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"<html>", "no JSON"),
        (b"[]", "an object"),
        (b'{"id": 1}', "status"),
        (b'{"id": 1, "status": "active"}', "status"),
        (b'{"id": "1", "status": {}}', "id"),
    ],
)
def test_an_answer_that_nobody_has_announced_is_no_defect_of_ours(
    answer: bytes,
    said: str,
    fineract: Fineract,
    work: Callable[[], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    fineract.answers[1] = answer
    scorer.queue(1)
    work()
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert re.fullmatch(rf"loan 1: Fineract .*{said}.*; again in 15 s", record.message)


def test_a_date_that_is_none_is_no_defect_of_ours() -> None:
    for told in ("16 November 2026", [2026, 11], 20_261_116, [2026, 11, 2**99]):
        with pytest.raises(scorer.AnswerWrong, match="date"):
            scorer.day_of(told)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            '"mobile_money.months"',
            '"mobile_mony.months"',
            "mm_months: mobile_mony.months is neither",
        ),
        ('"client-{client.id}"', '"client-{clint.id}"', "applicant_ref: clint.id is neither"),
        ('mobile_money = "client"', 'mobile_money = "group"', "mobile_money: is attached to"),
        ("default_days = 30", 'default_days = "30"', "default_days: is a number of days"),
    ],
)
def test_a_mapping_that_cannot_be_is_refused(
    before: str, after: str, said: str, tmp_path: Path
) -> None:
    text = (RECIPE / "mapping.toml").read_text("utf-8").replace(before, after)
    (tmp_path / "mapping.toml").write_text(text, "utf-8")
    with pytest.raises(scorer.MappingWrong, match=said):
        scorer.read_mapping(tmp_path / "mapping.toml")


def test_a_value_is_found_at_its_place() -> None:
    row = scorer.Row({"months": 26, "average_inflow": None})
    sources = {"client": {"id": 7}, "loan": {"status": {"code": "x"}}, "mobile_money": row}
    assert scorer.value_of("client-{client.id}", sources) == "client-7"
    assert scorer.value_of("client-{client.externalId}", sources) is None
    assert scorer.value_of("loan.status.code", sources) == "x"
    assert scorer.value_of("mobile_money.average_inflow", sources) is None
    with pytest.raises(scorer.MappingWrong, match="no column of the data table is named month"):
        scorer.value_of("mobile_money.month", sources)
