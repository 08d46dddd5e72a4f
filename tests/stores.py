"""The scores and the registry of a database, put together as `alama.lenders.installation` does."""

from __future__ import annotations

from typing import Any

from sqlalchemy import event, insert

from alama.lenders import keys
from alama.lenders.store import Registry
from alama.platform.acts import ActLog
from alama.platform.database.database import Database
from alama.scoring import schema
from alama.scoring.records import ScoreRow, Wanted
from alama.scoring.store import ScoreChain, Scores
from alama.vault.envelope import RECORD, place
from alama.vault.vault import Vault
from tests.entries import DEMO, NOON_US
from tests.vaults import vault_of


def acts_in(database: Database) -> ActLog:
    """The log of acts."""
    vault = vault_of(database)
    vault.signer()
    return ActLog(database, vault.signer, lambda: NOON_US, "a test")


def registry_in(database: Database) -> Registry:
    """The registry."""
    return Registry(database, acts_in(database))


def scores_in(database: Database, vault: Vault | None = None) -> Scores:
    """The scores, written by a process of its own; it remembers no more keys than the vault."""
    vault = vault or vault_of(database)
    vault.signer()
    chain = ScoreChain(database, acts_in(database), vault.signer)
    return Scores(database, vault, chain)


def lenders_in(database: Database, *names: str) -> None:
    """Add lenders, with the keys that seal what is kept for them."""
    for name in names:
        keys.add_lender(registry_in(database), lambda: NOON_US, name, name, "KES")
        vault_of(database).ring(name)


def sealed_row(vault: Vault, row: ScoreRow, record: bytes) -> ScoreRow:
    """A score with another record, sealed under a key of its own."""
    where = place(row.lender, row.mode, row.request_id, RECORD)
    ring = vault.ring(row.lender)
    sealed = ring.own_key(where).seal(record, where)
    return row._replace(sealed=sealed, seal_key_id=ring.seal_key_id, applicant_key_id=None)


def insert_scores(database: Database, *scores: ScoreRow) -> None:
    """Put rows of scores into a database as they are, without entries in the audit."""
    with database.writing() as connection:
        rows = [score._asdict() for score in scores]
        for later in ("propensity", "product"):  # which an older schema has not
            if all(row[later] is None for row in rows):
                rows = [{name: row[name] for name in row if name != later} for row in rows]
        connection.execute(insert(schema.scores), rows)


def plan_of_page(database: Database, before: str | None, wanted: Wanted) -> str:
    """How the database goes about a page of scores."""
    said: list[tuple[str, Any]] = []

    def listen(*heard: Any) -> None:
        said.append((heard[2], heard[3]))

    event.listen(database.engine, "before_cursor_execute", listen)
    scores_in(database).page(DEMO, before, 21, wanted)
    event.remove(database.engine, "before_cursor_execute", listen)
    statement, parameters = said[-1]
    explain = "EXPLAIN QUERY PLAN" if database.embedded else "EXPLAIN"
    with database.reading() as connection:
        rows = connection.exec_driver_sql(f"{explain} {statement}", parameters)
        return "\n".join(str(row[-1]) for row in rows)
