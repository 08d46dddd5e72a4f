"""A final refit: judged on the later loans first, then fitted once more on every loan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from xml.etree import ElementTree as ET

import msgspec
import numpy as np
import pytest

from alama.core import model
from alama.core.kernel import Words
from alama.training.history.loans import History
from alama.training.making.make import Part
from alama.training.pilot import Candidate, PilotOrder, learn, refitted, split_history, train_pilot
from alama.training.population.people import PopulationOptions
from alama.training.validation import pack as packs
from alama.training.validation.figures import Measure
from alama.training.validation.gates import Gate, tightened
from alama.training.validation.pack_page import pack_page
from alama.training.validation.refit import Refit, Refitted
from bench.pilot.loans import loan_table
from tests.coarse import coarse_training
from tests.patterned import QUICK, unwatched
from tests.pilots import SEED, blocked, judged_again, lean, policy_for, read_loans

ORDER = PilotOrder(
    name="pilot",
    currency="KES",
    days_past_due=30,
    seed=SEED,
    jobs=1,
    recipe=replace(QUICK, pairs=0),
    refit=True,
)
EVERY_GATE_BUT_THE_LAST = [gate for gate in Gate if gate is not Gate.REFIT]

# One worker trains once for all of them.
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("pilot-refit")]


@pytest.fixture(scope="module", autouse=True)
def coarse() -> Iterator[None]:
    """No test here is about how finely a model is made."""
    with coarse_training():
        yield


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    """Loans of people who do not exist, of whom some were not booked."""
    table = lean(loan_table(PopulationOptions(rows=8_000, seed=3)))
    read = read_loans(tmp_path_factory.mktemp("refit"), table)
    steady = read.loans.columns["balance_stability"]
    assert not isinstance(steady, Words)
    lent = steady > np.quantile(steady, 0.1)
    booked = read.booked.copy()
    booked[read.places[~lent]] = False
    kept = np.flatnonzero(lent)
    return replace(
        read,
        loans=read.loans.take(kept),
        borrowers=read.borrowers[kept],
        places=read.places[kept],
        booked=booked,
    )


@pytest.fixture(scope="module")
def alone(history: History) -> Candidate:
    """The same order without a refit."""
    return train_pilot(history, replace(ORDER, refit=False), unwatched, None, policy_for)


@pytest.fixture(scope="module")
def shares() -> list[float]:
    """What a progress bar heard while the refit was made."""
    return []


@pytest.fixture(scope="module")
def candidate(history: History, shares: list[float]) -> Candidate:
    def watch(_stage: str, share: float, _note: str) -> None:
        shares.append(share)

    return train_pilot(history, ORDER, watch, None, policy_for)


def test_without_a_refit_there_is_no_word_of_one(alone: Candidate) -> None:
    assert alone.pack.refit is None
    assert [gate.name for gate in alone.pack.gates] == EVERY_GATE_BUT_THE_LAST
    assert alone.model.lineage.refit_of is None
    assert b"refit" not in model.encode(alone.model)
    assert "refit" not in pack_page(alone.pack, alone.model)


def test_the_candidate_is_another_model_that_learned_from_every_loan_and_says_so(
    history: History, candidate: Candidate, alone: Candidate
) -> None:
    lineage = candidate.model.lineage
    assert candidate.model.id != alone.model.id
    assert model.decode(model.encode(candidate.model)) == candidate.model
    assert (lineage.rows, lineage.defaults) == (len(history.loans), history.loans.defaults)
    assert alone.model.lineage.rows < lineage.rows
    assert lineage.refit_of == alone.model.id
    assert lineage.label == f"{alone.model.lineage.label}; refitted on every loan"
    assert lineage.fingerprint == alone.model.lineage.fingerprint
    auc = made(candidate).served.figure(Measure.AUC).value
    assert lineage.metrics["as served"][0].value == pytest.approx(auc, abs=1e-5)
    assert candidate.model.booking, "who was booked is learned from all applications, too"
    assert len(candidate.model.references) == len(candidate.model.cards)


def words(page: str) -> str:
    """The page without its line breaks."""
    return " ".join(page.split())


def made(candidate: Candidate) -> Refitted:
    assert candidate.pack.refit is not None
    assert candidate.pack.refit.made is not None
    return candidate.pack.refit.made


def test_the_gates_stand_on_the_judged_model_and_the_refit_has_one_of_its_own(
    candidate: Candidate, alone: Candidate
) -> None:
    pack = candidate.pack
    assert pack.passed, pack.blocked_by
    assert pack.gates[:-1] == alone.pack.gates
    assert pack.gates[-1].name is Gate.REFIT
    assert pack.validation == alone.pack.validation
    assert (pack.split, pack.tiers, pack.overall) == (
        alone.pack.split,
        alone.pack.tiers,
        alone.pack.overall,
    )
    assert pack.model_id == candidate.model.id
    assert pack.refit is not None
    assert pack.refit.judged_model_id == alone.model.id


def test_the_pack_has_the_figures_of_the_refit_out_of_fold_and_how_far_both_agree(
    history: History, candidate: Candidate
) -> None:
    found, split = made(candidate), candidate.pack.split
    assert found.served.rows == len(history.loans)
    assert found.served.default_rate == pytest.approx(history.loans.labels.mean())
    assert found.served.predicted_rate == pytest.approx(found.served.default_rate, abs=0.01)
    assert found.served.figure(Measure.CALIBRATION_SLOPE).value == pytest.approx(1.0, abs=0.2)
    assert found.agreement.loans == split.out_of_time_loans
    assert 0.8 < found.agreement.rank_correlation < 1.0
    assert 0.0 < found.agreement.mean_change < found.agreement.largest_change
    assert 0.0 < found.agreement.other_tier < 0.5
    assert found.lead.judged_auc == pytest.approx(
        candidate.pack.validation.served.figure(Measure.AUC).value, abs=0.02
    ), "tables made without a fold are nearly the model that was judged"


def test_the_page_says_plainly_which_model_was_judged(candidate: Candidate) -> None:
    again = msgspec.json.decode(packs.encode(candidate.pack), type=packs.Pack)
    assert again == candidate.pack
    page = pack_page(again, candidate.model)
    assert again.refit is not None
    assert page.count(again.refit.judged_model_id) >= 2, "in its section, and where one signs"
    assert "fitted once more on every loan" in words(page)
    assert '<section id="refit"' in page
    ET.fromstring(page.removeprefix("<!DOCTYPE html>\n"))  # noqa: S314 our own page


def test_a_pack_from_before_there_were_refits_is_still_read(alone: Candidate) -> None:
    document = msgspec.json.decode(packs.encode(alone.pack))
    del document["refit"]
    assert msgspec.json.decode(msgspec.json.encode(document), type=packs.Pack) == alone.pack


def test_progress_rises_to_one_with_a_refit(candidate: Candidate, shares: list[float]) -> None:
    assert candidate.pack.passed
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_the_same_order_gives_the_same_refit_whatever_the_order_of_the_rows(
    history: History, candidate: Candidate
) -> None:
    backwards = np.arange(len(history.loans))[::-1]
    turned = replace(
        history,
        loans=history.loans.take(backwards),
        borrowers=history.borrowers[backwards],
        places=history.places[backwards],
    )
    assert train_pilot(turned, ORDER, unwatched, None, policy_for).model.id == candidate.model.id


def test_where_a_gate_fails_there_is_no_refit_and_the_pack_says_so(
    history: History, alone: Candidate
) -> None:
    asked = replace(ORDER, limits=tightened({"auc_low_min": 0.99}))
    found = train_pilot(history, asked, unwatched, None, policy_for)
    assert found.model.id == alone.model.id
    assert found.model.lineage.refit_of is None
    assert blocked(found.pack) == {Gate.DISCRIMINATION}
    assert [gate.name for gate in found.pack.gates] == EVERY_GATE_BUT_THE_LAST
    assert found.pack.refit == Refit(judged_model_id=alone.model.id)
    assert "no refit was made" in words(pack_page(found.pack, found.model))


def test_a_refit_that_comes_out_worse_is_blocked_by_its_own_gate(
    history: History, alone: Candidate
) -> None:
    parts = split_history(history, SEED)
    judged = learn(parts, ORDER, Part(unwatched, 0.0, 1.0))
    rng = np.random.default_rng(3)
    taught = rng.permutation(np.setdiff1d(np.arange(len(history.loans)), parts.judging))
    labels = history.loans.labels.copy()
    labels[np.sort(taught)] = labels[taught]  # what is earlier than the out-of-time part misleads
    misled = replace(history, loans=replace(history.loans, labels=labels))
    part = Part(unwatched, 0.0, 1.0)
    found = refitted(misled, parts, ORDER, judged, alone.pack, policy=policy_for, part=part)
    assert blocked(found.pack) == {Gate.REFIT}
    page = words(pack_page(found.pack, found.model))
    assert "The refit is worse, more than chance explains: its gate blocks approval." in page
    assert "cannot be signed. </strong>Not passed: refit no worse than the judged model." in page


def test_a_refitted_model_in_use_may_have_learned_from_the_loans_that_judge(
    history: History, candidate: Candidate, alone: Candidate
) -> None:
    pack = judged_again(history, alone.model, current=candidate.model)
    assert pack.current is not None
    assert pack.current.refitted
    assert "may have learned from these very loans" in words(pack_page(pack, alone.model))
    other = judged_again(history, candidate.model, current=alone.model).current
    assert other is not None
    assert not other.refitted
