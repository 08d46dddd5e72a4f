"""Lists of scores by decision, tier and applicant are read from indexes."""

from __future__ import annotations

import sqlalchemy as sa

from alama.platform.database.migrations import beside

revision = "0009"
down_revision = "0008"
serves = "0008"
outside_transaction = True


def upgrade() -> None:
    book = ("lender", "mode")
    named = sa.column("applicant_key_id").is_not(None)
    # The longest first: of two that seem alike to it, SQLite takes the older.
    _index(*book, "tier", "decision", "request_id")
    _index(*book, "decision", "request_id")
    _index("applicant_key_id", "request_id", where=named)
    # The new ones answer what these did, also to the version before.
    beside.drop_index("ix_scores_lender_mode_request_id", "scores")
    beside.drop_index("ix_scores_applicant_key_id", "scores")


def _index(*columns: str, where: sa.ColumnElement[bool] | None = None) -> None:
    name = f"ix_scores_{'_'.join(columns)}"
    beside.create_index(name, "scores", columns, sqlite_where=where, postgresql_where=where)
