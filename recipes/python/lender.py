"""A small lender, whole: see README.md beside this file.

Every step is kept in `lender.db` before the next begins, and everything that is sent can be sent
again. So the program may be killed anywhere and started again: nothing is scored twice, nothing
is lost.
"""

from __future__ import annotations

import csv
import os
import re
import sqlite3
import sys
import time
from contextlib import closing
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from alama_client import (
    Alama,
    InvalidApplication,
    InvalidSignature,
    ScoreCreatedEvent,
    verify_webhook,
)

ALAMA_URL = os.environ.get("ALAMA_URL", "http://127.0.0.1:8000")
FILES = Path(os.environ.get("FILES", ".."))
STORE = Path(os.environ.get("STORE", "lender.db"))
PORT = int(os.environ.get("PORT", "9000"))
HOOK_URL = os.environ.get("HOOK_URL", f"http://127.0.0.1:{PORT}/alama")
EVENTS_S_MAX = float(os.environ.get("EVENTS_S_MAX", "30"))
BODY_BYTES_MAX = 65_536

TABLES = """
create table if not exists endpoint (id text, secret text);
create table if not exists decisions (
    loan_id text primary key, request_id text unique, decision text, score int);
create table if not exists events (event_id text primary key, request_id text, told text);
create table if not exists outcomes (
    loan_id text primary key, outcome text, day text, repaid_amount real, result text);
"""


def keep(sql: str, *values: object) -> None:
    """Write to the store; when this returns, it is on the disk."""
    with closing(sqlite3.connect(STORE)) as store, store:
        store.execute(sql, values)


def kept(sql: str, *values: object) -> list[sqlite3.Row]:
    with closing(sqlite3.connect(STORE)) as store:
        store.row_factory = sqlite3.Row
        return store.execute(sql, values).fetchall()


def rows(name: str) -> list[dict[str, str]]:
    with (FILES / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def register(alama: Alama) -> str:
    """Step 1: have decisions told to us, and give the secret that they are signed with.

    A secret is shown once. If we were killed before it was kept, nobody has it: that endpoint is
    deleted, and another one made.
    """
    if known := kept("select secret from endpoint"):
        return str(known[0]["secret"])
    for endpoint in alama.list_endpoints():
        if endpoint.url == HOOK_URL:
            alama.delete_endpoint(endpoint.id)
    made = alama.make_endpoint(HOOK_URL, kinds=["score.created"], description="recipe: python")
    keep("insert into endpoint values (?, ?)", made.id, made.secret)
    print("endpoint", made.id, flush=True)
    return made.secret


def receive(secret: str) -> None:
    """Take webhooks from now on: verify, keep, answer, in this order."""

    class Hook(BaseHTTPRequestHandler):
        timeout = 10  # seconds, for who sends half of one

        def do_POST(self) -> None:
            length = self.headers.get("content-length", "")
            read = re.fullmatch("[0-9]{1,7}", length) and int(length) <= BODY_BYTES_MAX
            body = self.rfile.read(int(length)) if read else b""
            try:
                event = verify_webhook(body, dict(self.headers), secret)
            except InvalidSignature:
                self.answer(400)
                return
            if isinstance(event, ScoreCreatedEvent):  # others, also later ones, are no error
                new = "insert or ignore into events values (?, ?, ?)"  # it may come twice
                keep(new, event.id, event.request_id, event.decision)
                print("event", event.request_id, event.decision, flush=True)
            self.answer(204)

        def answer(self, status: int) -> None:
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", PORT), Hook)
    Thread(target=server.serve_forever, daemon=True).start()


def score_applicants(alama: Alama) -> None:
    """Step 2: decide on everybody of `applicants.csv` who has no decision yet."""
    done = {row["loan_id"] for row in kept("select loan_id from decisions")}
    for row in rows("applicants.csv"):
        loan_id = row["loan_id"]
        if loan_id in done:
            continue
        application = {
            "applicant_ref": row["applicant_ref"],
            "mobile_money_months": int(row["mobile_money_months"]),
            "monthly_inflow": float(row["monthly_inflow"]),
            "stability_score": float(row["stability_score"]),
            "airtime_regularity": float(row["airtime_regularity"]),
        }
        try:  # Killed before it is kept? The same key gets the same score, for 72 hours.
            score = alama.score(application, idempotency_key=f"python-{loan_id}")
        except InvalidApplication as error:  # for a person to mend; the others go on
            print("refused", loan_id, *(f"{e.field}: {e.detail}" for e in error.errors), flush=True)
            continue
        new = "insert into decisions values (?, ?, ?, ?)"
        keep(new, loan_id, score.request_id, score.decision, score.score)
        print("scored", loan_id, score.decision, flush=True)


def report_outcomes(alama: Alama) -> None:
    """Step 3: say what became of the loans of `repayments.csv`."""
    today = datetime.now(UTC).date().isoformat()
    for row in rows("repayments.csv"):  # kept first, with its day: sent again, it says the same
        new = "insert or ignore into outcomes values (?, ?, ?, ?, null)"
        keep(new, row["loan_id"], row["outcome"], today, float(row["repaid_amount"]))
    for due in kept("select * from outcomes natural join decisions where result is null"):
        result = alama.record_outcome(
            due["request_id"], due["outcome"], due["day"], repaid_amount=due["repaid_amount"]
        ).result
        if result not in {"recorded", "updated", "unchanged"}:
            sys.exit(f"{due['loan_id']}: the outcome was not taken: {result}")
        keep("update outcomes set result = ? where loan_id = ?", result, due["loan_id"])
        print("outcome", due["loan_id"], due["outcome"], flush=True)


MATCHED = "select * from decisions left join events using (request_id) order by loan_id"


def wait_for_events() -> None:
    """Step 4: every decision is told by a webhook, mostly within a second."""
    deadline = time.monotonic() + EVENTS_S_MAX
    while time.monotonic() < deadline and any(not row["event_id"] for row in kept(MATCHED)):
        time.sleep(0.1)


def read_back(alama: Alama) -> None:
    """Step 5: what was answered, what was told and what is stored agree."""
    for row in kept(MATCHED):
        stored = alama.get_score(row["request_id"])
        if {row["decision"], row["told"] or stored.decision, stored.decision} != {row["decision"]}:
            sys.exit(f"{row['loan_id']}: what was answered, told and stored do not agree")
        by = "webhook" if row["event_id"] else "asked"  # a late event comes, for three days
        ended = stored.outcome.outcome if stored.outcome else "-"
        print("loan", row["loan_id"], row["decision"], row["score"], by, ended, flush=True)


def main() -> None:
    with closing(sqlite3.connect(STORE)) as store:
        STORE.chmod(0o600)  # it has the secret
        store.executescript(TABLES)
    with Alama(ALAMA_URL, os.environ["ALAMA_KEY"]) as alama:
        receive(register(alama))
        score_applicants(alama)
        report_outcomes(alama)
        wait_for_events()
        read_back(alama)


if __name__ == "__main__":
    main()
