"""The first schema: what 0001 to 0007 held was never released.

Keys and constraints are named by the convention of `alama.platform.database.tables.METADATA`.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = None


def upgrade() -> None:
    _who_may_ask()
    _what_answers()
    _scores_and_approvals()
    _idempotency_and_daily_counts()
    _vault()
    _audit()
    _events()
    _endpoints_and_deliveries()
    _attempts()
    _pilots_and_histories()
    _candidates_and_jobs()
    _outcomes_and_reviews()
    _drift_and_challengers()


def _who_may_ask() -> None:
    op.create_table(
        "facts",
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
        comment="what must stay true of this database, such as the pepper its keys are hashed with",
    )
    op.create_table(
        "lenders",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("currency", sa.String(3), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "keys",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("lender", sa.String(40), sa.ForeignKey("lenders.id"), nullable=False),
        sa.Column("mode", sa.String(4), nullable=False),
        sa.Column("digest", sa.LargeBinary(32), nullable=False),
        sa.Column("hint", sa.String(8), nullable=False),
        sa.Column("scopes", sa.Text(), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("days", sa.Integer()),
        sa.Column("expires_us", sa.BigInteger()),
        sa.Column("revoked_us", sa.BigInteger()),
        sa.Column("last_used_us", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("digest"),
    )
    # Nothing of it is worth a write to the journal: after a crash every key starts anew.
    unlogged = ["UNLOGGED"] if op.get_bind().dialect.name == "postgresql" else []
    op.create_table(
        "rates",
        sa.Column("key_id", sa.String(40), nullable=False),
        sa.Column("full_at_us", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key_id"),
        comment="when each key may send a whole burst again, by the clock of the database",
        prefixes=unlogged,
    )


def _what_answers() -> None:
    op.create_table(
        "models",
        sa.Column("id", sa.String(80), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "policies",
        sa.Column("id", sa.String(80), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "deployments",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("lender", sa.String(40), sa.ForeignKey("lenders.id"), nullable=False),
        sa.Column("mode", sa.String(4), nullable=False),
        sa.Column("model_id", sa.String(80), sa.ForeignKey("models.id")),
        sa.Column("policy_id", sa.String(80), sa.ForeignKey("policies.id")),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("signed_by", sa.Text()),
        sa.Column("note", sa.Text()),
        sa.PrimaryKeyConstraint("id"),
        comment="what answers in each book, newest last; a null stands for what the package brings",
    )
    _index("deployments", "lender", "mode", "id")
    op.create_table(
        "pauses",
        sa.Column("lender", sa.String(40), sa.ForeignKey("lenders.id"), nullable=False),
        sa.Column("mode", sa.String(4), nullable=False),
        sa.Column("paused_us", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("lender", "mode"),
        comment="books whose every decision is left to a person",
    )


def _scores_and_approvals() -> None:
    op.create_table(
        "scores",
        sa.Column("lender", sa.String(40), nullable=False),
        sa.Column("mode", sa.String(4), nullable=False),
        sa.Column("request_id", sa.String(40), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("key_id", sa.String(40), nullable=False),
        sa.Column("model_id", sa.String(80), nullable=False),
        sa.Column("policy_id", sa.String(80), nullable=False),
        sa.Column("score", sa.Integer(), nullable=False),
        sa.Column("tier", sa.String(8), nullable=False),
        sa.Column("default_probability", sa.Float(53), nullable=False),
        sa.Column("decision", sa.String(20), nullable=False),
        sa.Column("recommended_limit", sa.Float(53), nullable=False),
        sa.Column("recommended_term_days", sa.Integer(), nullable=False),
        sa.Column("recommended_apr", sa.Float(53), nullable=False),
        sa.Column("processing_ms", sa.Integer(), nullable=False),
        sa.Column("seal_key_id", sa.String(40)),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("expected_loss", sa.Float(53), nullable=False),
        sa.Column("applicant_key_id", sa.String(40)),
        sa.PrimaryKeyConstraint("lender", "mode", "request_id"),
    )
    named = sa.column("applicant_key_id").is_not(None)
    _index("scores", "applicant_key_id", where=named)
    left_open = sa.column("decision") == "REVIEW"
    _index("scores", "lender", "mode", "request_id", where=left_open)
    op.create_table(
        "approvals",
        sa.Column("lender", sa.String(40), nullable=False),
        sa.Column("mode", sa.String(4), nullable=False),
        sa.Column("hour", sa.Integer(), nullable=False),
        sa.Column("writer", sa.String(40), nullable=False),
        sa.Column("volume", sa.Float(53), nullable=False),
        sa.Column("expected_loss", sa.Float(53), nullable=False),
        sa.PrimaryKeyConstraint("lender", "mode", "hour", "writer"),
        comment="what was approved in each hour since 1970, a row for each process that wrote it",
    )


def _idempotency_and_daily_counts() -> None:
    op.create_table(
        "idempotency",
        sa.Column("lender", sa.String(40), nullable=False),
        sa.Column("mode", sa.String(4), nullable=False),
        sa.Column("operation", sa.String(40), nullable=False),
        sa.Column("key_digest", sa.LargeBinary(32), nullable=False),
        sa.Column("request_digest", sa.LargeBinary(32), nullable=False),
        sa.Column("request_id", sa.String(40), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("seal_key_id", sa.String(40)),
        sa.Column("reply", sa.LargeBinary(), nullable=False),
        sa.Column("applicant_key_id", sa.String(40)),
        sa.PrimaryKeyConstraint("lender", "mode", "operation", "key_digest"),
    )
    _index("idempotency", "created_us")
    op.create_table(
        "daily_counts",
        sa.Column("lender", sa.String(40), nullable=False),
        sa.Column("mode", sa.String(4), nullable=False),
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.String(80), nullable=False),
        sa.Column("writer", sa.String(40), nullable=False),
        sa.Column("counts", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("lender", "mode", "day", "model_id", "writer"),
        comment="how often each field fell into each band, and each score and decision was given; "
        "once a day is over, without the bands of few scores: it outlives what was erased",
    )


def _vault() -> None:
    op.create_table(
        "vault_keys",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("lender", sa.String(40), sa.ForeignKey("lenders.id")),
        sa.Column("purpose", sa.String(8), nullable=False),
        sa.Column("wrapped", sa.LargeBinary(), nullable=False),
        sa.Column("master_id", sa.String(16), nullable=False),
        sa.Column("public", sa.LargeBinary(32)),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("retired_us", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id"),
        comment="keys of a lender (seal, find) and of the installation (sign), "
        "under the master key",
    )
    _index("vault_keys", "lender", "purpose")
    op.create_table(
        "applicant_keys",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("lender", sa.String(40), nullable=False),
        sa.Column("mode", sa.String(4), nullable=False),
        sa.Column("subject", sa.LargeBinary(32)),
        sa.Column("wrapped", sa.LargeBinary()),
        sa.Column("lender_key_id", sa.String(40), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("erased_us", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("lender", "mode", "subject"),
        comment="one for each applicant; erased: neither the key nor whom it was for is known "
        "any more",
    )
    op.create_table(
        "legal_holds",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("lender", sa.String(40), sa.ForeignKey("lenders.id"), nullable=False),
        sa.Column("mode", sa.String(4), nullable=False),
        sa.Column("subject", sa.LargeBinary(32), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("placed_us", sa.BigInteger(), nullable=False),
        sa.Column("released_us", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id"),
        comment="applicants whose data must not be erased",
    )
    _index("legal_holds", "lender", "mode", "subject")


def _audit() -> None:
    op.create_table(
        "audit_entries",
        sa.Column("writer", sa.String(40), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("previous_hash", sa.LargeBinary(32), nullable=False),
        sa.Column("hash", sa.LargeBinary(32), nullable=False),
        sa.Column("signer", sa.String(40), nullable=False),
        sa.Column("signature", sa.LargeBinary(64), nullable=False),
        sa.PrimaryKeyConstraint("writer", "number"),
        comment="a chain for each writer; docs/audit.md says what each hash covers",
    )
    _index("audit_entries", "created_us")


def _events() -> None:
    op.create_table(
        "bundles",
        sa.Column("lender", sa.String(40), nullable=False),
        sa.Column("mode", sa.String(4), nullable=False),
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("first_id", sa.String(40), nullable=False),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("events", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("lender", "mode", "id"),
        comment="what is yet to be announced, in the transaction of what it speaks of",
    )
    op.create_table(
        "events",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("lender", sa.String(40), nullable=False),
        sa.Column("mode", sa.String(4), nullable=False),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("subject_id", sa.String(80), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("lender", "mode", "id"),
        comment="what webhooks announce, once a worker has made its deliveries",
    )
    rare = sa.and_(sa.column("kind") != "score.created", sa.column("kind") != "outcome.recorded")
    _index("events", "lender", "mode", "id", "kind", where=rare)


def _endpoints_and_deliveries() -> None:
    op.create_table(
        "webhook_endpoints",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("lender", sa.String(40), sa.ForeignKey("lenders.id"), nullable=False),
        sa.Column("mode", sa.String(4), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("kinds", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("lender_key_id", sa.String(40), nullable=False),
        sa.Column("secret", sa.LargeBinary(), nullable=False),
        sa.Column("previous_secret", sa.LargeBinary()),
        sa.Column("previous_until_us", sa.BigInteger()),
        sa.Column("failing_since_us", sa.BigInteger()),
        sa.Column("disabled_us", sa.BigInteger()),
        sa.Column("disabled_reason", sa.Text()),
        sa.Column("generation", sa.Integer(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("id"),
        comment="where the events of a book are sent",
    )
    _index("webhook_endpoints", "lender", "mode", "id")
    op.create_table(
        "deliveries",
        sa.Column("endpoint_id", sa.String(40), nullable=False),
        sa.Column("event_id", sa.String(40), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("next_us", sa.BigInteger()),
        sa.Column("claimed_by", sa.String(40)),
        sa.Column("delivered_us", sa.BigInteger()),
        sa.Column("failed_us", sa.BigInteger()),
        sa.PrimaryKeyConstraint("endpoint_id", "event_id"),
        comment="one event on its way to one endpoint",
    )
    _index("deliveries", "event_id")
    due = sa.column("next_us").is_not(None)
    _index("deliveries", "endpoint_id", "generation", "next_us", where=due)
    claimed = sa.column("claimed_by").is_not(None)
    _index("deliveries", "claimed_by", "next_us", where=claimed)
    op.create_table(
        "webhook_resends",
        sa.Column("endpoint_id", sa.String(40), nullable=False),
        sa.Column("since_id", sa.String(40), nullable=False),
        sa.Column("after_id", sa.String(40), nullable=False),
        sa.Column("until_id", sa.String(40), nullable=False),
        sa.Column("carried_us", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("endpoint_id"),
        comment="who wishes to be sent everything since a time again, until that is done",
    )


def _attempts() -> None:
    op.create_table(
        "webhook_attempts",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("lender", sa.String(40), nullable=False),
        sa.Column("mode", sa.String(4), nullable=False),
        sa.Column("endpoint_id", sa.String(40), nullable=False),
        sa.Column("event_id", sa.String(40), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("started_us", sa.BigInteger(), nullable=False),
        sa.Column("took_ms", sa.Integer(), nullable=False),
        sa.Column("status", sa.Integer()),
        sa.Column("error", sa.String(40)),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        comment="each time that a delivery was tried, for thirty days",
    )
    _index("webhook_attempts", "lender", "mode", "endpoint_id", "id")


def _pilots_and_histories() -> None:
    op.create_table(
        "pilots",
        sa.Column("lender", sa.String(40), sa.ForeignKey("lenders.id"), nullable=False),
        sa.Column("jurisdiction", sa.String(20)),
        sa.Column("days_past_due", sa.Integer(), nullable=False),
        sa.Column("approvers", sa.Integer(), nullable=False),
        sa.Column("gates", sa.Text(), nullable=False),
        sa.Column("set_us", sa.BigInteger(), nullable=False),
        sa.Column("set_by", sa.Text(), nullable=False),
        sa.Column("shadow_us", sa.BigInteger()),
        sa.PrimaryKeyConstraint("lender"),
        comment="the terms by which a lender is onboarded",
    )
    op.create_table(
        "histories",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("lender", sa.String(40), sa.ForeignKey("lenders.id"), nullable=False),
        sa.Column("digest", sa.String(80), nullable=False),
        sa.Column("file_format", sa.String(8), nullable=False),
        sa.Column("row_count", sa.Integer(), nullable=False),
        sa.Column("part_count", sa.Integer(), nullable=False),
        sa.Column("days_past_due", sa.Integer(), nullable=False),
        sa.Column("enough", sa.String(8), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("kept_by", sa.Text(), nullable=False),
        sa.Column("forgotten_us", sa.BigInteger()),
        sa.Column("report", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        comment="files of past loans, and what was found out about each",
    )
    _index("histories", "lender", "id")
    op.create_table(
        "history_parts",
        sa.Column("history_id", sa.String(40), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("lender", sa.String(40), nullable=False),
        sa.Column("seal_key_id", sa.String(40), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("history_id", "number"),
        comment="the files themselves, sealed",
    )
    _index("history_parts", "lender", "seal_key_id")


def _candidates_and_jobs() -> None:
    op.create_table(
        "candidates",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("lender", sa.String(40), sa.ForeignKey("lenders.id"), nullable=False),
        sa.Column("model_id", sa.String(80), nullable=False),
        sa.Column("history_id", sa.String(40), sa.ForeignKey("histories.id"), nullable=False),
        sa.Column("days_past_due", sa.Integer(), nullable=False),
        sa.Column("limits", sa.Text(), nullable=False),
        sa.Column("gates", sa.Text(), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("made_by", sa.Text(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("pack", sa.LargeBinary(), nullable=False),
        sa.Column("page", sa.LargeBinary()),
        sa.PrimaryKeyConstraint("id"),
        comment="models that were trained and validated, and may be signed",
    )
    _index("candidates", "lender", "id")
    op.create_table(
        "signatures",
        sa.Column("candidate_id", sa.String(40), sa.ForeignKey("candidates.id"), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("lender", sa.String(40), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("key_id", sa.String(40)),
        sa.Column("signed_us", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("candidate_id", "number"),
        comment="who stands for a candidate, and why",
    )
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("lender", sa.String(40), sa.ForeignKey("lenders.id"), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("wanted", sa.LargeBinary(), nullable=False),
        sa.Column("state", sa.String(8), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("asked_by", sa.Text(), nullable=False),
        sa.Column("share", sa.Float(53), nullable=False),
        sa.Column("step", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("worker", sa.String(40)),
        sa.Column("lease_us", sa.BigInteger()),
        sa.Column("error", sa.Text()),
        sa.Column("ended_us", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id"),
        comment="what workers with the training libraries are asked to do",
    )
    _index("jobs", "lender", "id")
    is_open = sa.column("ended_us").is_(None)
    _index("jobs", "id", where=is_open)


def _outcomes_and_reviews() -> None:
    op.create_table(
        "outcomes",
        sa.Column("lender", sa.String(40), nullable=False),
        sa.Column("mode", sa.String(4), nullable=False),
        sa.Column("request_id", sa.String(40), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("happened_on", sa.Integer(), nullable=False),
        sa.Column("defaulted_on", sa.Integer()),
        sa.Column("settled_on", sa.Integer()),
        sa.Column("corrections", sa.Text(), nullable=False),
        sa.Column("disbursed_amount", sa.Float(53)),
        sa.Column("repaid_amount", sa.Float(53)),
        sa.Column("recorded_us", sa.BigInteger(), nullable=False),
        sa.Column("key_id", sa.String(40)),
        sa.Column("score_us", sa.BigInteger(), nullable=False),
        sa.Column("score_month", sa.Integer(), nullable=False),
        sa.Column("due_day", sa.Integer(), nullable=False),
        sa.Column("model_id", sa.String(80), nullable=False),
        sa.Column("score", sa.Integer(), nullable=False),
        sa.Column("tier", sa.String(8), nullable=False),
        sa.Column("default_probability", sa.Float(53), nullable=False),
        sa.Column("decision", sa.String(20), nullable=False),
        sa.PrimaryKeyConstraint("lender", "mode", "request_id"),
        comment="what became of loans, one row for each; months are written as 202611",
    )
    op.create_table(
        "reviews",
        sa.Column("lender", sa.String(40), nullable=False),
        sa.Column("mode", sa.String(4), nullable=False),
        sa.Column("request_id", sa.String(40), nullable=False),
        sa.Column("decision", sa.String(20), nullable=False),
        sa.Column("reason", sa.String(40), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("reviewed_us", sa.BigInteger(), nullable=False),
        sa.Column("key_id", sa.String(40)),
        sa.Column("score_us", sa.BigInteger(), nullable=False),
        sa.Column("model_id", sa.String(80), nullable=False),
        sa.Column("score", sa.Integer(), nullable=False),
        sa.Column("tier", sa.String(8), nullable=False),
        sa.Column("default_probability", sa.Float(53), nullable=False),
        sa.Column("given_decision", sa.String(20), nullable=False),
        sa.Column("seal_key_id", sa.String(40)),
        sa.Column("applicant_key_id", sa.String(40)),
        sa.Column("note", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("lender", "mode", "request_id"),
        comment="what officers decided on scores, one row for each score that somebody looked at",
    )
    named = sa.column("applicant_key_id").is_not(None)
    _index("reviews", "applicant_key_id", where=named)


def _drift_and_challengers() -> None:
    op.create_table(
        "drift_windows",
        sa.Column("lender", sa.String(40), nullable=False),
        sa.Column("mode", sa.String(4), nullable=False),
        sa.Column("model_id", sa.String(80), nullable=False),
        sa.Column("card", sa.String(40), nullable=False),
        sa.Column("first_day", sa.Integer(), nullable=False),
        sa.Column("last_day", sa.Integer(), nullable=False),
        sa.Column("scores", sa.Integer(), nullable=False),
        sa.Column("figures", sa.LargeBinary(), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("lender", "mode", "model_id", "card", "first_day"),
        comment="whole days of a thousand scores or more, and how far each field was from training",
    )
    op.create_table(
        "challengers",
        sa.Column("lender", sa.String(40), nullable=False),
        sa.Column("mode", sa.String(4), nullable=False),
        sa.Column("model_id", sa.String(80), nullable=False),
        sa.Column("since_us", sa.BigInteger(), nullable=False),
        sa.Column("ended_us", sa.BigInteger()),
        sa.Column("set_by", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("reached", sa.String(40), nullable=False),
        sa.Column("scored", sa.BigInteger(), nullable=False),
        sa.Column("failed", sa.BigInteger(), nullable=False),
        sa.Column("error", sa.Text()),
        sa.PrimaryKeyConstraint("lender", "mode", "model_id", "since_us"),
        comment="models that score what others decide on, each for a time",
    )
    op.create_table(
        "shadow_scores",
        sa.Column("lender", sa.String(40), nullable=False),
        sa.Column("mode", sa.String(4), nullable=False),
        sa.Column("model_id", sa.String(80), nullable=False),
        sa.Column("request_id", sa.String(40), nullable=False),
        sa.Column("score", sa.Integer(), nullable=False),
        sa.Column("tier", sa.String(8), nullable=False),
        sa.Column("default_probability", sa.Float(53), nullable=False),
        sa.Column("decision", sa.String(20), nullable=False),
        sa.Column("given_model_id", sa.String(80), nullable=False),
        sa.Column("given_score", sa.Integer(), nullable=False),
        sa.Column("given_tier", sa.String(8), nullable=False),
        sa.Column("given_default_probability", sa.Float(53), nullable=False),
        sa.Column("given_decision", sa.String(20), nullable=False),
        sa.PrimaryKeyConstraint("lender", "mode", "model_id", "request_id"),
        comment="what a challenger would have said to an application that another model decided on",
    )


def _index(table: str, *columns: str, where: sa.ColumnElement[bool] | None = None) -> None:
    name = op.f(f"ix_{table}_{'_'.join(columns)}")
    op.create_index(name, table, columns, sqlite_where=where, postgresql_where=where)
