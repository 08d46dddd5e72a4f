"""What a lender asks for from afar goes by where it stands."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from alama.onboarding.records import Decided, decode_train_order
from alama.onboarding.remote import OnboardingApi
from alama.onboarding.terms import Agreement
from alama.platform import ids
from alama.platform.database import database as databases
from alama.platform.database import migrate
from alama.platform.files.packaged import builtin, jurisdiction
from tests.databases import sqlite_url
from tests.entries import NOON_US
from tests.onboarded import House, a_history, a_pilot


def test_without_an_id_the_history_of_the_standing_is_trained_on(tmp_path: Path) -> None:
    with closing(databases.connect(sqlite_url(tmp_path))) as database:
        migrate.upgrade(database)
        house = House(database)
        house.begin()
        stores = house.stores
        agreement = Agreement(stores, lambda: NOON_US, jurisdiction, builtin)
        remote = OnboardingApi(stores, lambda: NOON_US, lambda: bytes(ids.RANDOM_BYTES), agreement)
        stores.pilots.set(a_pilot())
        older, newer = a_history(), a_history()
        for one in (older, newer):
            stores.histories.keep(one, b"{}", [b"rows"])
        stores.histories.forget("demo", newer.id, NOON_US, "W. Mutua")
        counts = remote.progress("demo").history
        assert counts is not None
        assert counts.id == older.id
        job = remote.train("demo", None, Decided(), "key_1")
        assert decode_train_order(job.order).history_id == older.id
