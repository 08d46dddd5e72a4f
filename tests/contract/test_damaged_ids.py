"""A verification ends and finds what is damaged, also where the damage is in what rows go by."""

from itertools import islice

import pytest

from alama.core.chain import MAIN
from alama.platform.database.database import Database
from alama.protection.audit.chains import heads_to_keep
from alama.protection.audit.store import Trail, newest_first
from tests.audited import verdict_on
from tests.clocks import HandClock
from tests.contract.test_reviews_protected import reviewed
from tests.entries import DEMO
from tests.protected import House

pytestmark = pytest.mark.alike

ENOUGH = 50
DAMAGES = {"no Unicode": "CAST(x'7aff' AS TEXT)", "no text": "x'7aff'"}


@pytest.fixture
def house(database: Database) -> House:
    if not database.embedded:
        pytest.skip("PostgreSQL keeps a column to its type and its encoding")
    house = House(database, HandClock())
    reviewed(house, "A-1")
    house.clock.now_us += 1_000
    reviewed(house, "A-2")
    return house


def damage(house: House, table: str, column: str, value: str) -> None:
    """Write past every constraint into the row that comes last."""
    last = f"{column} = (SELECT max({column}) FROM {table})"  # noqa: S608  ours
    with house.database.writing() as connection:
        connection.exec_driver_sql(f"UPDATE {table} SET {column} = {value} WHERE {last}")  # noqa: S608  ours


@pytest.mark.parametrize("value", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize(
    ("table", "column"),
    [("scores", "request_id"), ("applicant_keys", "id"), ("reviews", "request_id")],
)
def test_each_row_is_read_once_whatever_its_id_is(
    house: House, table: str, column: str, value: str
) -> None:
    damage(house, table, column, value)
    with Trail(house.database).moment() as moment:
        assert len(list(islice(moment.scores(DEMO, 0, None), ENOUGH))) == 2
        assert len(list(islice(moment.applicant_keys(), ENOUGH))) == 2
        assert len(list(islice(moment.reviews(), ENOUGH))) == 2
    assert verdict_on(house.database).findings


@pytest.mark.parametrize("value", ["'x'", "x'00'", "number + 0.5", "2.5"])
def test_an_entry_whose_number_is_none_does_not_keep_a_reading_from_its_end(
    house: House, value: str
) -> None:
    trail = Trail(house.database)
    entries = len(trail.links(MAIN, 0, ENOUGH))
    damage(house, "audit_entries", "number", value)
    assert entries <= len(list(islice(newest_first(trail, None), 2 * ENOUGH))) <= 2 * entries
    assert heads_to_keep(trail)
    assert verdict_on(house.database).findings
