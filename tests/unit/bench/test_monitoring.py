"""What the bench of monitoring measures, in small."""

from __future__ import annotations

import pytest

from bench.monitoring import coverage
from bench.monitoring.__main__ import NOTHING, block, broken
from bench.page import Document

pytestmark = pytest.mark.long


def ignore(_share: float, _doing: str) -> None:
    """Nobody looks."""


def a_document() -> Document:
    return {
        "drift": {
            "drifted": {"runs": 100, "detected": 99},
            "calm": {"runs": 200, "alarms": 0, "windows": 1_200},
        },
        "coverage": {
            "runs": 200,
            "people": 5_000,
            "intervals": 800,
            "covered": 760,
            "share": 0.95,
            "tiers": {"A": 0.95, "B": 0.95},
            "stored": {"loans": 5_000, "same": True, "intervals": 4, "covered": 4},
        },
        "report": {
            "sqlite": {
                "scores": 1_000_000,
                "outcomes": 200_000,
                "made": 5_000,
                "seconds": 4.2,
                "peak_mb": 190,
            }
        },
    }


def test_intervals_cover_the_truth_and_a_stored_book_says_the_same() -> None:
    found = coverage.measure(5, ignore, stored_people=200)
    assert found["intervals"] >= 15
    assert found["share"] > 0.7
    assert found["stored"]["same"]
    assert found["stored"]["loans"] > 30


def test_what_is_kept_is_shown_and_nothing_is_broken() -> None:
    document = a_document()
    assert list(broken(document)) == []
    shown = block(document)
    assert "| drift told of within two windows | 99 of 100 runs | 95 of 100 |" in shown
    assert "| 0 in 200 runs of 6 windows |" in shown
    assert "1,000,000 scores, 200,000 outcomes, SQLite | 4.2 s, 190 MB |" in shown


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("drift", "drifted", "detected"), 94, "94 of 100"),
        (("drift", "calm", "alarms"), 2, "2 alarms"),
        (("coverage", "share"), 0.92, "92.0%"),
        (("coverage", "share"), 0.98, "98.0%"),
        (("coverage", "stored", "same"), False, "stored book"),
        (("report", "sqlite", "seconds"), 10.5, "10.5 s"),
        (("report", "sqlite", "peak_mb"), 501, "501 MB"),
    ],
)
def test_what_is_not_as_promised_is_named(path: tuple[str, ...], value: float, words: str) -> None:
    document = a_document()
    part = document
    for name in path[:-1]:
        part = part[name]
    part[path[-1]] = value
    [told] = broken(document)
    assert words in told


def test_before_a_full_run_the_page_says_so() -> None:
    assert block({}) == NOTHING
