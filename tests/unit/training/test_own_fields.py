"""A lender's own fields are learned from its history, and their pack says what they buy."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from alama.batch.sql import as_sql
from alama.core import document
from alama.core.lending.draft import default_policy
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import Model, ReadyModel
from alama.core.own_fields import answering, reading
from alama.core.product import PRODUCT
from alama.lenders import installation
from alama.lenders.records import Signed
from alama.platform import settings
from alama.platform.book import Book, Mode
from alama.policies import own_fields
from alama.training.history.loans import Options
from alama.training.pilot import Candidate, PilotOrder, train_pilot
from alama.training.population.people import PopulationOptions
from alama.training.validation.pack_page import pack_page
from bench.pilot.loans import loan_table
from tests.coarse import coarse_training
from tests.own_fields import TEXT, THREE, the_three
from tests.patterned import QUICK, unwatched
from tests.pilots import SEED, TODAY, lean, read_loans
from tests.stored import give_score

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("own fields")]

LIVE = Book("demo", Mode.LIVE)


def with_own_columns(table: pa.Table) -> pa.Table:
    """Add what the outcome moves by a known step, whatever else is known of a loan.

    A bureau's score is normal with a spread of 100 points, 70 lower for those who default: alone
    it tells them apart with an AUC of 0.69, and each point is worth 0.007 of log-odds.
    """
    rng = np.random.default_rng(7)
    late = np.asarray(table["largest_days_past_due"], dtype=float) >= 30
    score = rng.normal(620, 100, len(late)) - 70 * late
    loans = rng.poisson(np.where(late, 2.0, 3.0))
    branches = rng.choice(["Kisumu", "Nakuru", "Thika"], len(late))
    return (
        table.append_column("bureau_score", pa.array(np.clip(score, 200, 900).round().astype(int)))
        .append_column("earlier_loans", pa.array(loans))
        .append_column("branch", pa.array(branches))
    )


@pytest.fixture(scope="module")
def candidate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Candidate]:
    table = with_own_columns(lean(loan_table(PopulationOptions(rows=8_000, seed=3))))
    asked = Options(today=TODAY, catalogue=answering(PRODUCT, the_three()))
    with coarse_training():
        history = read_loans(tmp_path_factory.mktemp("own"), table, asked)
        order = PilotOrder("own", "KES", 30, SEED, 1, recipe=replace(QUICK, folds=2))
        yield train_pilot(history, order, unwatched, None, policy_for)


def policy_for(model: Model) -> ReadyPolicy:
    return ReadyPolicy(default_policy("KES"), ReadyModel(reading(model, the_three()), "KES"))


def test_the_pack_says_what_they_buy(candidate: Candidate) -> None:
    told = candidate.pack.own_fields
    assert told is not None
    assert set(told.fields) <= set(THREE)
    assert {"bureau_score", "earlier_loans"} <= set(told.fields)
    assert told.comparison.ahead > 0.02
    assert told.comparison.ahead_interval.low > 0.0
    page = pack_page(candidate.pack, candidate.model)
    assert "What the lender's own fields buy" in page
    assert "bureau_score" in page


def test_the_model_carries_them_and_its_query_reads_them(candidate: Candidate) -> None:
    model = candidate.model
    assert model.catalogue.field("bureau_score").labels == the_three().fields[0].labels
    assert '"bureau_score"' in as_sql(model, model.cards)


def test_it_answers_live_once_they_are_declared(
    candidate: Candidate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    opened = installation.open_installation(settings.read({"ALAMA_HOME": str(tmp_path)}))
    try:
        signed = Signed(opened.clock(), "W. Mutua")
        own_fields.activate(opened.registry, "demo", TEXT, signed, lambda: candidate.model)
        document_of = document.encode(candidate.model)
        opened.registry.keep_model(candidate.model.id, document_of, opened.clock())
        opened.registry.deploy(LIVE, candidate.model.id, None, opened.clock())
    finally:
        opened.close()
    body = {
        "mm_months": 14,
        "avg_inflow": 9000,
        "balance_stability": 0.5,
        "airtime_regularity": 0.5,
        "bureau_score": 640,
        "branch": "Kisumu",
    }
    assert give_score(json.dumps(body).encode(), mode=Mode.LIVE).startswith("req_")
