"""No bit of a stored audit row can change unseen."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core import chain
from alama.core.chain import MAIN, Link
from alama.lenders.records import Lender, Pause
from alama.platform.book import Book, Mode
from alama.platform.database import database as databases
from alama.platform.database import migrate
from alama.platform.database.database import Database
from alama.protection.audit.signers import Signers
from alama.protection.audit.store import Trail
from alama.scoring.store import ScoreChain, Scores
from tests.audited import audited, verdict_on
from tests.databases import sqlite_url
from tests.entries import NOON_US, an_entry
from tests.stores import acts_in, registry_in
from tests.tries import tries
from tests.vaults import vault_of

NUMBER_BITS = 64


def links_of(database: Database) -> list[Link]:
    trail = Trail(database)
    return [link for writer in trail.writers() for link in trail.links(writer, 0, 100)]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """A database with two chains."""
    database = databases.connect(sqlite_url(tmp_path_factory.mktemp("audit")))
    migrate.upgrade(database)
    registry = registry_in(database)
    registry.add_lender(Lender("demo", "Demo lender", "KES", NOON_US))
    registry.pause(Book("demo", Mode.LIVE), Pause(NOON_US, "payments are down"))
    vault = vault_of(database)
    process = ScoreChain(database, acts_in(database), vault.signer)
    scores = Scores(database, vault, process)
    for size in (1, 3):
        scores.commit([audited(an_entry(), vault) for _ in range(size)])
    process.close()
    yield database
    database.close()


def flipped(value: str | int | bytes, bit: int) -> str | int | bytes:
    """The value with one bit changed, as it would be read from the disk."""
    if isinstance(value, int):
        raw = value.to_bytes(NUMBER_BITS // 8, "big", signed=True)
        return int.from_bytes(_flipped(raw, bit), "big", signed=True)
    if isinstance(value, str):
        return _flipped(value.encode(), bit).decode("utf-8", "replace")
    return _flipped(value, bit)


def _flipped(raw: bytes, bit: int) -> bytes:
    changed = bytearray(raw)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def bits(value: str | int | bytes) -> int:
    if isinstance(value, int):
        return NUMBER_BITS
    return 8 * len(value.encode() if isinstance(value, str) else value)


def test_every_bit_of_every_column_of_every_row_is_covered(kept: Database) -> None:
    signatures = Signers(Trail(kept), vault_of(kept))
    tried = 0
    for link in links_of(kept):
        before = chain.Head(link.writer, link.number - 1, link.previous_hash)
        assert chain.faults(link, before, signatures) == []
        for column, value in link._asdict().items():
            for bit in range(bits(value)):
                values = link._asdict() | {column: flipped(value, bit)}
                changed = Link._make(values.values())
                assert chain.faults(changed, before, signatures), (link, column, bit)
                tried += 1
    assert tried > 10_000


def test_no_number_hides_the_last_act(kept: Database) -> None:
    """Nothing follows it that would show a gap."""
    last = Trail(kept).newest(MAIN, None, 1)[0]
    for bit in range(NUMBER_BITS):
        with changed_row(kept, last, "number", bit):
            assert verdict_on(kept).findings, bit


@tries(80)
@given(data=st.data())
def test_a_bit_that_flips_in_the_file_is_found(kept: Database, data: st.DataObject) -> None:
    link = data.draw(st.sampled_from(links_of(kept)))
    column = data.draw(st.sampled_from(Link._fields))
    value = getattr(link, column)
    bit = data.draw(st.integers(0, bits(value) - 1))
    with changed_row(kept, link, column, bit):
        assert verdict_on(kept).findings
    assert verdict_on(kept).findings == []


@contextmanager
def changed_row(database: Database, link: Link, column: str, bit: int) -> Iterator[None]:
    """Flip a bit of a column for a while, past all our code; text need not be Unicode then."""
    value = getattr(link, column)
    raw = value.encode() if isinstance(value, str) else value
    kind = {str: "TEXT", int: "INTEGER", bytes: "BLOB"}[type(value)]
    setting = f"UPDATE audit_entries SET {column} = CAST(? AS {kind}) WHERE rowid = ?"  # noqa: S608  our own names
    with database.writing() as connection:
        (row_id,) = connection.exec_driver_sql(
            "SELECT rowid FROM audit_entries WHERE writer = ? AND number = ?", link[:2]
        ).one()
        connection.exec_driver_sql(setting, (flipped(raw, bit), row_id))
    try:
        yield
    finally:
        with database.writing() as connection:
            connection.exec_driver_sql(setting, (raw, row_id))
