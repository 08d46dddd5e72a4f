"""Webhooks: where events are sent, what is on its way, and what came of each attempt."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    _bundles()
    _events()
    _endpoints()
    _deliveries()
    _resends()
    _attempts()


def _bundles() -> None:
    op.create_table(
        "bundles",
        sa.Column("lender", sa.String(length=40), nullable=False),
        sa.Column("mode", sa.String(length=4), nullable=False),
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("first_id", sa.String(length=40), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("events", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("lender", "mode", "id", name=op.f("pk_bundles")),
        comment="what is yet to be announced, in the transaction of what it speaks of",
    )


def _events() -> None:
    # Nothing was ever written to the one before, and this one has an index less.
    op.drop_table("events")
    op.create_table(
        "events",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("lender", sa.String(length=40), nullable=False),
        sa.Column("mode", sa.String(length=4), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("subject_id", sa.String(length=80), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("lender", "mode", "id", name=op.f("pk_events")),
        comment="what webhooks announce, once a worker has made its deliveries",
    )
    rare = sa.column("kind") != "score.created"
    op.create_index(
        op.f("ix_events_lender_mode_id_kind"),
        "events",
        ["lender", "mode", "id", "kind"],
        unique=False,
        sqlite_where=rare,
        postgresql_where=rare,
    )


def _endpoints() -> None:
    op.create_table(
        "webhook_endpoints",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("lender", sa.String(length=40), nullable=False),
        sa.Column("mode", sa.String(length=4), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("kinds", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("lender_key_id", sa.String(length=40), nullable=False),
        sa.Column("secret", sa.LargeBinary(), nullable=False),
        sa.Column("previous_secret", sa.LargeBinary(), nullable=True),
        sa.Column("previous_until_us", sa.BigInteger(), nullable=True),
        sa.Column("failing_since_us", sa.BigInteger(), nullable=True),
        sa.Column("disabled_us", sa.BigInteger(), nullable=True),
        sa.Column("disabled_reason", sa.Text(), nullable=True),
        sa.Column("generation", sa.Integer(), server_default="0", nullable=False),
        sa.ForeignKeyConstraint(
            ["lender"], ["lenders.id"], name=op.f("fk_webhook_endpoints_lender")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_endpoints")),
        comment="where the events of a book are sent",
    )
    op.create_index(
        op.f("ix_webhook_endpoints_lender_mode_id"),
        "webhook_endpoints",
        ["lender", "mode", "id"],
        unique=False,
    )


def _deliveries() -> None:
    op.create_table(
        "deliveries",
        sa.Column("endpoint_id", sa.String(length=40), nullable=False),
        sa.Column("event_id", sa.String(length=40), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("next_us", sa.BigInteger(), nullable=True),
        sa.Column("claimed_by", sa.String(length=40), nullable=True),
        sa.Column("delivered_us", sa.BigInteger(), nullable=True),
        sa.Column("failed_us", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("endpoint_id", "event_id", name=op.f("pk_deliveries")),
        comment="one event on its way to one endpoint",
    )
    op.create_index(op.f("ix_deliveries_event_id"), "deliveries", ["event_id"], unique=False)
    due = sa.column("next_us").is_not(None)
    op.create_index(
        op.f("ix_deliveries_endpoint_id_generation_next_us"),
        "deliveries",
        ["endpoint_id", "generation", "next_us"],
        unique=False,
        sqlite_where=due,
        postgresql_where=due,
    )
    claimed = sa.column("claimed_by").is_not(None)
    op.create_index(
        op.f("ix_deliveries_claimed_by_next_us"),
        "deliveries",
        ["claimed_by", "next_us"],
        unique=False,
        sqlite_where=claimed,
        postgresql_where=claimed,
    )


def _resends() -> None:
    op.create_table(
        "webhook_resends",
        sa.Column("endpoint_id", sa.String(length=40), nullable=False),
        sa.Column("since_id", sa.String(length=40), nullable=False),
        sa.Column("after_id", sa.String(length=40), nullable=False),
        sa.Column("until_id", sa.String(length=40), nullable=False),
        sa.Column("carried_us", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("endpoint_id", name=op.f("pk_webhook_resends")),
        comment="who wishes to be sent everything since a time again, until that is done",
    )


def _attempts() -> None:
    op.create_table(
        "webhook_attempts",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("lender", sa.String(length=40), nullable=False),
        sa.Column("mode", sa.String(length=4), nullable=False),
        sa.Column("endpoint_id", sa.String(length=40), nullable=False),
        sa.Column("event_id", sa.String(length=40), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("started_us", sa.BigInteger(), nullable=False),
        sa.Column("took_ms", sa.Integer(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("error", sa.String(length=40), nullable=True),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_attempts")),
        comment="each time that a delivery was tried, for thirty days",
    )
    op.create_index(
        op.f("ix_webhook_attempts_lender_mode_endpoint_id_id"),
        "webhook_attempts",
        ["lender", "mode", "endpoint_id", "id"],
        unique=False,
    )
