"""Which rows name others that must be there, where no foreign key sees to it.

What the hot path writes has no foreign keys, and sealed texts name keys of several tables. Each
rule is a condition that no row fulfils; those of one table are counted in one pass through it.

Not here, because their target may rightly be gone: deliveries and attempts of a webhook endpoint
that was removed; what an event speaks of, which retention may have deleted since; parts of a file
that is being sent in; how far a challenger has come; the writers of chains and sums, which are
processes. Entries of the audit and who signed them are the business of `alama audit verify`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import and_, case, exists, func, or_, select

from alama.service.book import Mode
from alama.service.outcomes.backdating import KEY_ID as SIMULATED_KEY_ID
from alama.storage import schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Column, ColumnElement, Connection, Table

_onboarding: Final = schema.onboarding

LARGE: Final = frozenset(
    table.name
    for table in (
        schema.scores,
        schema.idempotency,
        schema.bundles,
        schema.events,
        schema.webhook_attempts,
        schema.applicant_keys,
        schema.outcomes,
        schema.reviews,
        schema.shadow_scores,
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
    for table in schema.METADATA.sorted_tables:
        column = table.c.get("lender")
        if column is not None and not column.foreign_keys:
            yield _gone(
                column, "belong to a lender that is not there", schema.lenders.c.id == column
            )


def _documents() -> Iterator[Rule]:
    for table in (
        schema.scores,
        schema.daily_counts,
        schema.drift_windows,
        schema.outcomes,
        schema.reviews,
        schema.challengers,
    ):
        column = table.c.model_id
        yield _gone(column, "name a model that is not there", schema.models.c.id == column)
    column = schema.scores.c.policy_id
    yield _gone(column, "name a policy that is not there", schema.policies.c.id == column)


def _api_keys() -> Iterator[Rule]:
    keys = schema.keys
    for table in (schema.scores, schema.outcomes, schema.reviews):
        column = table.c.key_id
        rule = _gone(
            column,
            "came by an API key that this book does not have",
            keys.c.id == column,
            _same_book(keys, table),
        )
        simulated = (column == SIMULATED_KEY_ID) & (table.c.mode == Mode.TEST.value)
        yield rule._replace(broken=rule.broken & ~simulated)
    signatures, rates = _onboarding.signatures, schema.rates
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
    vault_keys, applicants = schema.vault_keys, schema.applicant_keys
    for table in (schema.scores, schema.idempotency, schema.reviews, _onboarding.history_parts):
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
    for table in (schema.scores, schema.idempotency, schema.reviews):
        column = table.c.applicant_key_id
        yield _gone(
            column,
            "are sealed under the key of an applicant whom this book does not have",
            applicants.c.id == column,
            _same_book(applicants, table),
        )
    holds = schema.legal_holds
    yield _gone(
        holds.c.subject,
        "stand on an applicant who is not there",
        applicants.c.subject == holds.c.subject,
        _same_book(applicants, holds),
    )


def _scores() -> Iterator[Rule]:
    scores = schema.scores
    for table in (schema.idempotency, schema.outcomes, schema.reviews, schema.shadow_scores):
        column = table.c.request_id
        yield _gone(
            column,
            "speak of a score that is not there",
            scores.c.request_id == column,
            _same_book(scores, table),
        )
    shadows, challengers = schema.shadow_scores, schema.challengers
    yield _gone(
        shadows.c.model_id,
        "are of a model that was no challenger in this book",
        challengers.c.model_id == shadows.c.model_id,
        _same_book(challengers, shadows),
    )


def _others() -> Iterator[Rule]:
    endpoints, resends = schema.webhook_endpoints, schema.webhook_resends
    yield _gone(
        resends.c.endpoint_id,
        "are for a webhook endpoint that is not there",
        endpoints.c.id == resends.c.endpoint_id,
    )
    histories, parts = _onboarding.histories, _onboarding.history_parts
    there = (
        select(func.count())
        .where(parts.c.history_id == histories.c.id, parts.c.lender == histories.c.lender)
        .scalar_subquery()
    )
    wanted = case((histories.c.forgotten_us.is_(None), histories.c.part_count), else_=0)
    wrong = "have not as many parts of their file as they should"
    yield Rule(histories, ("part_count",), wrong, there != wanted)
    candidates, signatures = _onboarding.candidates, _onboarding.signatures
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
        for table in schema.METADATA.sorted_tables
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
