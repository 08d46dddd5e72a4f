"""What was approved is counted by region and tier."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
serves = "0008"


def upgrade() -> None:
    for name in ("number", "explored"):
        added = sa.Column(name, sa.Integer, nullable=False, server_default="0")
        op.add_column("approvals", added)
    for name, width in (("region", 64), ("tier", 8)):
        op.add_column("approvals", sa.Column(name, sa.String(width)))
