"""Scores, what became of their loans, and what was approved say of which product they are."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
serves = "0008"


def upgrade() -> None:
    for table in ("scores", "outcomes", "approvals"):
        op.add_column(table, sa.Column("product", sa.String(40)))
