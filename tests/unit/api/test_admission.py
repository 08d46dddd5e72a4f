"""A key is held to its rate by a stopwatch, whatever becomes of the clock."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from alama import settings, wiring
from alama.api.admission import Admission
from alama.api.exchange import Call
from alama.service import keys
from alama.service.directory import Directory
from alama.service.errors import TooManyRequests
from alama.service.keys import Scope
from alama.service.limits import RateLimit
from alama.service.scoring import Arrival
from alama.wiring import Installation
from tests.entries import DEMO, NOON_US, a_request_id
from tests.factories import a_model

MINUTE_US = 60_000_000


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[Installation]:
    installed = wiring.open_installation(settings.read({"ALAMA_HOME": str(tmp_path)}))
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
            installed.scores,
            installed.clock,
            wiring.stopwatch_us,
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
