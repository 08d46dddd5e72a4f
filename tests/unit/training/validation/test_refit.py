"""A refit beside the model that was judged, fold by fold on loans that neither has seen."""

from __future__ import annotations

import numpy as np
import pytest

from alama.core.kernel import probabilities, shown_scores
from alama.core.lending.draft import default_policy
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel
from alama.platform.files.packaged import builtin
from alama.training.validation.gates import Gate, judge_refit
from alama.training.validation.metrics import Floats, Labels
from alama.training.validation.refit import agreement_of, lead_of
from alama.training.validation.tiers import tier_places

ROWS = 3_000
FOLDS = (np.arange(ROWS) % 6).astype(np.int8)
Loans = tuple[Labels, Floats]


@pytest.fixture(scope="module")
def loans() -> Loans:
    rng = np.random.default_rng(5)
    points = rng.normal(640.0, 60.0, ROWS)
    labels = (rng.random(ROWS) < probabilities(points)).astype(np.int8)
    return labels, points


def test_a_refit_that_says_the_same_is_neither_ahead_nor_behind(loans: Loans) -> None:
    labels, points = loans
    lead = lead_of(labels, points, points, FOLDS)
    assert (lead.auc_ahead, lead.log_loss_added) == (0.0, 0.0)
    gate = judge_refit(lead)
    assert gate.passed
    assert gate.name is Gate.REFIT
    assert gate.measured == 0.0


def test_a_refit_that_ranks_worse_than_chance_allows_is_blocked_by_its_gate(loans: Loans) -> None:
    labels, points = loans
    noisy = points + np.random.default_rng(6).normal(0.0, 80.0, ROWS)
    lead = lead_of(labels, noisy, points, FOLDS)
    assert lead.auc == pytest.approx(lead.judged_auc + lead.auc_ahead)
    assert lead.auc_interval.high < 0.0
    gate = judge_refit(lead)
    assert not gate.passed
    assert gate.measured == lead.auc_ahead
    assert "ranks" in gate.words


def test_a_refit_that_ranks_alike_at_another_level_is_blocked_too(loans: Loans) -> None:
    labels, points = loans
    lead = lead_of(labels, points - 40.0, points, FOLDS)
    assert lead.auc_ahead == 0.0
    assert lead.log_loss_interval.low > 0.0
    gate = judge_refit(lead)
    assert not gate.passed
    assert "probabilities" in gate.words


def test_a_refit_that_is_worse_within_chance_or_better_passes(loans: Loans) -> None:
    labels, points = loans
    one, other = points + np.random.default_rng(8).normal(0.0, 20.0, (2, ROWS))
    leads = []
    for refit, judged in ((one, other), (other, one), (points, one), (points, points - 40.0)):
        leads.append(lead_of(labels, refit, judged, FOLDS))
        assert judge_refit(leads[-1]).passed
    assert min(leads[0].auc_ahead, leads[1].auc_ahead) < 0.0, "one of the two is worse by chance"


def test_what_is_worse_in_one_fold_alone_is_the_luck_of_its_tables(loans: Loans) -> None:
    labels, points = loans
    noise = np.random.default_rng(6).normal(0.0, 120.0, ROWS)
    lead = lead_of(labels, points + noise * (FOLDS == 0), points, FOLDS)
    assert lead.auc_ahead < -0.01
    assert lead.auc_interval.low < lead.auc_ahead < lead.auc_interval.high
    assert judge_refit(lead).passed


def test_a_fold_without_both_outcomes_says_nothing(loans: Loans) -> None:
    labels, points = loans
    repaid = np.where(FOLDS == 0, np.int8(0), labels)
    found = lead_of(repaid, points, points - 40.0, FOLDS)
    rest = FOLDS != 0
    assert found == lead_of(labels[rest], points[rest], points[rest] - 40.0, FOLDS[rest])


def test_agreement_is_of_scores_as_they_are_shown_and_of_tiers() -> None:
    policy = ReadyPolicy(default_policy("KES"), ReadyModel(builtin(), "KES"))
    before = np.linspace(380.0, 780.0, 401)
    after = before.copy()
    after[::2] += 3.0
    after[7] -= 25.0
    found = agreement_of(policy, after, policy, before)
    assert found.loans == 401
    changes = np.abs(shown_scores(after) - shown_scores(before))
    assert found.mean_change == changes.mean()
    assert found.largest_change == 25.0
    moved = tier_places(policy, after) != tier_places(policy, before)
    assert found.other_tier == moved.mean() > 0.0
    assert 0.99 < found.rank_correlation < 1.0
    same = agreement_of(policy, before, policy, before)
    assert (same.mean_change, same.largest_change, same.other_tier) == (0.0, 0.0, 0.0)
    assert same.rank_correlation == pytest.approx(1.0)
