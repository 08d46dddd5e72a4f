"""What the pack of a candidate asks of whoever signs it, and how it names the candidate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from alama.core import model
from alama.core.tables import Card
from alama.training.history.loans import History
from alama.training.pilot import Candidate, PilotOrder, train_pilot
from alama.training.population.people import PopulationOptions
from alama.training.validation.pack_page import pack_page
from alama.training.validation.tiers import Light
from bench.pilot.loans import loan_table
from tests.coarse import coarse_training
from tests.patterned import QUICK, unwatched
from tests.pilots import SEED, judged_again, policy_for, read_loans

RECIPE = replace(QUICK, pairs=0, learning_rate=0.3)
ORDER = PilotOrder(name="pilot", currency="KES", days_past_due=30, seed=SEED, jobs=1, recipe=RECIPE)

# One worker trains once for all of them.
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("pilot-questions")]


@pytest.fixture(scope="module", autouse=True)
def coarse() -> Iterator[None]:
    """No test here is about how finely a model is made."""
    with coarse_training():
        yield


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    table = loan_table(PopulationOptions(rows=6_000, seed=3))
    return read_loans(tmp_path_factory.mktemp("asked"), table)


@pytest.fixture(scope="module")
def candidate(history: History) -> Candidate:
    return train_pilot(history, ORDER, unwatched, None, policy_for)


def test_the_model_in_use_does_not_see_a_leak_that_was_excluded_and_the_page_says_so(
    history: History, candidate: Candidate
) -> None:
    report = msgspec.structs.replace(history.report, excluded=("avg_balance",))
    sound = judged_again(
        replace(history, report=report), candidate.model, current=candidate.model
    ).current
    balance = history.applications["avg_balance"]
    assert isinstance(balance, np.ndarray)
    leaking = balance.copy()
    leaking[history.places] = np.where(history.loans.labels == 1, 0.0, 1e5)
    columns = {**history.applications, "avg_balance": leaking}
    pack = judged_again(
        replace(history, report=report, applications=columns),
        candidate.model,
        current=candidate.model,
    )
    assert sound is not None
    assert pack.current is not None
    assert pack.current.withheld == ("avg_balance",)
    assert pack.current.other == sound.other, "whatever the field says, nobody gave it"
    assert pack.current.candidate.auc > sound.candidate.auc, "the rows do leak"
    page = pack_page(pack, candidate.model)
    assert "The model in use also reads avg_balance, excluded from this history." in page


def test_a_candidate_that_ranks_worse_than_the_model_in_use_is_asked_why(
    history: History, candidate: Candidate
) -> None:
    def blunt(card: Card) -> Card:
        silent = {"avg_inflow", "balance_stability", "mm_months"}
        features = tuple(
            msgspec.structs.replace(f, main=(0.0,) * len(f.main)) if f.field in silent else f
            for f in card.features
        )
        return msgspec.structs.replace(card, features=features)

    cards = tuple(blunt(card) for card in candidate.model.cards)
    worse = model.seal(msgspec.structs.replace(candidate.model, cards=cards))
    pack = judged_again(history, worse, current=candidate.model)
    assert pack.current is not None
    assert pack.current.behind
    assert pack.questions[0].startswith("The model in use ranks these loans better")
    page = pack_page(pack, worse)
    assert "To be answered before signing" in page
    assert page.index("To be answered") < page.index('id="purpose"'), "it stands in the verdict"
    even = judged_again(history, candidate.model, current=candidate.model)
    assert not any("The model in use" in question for question in even.questions)


def test_what_stands_out_is_asked_and_where_nothing_does_the_list_is_left_out(
    history: History, candidate: Candidate
) -> None:
    report = msgspec.structs.replace(
        history.report, last_observed_on="2026-01-01", books_age_days=181
    )
    pack = judged_again(replace(history, report=report), candidate.model)
    [stale] = [question for question in pack.questions if "books" in question]
    assert "2026-01-01, 181 days before the file was read" in stale
    page = pack_page(pack, candidate.model)
    assert page.count("181 days before the file was read") == 2, "in the verdict and under Limits"
    for attribute in pack.fairness:
        asked = any(q.startswith(f"{attribute.name}: ") for q in pack.questions)
        assert asked is bool(attribute.below_four_fifths)
    for tier in pack.tiers:
        asked = any(q.startswith(f"Tier {tier.name} is") for q in pack.questions)
        assert asked is (tier.light in {Light.AMBER, Light.RED})
    quiet = msgspec.structs.replace(pack, questions=())
    assert "To be answered" not in pack_page(quiet, candidate.model)


def test_the_title_tells_two_models_of_one_day_apart(candidate: Candidate) -> None:
    short = candidate.model.id.removeprefix("sha256:")[:8]
    page = pack_page(candidate.pack, candidate.model)
    assert f"<title>Validation pack of pilot ({short})</title>" in page


def test_shares_of_a_card_name_the_loans_that_they_are_of(candidate: Candidate) -> None:
    page = pack_page(candidate.pack, candidate.model)
    assert "Shares are of all the loans learned from." in page
    assert "loans that give none are answered by the compact card." in page
