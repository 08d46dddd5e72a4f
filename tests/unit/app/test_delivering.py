"""The worker asks challengers, where it is a process of its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from alama.app import delivering
from alama.core.model import encode
from alama.lenders import installation
from alama.lenders.installation import Installation
from alama.monitoring import shadowing
from alama.monitoring.challengers import Challengers, Challenges
from alama.platform import settings
from alama.platform.book import Book, Mode
from alama.platform.database import database
from alama.platform.telemetry.log import log_on_stderr
from alama.webhooks.telemetry import DeliveryWatch
from tests.factories import a_model
from tests.stored import give_score

TEST = Book("demo", Mode.TEST)
WITHIN_S = 60.0
SOME_LOOKS_S = 0.3


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
    """An installation with a challenger, and one score that it is to be asked about at once."""
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    monkeypatch.setattr(shadowing, "SETTLED_US", 0)
    opened = installation.open_installation(settings.Settings(home=str(tmp_path)))
    challenges = Challenges.at(opened)
    challenges.begin(TEST, encode(a_model(name="challenger")), "W. Mutua", "a trial")
    give_score()
    yield opened
    opened.close()


def work(installed: Installation, enough: Callable[[int, float], bool]) -> int:
    """Have a worker work until it has answered or waited enough; how often it has answered."""
    challengers = Challengers(installed.database, installed.log)
    stops: list[Callable[[], None]] = []

    async def run() -> None:
        watch = DeliveryWatch(log_on_stderr("json"))
        working = asyncio.create_task(
            delivering.deliver(settings.Settings(), installed, watch, stops.append)
        )
        began_s = time.monotonic()
        while not stops or not enough(challengers.of(TEST)[0].scored, time.monotonic() - began_s):
            assert not working.done()
            await asyncio.sleep(0.02)
        stops[0]()
        await working

    asyncio.run(run())
    return challengers.of(TEST)[0].scored


def test_a_worker_asks_the_challenger_of_each_book(
    installed: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "SQLITE_SAFE_FOR_MANY", (3, 0, 0))
    assert work(installed, lambda scored, waited_s: scored > 0 or waited_s > WITHIN_S) == 1


def test_a_worker_that_is_a_thread_of_the_service_takes_no_turns_from_scores(
    installed: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "SQLITE_SAFE_FOR_MANY", (99, 0, 0))
    assert work(installed, lambda _, waited_s: waited_s > SOME_LOOKS_S) == 0
