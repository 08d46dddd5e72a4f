"""What every store of drift does: see `alama.monitoring.drift`."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import update

from alama.core.tally import PEOPLE_MIN
from alama.monitoring import schema as monitoring_schema
from alama.monitoring.drift import DAYS_MAX, SETTLED_US, Drifted, Window
from alama.platform import acts
from alama.platform.acts import ActKind
from alama.platform.book import Book
from alama.platform.database.database import Database
from alama.platform.errors import StoreUnfit
from alama.protection.audit.store import Trail
from alama.scoring import schema
from alama.scoring.counts import fold_counts
from alama.webhooks.event_store import EventStore
from tests.drifting import (
    CARD,
    DAY_US,
    MOVING,
    TODAY,
    count_day,
    drawn,
    drift_in,
    drift_store_in,
    the_model,
)
from tests.entries import DEMO, LIVE, NOON_US, UMOJA
from tests.stores import lenders_in


@pytest.fixture(autouse=True)
def _lenders(database: Database) -> None:
    lenders_in(database, "demo", "umoja")


def count(
    database: Database, moved: Sequence[bool], book: Book = DEMO, scores: int = 1_050
) -> None:
    """Count days of so many scores up to yesterday, some of which have moved."""
    for place, has_moved in enumerate(moved):
        day = TODAY - len(moved) + place
        count_day(database, book, day, drawn(scores, day, (MOVING,) if has_moved else ()))


def windows(database: Database, book: Book = DEMO, card: str = CARD) -> Sequence[Window]:
    return drift_store_in(database).windows(book, the_model().id, card, 50)


def told(database: Database, book: Book = DEMO) -> list[Any]:
    """What was announced in a book, in the order of the days: the clock stands still here."""
    events = EventStore(database).page(book, "model.drift_detected", None, 50)
    data = [json.loads(event.payload)["data"] for event in events]
    return sorted(data, key=lambda one: one["last_day"])


def look(database: Database, book: Book = DEMO, now_us: int = NOON_US) -> Sequence[Drifted]:
    return drift_in(database).look_in(book, now_us)


def look_daily(database: Database, days: int) -> Sequence[Drifted]:
    """Look on each morning of the last days, today included, as the service does."""
    drift = drift_in(database)
    mornings = (NOON_US - ago * DAY_US for ago in reversed(range(days)))
    return [drifted for now_us in mornings for drifted in drift.look_in(DEMO, now_us)]


def test_a_window_has_whole_days_of_a_thousand_scores_or_more(database: Database) -> None:
    count(database, [False] * 7, scores=400)
    assert look(database) == []
    found = windows(database)
    assert [(one.first_day, one.last_day) for one in found] == [
        (TODAY - 7, TODAY - 5),
        (TODAY - 4, TODAY - 2),
    ]
    assert [one.scores for one in found] == [1_200, 1_200]
    fields = [feature.field for feature in the_model().cards[-1].features]
    assert list(found[0].figures) == ["score", *fields]
    assert not any(figure.is_over for one in found for figure in one.figures.values())


def test_the_parts_of_a_day_are_one_day(database: Database) -> None:
    for writer in ("w1", "w2", "w3"):
        count_day(database, DEMO, TODAY - 1, drawn(400, 7), writer=writer)
    look(database)
    assert [one.scores for one in windows(database)] == [1_200]


def test_drift_of_two_windows_in_a_row_is_told_once_for_as_long_as_it_lasts(
    database: Database,
) -> None:
    count(database, [False, True, False, True, True, True, False, True, True])
    found = look_daily(database, 9)
    assert [one.window.last_day - TODAY for one in found] == [-5, -1]
    assert [list(one.figures) for one in found] == [[MOVING]] * 2
    assert len(told(database)) == 2


def test_who_catches_up_with_many_windows_tells_what_has_drifted_by_now(
    database: Database,
) -> None:
    count(database, [True, True, False, True, True, True])
    [drifted] = look(database)
    assert drifted.window == windows(database)[-1]
    assert len(windows(database)) == 6
    assert len(told(database)) == 1


def test_drift_that_ended_before_anybody_looked_is_not_told(database: Database) -> None:
    count(database, [True, True, True, False])
    assert look(database) == []
    assert len(windows(database)) == 4


def test_what_is_told_names_fields_and_days_and_no_applicant(database: Database) -> None:
    count(database, [True, True])
    look(database)
    [event] = told(database)
    [name] = event.pop("names")
    assert name["name"] == MOVING
    assert name["psi"] > name["limit"] == 0.1
    assert event == {
        "mode": "test",
        "model": the_model().id,
        "card": CARD,
        "first_day": "2026-11-14",
        "last_day": "2026-11-14",
        "scores": 1_050,
    }
    [link] = Trail(database).newest("main", None, 1)
    act = acts.decode(link.body)
    assert (act.kind, act.lender, act.mode) == (ActKind.DRIFT_DETECTED, "demo", "test")
    assert act.subject == the_model().id
    assert act.details["names"] == MOVING


def test_drift_of_another_field_is_told_though_one_was_told_before(database: Database) -> None:
    for days, moved in ((4, ()), (3, (MOVING,)), (2, (MOVING, "region")), (1, ("region",))):
        count_day(database, DEMO, TODAY - days, drawn(1_050, days, moved))
    look_daily(database, 4)
    assert [[one["name"] for one in event["names"]] for event in told(database)] == [
        [MOVING],
        ["region"],
    ]


def test_two_processes_cut_the_same_windows_and_one_of_them_tells(
    database: Database, elsewhere: Database
) -> None:
    count(database, [True, True, True])
    assert len(look(database)) == 1
    assert look(elsewhere) == []
    assert look(database) == []
    assert len(windows(database)) == 3
    assert len(told(database)) == 1


def test_a_window_that_another_process_has_just_kept_is_not_told_of_again(
    database: Database,
) -> None:
    count(database, [True, True])
    look(database)
    store, model_id = drift_store_in(database), the_model().id
    last = windows(database)[-1]
    again = Drifted(model_id, CARD, last, last.figures)
    assert not store.keep(DEMO, model_id, CARD, [last], again)
    assert len(told(database)) == 1


def test_looking_every_day_cuts_what_one_look_would_have(
    database: Database, elsewhere: Database
) -> None:
    for book in (DEMO, UMOJA):
        for days in range(12, 0, -1):
            size = 250 + 137 * (days % 5)
            count_day(database, book, TODAY - days, drawn(size, days, (MOVING,) * (days < 7)))
    processes = [drift_in(database), drift_in(elsewhere)]
    for days in range(12, -1, -1):
        processes[days % 2].look_in(DEMO, NOON_US - days * DAY_US)
    look(database, UMOJA)
    assert windows(database, DEMO) == windows(database, UMOJA)
    assert [len(told(database, book)) for book in (DEMO, UMOJA)] == [1, 1]


def test_nothing_crosses_from_one_book_to_another(database: Database) -> None:
    count(database, [True, True])
    count(database, [False, False], UMOJA)
    drift = drift_in(database)
    assert set(drift.books()) == {DEMO, UMOJA}
    for book in (DEMO, LIVE, UMOJA):
        drift.look_in(book, NOON_US)
    assert [len(told(database, book)) for book in (DEMO, LIVE, UMOJA)] == [1, 0, 0]
    assert [len(windows(database, book)) for book in (DEMO, LIVE, UMOJA)] == [2, 0, 2]


def test_cards_of_a_model_are_watched_each_by_itself(database: Database) -> None:
    for days in range(4, 0, -1):
        count_day(database, DEMO, TODAY - days, drawn(1_100, days))
        small = drawn(300, days, card="compact")
        count_day(database, DEMO, TODAY - days, small, card="compact", writer="w2")
    look(database)
    assert [one.scores for one in windows(database, card=CARD)] == [1_100] * 4
    [of_compact] = windows(database, card="compact")
    assert (of_compact.first_day, of_compact.last_day) == (TODAY - 4, TODAY - 1)
    assert len(of_compact.figures) == 5


def test_a_day_is_over_a_quarter_of_an_hour_after_midnight(database: Database) -> None:
    count(database, [False])
    midnight_us = TODAY * DAY_US
    look(database, now_us=midnight_us + SETTLED_US - 1)
    assert windows(database) == []
    look(database, now_us=midnight_us + SETTLED_US)
    assert len(windows(database)) == 1


def test_bands_of_few_scores_count_nowhere_whether_they_were_dropped_already_or_not(
    database: Database,
) -> None:
    few = PEOPLE_MIN - 1
    for book in (DEMO, UMOJA):
        for days, size in ((4, few), (3, 990), (2, few), (1, 500)):
            count_day(database, book, TODAY - days, drawn(size, days))
        if book == DEMO:
            fold_counts(database, TODAY - 1)
        look(database, book)
    assert windows(database, DEMO) == windows(database, UMOJA)
    [found] = windows(database)
    assert (found.first_day, found.last_day, found.scores) == (
        TODAY - 4,
        TODAY - 1,
        1_490 + 2 * few,
    )


def test_where_every_day_has_few_a_window_tells_of_scores_alone(database: Database) -> None:
    few = PEOPLE_MIN - 1
    count(database, [False] * 106, scores=few)
    look(database)
    found = windows(database)
    assert [one.scores for one in found] == [53 * few, 53 * few]
    assert [list(one.figures) for one in found] == [["score"], ["score"]]


def test_scores_that_drift_are_told_though_fields_are_not_counted(database: Database) -> None:
    for days in range(106, 0, -1):
        counted = drawn(PEOPLE_MIN - 1, days)
        counted.steps = [0] * 20 + [counted.count]
        count_day(database, DEMO, TODAY - days, counted)
    [drifted] = look(database)
    assert list(drifted.figures) == ["score"]


def test_where_half_of_the_scores_have_their_fields_a_window_waits_for_them(
    database: Database,
) -> None:
    for days, size in enumerate([60] * 16 + [19] * 10, start=2):
        count_day(database, DEMO, TODAY - days, drawn(size, days))
    look(database)
    assert windows(database) == []
    count_day(database, DEMO, TODAY - 1, drawn(60, 1))
    look(database)
    [found] = windows(database)
    assert found.scores == 17 * 60 + 190
    assert len(found.figures) > 1


def test_days_before_the_last_window_are_not_read_again(database: Database) -> None:
    for card in ("full", "compact"):
        counted = drawn(1_100, 1, card=card)
        count_day(database, DEMO, TODAY - 2, counted, card=card, writer=card)
    look(database)
    damage(database)
    count_day(database, DEMO, TODAY - 1, drawn(1_100, 3))
    look(database)
    assert len(windows(database)) == 2


def test_what_is_older_than_a_year_and_a_bit_is_not_read_at_all(database: Database) -> None:
    count_day(database, DEMO, TODAY - DAYS_MAX - 1, drawn(1_100, 1))
    look(database)
    assert windows(database) == []


def test_the_last_windows_are_given_newest_last(database: Database) -> None:
    count(database, [False] * 4)
    look(database)
    found = drift_store_in(database).windows(DEMO, the_model().id, CARD, 2)
    assert found == windows(database)[-2:]


# ------------------------------------------------------------------------------------ damage


def damage(database: Database) -> None:
    with database.writing() as connection:
        connection.execute(update(schema.daily_counts).values(counts=b"\xc1"))


def test_damaged_counts_are_unfit(database: Database) -> None:
    count(database, [False])
    damage(database)
    with pytest.raises(StoreUnfit, match="are damaged"):
        look(database)


@pytest.mark.parametrize("card", ["full", "another"])
def test_counts_that_are_not_of_their_model_are_unfit(database: Database, card: str) -> None:
    counted = drawn(1_100, 1, card="compact")
    count_day(database, DEMO, TODAY - 1, counted, card=card)
    with pytest.raises(StoreUnfit, match="not of the model"):
        look(database)


def test_a_damaged_window_is_unfit(database: Database) -> None:
    count(database, [False])
    look(database)
    with database.writing() as connection:
        connection.execute(update(monitoring_schema.drift_windows).values(figures=b"\xc1"))
    with pytest.raises(StoreUnfit, match="is damaged"):
        windows(database)


def test_a_window_that_cannot_be_told_of_is_not_kept(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    count(database, [True, True])
    drift = drift_in(database)

    def fails(*_: object) -> None:
        raise StoreUnfit("no signer")

    with monkeypatch.context() as patched:
        patched.setattr("alama.platform.acts.ActLog.append", fails)
        with pytest.raises(StoreUnfit):
            drift.look_in(DEMO, NOON_US)
    assert windows(database) == []
    assert told(database) == []
    assert len(drift.look_in(DEMO, NOON_US)) == 1
    assert len(told(database)) == 1
