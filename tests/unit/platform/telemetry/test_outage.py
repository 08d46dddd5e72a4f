"""An outage is told once when it begins and once when it ends, whoever met it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from alama.platform.errors import MasterKeyMissing, StoreUnavailable
from alama.platform.telemetry.log import JsonLines, Log
from alama.platform.telemetry.trouble import QUIET_S, Outage
from tests.unit.platform.telemetry.test_metrics import Done

FAILED = Done(entries=3, seconds=8.0, error=TimeoutError())
AWAY = ConnectionError("a value that nobody should read")


class Story:
    """An outage with a clock in hand, and the log of it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("wb")
        self.now_s = 1_000.0
        self.outage = Outage(Log(JsonLines(), self._file.fileno()), lambda: self.now_s)

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._path.read_text("utf-8").splitlines()]

    def events(self) -> list[str]:
        return [line["event"].removeprefix("database_") for line in self.lines()]

    def close(self) -> None:
        self._file.close()


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    story = Story(tmp_path / "log")
    yield story
    story.close()


def test_keys_that_cannot_be_looked_up_are_an_outage(story: Story) -> None:
    for _ in range(5):
        story.outage.request_refused(AWAY)
        story.now_s += 1.0
    story.outage.request_answered()
    began, ended = story.lines()
    assert (began["event"], ended["event"]) == ("database_unavailable", "database_recovered")
    assert began["errors"][0]["type"] == "ConnectionError"
    assert "nobody should read" not in str(began)
    assert (ended["seconds"], ended["requests_refused"], ended["failed_commits"]) == (5.0, 5, 0)


def test_what_we_know_of_the_cause_is_told_in_words(story: Story) -> None:
    refused = StoreUnavailable("not now")
    refused.__cause__ = MasterKeyMissing("a" * 16, "b" * 16)
    story.outage.request_refused(refused)
    (began,) = story.lines()
    assert began["message"].endswith(
        "the master key aaaaaaaaaaaaaaaa, and this process has " + "b" * 16
    )
    assert "ALAMA_MASTER_KEY" in began["hint"]


def test_what_is_refused_now_and_then_is_one_outage(story: Story) -> None:
    for _ in range(20):
        story.outage.request_refused(AWAY)
        story.now_s += QUIET_S / 2
        story.outage.commit_done()
        story.outage.request_answered()
    assert story.events() == ["unavailable"]
    story.now_s += QUIET_S
    story.outage.commit_done()
    assert story.events() == ["unavailable", "recovered"]


def test_reading_does_not_end_an_outage_of_keeping(story: Story) -> None:
    story.outage.commit_failed(FAILED)
    story.outage.request_refused(AWAY)
    story.now_s += 60.0
    story.outage.request_answered()
    assert story.events() == ["unavailable"]
    story.outage.commit_done()
    assert story.events() == ["unavailable", "recovered"]


def test_what_can_be_kept_again_ends_an_outage_at_once(story: Story) -> None:
    story.outage.commit_failed(FAILED)
    story.outage.request_refused(AWAY)
    story.outage.commit_done()
    assert story.events() == ["unavailable", "recovered"]
    assert story.lines()[0]["scores_refused"] == 3


def test_the_next_outage_is_counted_from_nothing(story: Story) -> None:
    for _ in range(2):
        story.outage.commit_failed(FAILED)
        story.now_s += 2.0
        story.outage.commit_done()
    assert story.events() == ["unavailable", "recovered"] * 2
    assert [line["failed_commits"] for line in story.lines()[1::2]] == [1, 1]
    assert [line["seconds"] for line in story.lines()[1::2]] == [2.0, 2.0]


def test_all_well_is_not_worth_a_line(story: Story) -> None:
    story.outage.commit_done()
    story.outage.request_answered()
    assert story.lines() == []
    assert not story.outage.lasts
