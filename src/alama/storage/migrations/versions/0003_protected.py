"""Keys that seal what applicants said, a signed audit, and counts that outlive erasure."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    _keys()
    _replies()
    _whose_key()
    _audit()
    _counts()


def _keys() -> None:
    op.create_table(
        "vault_keys",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("lender", sa.String(length=40), nullable=True),
        sa.Column("purpose", sa.String(length=8), nullable=False),
        sa.Column("wrapped", sa.LargeBinary(), nullable=False),
        sa.Column("master_id", sa.String(length=16), nullable=False),
        sa.Column("public", sa.LargeBinary(length=32), nullable=True),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("retired_us", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["lender"], ["lenders.id"], name=op.f("fk_vault_keys_lender")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_vault_keys")),
        comment="keys of a lender (seal, find) and of the installation (sign), "
        "under the master key",
    )
    op.create_index(
        op.f("ix_vault_keys_lender_purpose"), "vault_keys", ["lender", "purpose"], unique=False
    )
    op.create_table(
        "applicant_keys",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("lender", sa.String(length=40), nullable=False),
        sa.Column("mode", sa.String(length=4), nullable=False),
        sa.Column("subject", sa.LargeBinary(length=32), nullable=True),
        sa.Column("wrapped", sa.LargeBinary(), nullable=True),
        sa.Column("lender_key_id", sa.String(length=40), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("erased_us", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_applicant_keys")),
        sa.UniqueConstraint(
            "lender", "mode", "subject", name=op.f("uq_applicant_keys_lender_mode_subject")
        ),
        comment="one for each applicant; erased: neither the key nor whom it was for is known "
        "any more",
    )
    op.create_table(
        "legal_holds",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("lender", sa.String(length=40), nullable=False),
        sa.Column("mode", sa.String(length=4), nullable=False),
        sa.Column("subject", sa.LargeBinary(length=32), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("placed_us", sa.BigInteger(), nullable=False),
        sa.Column("released_us", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["lender"], ["lenders.id"], name=op.f("fk_legal_holds_lender")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_legal_holds")),
        comment="applicants whose data must not be erased",
    )
    op.create_index(
        op.f("ix_legal_holds_lender_mode_subject"),
        "legal_holds",
        ["lender", "mode", "subject"],
        unique=False,
    )


def _replies() -> None:
    """Forget the replies that were kept for retries: they are in clear, under plain hashes.

    A retry across the upgrade is scored as a new request.
    """
    op.execute(sa.text("DELETE FROM idempotency"))


def _whose_key() -> None:
    for table in ("scores", "idempotency"):
        op.add_column(table, sa.Column("applicant_key_id", sa.String(length=40), nullable=True))
    named = sa.column("applicant_key_id").is_not(None)
    op.create_index(
        op.f("ix_scores_applicant_key_id"),
        "scores",
        ["applicant_key_id"],
        unique=False,
        sqlite_where=named,
        postgresql_where=named,
    )


def _audit() -> None:
    # Nothing was ever written to the one before.
    op.drop_table("audit_entries")
    op.create_table(
        "audit_entries",
        sa.Column("writer", sa.String(length=40), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("previous_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("signer", sa.String(length=40), nullable=False),
        sa.Column("signature", sa.LargeBinary(length=64), nullable=False),
        sa.PrimaryKeyConstraint("writer", "number", name=op.f("pk_audit_entries")),
        comment="a chain for each writer; docs/audit.md says what each hash covers",
    )
    op.create_index(
        op.f("ix_audit_entries_created_us"), "audit_entries", ["created_us"], unique=False
    )


def _counts() -> None:
    op.drop_table("daily_counts")
    op.create_table(
        "daily_counts",
        sa.Column("lender", sa.String(length=40), nullable=False),
        sa.Column("mode", sa.String(length=4), nullable=False),
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.String(length=80), nullable=False),
        sa.Column("writer", sa.String(length=40), nullable=False),
        sa.Column("counts", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint(
            "lender", "mode", "day", "model_id", "writer", name=op.f("pk_daily_counts")
        ),
        comment="how often each field fell into each band, and each score and decision was given; "
        "once a day is over, without the bands of few scores: it outlives what was erased",
    )
