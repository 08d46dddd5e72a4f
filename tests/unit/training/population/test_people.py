import hashlib
import importlib
import math
import os
import subprocess
import sys
from dataclasses import fields, replace
from datetime import date
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from alama.core.model import REFERENCE_INFLOW_MONTHLY
from alama.core.product import PRODUCT
from alama.training.population.applicants import CHANNELS, KENYAN_REGIONS, TERMS_DAYS
from alama.training.population.people import (
    CHUNK_ROWS,
    FIRST_DAY,
    LAST_DAY,
    PopulationOptions,
    batches,
    schema,
)
from alama.training.population.truth import (
    DEVICE_TYPES,
    LOAN_PURPOSES,
    Loans,
    three_way_effect,
    true_default_probability,
)
from alama.training.portable import exponential

# One worker makes what the tests here share, once.
pytestmark = pytest.mark.xdist_group("people")

KES = float(REFERENCE_INFLOW_MONTHLY["KES"])
FIELDS = tuple(field.name for field in fields(Loans))


def table(rows: int, seed: int = 11, **options: Any) -> pa.Table:
    chosen = PopulationOptions(rows=rows, seed=seed, **options)
    return pa.Table.from_batches(list(batches(chosen)), schema(chosen))


def numbers(population: pa.Table, name: str) -> npt.NDArray[np.float64]:
    column = population.column(name).cast(pa.float64())
    return column.to_numpy(zero_copy_only=False)


def present(population: pa.Table, name: str) -> npt.NDArray[np.bool_]:
    valid: npt.NDArray[np.bool_] = population.column(name).is_valid().to_numpy()
    return valid


def complete(population: pa.Table) -> npt.NDArray[np.bool_]:
    rows = np.ones(population.num_rows, dtype=np.bool_)
    for name in FIELDS:
        rows &= present(population, name)
    return rows


def loans_of(population: pa.Table) -> Loans:
    """The rows of a table without gaps, as the truth wants them."""
    words = {"device_type": DEVICE_TYPES, "loan_purpose": LOAN_PURPOSES, "region": KENYAN_REGIONS}
    columns: dict[str, npt.NDArray[Any]] = {}
    for name in FIELDS:
        column = population.column(name)
        if name in words:
            positions = {word: position for position, word in enumerate(words[name])}
            columns[name] = np.array([positions[str(word)] for word in column.to_pylist()])
        else:
            columns[name] = column.to_numpy()
    return Loans(**columns)


@pytest.fixture(scope="module")
def people() -> pa.Table:
    return table(200_000)


@pytest.fixture(scope="module")
def whole(people: pa.Table) -> pa.Table:
    return people.filter(pa.array(complete(people)))


# ------------------------------------------------------------------------------ the same rows


def test_the_same_seed_gives_the_same_rows() -> None:
    assert table(1_000).equals(table(1_000))


def test_another_seed_gives_other_rows() -> None:
    first, second = table(1_000, seed=1), table(1_000, seed=2)
    assert not np.array_equal(numbers(first, "avg_inflow"), numbers(second, "avg_inflow"))


@pytest.mark.parametrize("rows", [1, CHUNK_ROWS - 1, CHUNK_ROWS, CHUNK_ROWS + 1])
def test_the_first_rows_do_not_depend_on_how_many_follow(rows: int) -> None:
    assert table(rows).equals(table(2 * CHUNK_ROWS).slice(0, rows))


def test_chunks_differ_from_one_another() -> None:
    first, second = batches(PopulationOptions(rows=2 * CHUNK_ROWS, seed=1))
    assert not first.column("avg_inflow").equals(second.column("avg_inflow"))


FINGERPRINT = """
import hashlib
import pyarrow as pa
from alama.training.population.people import PopulationOptions, batches
digest = hashlib.sha256()
for batch in batches(PopulationOptions(rows=20_000, seed=5, drift=0.5, prior_policy=True)):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    digest.update(sink.getvalue())
print(digest.hexdigest())
"""


def fingerprint(**environment: str) -> str:
    finished = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FINGERPRINT],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return finished.stdout.strip()


def test_rows_are_equal_bit_for_bit_on_lesser_processors() -> None:
    numpy_core: Any = importlib.import_module("numpy._core._multiarray_umath")
    # NumPy refuses to disable what the machine lacks, so only what it would really use is named.
    features: dict[str, bool] = numpy_core.__cpu_features__
    used = [name for name in numpy_core.__cpu_dispatch__ if features.get(name)]
    plain = fingerprint(
        NPY_DISABLE_CPU_FEATURES=" ".join(used),
        GLIBC_TUNABLES="glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F",
    )
    assert plain == fingerprint()
    assert len(plain) == hashlib.sha256().digest_size * 2


@given(st.floats(-60, 60))
def test_the_portable_exponential_is_the_exponential(x: float) -> None:
    assert exponential(np.array([x]))[0] == pytest.approx(math.exp(x), rel=1e-13)


def test_one_seed_gives_the_same_people_in_every_currency() -> None:
    kenya, ghana = table(5_000), table(5_000, currency="GHS")
    ratio = KES / REFERENCE_INFLOW_MONTHLY["GHS"]
    assert numbers(ghana, "avg_inflow") * ratio == pytest.approx(
        numbers(kenya, "avg_inflow"), abs=0.006 * ratio
    )
    assert numbers(ghana, "true_default_probability") == pytest.approx(
        numbers(kenya, "true_default_probability"), abs=1e-4
    )
    assert "Nairobi" not in ghana.column("region").to_pylist()


# ------------------------------------------------------------------------------ the truth


def test_about_twelve_in_a_hundred_default(people: pa.Table) -> None:
    assert numbers(people, "default").mean() == pytest.approx(0.12, abs=0.007)
    assert numbers(people, "true_default_probability").mean() == pytest.approx(0.12, abs=0.004)


def test_the_true_probability_separates_as_a_good_score_does(people: pa.Table) -> None:
    auc = roc_auc_score(numbers(people, "default"), numbers(people, "true_default_probability"))
    assert 0.76 < auc < 0.80


def test_true_probabilities_are_those_of_lending(people: pa.Table) -> None:
    low, high = np.quantile(numbers(people, "true_default_probability"), [0.01, 0.98])
    assert low > 0.008
    assert high < 0.6


def test_outcomes_follow_the_true_probability(people: pa.Table) -> None:
    risk, outcome = numbers(people, "true_default_probability"), numbers(people, "default")
    for group in np.array_split(np.argsort(risk), 20):
        spread = math.sqrt(float(np.mean(risk[group] * (1 - risk[group]))) / len(group))
        assert outcome[group].mean() == pytest.approx(risk[group].mean(), abs=4 * spread)


def test_anybody_can_work_out_the_truth_from_a_complete_row(whole: pa.Table) -> None:
    again = true_default_probability(loans_of(whole), reference_inflow=KES)
    assert np.array_equal(again, numbers(whole, "true_default_probability"))


def test_the_three_way_effect_is_modest(whole: pa.Table) -> None:
    assert 0.08 < three_way_effect(loans_of(whole), reference_inflow=KES).std() < 0.12


DIRECTIONS = {
    "mm_months": -1,
    "avg_inflow": -1,
    "avg_balance": -1,
    "balance_stability": -1,
    "counterparties": -1,
    "airtime_regularity": -1,
    "requested_amount": 1,
}

money = st.floats(0, 1e7) | st.floats(0, 1e12)
share = st.floats(0, 1)
CONTEXT = st.fixed_dictionaries(
    {
        "mm_months": st.integers(0, 600),
        "avg_inflow": money,
        "avg_outflow": money,
        "avg_balance": money,
        "balance_stability": share,
        "counterparties": st.integers(0, 10**6),
        "tx_frequency": st.floats(0, 1e5),
        "weekend_activity": share,
        "airtime_avg": st.floats(0, 1e9),
        "airtime_freq": st.floats(0, 1e4),
        "airtime_regularity": share,
        "device_type": st.integers(0, len(DEVICE_TYPES) - 1),
        "device_age_months": st.integers(0, 600),
        "requested_amount": st.floats(0.01, 1e12),
        "requested_term_days": st.integers(1, 3650),
        "loan_purpose": st.integers(0, len(LOAN_PURPOSES) - 1),
        "region": st.integers(0, len(KENYAN_REGIONS) - 1),
    }
)


@given(CONTEXT, CONTEXT, st.sampled_from(sorted(DIRECTIONS)))
def test_the_truth_is_monotone_in_every_context(
    context: dict[str, float], other: dict[str, float], field: str
) -> None:
    low, high = sorted([context[field], other[field]])
    loans = Loans(**{name: np.array([value, value]) for name, value in context.items()})
    loans = replace(loans, **{field: np.array([low, high])})

    below, above = true_default_probability(loans, reference_inflow=KES)

    assert DIRECTIONS[field] * (above - below) >= 0


@pytest.mark.parametrize("field", sorted(DIRECTIONS))
def test_each_direction_is_felt_by_real_applicants(whole: pa.Table, field: str) -> None:
    loans = loans_of(whole.slice(0, 10_000))
    better = replace(loans, **{field: getattr(loans, field) * 0.8})
    before = true_default_probability(loans, reference_inflow=KES)
    after = true_default_probability(better, reference_inflow=KES)
    assert np.all(DIRECTIONS[field] * (before - after) >= 0)
    assert np.abs(before - after).mean() > 0.0005


# ------------------------------------------------------------------------------ the fields


def test_columns_are_the_fields_and_what_is_known_of_the_loan(people: pa.Table) -> None:
    known = ("applied_on", "default", "true_default_probability")
    assert tuple(people.column_names) == (*FIELDS, *known)


def test_values_lie_within_the_catalogue(people: pa.Table) -> None:
    for field in PRODUCT.fields:
        if field.name not in FIELDS or pa.types.is_string(people.schema.field(field.name).type):
            continue
        values = numbers(people, field.name)[present(people, field.name)]
        assert values.min() >= (0 if field.minimum is None else field.minimum)
        assert values.max() <= (math.inf if field.maximum is None else field.maximum)
    assert pc.min(people.column("requested_amount")).as_py() > 0


def test_people_ask_for_round_amounts_and_usual_terms(people: pa.Table) -> None:
    amounts = numbers(people, "requested_amount")[present(people, "requested_amount")]
    assert np.all(amounts % 500 == 0)
    assert np.all(amounts[amounts > 10_000] % 1_000 == 0)
    terms = set(people.column("requested_term_days").drop_null().to_pylist())
    assert terms == set(TERMS_DAYS)


def test_some_files_are_thin_and_some_wallets_asleep(people: pa.Table) -> None:
    assert 0.05 < (numbers(people, "mm_months") < 6).mean() < 0.2
    assert 0.005 < (numbers(people, "avg_inflow") == 0).mean() < 0.04


def test_incomes_are_skewed_and_fields_hang_together(whole: pa.Table) -> None:
    inflow, outflow = numbers(whole, "avg_inflow"), numbers(whole, "avg_outflow")
    assert inflow.mean() > 1.15 * float(np.median(inflow))
    assert np.corrcoef(inflow, outflow)[0, 1] > 0.7
    steadiness, rhythm = numbers(whole, "balance_stability"), numbers(whole, "airtime_regularity")
    assert 0.15 < np.corrcoef(steadiness, rhythm)[0, 1] < 0.6


def test_applications_span_the_documented_two_years(people: pa.Table) -> None:
    days = people.column("applied_on")
    assert pc.min(days).as_py() == FIRST_DAY == date(2023, 7, 1)
    assert pc.max(days).as_py() == LAST_DAY == date(2025, 6, 30)


# ------------------------------------------------------------------------------ the gaps


def patterns(population: pa.Table) -> dict[frozenset[str], npt.NDArray[np.bool_]]:
    gaps = np.array([~present(population, name) for name in FIELDS])
    code = (gaps * (1 << np.arange(len(FIELDS)))[:, None]).sum(axis=0)
    return {
        frozenset(name for i, name in enumerate(FIELDS) if value >> i & 1): code == value
        for value in np.unique(code).tolist()
    }


def test_the_core_fields_are_never_missing(people: pa.Table) -> None:
    core = ("mm_months", "avg_inflow", "balance_stability", "airtime_regularity")
    assert all(people.column(name).null_count == 0 for name in core)


def test_most_rows_are_complete_and_every_channel_is_common(people: pa.Table) -> None:
    found = patterns(people)
    assert found[frozenset()].mean() >= 0.55
    for left_out in CHANNELS.values():
        assert found[frozenset(left_out)].mean() >= 0.03


def test_fields_go_missing_where_the_risk_is_higher(people: pa.Table) -> None:
    risk, whole_row = numbers(people, "true_default_probability"), complete(people)
    assert risk[~whole_row].mean() > 1.15 * risk[whole_row].mean()
    found = patterns(people)
    for channel in ("ussd", "agent", "compact"):
        assert risk[found[frozenset(CHANNELS[channel])]].mean() > 1.15 * risk[whole_row].mean()
    assert risk[found[frozenset({"avg_balance"})]].mean() > 1.1 * risk[whole_row].mean()


# ------------------------------------------------------------------------------ drift, policy


def test_drift_lowers_incomes_and_raises_gaps_and_risk_over_time() -> None:
    drifting = table(100_000, drift=1.0)
    day = drifting.column("applied_on").cast(pa.int32()).to_numpy()
    early, late = day < np.quantile(day, 0.25), day > np.quantile(day, 0.75)

    def change(values: npt.NDArray[Any]) -> float:
        return float(values[late].mean() / values[early].mean())

    assert change(numbers(drifting, "avg_inflow")) < 0.8
    assert change(numbers(drifting, "true_default_probability")) > 1.2
    assert change(numbers(drifting, "default")) > 1.2
    assert change(~complete(drifting)) > 1.15


def test_without_drift_nothing_moves_over_time(people: pa.Table) -> None:
    day = people.column("applied_on").cast(pa.int32()).to_numpy()
    late = day > np.median(day)
    for name in ("avg_inflow", "true_default_probability"):
        values = numbers(people, name)
        assert values[late].mean() == pytest.approx(values[~late].mean(), rel=0.02)


def test_an_earlier_policy_hides_the_outcomes_of_those_it_refused(people: pa.Table) -> None:
    seen = table(people.num_rows, prior_policy=True)
    booked = numbers(seen, "booked") == 1

    assert booked.mean() == pytest.approx(0.6, abs=0.02)
    assert np.array_equal(present(seen, "default"), booked)
    assert seen.drop_columns(["booked", "default"]).equals(people.drop_columns(["default"]))
    assert np.array_equal(numbers(seen, "default")[booked], numbers(people, "default")[booked])


def test_the_earlier_policy_saw_something_the_fields_do_not_show(people: pa.Table) -> None:
    seen = table(people.num_rows, prior_policy=True)
    booked = numbers(seen, "booked") == 1
    risk, outcome = numbers(people, "true_default_probability"), numbers(people, "default")
    assert outcome[booked].mean() < 0.9 * risk[booked].mean()
    assert outcome[~booked].mean() > 1.05 * risk[~booked].mean()
