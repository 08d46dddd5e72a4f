"""Each gate lets the sound through, stops what it is made for, and can only be tightened."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core.lending.policy import Decision
from alama.training.validation.gates import (
    FOR_EVERYONE,
    Gate,
    GateResult,
    Gates,
    InvalidGate,
    Measured,
    judge_gates,
    limits_text,
    tightened,
)
from alama.training.validation.tiers import Light, TierRate, jeffreys


def tier(name: str, loans: int, defaults: int) -> TierRate:
    rate = defaults / max(loans, 1)
    return TierRate(
        name,
        600,
        Decision.APPROVED,
        loans,
        defaults,
        rate,
        rate,
        jeffreys(defaults, loans),
        1.0,
        Light.GREEN,
    )


SOUND = Measured(
    defaults=900,
    out_of_time_defaults=180,
    auc=0.72,
    auc_low=0.68,
    slope=1.02,
    predicted_rate=0.11,
    observed_rate=0.10,
    tiers=(tier("A", 400, 10), tier("B", 500, 40), tier("C", 200, 50)),
    score_psi=0.03,
    recent_psi=0.04,
    suspects_kept=(),
)


def failed(measured: Measured, limits: Gates = FOR_EVERYONE) -> set[Gate]:
    return {result.name for result in judge_gates(measured, limits) if not result.passed}


def test_a_sound_candidate_passes_every_gate() -> None:
    assert failed(SOUND) == set()


def test_each_fault_is_stopped_by_its_own_gate(subtests: pytest.Subtests) -> None:
    faults: list[tuple[dict[str, Any], Gate]] = [
        ({"defaults": 299}, Gate.EVIDENCE),
        ({"out_of_time_defaults": 149}, Gate.EVIDENCE),
        ({"auc_low": 0.5999}, Gate.DISCRIMINATION),
        ({"slope": 0.79}, Gate.SLOPE),
        ({"slope": 1.21}, Gate.SLOPE),
        ({"predicted_rate": 0.079}, Gate.LEVEL),
        ({"predicted_rate": 0.126}, Gate.LEVEL),
        ({"observed_rate": 0.0}, Gate.LEVEL),
        ({"tiers": (tier("A", 400, 40), tier("B", 500, 25))}, Gate.TIERS),
        ({"tiers": (tier("A", 1_000, 90), tier("B", 49, 4))}, Gate.TIERS),
        ({"score_psi": 0.25}, Gate.STABILITY),
        ({"suspects_kept": ("avg_balance",)}, Gate.LEAKAGE),
        ({"auc_low": math.nan}, Gate.DISCRIMINATION),
        ({"slope": math.nan}, Gate.SLOPE),
        ({"score_psi": math.nan}, Gate.STABILITY),
        ({"recent_psi": 0.25}, Gate.STABILITY),
        ({"recent_psi": math.nan}, Gate.STABILITY),
    ]
    for change, gate in faults:
        with subtests.test(change=change, gate=gate):
            assert failed(replace(SOUND, **change)) == {gate}


def tiers_result(*tiers: TierRate) -> GateResult:
    results = judge_gates(replace(SOUND, tiers=tiers), FOR_EVERYONE)
    return next(result for result in results if result.name is Gate.TIERS)


def test_a_tier_of_few_loans_is_pooled_with_its_neighbour_and_it_is_said() -> None:
    found = tiers_result(tier("A", 400, 10), tier("B", 20, 5), tier("C", 200, 50))
    assert found.passed
    assert "B with C 25.0%" in found.words
    assert "Taken together for want of loans: B with C." in found.words


def test_thin_tiers_count_and_are_not_skipped() -> None:
    # Each of B and C is thin; together they default less than A above them.
    found = tiers_result(tier("A", 400, 60), tier("B", 30, 1), tier("C", 30, 1), tier("D", 90, 30))
    assert not found.passed
    assert "A 15.0%, but B with C below it 3.3%, 11.7 points apart" in found.words


def test_tiers_that_chance_alone_turns_round_do_not_block() -> None:
    found = tiers_result(tier("A", 900, 91), tier("B", 1_000, 100), tier("C", 200, 50))
    assert found.passed
    assert found.measured == 0.0
    assert "as far as chance lets one tell: A 10.1%, B 10.0%, C 25.0%" in found.words
    assert "0.1 points apart where chance alone makes up to 2.7" in found.words


def test_a_better_tier_that_defaults_more_beyond_chance_blocks_and_the_words_say_so() -> None:
    found = tiers_result(tier("A", 900, 130), tier("B", 1_000, 100), tier("C", 200, 50))
    assert not found.passed
    assert found.measured == 1.0
    assert found.words.startswith("A better tier defaults more than a worse one, beyond chance:")
    assert "A 14.4%, but B below it 10.0%, 4.4 points apart" in found.words


def test_tiers_that_slide_down_step_by_step_are_found_though_no_step_is() -> None:
    sliding = [tier(name, 1_000, bad) for name, bad in (("A", 120), ("B", 103), ("C", 86))]
    assert tiers_result(*sliding[:2]).passed
    assert tiers_result(*sliding[1:]).passed
    found = tiers_result(*sliding)
    assert not found.passed
    assert "A 12.0%, but C below it 8.6%" in found.words


def test_a_tier_without_any_default_is_not_beyond_chance_by_that_alone() -> None:
    assert tiers_result(tier("A", 60, 2), tier("B", 60, 0), tier("C", 200, 50)).passed


def test_the_last_thin_tier_goes_with_the_one_above_and_empty_ones_with_none() -> None:
    found = tiers_result(tier("A", 400, 10), tier("B", 0, 0), tier("C", 90, 20), tier("D", 9, 9))
    assert found.passed
    assert "A 2.5%, C with D 29.3%" in found.words


def test_a_blocking_gate_says_what_is_wrong_and_what_is_lacking() -> None:
    results = {
        r.name: r for r in judge_gates(replace(SOUND, defaults=250, slope=0.5), FOR_EVERYONE)
    }
    assert "50 more in all" in results[Gate.EVIDENCE].words
    assert "too high and low ones too low" in results[Gate.SLOPE].words


def test_results_can_be_kept_as_json() -> None:
    results = judge_gates(SOUND, FOR_EVERYONE)
    assert msgspec.json.decode(msgspec.json.encode(results), type=type(results)) is not None


def test_a_tighter_limit_stops_what_passed_before() -> None:
    limits = tightened({"auc_low_min": 0.7, "psi_max": 0.02})
    assert failed(SOUND, limits) == {Gate.DISCRIMINATION, Gate.STABILITY}


def test_a_limit_can_not_be_loosened_nor_made_impossible(subtests: pytest.Subtests) -> None:
    loosened: list[dict[str, float]] = [
        {"auc_low_min": 0.55},
        {"slope_max": 1.3},
        {"psi_max": 0.3},
        {"defaults_min": 100},
        {"auc_low_min": math.nan},
        {"nothing": 1.0},
        {"slope_min": 1.1, "slope_max": 1.05},
        {"auc_low_min": 2.0},
        {"auc_low_min": math.inf},
        {"psi_max": 0.0},
        {"psi_max": -1.0},
        {"psi_max": -math.inf},
        {"defaults_min": 400.5},
        {"defaults_min": math.inf},
        {"out_of_time_defaults_min": 2_000_000.0},
    ]
    for asked in loosened:
        with subtests.test(asked=asked):
            with pytest.raises(InvalidGate) as error:
                tightened(asked)
            assert error.value.hint


@given(
    st.dictionaries(
        st.sampled_from(list(msgspec.structs.asdict(FOR_EVERYONE))),
        st.floats(0.0, 2_000.0),
        max_size=4,
    )
)
def test_whatever_is_asked_for_no_gate_ever_lets_more_through(asked: dict[str, float]) -> None:
    try:
        limits = msgspec.structs.asdict(tightened(asked))
    except InvalidGate:
        return
    for name, limit in msgspec.structs.asdict(FOR_EVERYONE).items():
        assert limits[name] >= limit if name.endswith("_min") else limits[name] <= limit


@pytest.mark.parametrize("name", ["defaults_min", "out_of_time_defaults_min"])
def test_more_defaults_can_be_asked_for_in_whole_numbers_however_they_are_written(
    name: str,
) -> None:
    for asked in (400, 400.0):
        limit = getattr(tightened({name: asked}), name)
        assert (limit, type(limit)) == (400, int)
        assert limits_text({name: asked}) == f'{{"{name}":400}}'


def test_the_same_limits_have_the_same_text_in_whatever_order() -> None:
    text = limits_text({"slope_max": 1.1, "auc_low_min": 1, "defaults_min": 400.0})
    assert text == '{"auc_low_min":1.0,"defaults_min":400,"slope_max":1.1}'
    assert limits_text(msgspec.json.decode(text)) == text
    assert limits_text({}) == "{}"
