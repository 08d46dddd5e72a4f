"""Rates: how far each key is into its rate limit, for every process and every host."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

serves = "0006"
"""The oldest schema whose code may go on serving: the table is new, and it never asks for it."""


def upgrade() -> None:
    # Nothing of it is worth a write to the journal: after a crash every key starts anew.
    unlogged = ["UNLOGGED"] if op.get_bind().dialect.name == "postgresql" else []
    op.create_table(
        "rates",
        sa.Column("key_id", sa.String(length=40), nullable=False),
        sa.Column("full_at_us", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key_id", name=op.f("pk_rates")),
        comment="when each key may send a whole burst again, by the clock of the database",
        prefixes=unlogged,
    )
