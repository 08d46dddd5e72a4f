"""A lender's own fields are learned from its history, and their pack says what they buy."""

import csv
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from alama.app.cli import main
from alama.batch.sql import as_sql
from alama.core import document
from alama.core.lending import draft
from alama.core.lending.draft import default_policy
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import Model, ReadyModel
from alama.core.own_fields import answering, reading
from alama.core.product import PRODUCT
from alama.lenders import installation, keys
from alama.lenders.installation import Installation
from alama.lenders.records import Signed
from alama.monitoring.drift import Drift
from alama.platform import settings
from alama.platform.book import Book, Mode
from alama.policies import own_fields, policies
from alama.training.history.loans import Options
from alama.training.pilot import Candidate, PilotOrder, train_pilot
from alama.training.population.people import PopulationOptions
from alama.training.validation.pack_page import pack_page
from bench.pilot.loans import loan_table
from tests.coarse import coarse_training
from tests.drifting import TODAY as TODAY_COUNTED
from tests.drifting import count_day, drawn
from tests.entries import NOON_US
from tests.own_fields import TEXT, THREE, the_three
from tests.patterned import QUICK, unwatched
from tests.pilots import SEED, TODAY, lean, read_loans
from tests.served import Service

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("own fields")]

LIVE = Book("demo", Mode.LIVE)
POLICY = (
    draft.default_text("KES").decode()
    + """
[[rules]]
name = "bureau_low"
when = "bureau_score < 300 and earlier_loans < 1"
decision = "REVIEW"
says = "your score at the credit bureau has to be looked at"
"""
)


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


@pytest.fixture
def live(candidate: Candidate, tmp_path: Path) -> Iterator[Installation]:
    """Declared, decided by a rule on one of them, and answered by the model that has learned."""
    opened = installation.open_installation(settings.read({"ALAMA_HOME": str(tmp_path)}))
    try:
        signed, model = Signed(opened.clock(), "W. Mutua"), candidate.model
        own_fields.activate(opened.registry, "demo", TEXT, signed, lambda: model)
        opened.registry.keep_model(model.id, document.encode(model), opened.clock())
        opened.registry.deploy(LIVE, model.id, None, opened.clock())
        policies.activate(opened.registry, LIVE, POLICY.encode(), signed, lambda: model)
        yield opened
    finally:
        opened.close()


def test_a_file_is_decided_as_live_requests_are(
    candidate: Candidate, live: Installation, tmp_path: Path
) -> None:
    asked = [
        {
            "mm_months": 6 + place,
            "avg_inflow": 4000 + 3000 * place,
            "balance_stability": 0.4,
            "airtime_regularity": 0.5,
            "bureau_score": 220 + 60 * place,
            "earlier_loans": place % 4,
            "branch": "Kisumu",
        }
        for place in range(11)
    ]
    key, _ = keys.issue(live.registry, live.clock, live.pepper, LIVE)
    said = [Service(live, key).ask("/v1/score", body=json.dumps(a).encode()).json() for a in asked]
    files = {name: tmp_path / name for name in ("model.json", "policy.toml", "in.csv", "out.csv")}
    files["model.json"].write_bytes(document.encode(candidate.model))
    files["policy.toml"].write_text(POLICY)
    with files["in.csv"].open("w", newline="") as file:
        table = csv.DictWriter(file, list(asked[0]))
        table.writeheader()
        table.writerows(asked)
    order = ["--model", files["model.json"], "--policy", files["policy.toml"]]
    order += ["--out", files["out.csv"]]
    assert main(["score", str(files["in.csv"]), *map(str, order)]) == 0
    with files["out.csv"].open(newline="") as file:
        rows = list(csv.DictReader(file))
    told = [(str(one["score"]), one["decision"]) for one in said]
    assert [(row["score"], row["decision"]) for row in rows] == told
    assert len({score for score, _ in told}) > 3
    assert "bureau_low" in rows[0]["rules"]
    assert not any("bureau_low" in row["rules"] for row in rows[2:])


def test_drift_of_a_field_of_its_own_is_announced_by_its_name(
    candidate: Candidate, live: Installation
) -> None:
    model = candidate.model
    moved = ("bureau_score",)
    for day in (TODAY_COUNTED - 2, TODAY_COUNTED - 1):
        counted = drawn(1_050, day, moved, model=model)
        count_day(live.database, LIVE, day, counted, model=model)
    drifted = Drift.at(live).look_in(LIVE, NOON_US)
    assert [[name["name"] for name in one.data()["names"]] for one in drifted] == [[*moved]]
