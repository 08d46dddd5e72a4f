"""What a candidate is worth: cut-offs, amounts, losses, the present score, chance, stress."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from alama.core.product import PRODUCT
from alama.platform.files.packaged import builtin
from alama.training.history.loans import History, Options
from alama.training.money import TIMES_MAX, LoanMoney
from alama.training.pilot import split_history
from alama.training.population.people import PopulationOptions
from alama.training.validation import pack as packs
from alama.training.validation.money import Money, gains
from alama.training.validation.pack import Pack
from alama.training.validation.pack_page import pack_page
from bench.pilot.loans import loan_table
from tests.pilots import SEED, TODAY, judged_again, read_loans

PEOPLE = PopulationOptions(rows=3_000, seed=4)
LOST = 0.7


def told(table: pa.Table, chance: float) -> pa.Table:
    """Add what came back, a score that knows something, and whom chance chose."""
    rng = np.random.default_rng(5)
    asked = np.array(table.column("requested_amount").to_pylist(), dtype=np.float64)
    inflow = np.array(table.column("avg_inflow").to_pylist(), dtype=np.float64)
    drawn = np.where(rng.random(len(table)) < 0.1, chance, np.nan)
    for name, values in (
        ("repaid_amount", np.round(asked * (1.0 - LOST), 2)),
        ("present_score", -inflow),
        ("propensity", drawn),
    ):
        table = table.append_column(name, pa.array(values, from_pandas=True))
    return table


def read(folder: Path, table: pa.Table) -> History:
    return read_loans(folder, table, Options(region=True, today=TODAY))


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    return read(tmp_path_factory.mktemp("money"), told(loan_table(PEOPLE), 0.25))


@pytest.fixture(scope="module")
def pack(history: History) -> Pack:
    return judged_again(history, builtin())


@pytest.fixture(scope="module")
def money(pack: Pack) -> Money:
    assert pack.money is not None
    return pack.money


def test_tenths_cover_all_loans_and_end_with_every_default_accepted(pack: Pack) -> None:
    assert pack.money is not None
    found = pack.money.gains
    assert sum(band.loans for band in found) == pack.overall.loans
    assert sum(band.defaults for band in found) == pack.overall.defaults
    assert found[-1].accepted == 1.0
    assert found[-1].caught == 0.0
    assert found[-1].accepted_rate == pytest.approx(pack.overall.observed)
    scores = [band.score_from for band in found]
    assert scores == sorted(scores, reverse=True)


def test_equal_scores_are_never_parted() -> None:
    labels = np.array([0, 1] * 50, dtype=np.int8)
    (band,) = gains(labels, np.full(100, 600.0))
    assert (band.loans, band.defaults, band.lift) == (100, 50, 1.0)


def test_the_loss_of_defaults_is_what_did_not_come_back(money: Money) -> None:
    assert money.loss is not None
    assert money.loss.share == pytest.approx(LOST, abs=0.001)
    assert money.loss.assumed == 0.6


def test_rates_of_the_money_are_weighed_by_amount(money: Money) -> None:
    by_amount = money.by_amount
    assert by_amount is not None
    assert by_amount.observed_interval.low < by_amount.observed < by_amount.observed_interval.high
    assert by_amount.gini_interval.low < by_amount.gini < by_amount.gini_interval.high


def test_a_present_score_is_compared_whichever_way_round_it_is(money: Money) -> None:
    present = money.present
    assert present is not None
    assert not present.rises
    assert present.ahead == pytest.approx(present.candidate_auc - present.auc)
    assert present.ahead_interval.low < present.ahead < present.ahead_interval.high


def test_worse_times_cost_more_the_worse_they_are(money: Money) -> None:
    found = {one.name: one for one in money.stressed}
    assert len(found) == 6
    base = found["as predicted"]
    for mild, hard in (
        ("inflow down by a fifth", "inflow down by two fifths"),
        ("odds of default up by half", "odds of default doubled"),
        ("odds of default up by half", "inflow down by a fifth, odds up by half"),
    ):
        assert base.default_rate < found[mild].default_rate < found[hard].default_rate
        assert base.profit > found[mild].profit > found[hard].profit
    for one in found.values():
        assert one.profit + one.loss == pytest.approx(base.profit + base.loss), "prices stay"


def test_loans_given_by_chance_teach_as_often_as_they_stand_for(history: History) -> None:
    parts = split_history(history, SEED)
    assert parts.facts.explored > 50
    assert len(parts.split.learning) == parts.facts.learning_loans + 3 * parts.facts.explored
    assert len(parts.holdout) == parts.facts.out_of_time_loans, "nobody judges twice"


def test_no_loan_teaches_more_than_so_often_and_parts_of_one_are_drawn() -> None:
    chance = np.array([np.nan, 1.0, 0.4] + [0.001] * 3 + [0.4] * 20_000)
    nothing = np.full(len(chance), np.nan)
    times = LoanMoney(nothing, nothing, chance, nothing).times(7)
    assert times[:2].tolist() == [1, 1]
    assert set(times[3:6].tolist()) == {TIMES_MAX}
    assert set(times[6:].tolist()) == {2, 3}
    assert times[6:].mean() == pytest.approx(2.5, abs=0.02)


def test_what_chance_chose_is_told_beside_what_was_predicted(pack: Pack, money: Money) -> None:
    assert money.explored is not None
    assert money.explored.stand_for == pytest.approx(4.0 * money.explored.loans)
    shown = pack_page(pack, builtin())
    assert "were given by chance; weighed by it they stand for" in shown


def test_what_the_file_does_not_say_is_said_to_be_unknown(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    plain = read(tmp_path_factory.mktemp("plain"), loan_table(PEOPLE))
    pack = judged_again(plain, builtin())
    assert pack.money is not None
    assert (pack.money.loss, pack.money.present, pack.money.explored) == (None, None, None)
    shown = pack_page(pack, builtin())
    for words in ("(repaid_amount)", "no present_score", "(propensity)"):
        assert words in shown


def test_what_is_looked_at_for_its_worth_is_no_input(history: History) -> None:
    assert not {"repaid_amount", "present_score", "propensity"} & set(history.loans.columns)
    assert not {"repaid_amount", "present_score", "propensity"} & set(PRODUCT.position)


def test_a_pack_of_before_is_read(pack: Pack) -> None:
    old = msgspec.to_builtins(pack)
    del old["money"]
    del old["split"]["explored"]
    again = msgspec.convert(old, Pack)
    assert again.money is None
    assert "What it is worth" not in pack_page(again, builtin())
    assert packs.encode(again)
