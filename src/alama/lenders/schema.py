"""The tables of what answers in each book, and of how often its keys may ask."""

from __future__ import annotations

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
)

from alama.platform.database.tables import METADATA

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

field_activations = Table(
    "field_activations",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("lender", ForeignKey("lenders.id"), nullable=False),
    Column("fields_id", String(80), nullable=False),
    Column("document", LargeBinary, nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("signed_by", Text, nullable=False),
    Column("note", Text),
    Index(None, "lender", "id"),
    comment="the fields that each lender declares beside those of the product, newest last",
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

file_mappings = Table(
    "file_mappings",
    METADATA,
    Column("lender", ForeignKey("lenders.id"), nullable=False),
    Column("files", String(16), nullable=False),
    Column("version", Integer, nullable=False),
    Column("document", Text, nullable=False),
    Column("kept_us", BigInteger, nullable=False),
    Column("kept_by", Text, nullable=False),
    Column("removed_us", BigInteger),
    PrimaryKeyConstraint("lender", "files", "version"),
    comment="how the files of a lender are read: names of columns and answers, no value",
)
