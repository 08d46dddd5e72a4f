"""What a book remembers of its borrowers has a table."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
serves = "0008"


def upgrade() -> None:
    op.create_table(
        "borrowers",
        sa.Column("applicant_key_id", sa.String(40), primary_key=True),
        sa.Column("lender", sa.String(40), nullable=False),
        sa.Column("mode", sa.String(4), nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("updated_us", sa.BigInteger, nullable=False),
        sa.Column("sealed", sa.LargeBinary, nullable=False),
        comment="what a book remembers of a borrower, sealed under the key of the applicant",
    )
