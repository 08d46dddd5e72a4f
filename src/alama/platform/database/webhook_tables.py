"""The tables of webhooks. `alama.platform.database.tables` has each of them under its name.

As everywhere, times are microseconds in columns that end in `_us`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    and_,
)

if TYPE_CHECKING:
    from sqlalchemy import MetaData


COMMON_KINDS: Final = ("score.created", "outcome.recorded")
"""Of these there are as many as scores; a test compares them with their names."""


class WebhookTables(NamedTuple):
    """What webhooks announce, to whom, and how that went."""

    bundles: Table
    events: Table
    endpoints: Table
    deliveries: Table
    resends: Table
    attempts: Table


def webhook_tables(metadata: MetaData) -> WebhookTables:
    """Add the tables to those that there are."""
    return WebhookTables(
        _bundles(metadata),
        _events(metadata),
        _endpoints(metadata),
        _deliveries(metadata),
        _resends(metadata),
        _attempts(metadata),
    )


def _bundles(metadata: MetaData) -> Table:
    return Table(
        "bundles",
        metadata,
        Column("lender", String(40), nullable=False),
        Column("mode", String(4), nullable=False),
        # Of the last event in it, and of the first. The last is its key: the newest rows then have
        # the newest events, and one that ends before an id holds nothing that is newer.
        Column("id", String(40), nullable=False),
        Column("first_id", String(40), nullable=False),
        Column("kind", String(40), nullable=False),
        Column("number", Integer, nullable=False),
        Column("created_us", BigInteger, nullable=False),
        Column("events", LargeBinary, nullable=False),
        PrimaryKeyConstraint("lender", "mode", "id"),
        comment="what is yet to be announced, in the transaction of what it speaks of",
    )


def _events(metadata: MetaData) -> Table:
    events = Table(
        "events",
        metadata,
        Column("id", String(40), nullable=False),
        Column("lender", String(40), nullable=False),
        Column("mode", String(4), nullable=False),
        Column("kind", String(40), nullable=False),
        Column("subject_id", String(80), nullable=False),
        Column("created_us", BigInteger, nullable=False),
        Column("payload", LargeBinary, nullable=False),
        # Also the order in which they are listed, as for scores. Whoever reads an event names its
        # book, so a second index, of ids alone, would only be one more for the worker to write to.
        # Nor is it kept by its key on SQLite (WITHOUT ROWID): rows as long as these split pages so
        # often there that it takes more of them, not less.
        PrimaryKeyConstraint("lender", "mode", "id"),
        comment="what webhooks announce, once a worker has made its deliveries",
    )
    # The few among many scores and loans, in the order of their key, so that they are found without
    # reading all of those, be it several kinds at once.
    rare = and_(*(events.c.kind != kind for kind in COMMON_KINDS))
    Index(
        None,
        events.c.lender,
        events.c.mode,
        events.c.id,
        events.c.kind,
        sqlite_where=rare,
        postgresql_where=rare,
    )
    return events


def _endpoints(metadata: MetaData) -> Table:
    return Table(
        "webhook_endpoints",
        metadata,
        Column("id", String(40), primary_key=True),
        Column("lender", ForeignKey("lenders.id"), nullable=False),
        Column("mode", String(4), nullable=False),
        Column("url", Text, nullable=False),
        # Separated by spaces; empty: every kind.
        Column("kinds", Text, nullable=False),
        Column("description", Text, nullable=False),
        Column("created_us", BigInteger, nullable=False),
        # Both secrets are wrapped by this key of the lender.
        Column("lender_key_id", String(40), nullable=False),
        Column("secret", LargeBinary, nullable=False),
        Column("previous_secret", LargeBinary),
        Column("previous_until_us", BigInteger),
        Column("failing_since_us", BigInteger),
        Column("disabled_us", BigInteger),
        Column("disabled_reason", Text),
        # How often it was enabled again: what waited before that is of an earlier generation.
        Column("generation", Integer, nullable=False, server_default="0"),
        Index(None, "lender", "mode", "id"),
        comment="where the events of a book are sent",
    )


def _deliveries(metadata: MetaData) -> Table:
    deliveries = Table(
        "deliveries",
        metadata,
        Column("endpoint_id", String(40), nullable=False),
        Column("event_id", String(40), nullable=False),
        Column("attempts", Integer, nullable=False),
        # That of its endpoint when it was made; an earlier one is sent no more.
        Column("generation", Integer, nullable=False),
        # When it is due, or the claim on it ends; NULL: it is over, one way or the other.
        Column("next_us", BigInteger),
        Column("claimed_by", String(40)),
        Column("delivered_us", BigInteger),
        Column("failed_us", BigInteger),
        PrimaryKeyConstraint("endpoint_id", "event_id"),
        Index(None, "event_id"),
        comment="one event on its way to one endpoint",
    )
    Index(
        None,
        deliveries.c.endpoint_id,
        deliveries.c.generation,
        deliveries.c.next_us,
        sqlite_where=deliveries.c.next_us.is_not(None),
        postgresql_where=deliveries.c.next_us.is_not(None),
    )
    # Of what is under way, which is little: what waits may be much.
    Index(
        None,
        deliveries.c.claimed_by,
        deliveries.c.next_us,
        sqlite_where=deliveries.c.claimed_by.is_not(None),
        postgresql_where=deliveries.c.claimed_by.is_not(None),
    )
    return deliveries


def _resends(metadata: MetaData) -> Table:
    return Table(
        "webhook_resends",
        metadata,
        Column("endpoint_id", String(40), primary_key=True),
        # Beginnings of ids of events: from which on they are wanted, how far it has come, and
        # before which it ends.
        Column("since_id", String(40), nullable=False),
        Column("after_id", String(40), nullable=False),
        Column("until_id", String(40), nullable=False),
        # When some of it was done last: wishes take turns.
        Column("carried_us", BigInteger, nullable=False),
        comment="who wishes to be sent everything since a time again, until that is done",
    )


def _attempts(metadata: MetaData) -> Table:
    return Table(
        "webhook_attempts",
        metadata,
        Column("id", String(40), primary_key=True),
        Column("lender", String(40), nullable=False),
        Column("mode", String(4), nullable=False),
        Column("endpoint_id", String(40), nullable=False),
        Column("event_id", String(40), nullable=False),
        Column("number", Integer, nullable=False),
        Column("started_us", BigInteger, nullable=False),
        Column("took_ms", Integer, nullable=False),
        # One of the two: what the receiver answered, or why it did not.
        Column("status", Integer),
        Column("error", String(40)),
        Column("answer", Text, nullable=False),
        Index(None, "lender", "mode", "endpoint_id", "id"),
        comment="each time that a delivery was tried, for thirty days",
    )
