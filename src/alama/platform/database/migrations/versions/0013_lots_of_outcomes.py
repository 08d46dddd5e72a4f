"""What became of a loan says with what chance a lot was to approve it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
serves = "0008"


def upgrade() -> None:
    op.add_column("outcomes", sa.Column("propensity", sa.Float(53)))
