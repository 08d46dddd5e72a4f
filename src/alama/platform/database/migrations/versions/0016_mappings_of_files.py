"""What lenders have said of their files is kept, version after version."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
serves = "0008"


def upgrade() -> None:
    op.create_table(
        "file_mappings",
        sa.Column("lender", sa.String(40), sa.ForeignKey("lenders.id"), nullable=False),
        sa.Column("files", sa.String(16), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("kept_us", sa.BigInteger(), nullable=False),
        sa.Column("kept_by", sa.Text(), nullable=False),
        sa.Column("removed_us", sa.BigInteger()),
        sa.PrimaryKeyConstraint("lender", "files", "version"),
        comment="how the files of a lender are read: names of columns and answers, no value",
    )
