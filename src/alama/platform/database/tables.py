"""The tables, as queries see them. Migrations make them; a test holds the two together.

Times are microseconds since 1970, UTC, in columns that end in `_us`. What belongs to a lender
carries lender and mode, and every query names both; but for what belongs to one webhook endpoint
and is found by its id alone: deliveries, and wishes to be sent things again. Those who ask for a
lender find the endpoint in its book first. What an applicant said is in `sealed` columns
alone, beside the id of the key that encrypts them.
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
    UniqueConstraint,
)

from alama.platform.database.monitoring_tables import monitoring_tables
from alama.platform.database.onboarding_tables import onboarding_tables
from alama.platform.database.webhook_tables import webhook_tables

HEAD: Final = "0008"
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

# No foreign key: whoever writes it has just admitted the key. On PostgreSQL it is UNLOGGED.
rates = Table(
    "rates",
    METADATA,
    Column("key_id", String(40), primary_key=True),
    Column("full_at_us", BigInteger, nullable=False),
    comment="when each key may send a whole burst again, by the clock of the database",
)

models = Table(
    "models",
    METADATA,
    Column("id", String(80), primary_key=True),
    Column("document", LargeBinary, nullable=False),
    Column("created_us", BigInteger, nullable=False),
)

policies = Table(
    "policies",
    METADATA,
    Column("id", String(80), primary_key=True),
    Column("document", LargeBinary, nullable=False),
    Column("created_us", BigInteger, nullable=False),
)

deployments = Table(
    "deployments",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("lender", ForeignKey("lenders.id"), nullable=False),
    Column("mode", String(4), nullable=False),
    Column("model_id", ForeignKey("models.id")),
    Column("policy_id", ForeignKey("policies.id")),
    Column("created_us", BigInteger, nullable=False),
    Column("signed_by", Text),
    Column("note", Text),
    Index(None, "lender", "mode", "id"),
    comment="what answers in each book, newest last; a null stands for what the package brings",
)

pauses = Table(
    "pauses",
    METADATA,
    Column("lender", ForeignKey("lenders.id"), nullable=False),
    Column("mode", String(4), nullable=False),
    Column("paused_us", BigInteger, nullable=False),
    Column("reason", Text, nullable=False),
    PrimaryKeyConstraint("lender", "mode"),
    comment="books whose every decision is left to a person",
)

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
    # Ids sort by time, so this is also the order in which scores are listed.
    PrimaryKeyConstraint("lender", "mode", "request_id"),
)
# Most scores may name no applicant, and those need not be found by one.
Index(
    None,
    scores.c.applicant_key_id,
    sqlite_where=scores.c.applicant_key_id.is_not(None),
    postgresql_where=scores.c.applicant_key_id.is_not(None),
)
# Those that wait for a person are looked for all day, and most scores never do.
Index(
    None,
    scores.c.lender,
    scores.c.mode,
    scores.c.request_id,
    sqlite_where=scores.c.decision == "REVIEW",
    postgresql_where=scores.c.decision == "REVIEW",
)

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

bundles, events, webhook_endpoints, deliveries, webhook_resends, webhook_attempts = webhook_tables(
    METADATA
)

# ------------------------------------------------------------------- what protects and proves

vault_keys = Table(
    "vault_keys",
    METADATA,
    Column("id", String(40), primary_key=True),
    Column("lender", ForeignKey("lenders.id")),
    Column("purpose", String(8), nullable=False),
    Column("wrapped", LargeBinary, nullable=False),
    Column("master_id", String(16), nullable=False),
    Column("public", LargeBinary(32)),
    Column("created_us", BigInteger, nullable=False),
    Column("retired_us", BigInteger),
    Index(None, "lender", "purpose"),
    comment="keys of a lender (seal, find) and of the installation (sign), under the master key",
)

applicant_keys = Table(
    "applicant_keys",
    METADATA,
    Column("id", String(40), primary_key=True),
    Column("lender", String(40), nullable=False),
    Column("mode", String(4), nullable=False),
    Column("subject", LargeBinary(32)),
    Column("wrapped", LargeBinary),
    Column("lender_key_id", String(40), nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("erased_us", BigInteger),
    UniqueConstraint("lender", "mode", "subject"),
    comment="one for each applicant; erased: neither the key nor whom it was for is known any more",
)

legal_holds = Table(
    "legal_holds",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("lender", ForeignKey("lenders.id"), nullable=False),
    Column("mode", String(4), nullable=False),
    Column("subject", LargeBinary(32), nullable=False),
    Column("reason", Text, nullable=False),
    Column("placed_us", BigInteger, nullable=False),
    Column("released_us", BigInteger),
    Index(None, "lender", "mode", "subject"),
    comment="applicants whose data must not be erased",
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

onboarding: Final = onboarding_tables(METADATA)

outcomes, reviews, drift_windows, challengers, shadow_scores = monitoring_tables(METADATA)
