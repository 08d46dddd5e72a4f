"""A history that an earlier policy booked: whom its loans do not reach goes to a person.

The true risk of everyone is known here, so that what is left can be held against it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from alama.core import kernel
from alama.core import model as models
from alama.core.lending.draft import default_policy
from alama.core.lending.policy_check import seal
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import Model, ReadyModel
from alama.training.history.loans import History
from alama.training.pilot import Candidate, PilotOrder, train_pilot
from alama.training.population.people import PopulationOptions
from alama.training.validation import pack as packs
from alama.training.validation.figures import served_points
from alama.training.validation.pack_page import pack_page
from alama.training.validation.support import decide_rows
from bench.pilot.__main__ import Fresh, fresh_applications
from bench.pilot.loans import loan_table
from tests.coarse import coarse_training
from tests.patterned import QUICK, unwatched
from tests.pilots import SEED, judged_again, policy_for, read_loans

# One worker trains the candidate that the tests here share, once.
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("booked-support")]

ORDER = PilotOrder(
    name="pilot",
    currency="KES",
    days_past_due=30,
    seed=SEED,
    jobs=1,
    recipe=replace(QUICK, pairs=0, learning_rate=0.3),
)
CHOSEN_BY = {"mm_months", "avg_inflow", "balance_stability", "requested_amount"}
"""The fields that the earlier policy of the population looks at."""


@pytest.fixture(scope="module", autouse=True)
def coarse() -> Iterator[None]:
    """No test here is about how finely a model is made."""
    with coarse_training():
        yield


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    people = PopulationOptions(rows=12_000, seed=5, prior_policy=True)
    return read_loans(tmp_path_factory.mktemp("booked"), loan_table(people))


@pytest.fixture(scope="module")
def candidate(history: History) -> Candidate:
    return train_pilot(history, ORDER, unwatched, None, policy_for)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Fresh:
    people = PopulationOptions(rows=12_000, seed=77, prior_policy=True)
    return fresh_applications(tmp_path_factory.mktemp("fresh"), people)


def said_of(model: Model, fresh: Fresh) -> NDArray[np.float64]:
    points, _ = served_points(model, fresh.data.columns, len(fresh.data), "KES")
    return kernel.probabilities(points)


def test_whom_the_history_does_not_reach_goes_to_a_person_and_the_rest_is_nearer_to_the_truth(
    candidate: Candidate, fresh: Fresh
) -> None:
    decided = decide_rows(policy_for(candidate.model), fresh.data.columns, len(fresh.data))
    outside = decided.seldom
    assert not np.any(decided.approved & outside)
    assert np.mean(outside[~fresh.booked]) > 0.35
    assert np.mean(outside[fresh.booked]) < 0.1
    gaps = fresh.truth - said_of(candidate.model, fresh)
    over_all, inside, beyond = (np.mean(gaps[rows]) for rows in (outside | True, ~outside, outside))
    assert inside < 0.5 * over_all
    assert beyond > 2.0 * over_all, "those left to a person are those it knows nothing about"


def test_the_model_keeps_who_was_booked_for_each_card(candidate: Candidate) -> None:
    model = models.decode(models.encode(candidate.model))
    assert [known.card for known in model.booking] == ["compact", "full"]
    assert model == candidate.model


def test_the_pack_says_who_is_outside_and_by_which_fields(candidate: Candidate) -> None:
    pack = msgspec.json.decode(packs.encode(candidate.pack), type=packs.Pack)
    assert pack == candidate.pack
    support, found = pack.support, pack.selection
    assert support is not None
    assert support.outside_approved == 0
    # A score declines none of them: what does is that no loan can be repaid.
    assert 0 < support.outside_declined < 0.1 * support.outside
    assert found.outside_approved == 0
    assert support.outside_booked < support.outside < found.applications
    assert found.outside_booked >= support.outside_booked / found.booked
    assert {one.field for one in support.kept_out[:2]} <= CHOSEN_BY
    assert sum(one.share for one in support.kept_out) == pytest.approx(1.0)
    assert support.loans_inside.loans + support.loans_outside.loans == pack.split.out_of_time_loans
    assert support.loans_inside.predicted < support.predicted


def test_the_page_shows_what_keeps_people_out_and_how_the_model_does_inside(
    candidate: Candidate,
) -> None:
    page = pack_page(candidate.pack, candidate.model)
    assert "What keeps people out" in page
    assert "Calibration inside and outside" in page
    assert "Nobody outside is approved or declined by a score" in page


def test_a_cut_off_of_the_earlier_policy_is_named_on_the_page(
    history: History, candidate: Candidate
) -> None:
    known = candidate.model.booking[-1]
    ended = msgspec.structs.replace(known.fields[0], lowest=3.0)
    booking = msgspec.structs.replace(known, fields=(ended, *known.fields[1:]))
    model = models.seal(
        msgspec.structs.replace(candidate.model, booking=(candidate.model.booking[0], booking))
    )
    pack = judged_again(history, model)
    assert pack.support is not None
    (end,) = pack.support.ends
    assert (end.field, end.lowest, end.highest) == ("mm_months", 3.0, None)
    assert "Next to nobody below" in pack_page(pack, model)


def test_a_policy_that_does_not_look_is_found_out(history: History, candidate: Candidate) -> None:
    asked = default_policy("KES")
    blind = msgspec.structs.replace(asked.sufficiency, unlike_share=None)
    policy = seal(msgspec.structs.replace(asked, sufficiency=blind))
    ready = ReadyPolicy(policy, ReadyModel(candidate.model, "KES"))
    pack = judged_again(history, candidate.model, lambda _model: ready)
    assert pack.support is not None
    assert pack.support.outside_approved > 0
    assert "unlike_share is not set" in pack_page(pack, candidate.model)
