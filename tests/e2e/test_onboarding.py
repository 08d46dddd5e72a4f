"""Onboarding over HTTP: what is asked for there is done by workers, to a model that answers."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pyarrow.parquet
import pytest

from alama.onboarding.approval import LiveKeys
from alama.onboarding.records import Job
from alama.onboarding.store import Stores
from alama.platform import clock
from alama.platform.book import PILOT_SCOPES, Book, Mode
from alama.platform.database import database
from alama.training.population.people import PopulationOptions
from bench.pilot.loans import loan_table
from tests.coarse import coarse_path
from tests.databases import sqlite_url
from tests.e2e.cores import one_core
from tests.e2e.service import FULL, Service
from tests.pilots import lean
from tests.server import ALAMA

pytestmark = pytest.mark.xdist_group("onboarding-http")

LOOK_S, LOOKS_MAX = 0.1, 2_400  # counted, so that a machine that was asleep is not too late
LENDER = "demo"
LIVE = Book(LENDER, Mode.LIVE)
PARQUET = "application/vnd.apache.parquet"
PEOPLE = PopulationOptions(rows=3_000, seed=5)
FIRST = {"name": "W. Mutua", "reason": "read the pack"}
SECOND = {"name": "J. Otieno", "reason": "accept its limits"}


class Pilot:
    """A lender who is on the way, with two keys; and the service."""

    def __init__(self, service: Service) -> None:
        self.service = service
        keys = [service.key(Book(LENDER, Mode.TEST), PILOT_SCOPES) for _ in range(2)]
        self._clients = [
            httpx.Client(
                base_url=service.server.url,
                headers={"Authorization": f"Bearer {key}"},
                trust_env=False,
                timeout=180,
            )
            for key in keys
        ]

    def close(self) -> None:
        for client in self._clients:
            client.close()

    def ask(self, method: str, path: str, key: int = 0, **more: Any) -> httpx.Response:
        return self._clients[key].request(method, f"/v1/onboarding{path}", **more)

    def told(self, path: str) -> dict[str, Any]:
        reply = self.ask("GET", path)
        assert reply.status_code == httpx.codes.OK, reply.text
        found: dict[str, Any] = reply.json()
        return found

    def job(self, asked: httpx.Response) -> dict[str, Any]:
        """What the job of a reply says of itself by now."""
        assert asked.status_code == httpx.codes.ACCEPTED, asked.text
        return self.told(asked.headers["Location"].removeprefix("/v1/onboarding"))

    def kept(self, asked: httpx.Response) -> Job:
        """The same job, as workers see it."""
        return Stores.at(self.service.installed).jobs.find(LENDER, asked.json()["id"])

    def done(self, asked: httpx.Response) -> dict[str, Any]:
        """Wait until a job is over."""
        wait_for(lambda: self.job(asked)["ended_at"] is not None)
        job = self.job(asked)
        assert job["state"] == "done", job
        return job

    def deliver(self, where: str) -> None:
        """Start the service again, with a worker `inside` or `alone`."""
        server = self.service.server
        if server.environment["ALAMA_DELIVERY"] != where:
            assert server.stop() == 0
            server.environment["ALAMA_DELIVERY"] = where
            server.start()


@pytest.fixture(scope="module")
def pilot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pilot]:
    home = tmp_path_factory.mktemp("pilot")
    coarsely = {"PYTHONPATH": coarse_path(os.environ)}
    running = Service(
        sqlite_url(home), home, 1, None, ALAMA_DELIVERY="inside", **coarsely
    ).running()
    with one_core(), running as service, closing(Pilot(service)) as pilot:
        # Else nobody does what is asked for, and each test below would wait for it to the last.
        assert database.safe_for_several(service.installed.database), "this SQLite is too old"
        yield pilot


@pytest.fixture(scope="module")
def handed_in(pilot: Pilot, tmp_path_factory: pytest.TempPathFactory) -> httpx.Response:
    """A history of a lender who has just set terms."""
    assert pilot.told("")["next"] == "lender"
    terms = pilot.ask("PUT", "/terms", json={"days_past_due": 30, "approvers": 2})
    assert terms.status_code == httpx.codes.OK, terms.text
    path = tmp_path_factory.mktemp("loans") / "loans.parquet"
    pyarrow.parquet.write_table(lean(loan_table(PEOPLE)), path)
    headers = {"Content-Type": PARQUET}
    content = path.read_bytes()
    return pilot.ask("POST", "/histories?groups=gender", content=content, headers=headers)


@pytest.fixture
def room() -> Iterator[Path]:
    """Where workers write to disk; not a folder of pytest, whose path is too long for sockets."""
    with tempfile.TemporaryDirectory(prefix="alama-") as folder:
        yield Path(folder)


def test_the_service_takes_a_lender_from_terms_to_a_live_score(
    pilot: Pilot, handed_in: httpx.Response
) -> None:
    pilot.deliver("inside")
    unread = pilot.told(f"/histories/{handed_in.json()['history_id']}")
    assert (unread["state"], unread["report"]) == ("unread", None)
    read = pilot.done(handed_in)
    report = pilot.told(f"/histories/{read['history_id']}")["report"]
    assert report["rows"] == PEOPLE.rows
    assert "gender" in report["groups"]

    asked = pilot.ask("POST", "/trainings", json={})
    shares = [0.0]

    def is_over() -> bool:
        shares.append(pilot.job(asked)["share"])
        return shares[-1] == 1.0

    wait_for(is_over)
    assert shares == sorted(shares)
    assert len(set(shares)) > 2, "its progress cannot be read"

    place = f"/candidates/{pilot.done(asked)['candidate_id']}"
    candidate = pilot.told(place)
    assert candidate["passed"], candidate["gates"]
    assert candidate["pack"]["schema"] == "alama.pack/1"
    page = pilot.ask("GET", place, headers={"Accept": "text/html"})
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "<title>" in page.text

    signed = pilot.ask("POST", f"{place}/signatures", json=FIRST)
    assert (signed.status_code, signed.json()["live"]) == (201, False)
    again = pilot.ask("POST", f"{place}/signatures", json=SECOND)
    assert again.json()["code"] == "signature_refused", "one key has four eyes"
    last = pilot.ask("POST", f"{place}/signatures", key=1, json=SECOND)
    assert (last.status_code, last.json()["live"]) == (201, True), last.text

    service = pilot.service
    key, _ = LiveKeys.at(service.installed).issue(LENDER)
    scored = service.score(FULL, key=key)
    assert scored.status_code == httpx.codes.OK, scored.text
    assert service.installed.registry.deployed(LIVE) == (candidate["model"], None)
    assert pilot.told("")["next"] is None


@pytest.mark.long
def test_a_training_run_outlives_its_workers(
    pilot: Pilot, handed_in: httpx.Response, room: Path
) -> None:
    pilot.deliver("inside")
    pilot.done(handed_in)
    pilot.deliver("alone")
    asked = pilot.ask("POST", "/trainings", json={"seed": 1})
    assert (asked.json()["state"], pilot.job(asked)["step"]) == ("waiting", "it waits for a worker")

    # One that is told to stop gives the job back, and leaves nothing on the disk.
    with started(pilot, room) as stopped:
        wait_for(lambda: pilot.job(asked)["state"] == "running")
        stopped.send_signal(signal.SIGTERM)
        assert stopped.wait(60) == 0
    assert pilot.job(asked)["state"] == "waiting"
    assert list(room.iterdir()) == []

    # One that is killed, with all that belongs to it, cannot: until its lease is over it has it.
    with started(pilot, room, "--jobs") as killed:
        wait_for(lambda: 0.0 < pilot.job(asked)["share"] < 1.0)
        os.killpg(killed.pid, signal.SIGKILL)
        killed.wait()
    left, kept = pilot.job(asked), pilot.kept(asked)
    assert left["state"] == "running", left
    assert 0.0 < left["share"] < 1.0
    assert kept.worker is not None

    with started(pilot, room):
        time.sleep(1)
        assert pilot.kept(asked).worker == kept.worker
        lapse(pilot, kept)
        assert pilot.done(asked)["candidate_id"] is not None
    assert pilot.kept(asked).attempts == 2
    assert list(room.iterdir()) == [], "what the killed one had in clear was left"


@contextmanager
def started(pilot: Pilot, room: Path, *more: str) -> Iterator[subprocess.Popen[bytes]]:
    """`alama worker`, with the settings of the service and a room for what it writes to disk."""
    with one_core():
        process = subprocess.Popen(
            [*ALAMA, "worker", *more],
            env=pilot.service.server.environment | {"TMPDIR": str(room)},
            stdin=subprocess.PIPE,  # at the end of which those that do jobs stop
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # so that it can be killed together with what it has started
        )
    with process:
        try:
            yield process
        finally:
            process.terminate()


def lapse(pilot: Pilot, job: Job) -> None:
    """Let the two minutes pass that a worker has which says nothing."""
    jobs = Stores.at(pilot.service.installed).jobs
    assert job.worker is not None
    assert jobs.advance(job.worker, job.id, job.share, job.step, clock.wall_us())


def wait_for(reached: Callable[[], bool]) -> None:
    for _ in range(LOOKS_MAX):
        if reached():
            return
        time.sleep(LOOK_S)
    pytest.fail(f"not so after {LOOKS_MAX} looks")
