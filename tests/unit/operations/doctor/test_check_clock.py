"""The doctor on time: leaps, and what waits for a person because of how much it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from alama.core.lending.draft import draft, draft_text
from alama.lenders import installation
from alama.lenders.records import Signed
from alama.operations.doctor import check_clock, examine
from alama.operations.findings import Finding
from alama.platform import clock as wiring
from alama.platform import settings
from alama.platform.book import Book, Mode
from alama.platform.clock import TOLERANCE_US, Seen
from alama.platform.clock_store import SqlSeen
from alama.platform.days import DAY_US
from alama.platform.files.packaged import builtin, jurisdiction
from alama.policies.policies import activate
from alama.protection import retention
from tests.stored import give_score
from tests.unit.operations.patients import BROKEN, LOOK, OK, UNCHECKED, by_check, opened

NOON_US = 1_790_000_000_000_000
DEMO = Book("demo", Mode.TEST)


@pytest.mark.parametrize(
    ("now_us", "mark", "seen"),
    [
        (NOON_US, OK, "it fits"),
        (NOON_US + DAY_US, OK, "it fits"),
        (NOON_US + 4 * DAY_US, BROKEN, "4 days, 0:00:00 ahead of the last time seen"),
        (NOON_US - 4 * DAY_US, BROKEN, "4 days, 0:00:00 behind the last time seen"),
    ],
)
def test_a_time_that_does_not_fit_is_broken(now_us: int, mark: str, seen: str) -> None:
    one = check_clock.leapt(now_us, Seen(NOON_US), NOON_US)
    assert one.mark == mark
    assert seen in one.seen


def test_an_act_that_was_signed_later_than_now_is_to_be_looked_at() -> None:
    assert check_clock.leapt(NOON_US, Seen(NOON_US), NOON_US + TOLERANCE_US).mark is OK
    assert check_clock.leapt(NOON_US, Seen(NOON_US), NOON_US + TOLERANCE_US + 1).mark is LOOK


def test_a_leap_that_a_running_process_has_met_is_broken_for_as_long_as_it_stands() -> None:
    leapt = Seen(NOON_US, leap_us=DAY_US - 1)
    assert check_clock.leapt(NOON_US + DAY_US, leapt, NOON_US).mark is BROKEN
    assert check_clock.leapt(NOON_US, leapt, NOON_US).mark is OK


def found(home: Path, later_us: int) -> dict[str, Finding]:
    environment = {"ALAMA_HOME": str(home)}
    clock = wiring.wall_us
    return by_check(examine.examine(environment, lambda: clock() + later_us, None))


def test_what_waits_for_a_person_is_named_unless_the_clock_has_leapt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    give_score()
    years_us = 8 * 366 * DAY_US
    with opened(tmp_path) as one:
        place = jurisdiction("KE")
        text = draft_text(draft("KES", place, "ours"), place).encode()
        activate(one.registry, DEMO, text, Signed(one.clock()), builtin)
    monkeypatch.setattr(retention, "USUAL_MAX", 0)
    assert found(tmp_path, 0)["clock.retention"].mark is OK
    leapt = found(tmp_path, years_us)
    assert (leapt["clock.leap"].mark, leapt["clock.retention"].mark) == (BROKEN, UNCHECKED)
    now_us = wiring.wall_us()
    monkeypatch.setattr("alama.lenders.installation.wall_us", lambda: now_us + years_us)
    installed = installation.open_installation(settings.read({"ALAMA_HOME": str(tmp_path)}))
    SqlSeen(installed.database).accept(installed.log, *installed.clock.accept(), "asha")
    installed.close()
    monkeypatch.undo()
    monkeypatch.setattr(retention, "USUAL_MAX", 0)
    waits = found(tmp_path, years_us)
    assert (waits["clock.leap"].mark, waits["clock.retention"].mark) == (OK, LOOK)
    assert "1 score waits for a person" in waits["clock.retention"].seen
