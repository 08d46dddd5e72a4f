"""No column of a score, a review, an applicant's or a vault key changes unseen, but those listed.

docs/audit.md lists them too, under "What is not proved".
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import RowMapping

from alama.platform.database import database as databases
from alama.platform.database import migrate, tables
from alama.platform.database.database import Database
from alama.protection.rotation import Rotation, RotationStore
from alama.scoring import schema
from alama.scoring.sequels import DECLINED, Judgement, ReviewReason
from alama.vault import schema as vault_schema
from tests.audited import verdict_on
from tests.clocks import HandClock
from tests.databases import sqlite_url
from tests.entries import DEMO
from tests.protected import House
from tests.tries import tries

pytestmark = pytest.mark.long

OF_ERASED_SCORES = {
    "key_id",
    "model_id",
    "policy_id",
    "score",
    "tier",
    "default_probability",
    "decision",
    "recommended_limit",
    "recommended_term_days",
    "recommended_apr",
    "processing_ms",
    "expected_loss",
    "propensity",
    "product",
    "sealed",
}
"""Columns that the digest covered, which nobody can make any more."""

OF_ERASED_REVIEWS = {"note", "reason"}
"""What nobody can open any more, and what the digest covered with it."""

OF_ERASED_KEYS = {"lender_key_id"}
"""Which key of the lender had wrapped what is no more."""

OF_DESTROYED_KEYS = {"master_id"}
"""Under which master key a vault key was that is no more."""

OF_LENDERS_KEYS = {"public"}
"""What only a key that signs has, and nobody reads of another."""

OF_DESTROYED_LENDERS_KEYS = OF_DESTROYED_KEYS | OF_LENDERS_KEYS | {"id"}
"""Nothing is under it any more that would name it."""

TABLES = {
    "scores": schema.scores,
    "reviews": tables.reviews,
    "applicant_keys": vault_schema.applicant_keys,
    "vault_keys": vault_schema.vault_keys,
}


class Cell(NamedTuple):
    """A place in a table."""

    table: str
    row: int
    column: str
    value: Any
    is_listed: bool
    """Whether it may change unseen."""


SAID = Judgement(DECLINED, ReviewReason.OTHER, "W. Mutua", "not seen before")

ERASED = 1
"""The row of each table that is of somebody erased."""


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """Scores of two applicants, of one erased, and of nobody, all reviewed; in each table so.

    The key that signs and that of the lender were rotated once.
    """
    database = databases.connect(sqlite_url(tmp_path_factory.mktemp("columns")))
    migrate.upgrade(database)
    house = House(database, HandClock())
    for reference in ("APPL-1", "GONE-1", "APPL-2", None, None):
        house.clock.now_us += 1_000
        house.reviews.review(DEMO, house.score(reference), SAID)
    house.applicants.erase(DEMO, "GONE-1")
    house.clock.now_us += 1_000
    rotation = Rotation(RotationStore(database, house.log, house.vault), house.vault, house.clock)
    rotation.signing(None)
    rotation.begin_lender("demo", None)
    rotation.finish_lender("demo", lambda _: None)
    assert verdict_on(database).findings == []
    yield database
    database.close()


def unproved(table: str, row: RowMapping) -> set[str]:
    """The columns of a row that may change unseen."""
    if table == "vault_keys":
        destroyed, signs = not row["wrapped"], row["purpose"] == "sign"
        listed = {
            (False, False): OF_LENDERS_KEYS,
            (False, True): set[str](),
            (True, False): OF_DESTROYED_LENDERS_KEYS,
            (True, True): OF_DESTROYED_KEYS,
        }
        return listed[destroyed, signs] | {"lender"}  # which has to be one, and there is no other
    if row["rowid"] != ERASED + 1:
        return set()
    return {"scores": OF_ERASED_SCORES, "reviews": OF_ERASED_REVIEWS}.get(table, OF_ERASED_KEYS)


def cells(database: Database) -> list[Cell]:
    found = []
    with database.reading() as connection:
        for name in TABLES:
            query = f"SELECT rowid, * FROM {name} ORDER BY rowid"  # noqa: S608  our own names
            for place, row in enumerate(connection.exec_driver_sql(query).mappings()):
                assert row["rowid"] == place + 1
                columns, listed = (
                    [column for column in row if column != "rowid"],
                    unproved(name, row),
                )
                found += [
                    Cell(name, place, column, row[column], column in listed) for column in columns
                ]
    return found


@contextmanager
def changed(database: Database, values: list[tuple[Cell, Any]]) -> Iterator[None]:
    """Put other values into cells for a while, past all our code."""
    _put(database, values)
    try:
        yield
    finally:
        _put(database, [(cell, cell.value) for cell, _ in values])


def _put(database: Database, values: list[tuple[Cell, Any]]) -> None:
    with database.writing() as connection:
        for cell, _ in values:  # out of the way, where two change places in a unique column
            aside = f"UPDATE {cell.table} SET {cell.column} = ? WHERE rowid = ?"  # noqa: S608  our own names
            connection.exec_driver_sql(aside, (f"aside {cell.row}", cell.row + 1))
        for cell, value in values:
            text = f"UPDATE {cell.table} SET {cell.column} = ? WHERE rowid = ?"  # noqa: S608  our own names
            connection.exec_driver_sql(text, (value, cell.row + 1))


def another(value: Any, data: st.DataObject) -> Any:
    """The value with something changed in it."""
    if value is None:
        return data.draw(st.sampled_from(["x", 1, b"x"]))
    if isinstance(value, int):
        return value ^ 1 << data.draw(st.integers(0, 40))
    if isinstance(value, float):
        return value + data.draw(st.sampled_from([1.0, -0.25, 1e-9]))
    if not value:
        return value + type(value)(b"x") if isinstance(value, bytes) else "x"
    raw = bytearray(value.encode() if isinstance(value, str) else value)
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 6))
    return raw.decode() if isinstance(value, str) else bytes(raw)


@tries(150)
@given(data=st.data())
def test_a_cell_that_was_changed_is_found(kept: Database, data: st.DataObject) -> None:
    before = cells(kept)  # in which nothing is found: see `kept`
    cell = data.draw(st.sampled_from([cell for cell in before if not cell.is_listed]))
    with changed(kept, [(cell, another(cell.value, data))]):
        assert verdict_on(kept).findings, cell
    assert cells(kept) == before


@tries(150)
@given(data=st.data())
def test_two_cells_that_changed_places_are_found(kept: Database, data: st.DataObject) -> None:
    first = data.draw(st.sampled_from([cell for cell in cells(kept) if not cell.is_listed]))
    others = [
        cell
        for cell in cells(kept)
        if (cell.table, cell.column) == (first.table, first.column) and cell.value != first.value
    ]
    if not others:
        return
    second = data.draw(st.sampled_from(others))
    with changed(kept, [(first, second.value), (second, first.value)]):
        assert verdict_on(kept).findings, (first, second)
