"""The tables of what is sent to webhook endpoints, and of how that went."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Integer,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
)

from alama.platform.database.tables import METADATA

deliveries = Table(
    "deliveries",
    METADATA,
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

webhook_resends = Table(
    "webhook_resends",
    METADATA,
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

webhook_attempts = Table(
    "webhook_attempts",
    METADATA,
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
