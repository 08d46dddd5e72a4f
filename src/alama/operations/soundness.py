"""Whether a database is sound: its pages, its constraints, and rows that name others.

What the hot path writes has no foreign keys, and sealed texts name keys of several tables. So each
`Rule` is a condition that no row fulfils; those of one table are counted in one pass through it.

Not here, because their target may rightly be gone: deliveries and attempts of a webhook endpoint
that was removed; what an event speaks of, which retention may have deleted since; parts of a file
that is being sent in; how far a challenger has come; the writers of chains and sums, which are
processes. Entries of the audit and who signed them are the business of `alama audit verify`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import and_, case, exists, func, inspect, or_, select, text

from alama.lenders import schema as lenders_schema
from alama.memory import schema as memory_schema
from alama.monitoring import schema as monitoring_schema
from alama.monitoring.records import SIMULATED_KEY_ID
from alama.onboarding import schema as onboarding_schema
from alama.platform.book import Mode
from alama.platform.database import tables as schema
from alama.platform.database.database import Database, without_timeout
from alama.platform.database.sqlite_driver import pysqlite3
from alama.protection.schema import legal_holds
from alama.scoring import schema as scoring_schema
from alama.vault import schema as vault_schema
from alama.webhooks import schema as webhooks_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Column, ColumnElement, Connection, Table


TABLES: Final = tuple(schema.METADATA.sorted_tables)
"""Every table: the modules above define them all."""

SHOWN_MAX: Final = 10
"""Findings of one kind: of a damaged file there may be as many as pages."""

DAMAGED: Final = ("malformed", "not a database")
"""In the words of SQLite where a page of its file is not what it should be."""

_UNPROVED: Final = """\
SELECT conrelid::regclass || ': constraint ' || conname || ' was never validated'
FROM pg_constraint JOIN pg_namespace AS place ON place.oid = connamespace
WHERE NOT convalidated AND place.nspname = current_schema()"""

_INVALID: Final = """\
SELECT indrelid::regclass || ': index ' || indexrelid::regclass || ' is not valid: REINDEX it'
FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
JOIN pg_namespace AS place ON place.oid = relnamespace
WHERE NOT (indisvalid AND indisready) AND place.nspname = current_schema()"""

_FAILED: Final = """\
SELECT checksum_failures || ' pages were read whose checksum is wrong'
FROM pg_stat_database WHERE datname = current_database() AND checksum_failures > 0"""


def other_tables(database: Database) -> Sequence[str]:
    """Give what of the schema is missing or is another than this version's, in words."""
    from alembic.autogenerate import compare_metadata  # noqa: PLC0415  seldom asked, slow to load
    from alembic.migration import MigrationContext  # noqa: PLC0415

    with database.reading() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": True}
        )
        differences = _differences(compare_metadata(context, schema.METADATA))
        return [*_without_primary_key(connection), *sorted(set(differences))]


def _differences(found: Sequence[Any]) -> Iterator[str]:
    for one in found:
        if isinstance(one, list):  # what is wrong with one column, together
            yield from _differences(one)
        elif one[0].endswith("_comment"):
            continue  # nothing relies on it
        elif one[0] == "add_column":
            yield f"{one[2]}: no column {one[3].name}"
        elif one[0].startswith("modify_"):
            yield f"{one[2]}: column {one[3]} is another ({one[0].removeprefix('modify_')})"
        elif one[0] == "add_table":
            yield f"no table {one[1].name}"
        elif one[0].startswith("add_"):
            yield f"{one[1].table.name}: no {one[0].removeprefix('add_')} {one[1].name}"


def _without_primary_key(connection: Connection) -> Iterator[str]:
    """Give the tables whose primary key is another: Alembic compares all but that."""
    seen = inspect(connection).get_multi_pk_constraint()
    found = {name: key["constrained_columns"] for (_, name), key in seen.items()}
    for table in TABLES:
        wanted = [column.name for column in table.primary_key.columns]
        if table.name in found and list(found[table.name]) != wanted:
            yield f"{table.name}: no primary key of {', '.join(wanted)}"


def damages(database: Database) -> Sequence[str]:
    """Give what the database itself finds wrong with its files, in words.

    SQLite reads every page of its file; PostgreSQL tells what it knows.
    """
    with database.reading() as connection:
        if database.embedded:
            return list(_check_file(connection))
        without_timeout(connection)
        queries = (_UNPROVED, _INVALID, _FAILED)
        return [words for query in queries for words in connection.execute(text(query)).scalars()]


def _check_file(connection: Connection) -> Iterator[str]:
    driver: Any = connection.connection.driver_connection
    try:
        for (line,) in driver.execute(f"PRAGMA integrity_check({SHOWN_MAX})"):
            if line != "ok":
                yield line
    except pysqlite3.DatabaseError as error:  # it ends in its midst where a page is no page at all
        if not any(words in str(error) for words in DAMAGED):
            raise
        yield str(error)
        return
    orphans = connection.execute(text("PRAGMA foreign_key_check")).all()
    for table, row, target, _ in orphans[:SHOWN_MAX]:
        yield f"{table}: row {row} names a row of {target} that is not there"


LARGE: Final = frozenset(
    table.name
    for table in (
        scoring_schema.scores,
        scoring_schema.idempotency,
        schema.bundles,
        schema.events,
        webhooks_schema.webhook_attempts,
        vault_schema.applicant_keys,
        memory_schema.borrowers,
        monitoring_schema.outcomes,
        schema.reviews,
        monitoring_schema.shadow_scores,
    )
)
"""Tables that grow with scores."""


class Rule(NamedTuple):
    """What is wrong with a row that fulfils a condition; `columns` are those that it is about."""

    table: Table
    columns: tuple[str, ...]
    wrong: str
    broken: ColumnElement[bool]


class Broken(NamedTuple):
    """A rule that rows break: how many do, and the id of the first of them."""

    rule: Rule
    rows: int
    first: str


def _gone(column: Column[Any], wrong: str, *same: ColumnElement[bool]) -> Rule:
    """Give the rule that a column names a row that is there, and `same` as it has to be."""
    missing = column.is_not(None) & ~exists().where(*same)
    return Rule(column.table, (column.name,), wrong, missing)


def _lenders() -> Iterator[Rule]:
    for table in TABLES:
        column = table.c.get("lender")
        if column is not None and not column.foreign_keys:
            yield _gone(
                column, "belong to a lender that is not there", schema.lenders.c.id == column
            )


def _documents() -> Iterator[Rule]:
    for table in (
        scoring_schema.scores,
        scoring_schema.daily_counts,
        monitoring_schema.drift_windows,
        monitoring_schema.outcomes,
        schema.reviews,
        monitoring_schema.challengers,
    ):
        column = table.c.model_id
        yield _gone(column, "name a model that is not there", lenders_schema.models.c.id == column)
    column = scoring_schema.scores.c.policy_id
    yield _gone(column, "name a policy that is not there", lenders_schema.policies.c.id == column)


def _api_keys() -> Iterator[Rule]:
    keys = schema.keys
    for table in (
        scoring_schema.scores,
        scoring_schema.list_entries,
        monitoring_schema.outcomes,
        schema.reviews,
    ):
        column = table.c.key_id
        rule = _gone(
            column,
            "came by an API key that this book does not have",
            keys.c.id == column,
            _same_book(keys, table),
        )
        simulated = (column == SIMULATED_KEY_ID) & (table.c.mode == Mode.TEST.value)
        yield rule._replace(broken=rule.broken & ~simulated)
    signatures, rates = onboarding_schema.signatures, lenders_schema.rates
    yield _gone(
        signatures.c.key_id,
        "came by an API key that this lender does not have",
        keys.c.id == signatures.c.key_id,
        keys.c.lender == signatures.c.lender,
    )
    yield _gone(
        rates.c.key_id, "count for an API key that is not there", keys.c.id == rates.c.key_id
    )


def _vault_keys() -> Iterator[Rule]:
    vault_keys, applicants = vault_schema.vault_keys, vault_schema.applicant_keys
    for table in (
        scoring_schema.scores,
        scoring_schema.idempotency,
        schema.reviews,
        onboarding_schema.history_parts,
    ):
        column = table.c.seal_key_id
        yield _gone(
            column,
            "are sealed under a key that their lender does not have",
            vault_keys.c.id == column,
            vault_keys.c.lender == table.c.lender,
        )
    wrong = "are wrapped under a key that their lender does not have"
    for table in (applicants, schema.webhook_endpoints):
        column = table.c.lender_key_id
        rule = _gone(
            column, wrong, vault_keys.c.id == column, vault_keys.c.lender == table.c.lender
        )
        # What was erased has nothing that would be opened.
        still = applicants.c.wrapped.is_not(None) if table is applicants else None
        yield rule if still is None else rule._replace(broken=still & rule.broken)
    for table in (
        scoring_schema.scores,
        scoring_schema.idempotency,
        schema.reviews,
        memory_schema.borrowers,
    ):
        column = table.c.applicant_key_id
        yield _gone(
            column,
            "are sealed under the key of an applicant whom this book does not have",
            applicants.c.id == column,
            _same_book(applicants, table),
        )
    column = scoring_schema.list_entries.c.applicant_key_id
    yield _gone(
        column,
        "have an applicant on a list whom this book does not have",
        applicants.c.id == column,
        _same_book(applicants, scoring_schema.list_entries),
    )
    yield _gone(
        legal_holds.c.subject,
        "stand on an applicant who is not there",
        applicants.c.subject == legal_holds.c.subject,
        _same_book(applicants, legal_holds),
    )


def _scores() -> Iterator[Rule]:
    scores = scoring_schema.scores
    for table in (
        scoring_schema.idempotency,
        monitoring_schema.outcomes,
        schema.reviews,
        monitoring_schema.shadow_scores,
    ):
        column = table.c.request_id
        yield _gone(
            column,
            "speak of a score that is not there",
            scores.c.request_id == column,
            _same_book(scores, table),
        )
    shadows, challengers = monitoring_schema.shadow_scores, monitoring_schema.challengers
    yield _gone(
        shadows.c.model_id,
        "are of a model that was no challenger in this book",
        challengers.c.model_id == shadows.c.model_id,
        _same_book(challengers, shadows),
    )


def _others() -> Iterator[Rule]:
    endpoints, resends = schema.webhook_endpoints, webhooks_schema.webhook_resends
    yield _gone(
        resends.c.endpoint_id,
        "are for a webhook endpoint that is not there",
        endpoints.c.id == resends.c.endpoint_id,
    )
    histories, parts = onboarding_schema.histories, onboarding_schema.history_parts
    there = (
        select(func.count())
        .where(parts.c.history_id == histories.c.id, parts.c.lender == histories.c.lender)
        .scalar_subquery()
    )
    wanted = case((histories.c.forgotten_us.is_(None), histories.c.part_count), else_=0)
    wrong = "have not as many parts of their file as they should"
    yield Rule(histories, ("part_count",), wrong, there != wanted)
    candidates, signatures = onboarding_schema.candidates, onboarding_schema.signatures
    yield Rule(
        candidates,
        ("history_id",),
        "were made of the loan history of another lender",
        exists().where(
            histories.c.id == candidates.c.history_id, histories.c.lender != candidates.c.lender
        ),
    )
    yield Rule(
        signatures,
        ("candidate_id",),
        "are on a candidate of another lender",
        exists().where(
            candidates.c.id == signatures.c.candidate_id,
            candidates.c.lender != signatures.c.lender,
        ),
    )


def _same_book(one: Table, other: Table) -> ColumnElement[bool]:
    return and_(one.c.lender == other.c.lender, one.c.mode == other.c.mode)


RULES: Final = (
    *_lenders(),
    *_documents(),
    *_api_keys(),
    *_vault_keys(),
    *_scores(),
    *_others(),
)


def tables(*, with_large: bool) -> Sequence[str]:
    """Give the tables that rules are about, in the order of the schema."""
    ruled = {rule.table.name for rule in RULES}
    return [
        table.name
        for table in TABLES
        if table.name in ruled and (with_large or table.name not in LARGE)
    ]


def broken_in(connection: Connection, table: str) -> Iterator[Broken]:
    """Give the rules that rows of one table break, in one pass through it, at one moment."""
    rules = [rule for rule in RULES if rule.table.name == table]
    names = _known_by(rules[0].table)
    asked = [
        what
        for rule in rules
        for what in (
            func.count(case((rule.broken, 1))),
            func.min(case((rule.broken, names))),
        )
    ]
    anything = or_(*(rule.broken for rule in rules))
    found = connection.execute(select(*asked).select_from(rules[0].table).where(anything)).one()
    for number, rule in enumerate(rules):
        count, first = found[2 * number], found[2 * number + 1]
        if count:
            yield Broken(rule, count, str(first))


def _known_by(table: Table) -> Column[Any]:
    """Give what a person would look for: the score of a row, or what tells rows of a book apart."""
    found: Column[Any] = table.c.get("request_id", list(table.primary_key.columns)[-1])
    return found
