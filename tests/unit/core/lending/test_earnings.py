"""What loans earn, and how sure a sum is: against the truth, which a population has."""

from __future__ import annotations

from functools import cache

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core.application import Application
from alama.core.assess import assess
from alama.core.lending import earnings
from alama.core.lending.draft import default_policy
from alama.core.lending.earnings import (
    Band,
    Earned,
    Known,
    Paired,
    Sum,
    Verdict,
    Worth,
    cut_offs,
    lost_of,
)
from alama.core.lending.offer import lay_out
from alama.core.lending.policy import Decision, Policy
from alama.core.lending.policy_check import seal
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.lending.simulation import Case, Simulation, simulate
from alama.core.memory import with_memory
from alama.core.model import ReadyModel
from alama.platform.files.packaged import builtin
from alama.training.population.people import PopulationOptions, batches
from tests.policies import random_policy
from tests.simulations import some_cases, the_model
from tests.tries import tries

RUNS = 200
GIVEN = Known(is_default=False)
LOST = Known(is_default=True)


def a_worth(**changed: float) -> Worth:
    return Worth(0.1, 1_000.0, 1_200.0, 200.0, 30.0, 20.0, 10.0, 600.0)._replace(**changed)


# ------------------------------------------------------------------------------ of one loan


@given(st.integers(0, 2**32 - 1))
@tries(40)
def test_the_money_of_a_loan_is_that_of_its_schedule_and_its_price(seed: int) -> None:
    policy = ReadyPolicy(random_policy(np.random.default_rng(seed)), the_model())
    cases = some_cases(6, seed % 1_000)
    found = simulate(the_model(), policy, policy, cases)
    income = tax = lost = 0.0
    for case in cases:
        said = assess(the_model(), policy, case.application)
        if said.decision is Decision.APPROVED:
            laid = lay_out(policy, said.offer)
            income += laid.total - laid.received
            tax += laid.tax
            lost += said.offer.expected_loss
    earned = found.new.earned
    assert earned.income == pytest.approx(income)
    assert earned.tax == pytest.approx(tax)
    assert earned.loss == pytest.approx(lost, abs=0.01 * len(cases))
    parts = earned.income - earned.funding - earned.cost - earned.tax - earned.loss
    assert earned.profit == pytest.approx(parts, abs=1e-6)


def test_a_default_loses_what_did_not_come_back_or_what_is_assumed() -> None:
    worth = a_worth()
    assert lost_of(worth, GIVEN) == 0.0
    assert lost_of(worth, LOST) == 600.0
    assert lost_of(worth, LOST._replace(returned=0.5)) == 700.0
    assert lost_of(worth, LOST._replace(returned=1.5)) == 0.0, "more than was due is no gain"


def test_a_sum_of_groups_is_that_of_all() -> None:
    rng = np.random.default_rng(3)
    parts, whole = [Earned() for _ in range(3)], Earned()
    for number in range(60):
        worth = None if number % 5 == 0 else a_worth(probability=float(rng.random()))
        known = Known(bool(rng.random() < 0.3), 0.4, 0.5) if number % 2 else None
        parts[number % 3].add(worth, known)
        whole.add(worth, known)
    together = Earned()
    for part in parts:
        together.merge(part)
    for name in Earned.__slots__:
        assert getattr(together, name) == pytest.approx(getattr(whole, name)), name


# ---------------------------------------------------------------------------- known truth


class Truth:
    """Applicants with their true risk, what two policies would lend them, and at what."""

    def __init__(self, size: int) -> None:
        ready = ReadyModel(builtin(), "KES")
        (batch, *_) = batches(PopulationOptions(rows=size, seed=11))
        self.risk = batch.column("true_default_probability").to_numpy()
        names = [field.name for field in with_memory(ready.catalogue).fields]
        rows = batch.select([n for n in batch.schema.names if n in names]).to_pylist()
        wider = _wider(default_policy("KES"))
        old, new = ReadyPolicy(default_policy("KES"), ready), ReadyPolicy(wider, ready)
        self.old: list[Worth | None] = []
        self.new: list[Worth | None] = []
        for row in rows:
            application = Application(tuple(row.get(name) for name in names))
            found = simulate(ready, old, new, [Case("", application)])
            self.old.append(_only(found.left_out, found.kept, found.old.earned))
            self.new.append(_only(found.let_in, found.kept, found.new.earned))

    def mean(self, worths: list[Worth | None]) -> float:
        """What an application truly earns on average, if a default loses what is assumed."""
        return float(
            np.mean(
                [
                    0.0 if worth is None else worth.sure - risk * worth.at_stake
                    for worth, risk in zip(worths, self.risk.tolist(), strict=True)
                ]
            )
        )


def _wider(policy: Policy) -> Policy:
    tiers = tuple(
        msgspec.structs.replace(t, score_min=max(t.score_min - 45, 300)) for t in policy.tiers
    )
    return seal(msgspec.structs.replace(policy, id="", name="wider", tiers=tiers))


def _only(_one: Earned, _both: Earned, earned: Earned) -> Worth | None:
    """Give the worth of the one loan that was summed."""
    if not earned.loans:
        return None
    return Worth(
        earned.predicted,
        earned.amount,
        earned.amount + earned.income,
        earned.income,
        earned.funding,
        earned.cost,
        earned.tax,
        earned.loss / earned.predicted if earned.predicted else 0.0,
    )


@cache
def truth() -> Truth:
    return Truth(6_000)


def inside(interval: tuple[float, float], value: float) -> bool:
    low, high = interval
    return low <= value <= high


@pytest.mark.long
def test_realised_profit_and_differences_hold_the_truth_95_times_in_100() -> None:
    known_truth, count = truth(), 3_000
    profit = apart = 0
    true_profit = count * known_truth.mean(known_truth.new)
    true_apart = true_profit - count * known_truth.mean(known_truth.old)
    for run in range(RUNS):
        rng = np.random.default_rng((41, run))
        drawn = rng.integers(0, len(known_truth.risk), count)
        defaults = rng.random(count) < known_truth.risk[drawn]
        earned, paired = Earned(), Paired()
        for at, ended in zip(drawn.tolist(), defaults.tolist(), strict=True):
            known = Known(ended)
            earned.add(known_truth.new[at], known)
            paired.add(known_truth.old[at], known_truth.new[at], known)
        profit += inside(earned.realised().interval, true_profit)
        apart += inside(paired.realised.interval, true_apart)
    assert 0.93 * RUNS <= profit <= 0.97 * RUNS, profit
    assert 0.93 * RUNS <= apart <= 0.97 * RUNS, apart


@pytest.mark.long
def test_the_weighed_default_rate_below_the_cut_off_is_that_of_all_who_are_there() -> None:
    """Old lends to its own and, by chance, to a tenth of those whom only new would lend to."""
    known_truth, chance, count = truth(), 0.1, 3_000
    below = [
        at
        for at, (old, new) in enumerate(zip(known_truth.old, known_truth.new, strict=True))
        if old is None and new is not None
    ]
    true_rate = float(known_truth.risk[below].mean())
    found, bare, covered, profits = [], [], 0, []
    for run in range(RUNS):
        rng = np.random.default_rng((43, run))
        drawn = rng.integers(0, len(known_truth.risk), count)
        explored, luck, all_lent = Earned(), rng.random((2, count)), Earned()
        for at, risk, drawn_luck, lent in zip(
            drawn.tolist(), known_truth.risk[drawn].tolist(), *luck.tolist(), strict=True
        ):
            old, new = known_truth.old[at], known_truth.new[at]
            known: Known | None = Known(drawn_luck < risk)
            if old is None:
                known = Known(drawn_luck < risk, None, chance) if lent < chance else None
                explored.add(new, known)
            all_lent.add(new, known)
        assert explored.bad_rate is not None
        assert explored.bad_rate_interval is not None
        found.append(explored.bad_rate)
        bare.append(all_lent.real_defaults / all_lent.weight)
        covered += inside(explored.bad_rate_interval, true_rate)
        profits.append(all_lent.real_profit)
    error = float(np.std(found)) / np.sqrt(RUNS)
    assert abs(float(np.mean(found)) - true_rate) < 3.0 * error
    assert 0.92 * RUNS <= covered <= 0.98 * RUNS, covered
    # Weighed, the whole of the new policy is seen too: rate and profit of all it would lend to.
    risk = known_truth.risk[[at for at, new in enumerate(known_truth.new) if new is not None]]
    error = float(np.std(bare)) / np.sqrt(RUNS)
    assert abs(float(np.mean(bare)) - float(risk.mean())) < 3.0 * error
    error = float(np.std(profits)) / np.sqrt(RUNS)
    assert abs(float(np.mean(profits)) - count * known_truth.mean(known_truth.new)) < 3.0 * error


@given(st.lists(st.tuples(st.floats(0.01, 0.9), st.booleans()), min_size=1, max_size=60))
def test_an_interval_of_a_rate_holds_the_rate_and_stays_within_0_and_1(
    drawn: list[tuple[float, bool]],
) -> None:
    earned = Earned()
    for propensity, ended in drawn:
        earned.add(a_worth(), Known(ended, None, propensity))
    assert earned.bad_rate is not None
    assert earned.bad_rate_interval is not None
    low, high = earned.bad_rate_interval
    assert 0.0 <= low <= earned.bad_rate + 1e-12
    assert earned.bad_rate - 1e-12 <= high <= 1.0


# ------------------------------------------------------------------------------- comparing


def test_the_expected_difference_is_that_of_both_profits() -> None:
    found = _simulated()
    apart = found.new.earned.profit - found.old.earned.profit
    assert found.paired.expected.value == pytest.approx(apart)
    sets = found.let_in.loans, found.left_out.loans
    assert found.kept.loans + sets[0] == found.new.earned.loans
    assert found.kept.loans + sets[1] == found.old.earned.loans


def test_equal_policies_earn_the_same_and_a_far_better_one_more() -> None:
    assert _paired([(a_worth(), a_worth())] * 50).verdict is Verdict.SAME
    better = a_worth(income=400.0)
    assert _paired([(a_worth(), better)] * 50).verdict is Verdict.MORE
    assert _paired([(better, a_worth())] * 50).verdict is Verdict.LESS
    # The same price in all, but more at stake for some: nothing can be told of a handful.
    some: Pairs = [(a_worth(), a_worth(income=201.0)), (None, a_worth(probability=0.23))]
    assert _paired(some * 5).verdict is Verdict.UNCLEAR


def test_of_few_known_outcomes_nothing_is_said() -> None:
    verdicts = []
    for known in (earnings.KNOWN_MIN - 1, earnings.KNOWN_MIN):
        paired = Paired()
        for _ in range(known):
            paired.add(None, a_worth(), GIVEN)
        verdicts.append(paired.real_verdict)
    assert verdicts == [Verdict.UNKNOWN, Verdict.MORE]


Pairs = list[tuple[Worth | None, Worth | None]]


def _paired(pairs: Pairs) -> Paired:
    paired = Paired()
    for old, new in pairs:
        paired.add(old, new, None)
    return paired


@cache
def _simulated() -> Simulation:
    plain = default_policy("KES")
    old, new = ReadyPolicy(plain, the_model()), ReadyPolicy(_wider(plain), the_model())
    return simulate(the_model(), old, new, some_cases(300))


# -------------------------------------------------------------------------------- cut-offs


def test_the_best_cut_off_is_the_one_with_the_largest_profit_above_it() -> None:
    bands = {600: [0.05, 0.05], 590: [0.05], 580: [0.9], 570: [0.05, 0.9, 0.9]}
    made: dict[int, Band] = {}
    for low, risks in bands.items():
        made[low] = Band()
        for risk in risks:
            made[low].count += 1
            made[low].earned.add(a_worth(probability=risk), None)
    table = cut_offs(made)
    assert [one.low for one in table] == [600, 590, 580, 570]
    assert [one.above.loans for one in table] == [2, 3, 4, 7]
    assert [one.is_best for one in table] == [False, True, False, False]
    assert max(one.above.profit for one in table) == table[1].above.profit
    assert not cut_offs({})


def test_every_band_counts_whom_nothing_but_a_score_may_keep_out() -> None:
    found = _simulated()
    assert sum(band.count for band in found.bands.values()) == found.count
    approved = sum(band.approved for band in found.bands.values())
    assert approved == found.new.earned.loans
    table = cut_offs(found.bands)
    assert table[-1].above.loans >= approved
    assert all(one.approved <= one.lendable <= one.applications for one in table)


def test_a_sum_of_one_has_no_spread() -> None:
    assert Sum(5.0, 25.0, 1).interval == (5.0, 5.0)
