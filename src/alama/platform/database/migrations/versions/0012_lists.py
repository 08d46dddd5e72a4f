"""Applicants may be on a block list or a watch list."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
serves = "0008"


def upgrade() -> None:
    op.create_table(
        "list_entries",
        sa.Column("lender", sa.String(40), nullable=False),
        sa.Column("mode", sa.String(4), nullable=False),
        sa.Column("applicant_key_id", sa.String(40), nullable=False),
        sa.Column("name", sa.String(8), nullable=False),
        sa.Column("reason", sa.String(40), nullable=False),
        sa.Column("person", sa.Text, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("listed_us", sa.BigInteger, nullable=False),
        sa.Column("until_us", sa.BigInteger),
        sa.Column("key_id", sa.String(40)),
        sa.PrimaryKeyConstraint("lender", "mode", "applicant_key_id"),
        comment="whom a lender declines or leaves to a person, whatever they apply with",
    )
    op.create_table(
        "list_changes",
        sa.Column("lender", sa.String(40), nullable=False),
        sa.Column("mode", sa.String(4), nullable=False),
        sa.Column("version", sa.String(16), nullable=False),
        sa.PrimaryKeyConstraint("lender", "mode"),
        comment="another version after each change, by which processes know to read the lists "
        "again",
    )
