"""One contract over the SDKs of all languages, against the real service: see sdk/contract."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest

from alama.lenders import keys
from alama.platform import clock
from alama.platform.book import Book, Mode, Scope
from sdk.contract.runner import APPLICATIONS, CASES, SDK, Driver, play
from tests.databases import sqlite_url
from tests.e2e.service import Service

DRIVERS = [
    pytest.param(path, id=name, marks=pytest.mark.xdist_group(f"contract-{name}"))
    for path in sorted(SDK.glob("*/driver*.sh"))
    for name in [path.parent.name + path.stem.removeprefix("driver")]
]
PAGE = 100
DAY_US = 86_400 * 1_000_000

pytestmark = [pytest.mark.long]

_numbers = count(1)


class LenderBooks:
    """The book of a lender who is new, at a service of the test."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._book = Book(f"contract-{next(_numbers)}", Mode.TEST)
        self.port = service.server.port
        service.lender(self._book.lender)
        self._key = service.key(self._book)
        self._auditor = service.key(self._book)  # whose requests count apart

    def key(self, kind: str) -> str | None:
        match kind:
            case "usual":
                return self._key
            case "none":
                return None
            case "mistyped":
                return self._key[:-1] + ("a" if self._key[-1] != "a" else "b")
            case "reading":
                return self._service.key(self._book, (Scope.READ,))
            case "early":
                return self._service.key(Book(self._book.lender, Mode.LIVE))
            case "expired":
                installed = self._service.installed
                long_ago = clock.wall_us() - 40 * DAY_US
                text, key = keys.make(long_ago, installed.pepper, self._book, days=1)
                installed.registry.add_key(key)
                return text
        raise AssertionError(kind)

    def make_scores(self, count: int) -> None:
        for _ in range(count):
            reply = self._service.anywhere(APPLICATIONS["compact"], key=self._auditor)
            assert reply.status_code == httpx.codes.OK, reply.text

    def scores(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        cursor = ""
        while True:
            page = self._read(f"/v1/scores?limit={PAGE}{cursor}")
            found += page["data"]
            if page["next_cursor"] is None:
                return found
            cursor = f"&cursor={page['next_cursor']}"

    def endpoints(self) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = self._read("/v1/webhook_endpoints")["data"]
        return listed

    def _read(self, path: str) -> Any:
        reply = self._service.get(path, key=self._auditor)
        assert reply.status_code == httpx.codes.OK, reply.text
        return reply.json()


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[int, Service]]:
    """A service for each rate that a case asks for; 0 is the usual one."""
    with ExitStack() as stack:
        started = {}
        for rate in sorted({case.get("rate", 0) for case in CASES.values()}):
            home = tmp_path_factory.mktemp("contract")
            settings = {"ALAMA_RATE_LIMIT": str(rate)} if rate else {}
            service = Service(sqlite_url(home), home, 1, None, **settings)
            started[rate] = stack.enter_context(service.running())
        yield started


@pytest.fixture(scope="module", params=DRIVERS)
def driver(request: pytest.FixtureRequest) -> Iterator[Driver]:
    """A driver that was not built, or whose tools are missing, fails: `make sdk` says why."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with Driver(request.param, os.environ | {"PATH": path}) as started:
        yield started


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_contract_holds(
    case: dict[str, Any], driver: Driver, services: Mapping[int, Service]
) -> None:
    play(case, driver, LenderBooks(services[case.get("rate", 0)]))


def test_there_are_sixty_cases() -> None:
    assert len(CASES) == 60
