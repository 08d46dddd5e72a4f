"""The fields that a lender declares beside those of the product.

It only adds a table. What served before goes on with it and knows nothing of such fields: a lender
declares the first once every process is of this version.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
serves = "0008"


def upgrade() -> None:
    op.create_table(
        "field_activations",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("lender", sa.String(40), sa.ForeignKey("lenders.id"), nullable=False),
        sa.Column("fields_id", sa.String(80), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("signed_by", sa.Text(), nullable=False),
        sa.Column("note", sa.Text()),
        sa.PrimaryKeyConstraint("id"),
        comment="the fields that each lender declares beside those of the product, newest last",
    )
    name = op.f("ix_field_activations_lender_id")
    op.create_index(name, "field_activations", ["lender", "id"])
