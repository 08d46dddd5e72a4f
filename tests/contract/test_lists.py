"""Block and watch lists: what a database keeps of them, and who hears of it."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import Executable, delete, update

from alama.core.lending.policy import Rule
from alama.platform.acts import ActKind
from alama.platform.book import Book, Mode
from alama.platform.database.database import Database
from alama.platform.errors import InvalidName
from alama.protection.applicants import UnknownApplicant, encode
from alama.protection.rotation import Rotation, RotationStore
from alama.scoring import lists, schema
from alama.scoring.lists import (
    NO_LISTS,
    Listing,
    ListName,
    ListReason,
    Lists,
    ListsFull,
    Put,
)
from alama.scoring.replay import open_score
from tests.audited import verdict_on
from tests.clocks import HandClock
from tests.entries import DEMO, NOON_US
from tests.protected import DAY_US, House
from tests.stores import lenders_in

LIVE = Book("demo", Mode.LIVE)
REF = "customer-7f3a"
BLOCKED = Listing(REF, ListName.BLOCK, ListReason.FRAUD, "W. Mutua", None, "case 12")


LISTS_ACTS = (ActKind.APPLICANT_LISTED, ActKind.APPLICANT_UNLISTED)


@pytest.fixture
def house(database: Database) -> House:
    house = House(database, HandClock())
    lenders_in(database, "umoja")
    return house


def rule(
    house: House, book: Book = DEMO, at_us: int = NOON_US, known: Lists = NO_LISTS
) -> Rule | None:
    """The rule that holds for the applicant, by a process that knows these lists."""
    return house.scores.lists(book, known).rule(subject(house, book), at_us)


def subject(house: House, book: Book = DEMO, reference: str = REF) -> bytes:
    return house.vault.ring(book.lender).subject(book.mode.value, reference)


def acts(house: House) -> list[str]:
    return [kind for kind in LISTS_ACTS for _ in house.acts(kind)]


def decided(house: House, request_id: str) -> tuple[str, tuple[str, ...]]:
    stored = house.scores.find(DEMO, request_id)
    rules = open_score(house.vault, stored).assessment.rules
    return stored.row.decision, tuple(one for one in rules if one in {"blocked", "watched"})


def test_whoever_is_on_a_list_is_found_by_what_they_are_known_by(house: House) -> None:
    assert rule(house) is None
    (listed,) = house.lists.put(DEMO, [BLOCKED])
    assert (listed.put, listed.entry.note) == (Put.ADDED, "case 12")
    assert rule(house) is Rule.BLOCKED
    assert house.scores.lists(DEMO, NO_LISTS).rule(subject(house, reference="other"), 0) is None
    assert house.scores.lists(DEMO, NO_LISTS).rule(None, 0) is None


def test_no_list_crosses_from_one_book_to_another(house: House) -> None:
    house.lists.put(DEMO, [BLOCKED])
    for book in (LIVE, Book("umoja", Mode.TEST)):
        assert rule(house, book) is None
        assert house.lists.page(book, None, 10) == []
        assert house.lists.find(book, REF) is None


def test_the_last_word_counts_and_the_same_again_changes_nothing(house: House) -> None:
    house.lists.put(DEMO, [BLOCKED])
    assert [one.put for one in house.lists.put(DEMO, [BLOCKED])] == [Put.UNCHANGED]
    watched = BLOCKED._replace(name=ListName.WATCH)
    assert [one.put for one in house.lists.put(DEMO, [watched, watched])] == [
        Put.CHANGED,
        Put.UNCHANGED,
    ]
    assert rule(house) is Rule.WATCHED
    assert acts(house) == [ActKind.APPLICANT_LISTED] * 2


def test_an_entry_ends_with_its_last_day(house: House) -> None:
    house.lists.put(DEMO, [BLOCKED._replace(until_us=NOON_US + DAY_US)])
    assert rule(house, at_us=NOON_US + DAY_US - 1) is Rule.BLOCKED
    assert rule(house, at_us=NOON_US + DAY_US) is None


def test_lists_that_nobody_has_changed_are_not_read_again(house: House) -> None:
    house.lists.put(DEMO, [BLOCKED])
    known = house.scores.lists(DEMO, NO_LISTS)
    assert house.scores.lists(DEMO, known) is known
    house.lists.put(DEMO, [BLOCKED])
    assert house.scores.lists(DEMO, known) is known
    house.lists.remove(DEMO, REF, "W. Mutua")
    assert house.scores.lists(DEMO, known).rule(subject(house), NOON_US) is None


def test_who_is_taken_off_is_on_none(house: House) -> None:
    assert house.lists.remove(DEMO, REF, None) is None
    house.lists.put(DEMO, [BLOCKED])
    removed = house.lists.remove(DEMO, f" {REF} ", "W. Mutua")
    assert removed is not None
    assert (rule(house), house.lists.find(DEMO, REF)) == (None, None)
    assert acts(house) == [ActKind.APPLICANT_LISTED, ActKind.APPLICANT_UNLISTED]


def test_entries_are_given_in_pages(house: House) -> None:
    house.lists.put(DEMO, [BLOCKED._replace(applicant_ref=f"ref-{n}") for n in range(5)])
    house.lists.put(DEMO, [BLOCKED._replace(applicant_ref="w", name=ListName.WATCH)])
    first = house.lists.page(DEMO, None, 4)
    rest = house.lists.page(DEMO, first[-1].applicant_key_id, 4)
    assert len({one.applicant_key_id for one in [*first, *rest]}) == len([*first, *rest]) == 6
    (watched,) = house.lists.page(DEMO, None, 4, ListName.WATCH)
    assert watched.name is ListName.WATCH


def test_who_is_blocked_is_declined_and_who_is_watched_is_left_to_a_person(house: House) -> None:
    usual = house.score(REF)
    assert decided(house, usual) == ("APPROVED", ())
    house.lists.put(DEMO, [BLOCKED])
    blocked, other = house.score(REF), house.score("somebody-else")
    house.lists.put(DEMO, [BLOCKED._replace(name=ListName.WATCH)])
    watched = house.score(REF)
    assert decided(house, blocked) == ("DECLINED", ("blocked",))
    assert decided(house, watched) == ("REVIEW", ("watched",))
    assert decided(house, other) == decided(house, house.score()) == ("APPROVED", ())
    house.lists.remove(DEMO, REF, None)
    assert decided(house, house.score(REF))[1] == ()
    # What was said then is said again, whatever the lists say now.
    for request_id in (usual, blocked, watched):
        assert house.replayed(request_id) == ()


def test_the_key_of_somebody_who_has_applied_is_the_one_that_is_listed(house: House) -> None:
    request_id = house.score(REF)
    (listed,) = house.lists.put(DEMO, [BLOCKED])
    stored = house.scores.find(DEMO, request_id)
    assert stored.applicant is not None
    assert stored.applicant.id == listed.entry.applicant_key_id


def test_an_applicant_reads_of_the_entry_in_an_export(house: House) -> None:
    house.lists.put(DEMO, [BLOCKED])
    exported = json.loads(encode(house.applicants.export(DEMO, REF)))
    assert exported["scores"] == []
    entry = exported["list_entry"]
    assert (entry["list"], entry["reason"], entry["note"]) == ("block", "fraud", "case 12")
    house.lists.remove(DEMO, REF, None)
    assert json.loads(encode(house.applicants.export(DEMO, REF)))["list_entry"] is None


def test_an_erasure_takes_the_applicant_off_and_every_process_hears_of_it(house: House) -> None:
    (before,) = house.lists.put(DEMO, [BLOCKED])
    known = house.scores.lists(DEMO, NO_LISTS)
    house.applicants.erase(DEMO, REF)
    assert rule(house, known=known) is None
    assert house.lists.page(DEMO, None, 10) == []
    assert verdict_on(house.database).findings == []
    # Whoever comes again is another applicant.
    (listed,) = house.lists.put(DEMO, [BLOCKED])
    assert listed.entry.applicant_key_id != before.entry.applicant_key_id


def test_entries_outlive_a_rotation_of_what_seals(house: House) -> None:
    house.lists.put(DEMO, [BLOCKED])
    store = RotationStore(house.database, house.log, house.vault)
    rotation = Rotation(store, house.vault, house.clock)
    rotation.applicant(DEMO, REF, "a test")
    rotation.begin_lender("demo", "a test")
    rotation.finish_lender("demo", lambda _: None)
    assert rule(house) is Rule.BLOCKED
    assert decided(house, house.score(REF))[0] == "DECLINED"


def test_retention_keeps_whoever_is_listed_and_forgets_entries_that_ended(house: House) -> None:
    ends_us = NOON_US + DAY_US
    house.score(REF)
    house.score("ended")
    house.lists.put(DEMO, [BLOCKED, BLOCKED._replace(applicant_ref="ended", until_us=ends_us)])
    house.clock.now_us += 800 * DAY_US
    plan = house.retention.plan(DEMO, 365)
    assert list(house.retention.carry_out(plan, "a test")) == [2]
    (left,) = house.lists.page(DEMO, None, 10)
    assert (left.until_us, rule(house)) == (None, Rule.BLOCKED)
    with pytest.raises(UnknownApplicant):
        house.applicants.look_up(DEMO, "ended")
    assert acts(house).count(ActKind.APPLICANT_UNLISTED) == 1
    assert verdict_on(house.database).findings == []


@pytest.mark.parametrize(
    "change",
    [
        update(schema.list_entries).values(name="watch"),
        update(schema.list_entries).values(until_us=NOON_US),
        delete(schema.list_entries),
    ],
)
def test_whoever_changes_a_list_in_the_database_is_found_out(
    change: Executable, house: House
) -> None:
    house.lists.put(DEMO, [BLOCKED])
    assert verdict_on(house.database).findings == []
    with house.database.writing() as connection:
        connection.execute(change)
    (finding,) = verdict_on(house.database).findings
    assert finding.where.startswith("list entry apk_")


@pytest.mark.parametrize(
    "wrong",
    [
        BLOCKED._replace(applicant_ref=" "),
        BLOCKED._replace(applicant_ref="+254 700 000 000"),
        BLOCKED._replace(person=""),
        BLOCKED._replace(person="two\nlines"),
        BLOCKED._replace(note="x" * 201),
        BLOCKED._replace(note=f"{REF.upper()} has two wallets"),
    ],
)
def test_what_cannot_be_an_entry_is_refused_with_all_that_came_with_it(
    wrong: Listing, house: House
) -> None:
    with pytest.raises(InvalidName):
        house.lists.put(DEMO, [BLOCKED._replace(applicant_ref="fine"), wrong])
    assert house.lists.page(DEMO, None, 10) == []
    assert acts(house) == []


def test_there_is_room_for_so_many(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "ENTRIES_MAX", 2)
    two = [BLOCKED._replace(applicant_ref=f"ref-{n}") for n in range(2)]
    house.lists.put(DEMO, two)
    with pytest.raises(ListsFull):
        house.lists.put(DEMO, [BLOCKED])
    assert len(house.lists.page(DEMO, None, 10)) == 2
