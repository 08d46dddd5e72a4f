"""The tables that several capabilities read, as queries see them; each has its own in `schema.py`.

Migrations make them; a test holds the two together. Times are microseconds since 1970, UTC, in
columns that end in `_us`. What belongs to a lender carries lender and mode, and every query names
both; but for what belongs to one webhook endpoint and is found by its id alone: deliveries, and
wishes to be sent things again. Those who ask for a lender find the endpoint in its book first. What
an applicant said is in `sealed` columns alone, beside the id of the key that encrypts them.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    and_,
)

HEAD: Final = "0017"
"""The migration that this code was written for."""

OLDEST: Final = "0008"
"""The first migration: schemas before it were never released."""

METADATA: Final = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

COMMON_KINDS: Final = ("score.created", "outcome.recorded")
"""Events of which there are as many as scores; a test compares them with their names."""

facts = Table(
    "facts",
    METADATA,
    Column("name", String(40), primary_key=True),
    Column("value", Text, nullable=False),
    comment="what must stay true of this database, such as the pepper its keys are hashed with",
)

lenders = Table(
    "lenders",
    METADATA,
    Column("id", String(40), primary_key=True),
    Column("name", Text, nullable=False),
    Column("currency", String(3), nullable=False),
    Column("created_us", BigInteger, nullable=False),
)

keys = Table(
    "keys",
    METADATA,
    Column("id", String(40), primary_key=True),
    Column("lender", ForeignKey("lenders.id"), nullable=False),
    Column("mode", String(4), nullable=False),
    Column("digest", LargeBinary(32), nullable=False, unique=True),
    Column("hint", String(8), nullable=False),
    Column("scopes", Text, nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("days", Integer),
    Column("expires_us", BigInteger),
    Column("revoked_us", BigInteger),
    Column("last_used_us", BigInteger),
)

webhook_endpoints = Table(
    "webhook_endpoints",
    METADATA,
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

bundles = Table(
    "bundles",
    METADATA,
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

events = Table(
    "events",
    METADATA,
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

pilots = Table(
    "pilots",
    METADATA,
    Column("lender", ForeignKey("lenders.id"), primary_key=True),
    Column("jurisdiction", String(20)),
    Column("days_past_due", Integer, nullable=False),
    Column("approvers", Integer, nullable=False),
    Column("gates", Text, nullable=False),
    Column("set_us", BigInteger, nullable=False),
    Column("set_by", Text, nullable=False),
    Column("shadow_us", BigInteger),
    comment="the terms by which a lender is onboarded",
)

outcomes = Table(
    "outcomes",
    METADATA,
    Column("lender", String(40), nullable=False),
    Column("mode", String(4), nullable=False),
    Column("request_id", String(40), nullable=False),
    # The latest that is known of the loan.
    Column("state", String(16), nullable=False),
    Column("happened_on", Integer, nullable=False),
    # The first day of it as a default. It stays when the loan is repaid after all.
    Column("defaulted_on", Integer),
    # It was corrected: what is said of days until this one counts no more.
    Column("settled_on", Integer),
    Column("corrections", Text, nullable=False, default=""),
    Column("disbursed_amount", Float(53)),
    Column("repaid_amount", Float(53)),
    Column("recorded_us", BigInteger, nullable=False),
    Column("key_id", String(40)),
    # What the score said, copied: to look it up, a million times over, would take longer than all
    # that is worked out from it. `due_day` is its day and the term that was offered.
    Column("score_us", BigInteger, nullable=False),
    Column("score_month", Integer, nullable=False),
    Column("due_day", Integer, nullable=False),
    Column("model_id", String(80), nullable=False),
    Column("score", Integer, nullable=False),
    Column("tier", String(8), nullable=False),
    Column("default_probability", Float(53), nullable=False),
    Column("decision", String(20), nullable=False),
    # The chance with which it was approved, where a lot was drawn.
    Column("propensity", Float(53)),
    Column("product", String(40)),
    PrimaryKeyConstraint("lender", "mode", "request_id"),
    comment="what became of loans, one row for each; months are written as 202611",
)

reviews = Table(
    "reviews",
    METADATA,
    Column("lender", String(40), nullable=False),
    Column("mode", String(4), nullable=False),
    Column("request_id", String(40), nullable=False),
    Column("decision", String(20), nullable=False),
    Column("reason", String(40), nullable=False),
    Column("person", Text, nullable=False),
    Column("reviewed_us", BigInteger, nullable=False),
    Column("key_id", String(40)),
    # What the score said.
    Column("score_us", BigInteger, nullable=False),
    Column("model_id", String(80), nullable=False),
    Column("score", Integer, nullable=False),
    Column("tier", String(8), nullable=False),
    Column("default_probability", Float(53), nullable=False),
    Column("given_decision", String(20), nullable=False),
    # The officer's own words may tell of the applicant: sealed as the record of the score is.
    Column("seal_key_id", String(40)),
    Column("applicant_key_id", String(40)),
    Column("note", LargeBinary, nullable=False),
    PrimaryKeyConstraint("lender", "mode", "request_id"),
    comment="what officers decided on scores, one row for each score that somebody looked at",
)
# As scores have it: the notes on one applicant are handed over, and missed by nobody.
Index(
    None,
    reviews.c.applicant_key_id,
    sqlite_where=reviews.c.applicant_key_id.is_not(None),
    postgresql_where=reviews.c.applicant_key_id.is_not(None),
)

audit_entries = Table(
    "audit_entries",
    METADATA,
    Column("writer", String(40), nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("kind", String(40), nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("previous_hash", LargeBinary(32), nullable=False),
    Column("hash", LargeBinary(32), nullable=False),
    Column("signer", String(40), nullable=False),
    Column("signature", LargeBinary(64), nullable=False),
    PrimaryKeyConstraint("writer", "number"),
    Index(None, "created_us"),
    comment="a chain for each writer; docs/audit.md says what each hash covers",
)
