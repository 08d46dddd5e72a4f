"""The tables of what became of scores, and of the models that are held against that.

Columns that end in `_day` or `_on` are days since 1970. What a score said is copied to what became
of it: to look it up, a million times over, would take longer than all that is worked out from it.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
)

from alama.platform.database import tables
from alama.platform.database.tables import METADATA

outcomes = tables.outcomes

drift_windows = Table(
    "drift_windows",
    METADATA,
    Column("lender", String(40), nullable=False),
    Column("mode", String(4), nullable=False),
    Column("model_id", String(80), nullable=False),
    Column("card", String(40), nullable=False),
    Column("first_day", Integer, nullable=False),
    Column("last_day", Integer, nullable=False),
    Column("scores", Integer, nullable=False),
    Column("figures", LargeBinary, nullable=False),
    Column("created_us", BigInteger, nullable=False),
    PrimaryKeyConstraint("lender", "mode", "model_id", "card", "first_day"),
    comment="whole days of a thousand scores or more, and how far each field was from training",
)

challengers = Table(
    "challengers",
    METADATA,
    Column("lender", String(40), nullable=False),
    Column("mode", String(4), nullable=False),
    Column("model_id", String(80), nullable=False),
    Column("since_us", BigInteger, nullable=False),
    Column("ended_us", BigInteger),
    Column("set_by", Text, nullable=False),
    Column("reason", Text, nullable=False),
    # The last score that it was asked about; what came later is yet to be asked.
    Column("reached", String(40), nullable=False),
    Column("scored", BigInteger, nullable=False),
    Column("failed", BigInteger, nullable=False),
    Column("error", Text),
    PrimaryKeyConstraint("lender", "mode", "model_id", "since_us"),
    comment="models that score what others decide on, each for a time",
)

shadow_scores = Table(
    "shadow_scores",
    METADATA,
    Column("lender", String(40), nullable=False),
    Column("mode", String(4), nullable=False),
    Column("model_id", String(80), nullable=False),
    Column("request_id", String(40), nullable=False),
    Column("score", Integer, nullable=False),
    Column("tier", String(8), nullable=False),
    Column("default_probability", Float(53), nullable=False),
    Column("decision", String(20), nullable=False),
    # What the applicant was told: looked up beside the record, it would take all of the file.
    Column("given_model_id", String(80), nullable=False),
    Column("given_score", Integer, nullable=False),
    Column("given_tier", String(8), nullable=False),
    Column("given_default_probability", Float(53), nullable=False),
    Column("given_decision", String(20), nullable=False),
    PrimaryKeyConstraint("lender", "mode", "model_id", "request_id"),
    comment="what a challenger would have said to an application that another model decided on",
)
