"""Jobs as they are done: whatever goes wrong, a file that was acknowledged is not erased by it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from alama.core.errors import FileProblem
from alama.onboarding.histories import Histories
from alama.onboarding.records import FileFormat, Job, Wishes
from alama.onboarding.remote import Arrival
from alama.onboarding.store import Stores
from alama.onboarding.tasks import Tasks
from alama.platform.database import database as databases
from alama.platform.database import migrate
from alama.platform.database.database import Database
from alama.platform.errors import MasterKeyMissing, StoreUnfit
from alama.vault.keys import Masters, master
from alama.vault.store import SqlVaultKeys
from alama.vault.vault import Vault
from tests.databases import sqlite_url
from tests.entries import NOON_US
from tests.histories import history_columns, write_csv
from tests.onboarded import House, a_history, a_pilot
from tests.stores import acts_in

NO_HISTORY = b"borrower_id,x\n1,2\n"
ANOTHER_MASTER = Masters(master("08" * 32))


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = databases.connect(sqlite_url(tmp_path))
    migrate.upgrade(database)
    yield database
    database.close()


@pytest.fixture
def stores(database: Database) -> Stores:
    house = House(database)
    house.begin()
    house.stores.pilots.set(a_pilot())
    return house.stores


def handed_in(stores: Stores, *parts: bytes) -> Job:
    """The job that is to read a file, of which these parts came."""
    arrival = Arrival(stores, "demo", 30, NOON_US, bytes(7))
    for part in parts:
        arrival.add(part)
    return arrival.finish(FileFormat.CSV, Wishes(), "key_1")


def do(stores: Stores, job: Job) -> None:
    Tasks(stores, lambda: NOON_US, 1).do(job, lambda *_: None)


def received(stores: Stores, job: Job, part_count: int = 1) -> list[bytes]:
    return list(stores.histories.received(a_history(id=job.makes, part_count=part_count)))


def test_a_file_is_read_and_can_be_found_from_then_on(stores: Stores, tmp_path: Path) -> None:
    file = write_csv(tmp_path, history_columns()).read_bytes()
    job = handed_in(stores, file[:1_000], file[1_000:])
    do(stores, job)
    found = stores.histories.find("demo", job.makes)
    assert (found.row_count, found.part_count) == (2_000, 2)
    do(stores, job)  # a second time, by a worker that does not know of the first
    assert stores.histories.find("demo", job.makes) == found


def test_a_worker_without_the_right_master_key_leaves_the_file_to_others(
    stores: Stores, database: Database
) -> None:
    job = handed_in(stores, NO_HISTORY)
    elsewhere = Vault(SqlVaultKeys(database), ANOTHER_MASTER, lambda: NOON_US)
    histories = Histories(database, acts_in(database), elsewhere)
    with pytest.raises(MasterKeyMissing):
        do(stores._replace(histories=histories), job)
    assert received(stores, job) == [NO_HISTORY]


def test_a_file_that_is_not_the_one_that_was_handed_in_is_told(stores: Stores) -> None:
    job = handed_in(stores, NO_HISTORY)
    stores.histories.receive("demo", job.makes, 2, b"more")
    order = msgspec.json.decode(job.order) | {"part_count": 2}
    with pytest.raises(StoreUnfit, match="is damaged"):
        do(stores, msgspec.structs.replace(job, order=msgspec.json.encode(order)))


def test_a_file_that_cannot_be_read_is_there_until_its_job_has_ended(stores: Stores) -> None:
    job = handed_in(stores, NO_HISTORY)
    with pytest.raises(FileProblem):
        do(stores, job)
    assert received(stores, job) == [NO_HISTORY]
