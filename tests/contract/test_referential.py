"""Every rule about what a row names can be broken, and is named when it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import pytest
from sqlalchemy import (
    BigInteger,
    Connection,
    Float,
    Integer,
    LargeBinary,
    Table,
    insert,
    update,
)

from alama.lenders import keys as lenders
from alama.memory import schema as memory_schema
from alama.monitoring import schema as monitoring_schema
from alama.monitoring.records import SIMULATED_KEY_ID
from alama.onboarding import schema as onboarding_schema
from alama.operations import soundness
from alama.operations.soundness import RULES, Rule
from alama.platform.database import tables as schema
from alama.platform.database.database import Database
from alama.protection.schema import legal_holds
from alama.scoring import schema as scoring_schema
from alama.vault import schema as vault_schema
from tests.audited import Process
from tests.entries import DEMO, NOON_US, an_entry
from tests.stores import registry_in

HERE, NOT_HERE = "here", "elsewhere"
RIGHTLY_GONE = {
    # Removed endpoints leave them behind; events are kept for thirty days.
    ("deliveries", "endpoint_id"),
    ("deliveries", "event_id"),
    ("webhook_attempts", "endpoint_id"),
    ("webhook_attempts", "event_id"),
    # A score, a loan or a model, which retention may have deleted.
    ("events", "subject_id"),
    # Ids of events, beginnings of them, or of itself.
    ("bundles", "first_id"),
    ("webhook_resends", "since_id"),
    ("webhook_resends", "after_id"),
    ("webhook_resends", "until_id"),
    # A candidate has its document itself; the model is kept when it was signed.
    ("candidates", "model_id"),
    # Copied from the score, which has the rule.
    ("shadow_scores", "given_model_id"),
    # Not a row: known by `alama db check` as the master key.
    ("vault_keys", "master_id"),
    # A file is sent in by parts, and its row comes last.
    ("history_parts", "history_id"),
    # The hash of the document that the row itself holds.
    ("field_activations", "fields_id"),
}


def a_row(table: Table, lender: str) -> dict[str, Any]:
    """A row of a table, all of whose columns name what is not there."""
    values: dict[str, Any] = {}
    for column in table.columns:
        if isinstance(column.type, LargeBinary):
            values[column.name] = b"nothing"
        elif isinstance(column.type, Integer | BigInteger):
            values[column.name] = 1
        elif isinstance(column.type, Float):
            values[column.name] = 0.5
        else:
            values[column.name] = "no"
    if "mode" in values:
        values["mode"] = "test"
    if "lender" in values:
        has_foreign_key = bool(table.c.lender.foreign_keys)
        values["lender"] = lender if has_foreign_key else NOT_HERE
    return values


def plant(connection: Connection, rule: Rule) -> None:
    """Break a rule, and the others of its table that are alike."""

    def add(table: Table, lender: str, **values: Any) -> None:
        connection.execute(insert(table), a_row(table, lender) | values)

    if rule.table is onboarding_schema.histories:
        add(onboarding_schema.histories, HERE, forgotten_us=None)
    elif rule.table in {onboarding_schema.candidates, onboarding_schema.signatures}:
        add(onboarding_schema.histories, HERE, id="history", part_count=0)
        add(onboarding_schema.candidates, "there", id="candidate", history_id="history")
        add(onboarding_schema.signatures, HERE, candidate_id="candidate")
    else:
        add(rule.table, HERE)


class TakenBack(Exception):
    """At the end of what was only to be looked at."""


@pytest.fixture
def planted(migrated: Database) -> Iterator[Connection]:
    """A transaction with two lenders in it, which is taken back: cheaper than to empty tables."""
    with suppress(TakenBack), migrated.writing() as connection:
        for lender in (HERE, "there"):
            connection.execute(insert(schema.lenders), a_row(schema.lenders, "") | {"id": lender})
        yield connection
        raise TakenBack


@contextmanager
def taken_back(connection: Connection) -> Iterator[None]:
    """A part of a transaction, which is undone at its end."""
    savepoint = connection.begin_nested()
    try:
        yield
    finally:
        savepoint.rollback()


@pytest.fixture
def two_lenders(database: Database) -> Database:
    for lender in (HERE, "there"):
        lenders.add_lender(registry_in(database), lambda: NOON_US, lender, lender, "KES")
    return database


def broken_in(database: Database) -> set[tuple[str, str]]:
    with database.reading() as connection:
        return broken_of(connection, *soundness.tables(with_large=True))


def broken_of(connection: Connection, *tables: str) -> set[tuple[str, str]]:
    found = set()
    for table in tables:
        for rule, count, first in soundness.broken_in(connection, table):
            assert count >= 1
            assert first
            found |= {(table, column) for column in rule.columns}
    return found


def named(rule: Rule) -> str:
    return f"{rule.table.name}.{rule.columns[0]}"


def test_a_row_that_breaks_a_rule_is_found(planted: Connection, subtests: pytest.Subtests) -> None:
    for rule in RULES:
        with subtests.test(named(rule)), taken_back(planted):
            assert broken_of(planted, rule.table.name) == set()
            plant(planted, rule)
            assert (rule.table.name, rule.columns[0]) in broken_of(planted, rule.table.name)


class Scoped(NamedTuple):
    """What a column names, which has to be of the same lender, or of the same lender and mode."""

    table: Table
    column: str
    target: Table
    target_column: str

    def __str__(self) -> str:
        return f"{self.table.name}.{self.column}"


SCOPED = [
    *(
        Scoped(table, "key_id", schema.keys, "id")
        for table in (
            scoring_schema.scores,
            scoring_schema.list_entries,
            monitoring_schema.outcomes,
            schema.reviews,
            onboarding_schema.signatures,
        )
    ),
    *(
        Scoped(table, "seal_key_id", vault_schema.vault_keys, "id")
        for table in (
            scoring_schema.scores,
            scoring_schema.idempotency,
            schema.reviews,
            onboarding_schema.history_parts,
        )
    ),
    *(
        Scoped(table, "lender_key_id", vault_schema.vault_keys, "id")
        for table in (vault_schema.applicant_keys, schema.webhook_endpoints)
    ),
    *(
        Scoped(table, "applicant_key_id", vault_schema.applicant_keys, "id")
        for table in (
            scoring_schema.scores,
            scoring_schema.idempotency,
            scoring_schema.list_entries,
            schema.reviews,
            memory_schema.borrowers,
        )
    ),
    Scoped(legal_holds, "subject", vault_schema.applicant_keys, "subject"),
    *(
        Scoped(table, "request_id", scoring_schema.scores, "request_id")
        for table in (
            scoring_schema.idempotency,
            monitoring_schema.outcomes,
            schema.reviews,
            monitoring_schema.shadow_scores,
        )
    ),
    Scoped(monitoring_schema.shadow_scores, "model_id", monitoring_schema.challengers, "model_id"),
]


@pytest.mark.parametrize("scoped", SCOPED, ids=map(str, SCOPED))
def test_what_is_named_has_to_be_of_the_same_lender_and_mode(
    planted: Connection, scoped: Scoped
) -> None:
    table, target = scoped.table, scoped.target
    is_binary = isinstance(table.c[scoped.column].type, LargeBinary)
    name = b"named" if is_binary else "named"
    if table is onboarding_schema.signatures:
        for above in (onboarding_schema.histories, onboarding_schema.candidates):
            planted.execute(insert(above), a_row(above, HERE) | {"id": "no"})
    planted.execute(insert(table), a_row(table, HERE) | {"lender": HERE, scoped.column: name})
    wrong = (table.name, scoped.column)

    def stands(lender: str, mode: str) -> bool:
        book = {"lender": lender} | ({"mode": mode} if "mode" in target.c else {})
        planted.execute(update(target).where(is_it).values(**book))
        return wrong not in broken_of(planted, table.name)

    is_it = target.c[scoped.target_column] == name
    assert wrong in broken_of(planted, table.name)
    planted.execute(
        insert(target),
        a_row(target, HERE) | {"lender": HERE, scoped.target_column: name},
    )
    assert stands(HERE, "test")
    assert not stands("there", "test")
    if "mode" in target.c:
        # What a signature is on belongs to no mode.
        assert stands(HERE, "live") is ("mode" not in table.c)


@pytest.mark.parametrize(("lender", "is_broken"), [(HERE, False), ("there", True)])
def test_the_parts_of_a_history_are_those_of_its_lender(
    planted: Connection, lender: str, *, is_broken: bool
) -> None:
    histories, parts = onboarding_schema.histories, onboarding_schema.history_parts
    history = {"id": "history", "part_count": 1, "forgotten_us": None}
    planted.execute(insert(histories), a_row(histories, HERE) | history)
    part = {"history_id": "history", "lender": lender}
    planted.execute(insert(parts), a_row(parts, HERE) | part)
    assert (("histories", "part_count") in broken_of(planted, "histories")) is is_broken


def test_every_rule_about_lender_and_mode_is_tried() -> None:
    at_stake = {
        named(rule)
        for rule in RULES
        if f" = {rule.table.name}.lender" in str(rule.broken)
        if rule.columns != ("lender",)
    }
    # That one has a test of its own.
    assert at_stake - {"histories.part_count"} == {str(scoped) for scoped in SCOPED}


def test_what_the_service_writes_breaks_no_rule_of_keys_and_applicants(database: Database) -> None:
    lenders.add_lender(registry_in(database), lambda: NOON_US, DEMO.lender, "Demo", "KES")
    process = Process(database)
    process.give(an_entry(DEMO, idempotency_key="loan-1"), applicant_ref="A-1")
    process.give(an_entry(DEMO))
    # The entries of tests name an API key, a model and a policy of nobody's.
    assert {column for _, column in broken_in(database)} <= {"key_id", "model_id", "policy_id"}


@pytest.mark.parametrize(
    ("mode", "rules_broken"), [("live", {("scores", "key_id")}), ("test", set())]
)
def test_simulated_scores_of_a_test_book_need_no_api_key(
    database: Database, mode: str, rules_broken: set[tuple[str, str]]
) -> None:
    lenders.add_lender(registry_in(database), lambda: NOON_US, DEMO.lender, "Demo", "KES")
    Process(database).give(an_entry(DEMO))
    with database.writing() as connection:
        connection.execute(update(scoring_schema.scores).values(key_id=SIMULATED_KEY_ID, mode=mode))
    assert broken_in(database) & {("scores", "key_id")} == rules_broken


def test_what_was_erased_needs_no_key_of_its_lender(two_lenders: Database) -> None:
    keys = vault_schema.applicant_keys
    row = a_row(keys, HERE) | {"lender": HERE, "subject": None, "wrapped": None}
    with two_lenders.writing() as connection:
        connection.execute(insert(keys), row)
    assert broken_in(two_lenders) == set()


def test_every_column_that_names_something_is_under_a_rule_or_rightly_not() -> None:
    ruled = {(rule.table.name, column) for rule in RULES for column in rule.columns}
    naming = {
        (table.name, column.name)
        for table in schema.METADATA.sorted_tables
        for column in table.columns
        if column.name.endswith("_id") or column.name == "lender"
        # The request id of a score is its own name.
        if not (table is scoring_schema.scores and column.name == "request_id")
        if not column.foreign_keys
    }
    assert naming - ruled - RIGHTLY_GONE == set()
    assert naming >= RIGHTLY_GONE
