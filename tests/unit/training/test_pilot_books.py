"""Books that differ from lender to lender: short and long loans, and what they do not tell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from alama.core.model import Model
from alama.training.history.loans import History
from alama.training.history.report_page import history_page
from alama.training.making.make import Part
from alama.training.pilot import PilotOrder, learn, split_history, train_pilot
from alama.training.population.people import PopulationOptions
from alama.training.validation.gates import Gate
from alama.training.validation.stability import LATELY_DAYS
from bench.pilot.loans import loan_table
from tests.coarse import coarse_training
from tests.patterned import QUICK, unwatched
from tests.pilots import SEED, blocked, lean, policy_for, read_loans

pytestmark = pytest.mark.long

POPULATION = PopulationOptions(rows=8_000, seed=3)
ORDER = PilotOrder(
    name="pilot",
    currency="KES",
    days_past_due=30,
    seed=SEED,
    jobs=1,
    recipe=replace(QUICK, pairs=0, learning_rate=0.3),
)


@pytest.fixture(scope="module", autouse=True)
def coarse() -> Iterator[None]:
    """No test here is about how finely a model is made."""
    with coarse_training():
        yield


def test_a_book_of_short_and_long_loans_that_stands_still_is_not_blocked_by_stability(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    table = with_long_terms(lean(loan_table(POPULATION), "requested_term_days"))
    history = read_loans(tmp_path_factory.mktemp("long"), table)
    days, terms = history.applied_on.astype("M8[D]"), history.term_days[history.places]
    last = days[history.places] >= days[history.places].max() - LATELY_DAYS
    assert terms.max() == 365
    assert terms[last].max() < 365, "of the last loans, the long ones have no outcome yet"
    pack = train_pilot(history, ORDER, unwatched, None, policy_for).pack
    assert Gate.STABILITY not in blocked(pack)
    assert pack.recent_psi is not None
    assert max(pack.score_psi, pack.recent_psi) < 0.05


def with_long_terms(table: pa.Table) -> pa.Table:
    """Give each loan a term of a month to a year, by lot; the longer, the more of them default."""
    rng = np.random.default_rng(1)
    terms = rng.choice([30, 90, 180, 365], table.num_rows).astype(np.int32)
    days_late = table.column("largest_days_past_due").to_numpy()
    given = {
        "requested_term_days": terms,
        "term_days": terms,
        "due_on": table.column("disbursed_on").to_numpy().astype("M8[D]") + terms,
        "largest_days_past_due": np.where(rng.random(len(terms)) < terms / 1_200, 60, days_late),
    }
    for name, values in given.items():
        table = table.set_column(table.column_names.index(name), name, [pa.array(values)])
    return table


def test_the_outcome_names_restructuring_only_where_the_file_tells_of_it(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    table = lean(loan_table(replace(POPULATION, rows=3_000)))
    told = read_loans(tmp_path_factory.mktemp("told"), table)
    silent = read_loans(tmp_path_factory.mktemp("silent"), table.drop_columns(["restructured"]))
    by_days = "ever 30 days past due by the due date + 30 days"

    model = learnt(told)
    assert model.outcome.definition == f"{by_days}, or restructured in distress"
    assert model.lineage.label == "days past due and restructuring, of the history"
    assert "or is restructured in distress" in history_page(told.report, "Umoja")

    model = learnt(silent)
    assert model.outcome.definition == by_days
    assert model.lineage.label == "days past due, of the history"
    assert "or is restructured in distress" not in history_page(silent.report, "Umoja")


def learnt(history: History) -> Model:
    """Give the model of a history, without a pack."""
    return learn(split_history(history, SEED), ORDER, Part(unwatched, 0.0, 1.0)).model
