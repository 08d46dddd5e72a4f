"""A key is held to its rate by a stopwatch, whatever becomes of the clock."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from alama.lenders import installation, keys
from alama.lenders.installation import Installation
from alama.lenders.limits import RateLimit
from alama.platform import clock, settings
from alama.platform.book import Scope
from alama.platform.errors import TooManyRequests
from alama.platform.http.exchange import Arrival, Call
from alama.scoring.admission import Admission
from alama.scoring.directory import Directory
from alama.scoring.store import Scores
from tests.entries import DEMO, NOON_US, a_request_id
from tests.factories import a_model

MINUTE_US = 60_000_000


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[Installation]:
    installed = installation.open_installation(settings.read({"ALAMA_HOME": str(tmp_path)}))
    yield installed
    installed.close()


async def unread() -> NoReturn:
    raise AssertionError("the body was read")


def call(key: str, at_us: int, started_s: float) -> Call:
    scope = {"headers": [(b"authorization", f"Bearer {key}".encode())]}
    return Call(scope, unread, Arrival(a_request_id(), at_us, started_s))


def test_a_clock_that_is_set_back_keeps_no_key_waiting(installed: Installation) -> None:
    key, _ = keys.issue(installed.registry, installed.clock, installed.pepper, DEMO)

    async def story() -> None:
        directory = Directory(
            installed.registry,
            Scores.at(installed),
            installed.clock,
            clock.stopwatch_us,
            installed.pepper,
            a_model,
            installed.vault,
        )
        admission = Admission(directory, RateLimit(per_second=1, burst=1))
        await admission.admit(call(key, NOON_US, 100.0), Scope.READ)
        with pytest.raises(TooManyRequests):
            await admission.admit(call(key, NOON_US + MINUTE_US, 100.5), Scope.READ)
        await admission.admit(call(key, NOON_US - MINUTE_US, 101.0), Scope.READ)

    asyncio.run(story())
