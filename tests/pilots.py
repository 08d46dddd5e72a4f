"""Lenders' histories made of people who do not exist: what tests of pilot onboarding learn from."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from alama.core.lending.draft import default_policy
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import Model, ReadyModel
from alama.training.history.loans import History, Options, Terms, read_history
from alama.training.pilot import split_history
from alama.training.pipeline import Trained, judge
from alama.training.validation.gates import FOR_EVERYONE, Gate
from alama.training.validation.pack import Pack
from alama.training.validation.peers import beside_peers
from alama.training.validation.trial import PolicyFor, Trial, Without, try_candidate
from tests.patterned import unwatched

TERMS = Terms(days_past_due=30, currency="KES")
TODAY = date(2026, 11, 15)
SEED = 0

NOT_NEEDED = (
    "avg_outflow",
    "counterparties",
    "tx_frequency",
    "weekend_activity",
    "airtime_avg",
    "airtime_freq",
    "device_type",
    "device_age_months",
    "requested_amount",
    "requested_term_days",
    "loan_purpose",
)
"""Columns that a file has for a good model; without them one is trained in seconds."""


def read_loans(folder: Path, table: pa.Table, options: Options | None = None) -> History:
    """Read a table as a lender's file."""
    path = folder / "history.parquet"
    pyarrow.parquet.write_table(table, path)
    asked = options or Options(groups=("gender",), today=TODAY)
    return read_history(path, TERMS, asked, lambda _share: None)


def lean(table: pa.Table, *kept: str) -> pa.Table:
    """Leave out what is not needed but for the columns `kept`: boosting takes time by the field."""
    return table.drop_columns([name for name in NOT_NEEDED if name not in kept])


def policy_for(model: Model) -> ReadyPolicy:
    """The policy of a lender that has none of its own."""
    return ReadyPolicy(default_policy(TERMS.currency), ReadyModel(model, TERMS.currency))


def judged_again(
    history: History,
    model: Model,
    policy: PolicyFor = policy_for,
    current: Model | None = None,
) -> Pack:
    """The pack of a model that was trained elsewhere, judged on the late part of a history."""
    parts = split_history(history, SEED)
    learning = parts.split.learning
    undealt = np.zeros(len(learning), dtype=np.int8)
    trained = Trained(model, (), learning, parts.holdout, undealt, ())
    alone = judge(trained, SEED, unwatched, draws=50)
    validation = beside_peers(alone.validation, trained.unseen, seed=SEED, draws=50)
    judged = replace(alone, validation=validation)
    return try_candidate(
        Trial(history, learning, parts.holdout, parts.judging, SEED),
        judged,
        parts.facts,
        FOR_EVERYONE,
        policy=policy,
        current=current,
        without=Without(),
    )


def blocked(pack: Pack) -> set[Gate]:
    """The gates that a pack does not pass."""
    return {gate.name for gate in pack.blocked_by}
