"""Whoever asks how it is gets an answer without a key, and an honest one."""

import asyncio

import pytest

from alama import __version__
from alama.platform.errors import StoreUnavailable
from alama.platform.http.endpoint import Endpoint
from alama.platform.http.status import HealthCheck, StatusEndpoints
from tests.entries import NOON_US
from tests.exchanges import Notes, Received, ask


class Patient:
    """A database that is well or is not."""

    failing = False

    def __init__(self, *, well: bool) -> None:
        self._well = well

    def ping(self) -> None:
        if not self._well:
            raise StoreUnavailable("the database does not answer")

    def write_something(self) -> None:
        self.ping()

    def own_master(self) -> None:
        self.ping()


def answer(path: str, *, well: bool) -> Received:
    patient = Patient(well=well)
    status = StatusEndpoints(HealthCheck(patient, patient, patient, lambda: NOON_US), "sha256:1")
    handler = status.alive if path == "/livez" else status.health
    endpoint = Endpoint(path, {"GET": handler}, lambda: NOON_US, Notes())
    received = asyncio.run(ask(endpoint, "GET", path))
    assert received is not None
    return received


@pytest.mark.parametrize("path", ["/v1/health", "/readyz"])
def test_a_service_that_can_serve_says_by_what(path: str) -> None:
    received = answer(path, well=True)
    assert received.status == 200
    assert received.json() == {"status": "ok", "version": __version__, "model": "sha256:1"}


@pytest.mark.parametrize("path", ["/v1/health", "/readyz"])
def test_a_service_that_cannot_serve_says_why_and_when_to_ask_again(path: str) -> None:
    received = answer(path, well=False)
    assert received.status == 503
    assert received.json() == {"status": "unavailable", "reason": "the database does not answer"}
    assert int(received.headers["retry-after"]) >= 1


def test_a_process_is_alive_whatever_the_database_does() -> None:
    assert answer("/livez", well=False).status == 200


@pytest.mark.parametrize("well", [True, False], ids=["well", "unwell"])
def test_no_answer_is_kept_by_anyone_in_between(*, well: bool) -> None:
    assert answer("/v1/health", well=well).headers["cache-control"] == "no-store"
