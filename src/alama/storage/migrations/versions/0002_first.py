"""The first schema that is promised to be carried on: what 0001 held was never released."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = None


def upgrade() -> None:
    _who_may_ask()
    _what_answers()
    _what_was_answered()
    _what_is_told_and_counted()


def _who_may_ask() -> None:
    op.create_table(
        "facts",
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_facts")),
        comment="what must stay true of this database, such as the pepper its keys are hashed with",
    )
    op.create_table(
        "lenders",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("currency", sa.String(length=3), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_lenders")),
    )
    op.create_table(
        "keys",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("lender", sa.String(length=40), nullable=False),
        sa.Column("mode", sa.String(length=4), nullable=False),
        sa.Column("digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("hint", sa.String(length=8), nullable=False),
        sa.Column("scopes", sa.Text(), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("days", sa.Integer(), nullable=True),
        sa.Column("expires_us", sa.BigInteger(), nullable=True),
        sa.Column("revoked_us", sa.BigInteger(), nullable=True),
        sa.Column("last_used_us", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["lender"], ["lenders.id"], name=op.f("fk_keys_lender")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_keys")),
        sa.UniqueConstraint("digest", name=op.f("uq_keys_digest")),
    )


def _what_answers() -> None:
    op.create_table(
        "models",
        sa.Column("id", sa.String(length=80), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_models")),
    )
    op.create_table(
        "policies",
        sa.Column("id", sa.String(length=80), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_policies")),
    )
    op.create_table(
        "deployments",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("lender", sa.String(length=40), nullable=False),
        sa.Column("mode", sa.String(length=4), nullable=False),
        sa.Column("model_id", sa.String(length=80), nullable=True),
        sa.Column("policy_id", sa.String(length=80), nullable=True),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("signed_by", sa.Text(), nullable=True),
        sa.Column("note", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["lender"], ["lenders.id"], name=op.f("fk_deployments_lender")),
        sa.ForeignKeyConstraint(["model_id"], ["models.id"], name=op.f("fk_deployments_model_id")),
        sa.ForeignKeyConstraint(
            ["policy_id"], ["policies.id"], name=op.f("fk_deployments_policy_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_deployments")),
        comment="what answers in each book, newest last; a null stands for what the package brings",
    )
    op.create_index(
        op.f("ix_deployments_lender_mode_id"), "deployments", ["lender", "mode", "id"], unique=False
    )
    op.create_table(
        "pauses",
        sa.Column("lender", sa.String(length=40), nullable=False),
        sa.Column("mode", sa.String(length=4), nullable=False),
        sa.Column("paused_us", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["lender"], ["lenders.id"], name=op.f("fk_pauses_lender")),
        sa.PrimaryKeyConstraint("lender", "mode", name=op.f("pk_pauses")),
        comment="books whose every decision is left to a person",
    )


def _what_was_answered() -> None:
    op.create_table(
        "scores",
        sa.Column("lender", sa.String(length=40), nullable=False),
        sa.Column("mode", sa.String(length=4), nullable=False),
        sa.Column("request_id", sa.String(length=40), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("key_id", sa.String(length=40), nullable=False),
        sa.Column("model_id", sa.String(length=80), nullable=False),
        sa.Column("policy_id", sa.String(length=80), nullable=False),
        sa.Column("score", sa.Integer(), nullable=False),
        sa.Column("tier", sa.String(length=8), nullable=False),
        sa.Column("default_probability", sa.Float(precision=53), nullable=False),
        sa.Column("decision", sa.String(length=20), nullable=False),
        sa.Column("recommended_limit", sa.Float(precision=53), nullable=False),
        sa.Column("recommended_term_days", sa.Integer(), nullable=False),
        sa.Column("recommended_apr", sa.Float(precision=53), nullable=False),
        sa.Column("processing_ms", sa.Integer(), nullable=False),
        sa.Column("seal_key_id", sa.String(length=40), nullable=True),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("expected_loss", sa.Float(precision=53), nullable=False),
        sa.PrimaryKeyConstraint("lender", "mode", "request_id", name=op.f("pk_scores")),
    )
    op.create_table(
        "approvals",
        sa.Column("lender", sa.String(length=40), nullable=False),
        sa.Column("mode", sa.String(length=4), nullable=False),
        sa.Column("hour", sa.Integer(), nullable=False),
        sa.Column("writer", sa.String(length=40), nullable=False),
        sa.Column("volume", sa.Float(precision=53), nullable=False),
        sa.Column("expected_loss", sa.Float(precision=53), nullable=False),
        sa.PrimaryKeyConstraint("lender", "mode", "hour", "writer", name=op.f("pk_approvals")),
        comment="what was approved in each hour since 1970, a row for each process that wrote it",
    )
    op.create_table(
        "idempotency",
        sa.Column("lender", sa.String(length=40), nullable=False),
        sa.Column("mode", sa.String(length=4), nullable=False),
        sa.Column("operation", sa.String(length=40), nullable=False),
        sa.Column("key_digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("request_digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("request_id", sa.String(length=40), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("seal_key_id", sa.String(length=40), nullable=True),
        sa.Column("reply", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint(
            "lender", "mode", "operation", "key_digest", name=op.f("pk_idempotency")
        ),
    )
    op.create_index(op.f("ix_idempotency_created_us"), "idempotency", ["created_us"], unique=False)


def _what_is_told_and_counted() -> None:
    op.create_table(
        "events",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("lender", sa.String(length=40), nullable=False),
        sa.Column("mode", sa.String(length=4), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("subject_id", sa.String(length=80), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_events")),
    )
    op.create_index(
        op.f("ix_events_lender_mode_id"), "events", ["lender", "mode", "id"], unique=False
    )
    op.create_table(
        "audit_entries",
        sa.Column("writer", sa.String(length=40), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("previous_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("hash", sa.LargeBinary(length=32), nullable=False),
        sa.PrimaryKeyConstraint("writer", "number", name=op.f("pk_audit_entries")),
    )
    op.create_table(
        "daily_counts",
        sa.Column("lender", sa.String(length=40), nullable=False),
        sa.Column("mode", sa.String(length=4), nullable=False),
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.String(length=80), nullable=False),
        sa.Column("subject", sa.String(length=80), nullable=False),
        sa.Column("band", sa.String(length=80), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(
            "lender", "mode", "day", "model_id", "subject", "band", name=op.f("pk_daily_counts")
        ),
    )
