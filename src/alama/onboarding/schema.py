"""The tables of onboarding. None has a mode: all of it is about the live book of a lender."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
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

histories = Table(
    "histories",
    METADATA,
    Column("id", String(40), primary_key=True),
    Column("lender", ForeignKey("lenders.id"), nullable=False),
    Column("digest", String(80), nullable=False),
    Column("file_format", String(8), nullable=False),
    Column("row_count", Integer, nullable=False),
    Column("part_count", Integer, nullable=False),
    Column("days_past_due", Integer, nullable=False),
    Column("enough", String(8), nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("kept_by", Text, nullable=False),
    Column("forgotten_us", BigInteger),
    Column("report", LargeBinary, nullable=False),
    Index(None, "lender", "id"),
    comment="files of past loans, and what was found out about each",
)

history_parts = Table(
    "history_parts",
    METADATA,
    # No foreign key: the parts of a long file are kept one by one, and its row when all are.
    Column("history_id", String(40), nullable=False),
    Column("number", Integer, nullable=False),
    Column("lender", String(40), nullable=False),
    # Wraps the key that all parts of a history share, which each of them carries.
    Column("seal_key_id", String(40), nullable=False),
    Column("sealed", LargeBinary, nullable=False),
    PrimaryKeyConstraint("history_id", "number"),
    Index(None, "lender", "seal_key_id"),
    comment="the files themselves, sealed",
)

candidates = Table(
    "candidates",
    METADATA,
    Column("id", String(40), primary_key=True),
    Column("lender", ForeignKey("lenders.id"), nullable=False),
    Column("model_id", String(80), nullable=False),
    Column("history_id", ForeignKey("histories.id"), nullable=False),
    Column("days_past_due", Integer, nullable=False),
    # What the lender asked of it, and what came of that.
    Column("limits", Text, nullable=False),
    Column("gates", Text, nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("made_by", Text, nullable=False),
    Column("document", LargeBinary, nullable=False),
    Column("pack", LargeBinary, nullable=False),
    # The pack as a page: to write one takes the training libraries, which a service has not.
    Column("page", LargeBinary),
    Index(None, "lender", "id"),
    comment="models that were trained and validated, and may be signed",
)

signatures = Table(
    "signatures",
    METADATA,
    Column("candidate_id", ForeignKey("candidates.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("lender", String(40), nullable=False),
    Column("person", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("key_id", String(40)),
    Column("signed_us", BigInteger, nullable=False),
    PrimaryKeyConstraint("candidate_id", "number"),
    comment="who stands for a candidate, and why",
)

jobs = Table(
    "jobs",
    METADATA,
    Column("id", String(40), primary_key=True),
    Column("lender", ForeignKey("lenders.id"), nullable=False),
    Column("kind", String(20), nullable=False),
    Column("wanted", LargeBinary, nullable=False),
    Column("state", String(8), nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("asked_by", Text, nullable=False),
    Column("share", Float(53), nullable=False),
    Column("step", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("worker", String(40)),
    Column("lease_us", BigInteger),
    Column("error", Text),
    Column("ended_us", BigInteger),
    Index(None, "lender", "id"),
    comment="what workers with the training libraries are asked to do",
)
# Of all that ever was, workers look for the few that are open.
is_open = jobs.c.ended_us.is_(None)
Index(None, jobs.c.id, sqlite_where=is_open, postgresql_where=is_open)
