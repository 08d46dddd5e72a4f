"""Monitoring: what became of scores, drift, and models that score beside those that decide."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    _outcomes()
    _left_open()
    _reviews()
    _drift_windows()
    _challengers()
    _shadow_scores()
    _rare_events()


def _outcomes() -> None:
    op.create_table(
        "outcomes",
        sa.Column("lender", sa.String(length=40), nullable=False),
        sa.Column("mode", sa.String(length=4), nullable=False),
        sa.Column("request_id", sa.String(length=40), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("happened_on", sa.Integer(), nullable=False),
        sa.Column("defaulted_on", sa.Integer(), nullable=True),
        sa.Column("settled_on", sa.Integer(), nullable=True),
        sa.Column("corrections", sa.Text(), nullable=False),
        sa.Column("disbursed_amount", sa.Float(precision=53), nullable=True),
        sa.Column("repaid_amount", sa.Float(precision=53), nullable=True),
        sa.Column("recorded_us", sa.BigInteger(), nullable=False),
        sa.Column("key_id", sa.String(length=40), nullable=True),
        sa.Column("score_us", sa.BigInteger(), nullable=False),
        sa.Column("score_month", sa.Integer(), nullable=False),
        sa.Column("due_day", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.String(length=80), nullable=False),
        sa.Column("score", sa.Integer(), nullable=False),
        sa.Column("tier", sa.String(length=8), nullable=False),
        sa.Column("default_probability", sa.Float(precision=53), nullable=False),
        sa.Column("decision", sa.String(length=20), nullable=False),
        sa.PrimaryKeyConstraint("lender", "mode", "request_id", name=op.f("pk_outcomes")),
        comment="what became of loans, one row for each; months are written as 202611",
    )


def _left_open() -> None:
    left_open = sa.column("decision") == "REVIEW"
    op.create_index(
        op.f("ix_scores_lender_mode_request_id"),
        "scores",
        ["lender", "mode", "request_id"],
        unique=False,
        sqlite_where=left_open,
        postgresql_where=left_open,
    )


def _reviews() -> None:
    op.create_table(
        "reviews",
        sa.Column("lender", sa.String(length=40), nullable=False),
        sa.Column("mode", sa.String(length=4), nullable=False),
        sa.Column("request_id", sa.String(length=40), nullable=False),
        sa.Column("decision", sa.String(length=20), nullable=False),
        sa.Column("reason", sa.String(length=40), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("reviewed_us", sa.BigInteger(), nullable=False),
        sa.Column("key_id", sa.String(length=40), nullable=True),
        sa.Column("score_us", sa.BigInteger(), nullable=False),
        sa.Column("model_id", sa.String(length=80), nullable=False),
        sa.Column("score", sa.Integer(), nullable=False),
        sa.Column("tier", sa.String(length=8), nullable=False),
        sa.Column("default_probability", sa.Float(precision=53), nullable=False),
        sa.Column("given_decision", sa.String(length=20), nullable=False),
        sa.Column("seal_key_id", sa.String(length=40), nullable=True),
        sa.Column("applicant_key_id", sa.String(length=40), nullable=True),
        sa.Column("note", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("lender", "mode", "request_id", name=op.f("pk_reviews")),
        comment="what officers decided on scores, one row for each score that somebody looked at",
    )
    named = sa.column("applicant_key_id").is_not(None)
    op.create_index(
        op.f("ix_reviews_applicant_key_id"),
        "reviews",
        ["applicant_key_id"],
        unique=False,
        sqlite_where=named,
        postgresql_where=named,
    )


def _drift_windows() -> None:
    op.create_table(
        "drift_windows",
        sa.Column("lender", sa.String(length=40), nullable=False),
        sa.Column("mode", sa.String(length=4), nullable=False),
        sa.Column("model_id", sa.String(length=80), nullable=False),
        sa.Column("card", sa.String(length=40), nullable=False),
        sa.Column("first_day", sa.Integer(), nullable=False),
        sa.Column("last_day", sa.Integer(), nullable=False),
        sa.Column("scores", sa.Integer(), nullable=False),
        sa.Column("figures", sa.LargeBinary(), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(
            "lender", "mode", "model_id", "card", "first_day", name=op.f("pk_drift_windows")
        ),
        comment="whole days of a thousand scores or more, and how far each field was from training",
    )


def _challengers() -> None:
    op.create_table(
        "challengers",
        sa.Column("lender", sa.String(length=40), nullable=False),
        sa.Column("mode", sa.String(length=4), nullable=False),
        sa.Column("model_id", sa.String(length=80), nullable=False),
        sa.Column("since_us", sa.BigInteger(), nullable=False),
        sa.Column("ended_us", sa.BigInteger(), nullable=True),
        sa.Column("set_by", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("reached", sa.String(length=40), nullable=False),
        sa.Column("scored", sa.BigInteger(), nullable=False),
        sa.Column("failed", sa.BigInteger(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint(
            "lender", "mode", "model_id", "since_us", name=op.f("pk_challengers")
        ),
        comment="models that score what others decide on, each for a time",
    )


def _shadow_scores() -> None:
    op.create_table(
        "shadow_scores",
        sa.Column("lender", sa.String(length=40), nullable=False),
        sa.Column("mode", sa.String(length=4), nullable=False),
        sa.Column("model_id", sa.String(length=80), nullable=False),
        sa.Column("request_id", sa.String(length=40), nullable=False),
        sa.Column("score", sa.Integer(), nullable=False),
        sa.Column("tier", sa.String(length=8), nullable=False),
        sa.Column("default_probability", sa.Float(precision=53), nullable=False),
        sa.Column("decision", sa.String(length=20), nullable=False),
        sa.Column("given_model_id", sa.String(length=80), nullable=False),
        sa.Column("given_score", sa.Integer(), nullable=False),
        sa.Column("given_tier", sa.String(length=8), nullable=False),
        sa.Column("given_default_probability", sa.Float(precision=53), nullable=False),
        sa.Column("given_decision", sa.String(length=20), nullable=False),
        sa.PrimaryKeyConstraint(
            "lender", "mode", "model_id", "request_id", name=op.f("pk_shadow_scores")
        ),
        comment="what a challenger would have said to an application that another model decided on",
    )


def _rare_events() -> None:
    """Leave what is told of loans out as well: there may be as many as scores."""
    name = op.f("ix_events_lender_mode_id_kind")
    op.drop_index(name, table_name="events")
    rare = sa.and_(sa.column("kind") != "score.created", sa.column("kind") != "outcome.recorded")
    op.create_index(
        name,
        "events",
        ["lender", "mode", "id", "kind"],
        unique=False,
        sqlite_where=rare,
        postgresql_where=rare,
    )
