"""An applicant is erased while the service runs: what callers are told, and what files still hold.

And a retention run that is killed in its middle.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from sqlalchemy import select

from alama.platform.book import Book, Mode
from alama.platform.database import database as databases
from alama.platform.database import migrate
from alama.protection.applicants import Applicants
from alama.vault import schema
from tests.audited import verdict_on
from tests.clocks import HandClock
from tests.databases import sqlite_url
from tests.e2e.service import COMPACT, Service
from tests.protected import DAY_US, House

DEMO = Book("demo", Mode.TEST)

# A run of small batches that kills itself: inside its second transaction, or after its
# first.
KILLED_RUN = """
import os, signal, sys
from alama.platform.database import database
from alama.protection import retention
from tests.clocks import HandClock
from tests.protected import DAY_US, House
retention.DELETED_AT_ONCE = 2
clock = HandClock()
clock.now_us += 800 * DAY_US
house = House(database.connect(sys.argv[1]), clock)
batches = house.retention.carry_out(house.retention.plan(house.retention.books()[0], 365))
assert next(batches) == 2
if sys.argv[2] == "inside":
    retention._delete_keys = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    next(batches)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_callers_are_told_that_an_applicant_was_erased(service: Service) -> None:
    named = COMPACT | {"applicant_ref": "erased-1"}
    first = service.anywhere(named, idempotency_key="erased-order-1")
    request_id = first.json()["request_id"]
    Applicants.at(service.installed).erase(DEMO, "erased-1")

    retried = service.anywhere(named, idempotency_key="erased-order-1")
    assert (retried.status_code, retried.json()["code"]) == (410, "erased")
    assert "remains" not in retried.json()

    read = service.get(f"/v1/scores/{request_id}")
    assert (read.status_code, read.json()["code"]) == (410, "erased")
    remains = read.json()["remains"]
    for name in ("request_id", "score", "tier", "decision", "recommended_limit"):
        assert remains[name] == first.json()[name]
    assert "application" not in remains

    listed = service.get("/v1/scores").json()["data"]
    assert remains in listed
    proof = service.get(f"/v1/scores/{request_id}/receipt")
    assert (proof.status_code, proof.json()["code"]) == (410, "erased")


def test_a_new_application_of_one_who_was_erased_is_scored_as_any_other(service: Service) -> None:
    named = COMPACT | {"applicant_ref": "erased-2"}
    before = service.anywhere(named).json()["request_id"]
    Applicants.at(service.installed).erase(DEMO, "erased-2")
    after = service.anywhere(named)
    assert after.status_code == 200
    record = service.get(f"/v1/scores/{after.json()['request_id']}")
    assert record.json()["application"]["applicant_ref"] == "erased-2"
    assert service.get(f"/v1/scores/{before}").status_code == 410


def test_no_file_holds_the_key_of_one_who_was_erased(tmp_path: Path) -> None:
    """After many others, which move rows from page to page and leave copies where they were."""
    database = databases.connect(sqlite_url(tmp_path))
    migrate.upgrade(database)
    house = House(database, HandClock())
    for number in range(300):
        house.score(f"A-{number}")
    chosen = [f"A-{number}" for number in range(0, 300, 50)]
    table = schema.applicant_keys
    with database.reading() as connection:
        query = select(table.c.subject, table.c.wrapped)
        before = {(row.subject, row.wrapped) for row in connection.execute(query)}
    for reference in chosen:
        assert house.applicants.erase(DEMO, reference).journal_emptied
    with database.reading() as connection:
        left = {(row.subject, row.wrapped) for row in connection.execute(query)}
    gone = before - left
    assert len(gone) == len(chosen)
    files = b"".join(file.read_bytes() for file in tmp_path.iterdir())  # with its journal, open
    kept = next(iter(before & left))
    assert kept[1] in files  # so it would be found
    for subject, wrapped in gone:
        assert subject not in files
        assert wrapped not in files
    database.close()


def test_a_retention_run_that_is_killed_leaves_an_audit_that_holds(tmp_path: Path) -> None:
    address = sqlite_url(tmp_path)
    database = databases.connect(address)
    migrate.upgrade(database)
    house = House(database, HandClock())
    for number in range(7):
        house.score(f"A-{number % 3}")
    database.close()
    for where, left in (("inside", 5), ("after", 3)):
        command = [sys.executable, "-c", KILLED_RUN, address, where]
        killed = subprocess.run(
            command, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, check=False
        )
        assert killed.returncode == -signal.SIGKILL
        database = databases.connect(address)
        clock = HandClock()
        clock.now_us += 800 * DAY_US
        house = House(database, clock)
        assert len(house.scores.page(DEMO, None, 10)) == left
        verdict = verdict_on(database)
        assert (verdict.findings, verdict.deleted) == ([], 7 - left)
        for row in house.scores.page(DEMO, None, 10):
            assert house.replayed(row.request_id) == ()
        database.close()
