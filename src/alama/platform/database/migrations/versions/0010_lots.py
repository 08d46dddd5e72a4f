"""Scores say with what chance a lot was to approve them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
serves = "0008"


def upgrade() -> None:
    op.add_column("scores", sa.Column("propensity", sa.Float(53)))
