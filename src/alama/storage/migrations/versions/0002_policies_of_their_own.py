"""Lenders' own policies: who activated one and why, pauses, and what each day has approved."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("deployments", sa.Column("signed_by", sa.Text()))
    op.add_column("deployments", sa.Column("note", sa.Text()))
    op.add_column(
        "scores",
        sa.Column("expected_loss", sa.Float(precision=53), nullable=False, server_default="0"),
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
