"""Loan histories: sealed part by part, whole or not there, and gone once they are forgotten."""

import io
import os
from collections.abc import Iterator

import pytest
from sqlalchemy import delete, func, select, update

from alama.lenders.records import UnknownLender
from alama.onboarding import histories as stored_histories
from alama.onboarding import schema
from alama.onboarding.histories import (
    ABANDONED_US,
    SWEPT_AT_ONCE,
    Histories,
    Read,
    forget_history,
    keep_history,
    write_history,
)
from alama.onboarding.jobs import Jobs
from alama.onboarding.records import (
    HISTORY_PREFIX,
    JOB_PREFIX,
    PART_BYTES,
    FileFormat,
    HistoriesFull,
    HistoryForgotten,
    HistoryRecord,
    JobKind,
    UnknownHistory,
)
from alama.platform.database.database import Database
from alama.platform.errors import StoreUnfit
from alama.protection.rotation import Rotation, RotationStore
from alama.training.history.report import Enough
from alama.vault import schema as vault_schema
from tests.entries import NOON_US
from tests.onboarded import House, a_history, a_job
from tests.stores import acts_in
from tests.vaults import vault_of

MARK = b"borrower-0042"
PARTS = [MARK + os.urandom(100), b"second" * 50, b"third"]
SEEN = Read(FileFormat.CSV, 3, 30, Enough.MODEL, b'{"rows":3}')


@pytest.fixture
def histories(database: Database) -> Histories:
    house = House(database)
    house.begin()
    assert isinstance(house.stores.histories, Histories)
    return house.stores.histories


def kept(histories: Histories, lender: str = "demo") -> HistoryRecord:
    record = a_history(lender)
    histories.keep(record, b'{"rows":3}', PARTS)
    return record


def stored_parts(database: Database) -> list[bytes]:
    query = select(schema.history_parts.c.sealed).order_by(schema.history_parts.c.number)
    with database.reading() as connection:
        return list(connection.execute(query).scalars())


def test_a_file_reads_back_part_by_part_and_nothing_of_it_stands_in_clear(
    histories: Histories, database: Database
) -> None:
    record = kept(histories)
    assert list(histories.parts("demo", record.id)) == PARTS
    assert histories.report("demo", record.id) == b'{"rows":3}'
    found = histories.find("demo", record.id)
    assert (found.part_count, found.digest, found.enough) == (3, record.digest, record.enough)
    sealed = stored_parts(database)
    assert len(sealed) == 3
    assert not any(MARK in part or b"second" in part for part in sealed)


def test_a_file_of_many_parts_comes_back_byte_for_byte(histories: Histories) -> None:
    file = io.BytesIO(os.urandom(2 * PART_BYTES + 17))
    record = keep_history(histories, lambda: NOON_US, bytes(7), "demo", file, SEEN, "W. Mutua")
    assert record.part_count == 3
    again = io.BytesIO()
    assert write_history(histories, "demo", record.id, again) == record
    assert again.getvalue() == file.getvalue()


def test_a_history_is_found_by_its_lender_alone(histories: Histories) -> None:
    record = kept(histories)
    assert [one.id for one in histories.of("demo")] == [record.id]
    assert histories.of("umoja") == []
    for ask in (histories.find, histories.report, histories.parts):
        with pytest.raises(UnknownHistory):
            ask("umoja", record.id)
    with pytest.raises(UnknownHistory):
        histories.forget("umoja", record.id, NOON_US, "W. Mutua")
    assert list(histories.parts("demo", record.id)) == PARTS
    with pytest.raises(UnknownLender):
        kept(histories, "nobody")


def test_nothing_opens_under_the_key_of_another_lender(
    histories: Histories, database: Database
) -> None:
    record = kept(histories)
    theirs = vault_of(database).ring("umoja").seal_key_id
    with database.writing() as connection:
        connection.execute(update(schema.history_parts).values(seal_key_id=theirs))
    with pytest.raises(StoreUnfit, match="is not in this database"):
        list(histories.parts("demo", record.id))


def test_without_the_lenders_key_no_part_opens(histories: Histories, database: Database) -> None:
    record = kept(histories)
    with database.writing() as connection:
        connection.execute(
            delete(vault_schema.vault_keys).where(vault_schema.vault_keys.c.lender == "demo")
        )
    fresh = Histories(database, acts_in(database), vault_of(database))
    with pytest.raises(StoreUnfit, match="or was destroyed"):
        list(fresh.parts("demo", record.id))


def test_a_part_opens_in_its_own_place_alone(histories: Histories, database: Database) -> None:
    record = kept(histories)
    parts = schema.history_parts
    first, second, _ = stored_parts(database)
    with database.writing() as connection:
        for number, sealed in ((1, second), (2, first)):
            connection.execute(update(parts).where(parts.c.number == number).values(sealed=sealed))
    with pytest.raises(StoreUnfit, match="is damaged"):
        list(histories.parts("demo", record.id))


def test_a_file_whose_end_was_cut_off_is_told(histories: Histories, database: Database) -> None:
    record = kept(histories)
    with database.writing() as connection:
        connection.execute(delete(schema.history_parts).where(schema.history_parts.c.number == 3))
    with pytest.raises(StoreUnfit, match="is damaged"):
        list(histories.parts("demo", record.id))


def test_a_file_that_is_not_the_one_that_was_handed_in_is_told(histories: Histories) -> None:
    record = kept(histories)  # whose digest is made up
    with pytest.raises(StoreUnfit, match="is damaged"):
        write_history(histories, "demo", record.id, io.BytesIO())


def breaking_off() -> Iterator[bytes]:
    yield from PARTS
    raise OSError("the disk is gone")


def test_a_file_that_ends_too_early_leaves_nothing(
    histories: Histories, database: Database
) -> None:
    with pytest.raises(OSError, match="the disk is gone"):
        histories.keep(a_history(), b"{}", breaking_off())
    assert histories.of("demo") == []
    assert stored_parts(database) == []


def test_a_file_that_is_kept_stays_though_nobody_hears_of_it(
    histories: Histories, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = Histories._keep_record

    def interrupted(self: Histories, record: HistoryRecord, report: bytes) -> None:
        commit(self, record, report)
        raise KeyboardInterrupt

    monkeypatch.setattr(Histories, "_keep_record", interrupted)
    with pytest.raises(KeyboardInterrupt):
        kept(histories)
    (record,) = histories.of("demo")
    assert list(histories.parts("demo", record.id)) == PARTS


def test_a_file_that_a_job_is_to_read_is_not_dropped_before_the_job_has_ended(
    histories: Histories, database: Database
) -> None:
    jobs, job = Jobs(database, acts_in(database)), a_job()
    jobs.add(job)
    awaited = HISTORY_PREFIX + job.id.removeprefix(JOB_PREFIX)
    histories.receive("demo", awaited, 1, b"to be read")
    histories.drop("demo", awaited)
    assert len(stored_parts(database)) == 1
    assert jobs.claim("one", tuple(JobKind), NOON_US, NOON_US + 1) is not None
    assert jobs.fail("one", job.id, "no such column", NOON_US)
    histories.drop("demo", awaited)
    assert stored_parts(database) == []


def test_what_nobody_will_read_is_swept_after_a_day_a_few_parts_at_a_time(
    histories: Histories, database: Database
) -> None:
    record, job = kept(histories), a_job("umoja")
    awaited = HISTORY_PREFIX + job.id.removeprefix(JOB_PREFIX)
    Jobs(database, acts_in(database)).add(job)
    histories.receive("umoja", awaited, 1, b"to be read")
    given_up = a_history().id
    for number in range(1, SWEPT_AT_ONCE + 2):
        histories.receive("demo", given_up, number, b"in vain")
    assert not histories.sweep(NOON_US + ABANDONED_US // 2)
    assert len(stored_parts(database)) == len(PARTS) + 1 + SWEPT_AT_ONCE + 1
    later_us = NOON_US + ABANDONED_US + 1_000_000
    assert histories.sweep(later_us)
    assert not histories.sweep(later_us)
    assert len(stored_parts(database)) == len(PARTS) + 1
    assert list(histories.parts("demo", record.id)) == PARTS


def test_a_file_that_could_not_be_read_is_swept_as_soon_as_its_job_has_failed(
    histories: Histories, database: Database
) -> None:
    jobs, job = Jobs(database, acts_in(database)), a_job()
    jobs.add(job)
    junk = HISTORY_PREFIX + job.id.removeprefix(JOB_PREFIX)
    histories.receive("demo", junk, 1, b"no table")
    assert jobs.claim("one", tuple(JobKind), NOON_US, NOON_US + 1) is not None
    assert not histories.sweep(NOON_US)
    assert len(stored_parts(database)) == 1
    assert jobs.fail("one", job.id, "it is no table", NOON_US)
    assert not histories.sweep(NOON_US)
    assert stored_parts(database) == []


def test_what_lies_sealed_for_a_lender_has_a_limit_of_its_own(
    histories: Histories, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_histories, "HISTORIES_BYTES_MAX", 4_000)
    first, second = a_history().id, a_history().id
    histories.receive("demo", first, 1, bytes(2_000))
    with pytest.raises(HistoriesFull):
        histories.receive("demo", second, 1, bytes(2_000))
    histories.receive("umoja", a_history("umoja").id, 1, bytes(2_000))
    assert len(stored_parts(database)) == 2
    histories.drop("demo", first)
    histories.receive("demo", second, 1, bytes(2_000))


def test_what_is_forgotten_is_gone_and_its_report_is_not(
    histories: Histories, database: Database
) -> None:
    record, other = kept(histories), kept(histories, "umoja")
    forgotten = forget_history(histories, lambda: NOON_US + 5, "demo", record.id, "W. Mutua")
    assert forgotten == (True, True)
    with pytest.raises(HistoryForgotten):
        histories.parts("demo", record.id)
    assert histories.find("demo", record.id).forgotten_us == NOON_US + 5
    assert histories.report("demo", record.id) == b'{"rows":3}'
    again = forget_history(histories, lambda: NOON_US + 9, "demo", record.id, "W. Mutua")
    assert again == (False, True)
    assert histories.find("demo", record.id).forgotten_us == NOON_US + 5
    with database.reading() as connection:
        count = select(func.count()).select_from(schema.history_parts)
        assert connection.execute(count).scalar_one() == len(PARTS)
    assert list(histories.parts("umoja", other.id)) == PARTS


def test_a_new_key_of_the_lender_takes_every_part_over(
    histories: Histories, database: Database
) -> None:
    record, other = kept(histories), kept(histories, "umoja")
    vault = vault_of(database)
    rotation = Rotation(RotationStore(database, acts_in(database), vault), vault, lambda: NOON_US)
    old_id = vault.ring("demo").seal_key_id
    assert rotation.begin_lender("demo", "W. Mutua") == len(PARTS)
    moved: list[int] = []
    new_id = rotation.finish_lender("demo", moved.append)
    assert (sum(moved), new_id != old_id) == (len(PARTS), True)
    fresh = Histories(database, acts_in(database), vault_of(database))
    assert list(fresh.parts("demo", record.id)) == PARTS
    assert list(fresh.parts("umoja", other.id)) == PARTS
