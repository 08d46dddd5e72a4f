"""Onboarding: terms, loan histories, candidates, signatures, and jobs for those who train."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    _pilots()
    _histories()
    _candidates()
    _jobs()


def _pilots() -> None:
    op.create_table(
        "pilots",
        sa.Column("lender", sa.String(length=40), nullable=False),
        sa.Column("jurisdiction", sa.String(length=20), nullable=True),
        sa.Column("days_past_due", sa.Integer(), nullable=False),
        sa.Column("approvers", sa.Integer(), nullable=False),
        sa.Column("gates", sa.Text(), nullable=False),
        sa.Column("set_us", sa.BigInteger(), nullable=False),
        sa.Column("set_by", sa.Text(), nullable=False),
        sa.Column("shadow_us", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["lender"], ["lenders.id"], name=op.f("fk_pilots_lender")),
        sa.PrimaryKeyConstraint("lender", name=op.f("pk_pilots")),
        comment="the terms by which a lender is onboarded",
    )


def _histories() -> None:
    op.create_table(
        "histories",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("lender", sa.String(length=40), nullable=False),
        sa.Column("digest", sa.String(length=80), nullable=False),
        sa.Column("file_format", sa.String(length=8), nullable=False),
        sa.Column("row_count", sa.Integer(), nullable=False),
        sa.Column("part_count", sa.Integer(), nullable=False),
        sa.Column("days_past_due", sa.Integer(), nullable=False),
        sa.Column("enough", sa.String(length=8), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("kept_by", sa.Text(), nullable=False),
        sa.Column("forgotten_us", sa.BigInteger(), nullable=True),
        sa.Column("report", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["lender"], ["lenders.id"], name=op.f("fk_histories_lender")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_histories")),
        comment="files of past loans, and what was found out about each",
    )
    op.create_index(op.f("ix_histories_lender_id"), "histories", ["lender", "id"], unique=False)
    op.create_table(
        "history_parts",
        sa.Column("history_id", sa.String(length=40), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("lender", sa.String(length=40), nullable=False),
        sa.Column("seal_key_id", sa.String(length=40), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("history_id", "number", name=op.f("pk_history_parts")),
        comment="the files themselves, sealed",
    )
    op.create_index(
        op.f("ix_history_parts_lender_seal_key_id"),
        "history_parts",
        ["lender", "seal_key_id"],
        unique=False,
    )


def _candidates() -> None:
    op.create_table(
        "candidates",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("lender", sa.String(length=40), nullable=False),
        sa.Column("model_id", sa.String(length=80), nullable=False),
        sa.Column("history_id", sa.String(length=40), nullable=False),
        sa.Column("days_past_due", sa.Integer(), nullable=False),
        sa.Column("limits", sa.Text(), nullable=False),
        sa.Column("gates", sa.Text(), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("made_by", sa.Text(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("pack", sa.LargeBinary(), nullable=False),
        sa.Column("page", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(["lender"], ["lenders.id"], name=op.f("fk_candidates_lender")),
        sa.ForeignKeyConstraint(
            ["history_id"], ["histories.id"], name=op.f("fk_candidates_history_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_candidates")),
        comment="models that were trained and validated, and may be signed",
    )
    op.create_index(op.f("ix_candidates_lender_id"), "candidates", ["lender", "id"], unique=False)
    op.create_table(
        "signatures",
        sa.Column("candidate_id", sa.String(length=40), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("lender", sa.String(length=40), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("key_id", sa.String(length=40), nullable=True),
        sa.Column("signed_us", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["candidate_id"], ["candidates.id"], name=op.f("fk_signatures_candidate_id")
        ),
        sa.PrimaryKeyConstraint("candidate_id", "number", name=op.f("pk_signatures")),
        comment="who stands for a candidate, and why",
    )


def _jobs() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("lender", sa.String(length=40), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("wanted", sa.LargeBinary(), nullable=False),
        sa.Column("state", sa.String(length=8), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("asked_by", sa.Text(), nullable=False),
        sa.Column("share", sa.Float(precision=53), nullable=False),
        sa.Column("step", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("worker", sa.String(length=40), nullable=True),
        sa.Column("lease_us", sa.BigInteger(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("ended_us", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["lender"], ["lenders.id"], name=op.f("fk_jobs_lender")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
        comment="what workers with the training libraries are asked to do",
    )
    op.create_index(op.f("ix_jobs_lender_id"), "jobs", ["lender", "id"], unique=False)
    is_open = sa.column("ended_us").is_(None)
    op.create_index(
        op.f("ix_jobs_id"),
        "jobs",
        ["id"],
        unique=False,
        sqlite_where=is_open,
        postgresql_where=is_open,
    )
