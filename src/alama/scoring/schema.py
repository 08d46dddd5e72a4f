"""The tables of scores, and of what is counted when one is given."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
)

from alama.platform.database.tables import METADATA

# No foreign keys on what the hot path writes: the directory has just read what they would check.
scores = Table(
    "scores",
    METADATA,
    Column("lender", String(40), nullable=False),
    Column("mode", String(4), nullable=False),
    Column("request_id", String(40), nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("key_id", String(40), nullable=False),
    Column("model_id", String(80), nullable=False),
    Column("policy_id", String(80), nullable=False),
    Column("score", Integer, nullable=False),
    Column("tier", String(8), nullable=False),
    Column("default_probability", Float(53), nullable=False),
    Column("decision", String(20), nullable=False),
    Column("recommended_limit", Float(53), nullable=False),
    Column("recommended_term_days", Integer, nullable=False),
    Column("recommended_apr", Float(53), nullable=False),
    Column("processing_ms", Integer, nullable=False),
    # Sealed under the key of the applicant, or under one of its own that it carries, wrapped by
    # this one of the lender.
    Column("seal_key_id", String(40)),
    Column("sealed", LargeBinary, nullable=False),
    Column("expected_loss", Float(53), nullable=False),
    Column("applicant_key_id", String(40)),
    # With what chance a lot was to approve it; NULL: no lot was drawn.
    Column("propensity", Float(53)),
    # NULL: the policy has no products.
    Column("product", String(40)),
    # Ids sort by time, so this is also the order in which scores are listed.
    PrimaryKeyConstraint("lender", "mode", "request_id"),
)
# Most scores may name no applicant, and those need not be found by one.
Index(
    None,
    scores.c.applicant_key_id,
    scores.c.request_id,
    sqlite_where=scores.c.applicant_key_id.is_not(None),
    postgresql_where=scores.c.applicant_key_id.is_not(None),
)
# Those that wait for a person are looked for all day, and most scores never do.
Index(None, scores.c.lender, scores.c.mode, scores.c.decision, scores.c.request_id)
Index(None, scores.c.lender, scores.c.mode, scores.c.tier, scores.c.decision, scores.c.request_id)

approvals = Table(
    "approvals",
    METADATA,
    Column("lender", String(40), nullable=False),
    Column("mode", String(4), nullable=False),
    Column("hour", Integer, nullable=False),
    # A row for each process: two that add to the same one would wait for each other's commits.
    Column("writer", String(40), nullable=False),
    Column("volume", Float(53), nullable=False),
    Column("expected_loss", Float(53), nullable=False),
    # How many, and how many of them by lot. Versions before these columns wrote neither.
    Column("number", Integer, nullable=False, server_default="0"),
    Column("explored", Integer, nullable=False, server_default="0"),
    # A row for each part of the portfolio that caps tell apart; its writer says of which.
    Column("region", String(64)),
    Column("tier", String(8)),
    Column("product", String(40)),
    PrimaryKeyConstraint("lender", "mode", "hour", "writer"),
    comment="what was approved in each hour since 1970, a row for each process that wrote it",
)

idempotency = Table(
    "idempotency",
    METADATA,
    Column("lender", String(40), nullable=False),
    Column("mode", String(4), nullable=False),
    Column("operation", String(40), nullable=False),
    Column("key_digest", LargeBinary(32), nullable=False),
    Column("request_digest", LargeBinary(32), nullable=False),
    Column("request_id", String(40), nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("seal_key_id", String(40)),
    Column("reply", LargeBinary, nullable=False),
    Column("applicant_key_id", String(40)),
    PrimaryKeyConstraint("lender", "mode", "operation", "key_digest"),
    Index(None, "created_us"),
)

daily_counts = Table(
    "daily_counts",
    METADATA,
    Column("lender", String(40), nullable=False),
    Column("mode", String(4), nullable=False),
    Column("day", Integer, nullable=False),
    Column("model_id", String(80), nullable=False),
    # A row for each process, as in `approvals`.
    Column("writer", String(40), nullable=False),
    Column("counts", LargeBinary, nullable=False),
    PrimaryKeyConstraint("lender", "mode", "day", "model_id", "writer"),
    comment="how often each field fell into each band, and each score and decision was given; once "
    "a day is over, without the bands of few scores: it outlives what was erased",
)

list_entries = Table(
    "list_entries",
    METADATA,
    Column("lender", String(40), nullable=False),
    Column("mode", String(4), nullable=False),
    Column("applicant_key_id", String(40), nullable=False),
    Column("name", String(8), nullable=False),
    Column("reason", String(40), nullable=False),
    Column("person", Text, nullable=False),
    Column("note", Text, nullable=False),
    Column("listed_us", BigInteger, nullable=False),
    Column("until_us", BigInteger),
    Column("key_id", String(40)),
    PrimaryKeyConstraint("lender", "mode", "applicant_key_id"),
    comment="whom a lender declines or leaves to a person, whatever they apply with",
)

list_changes = Table(
    "list_changes",
    METADATA,
    Column("lender", String(40), nullable=False),
    Column("mode", String(4), nullable=False),
    Column("version", String(16), nullable=False),
    PrimaryKeyConstraint("lender", "mode"),
    comment="another version after each change, by which processes know to read the lists again",
)
