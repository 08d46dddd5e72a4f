"""What is asked of a recalibration before anybody may sign it."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import msgspec
import pytest

from alama.core.monitoring import recalibration
from alama.core.monitoring.rates import log_odds
from alama.core.monitoring.recalibration import (
    Coverage,
    Evidence,
    Given,
    Pack,
    Recalibration,
    moved,
    recalibrate,
)
from alama.monitoring.page import recalibration_page
from tests.factories import a_model

MODEL = a_model()
STATED = (0.02, 0.04, 0.06, 0.1, 0.15, 0.25)


def loans(many: int, shift: float, steep: float = 1.0) -> list[Given]:
    """Loans that default as often as a model that is off by a shift, or a slope, would have it."""
    found = []
    for stated in STATED:
        bent = stated if steep == 1.0 else moved(0.5, steep * log_odds(stated))
        found.append(Given(stated, many, round(many * moved(bent, shift))))
    return found


def halves(many: int, early: float, late: float) -> Evidence:
    earlier, later = loans(many, early), loans(many, late)
    whole = [
        Given(a.probability, a.loans + b.loans, a.defaults + b.defaults)
        for a, b in zip(earlier, later, strict=True)
    ]
    return Evidence(whole, later, "2025-11-16", "2026-11-16", Coverage(100, 95))


def made(evidence: Evidence) -> Recalibration:
    found = recalibrate(MODEL, evidence)
    assert found is not None
    return found


def blocked(pack: Pack) -> set[str]:
    return {gate.name for gate in pack.gates if not gate.passed}


def test_a_level_that_is_off_and_stays_off_passes_every_gate() -> None:
    model, pack = made(halves(1_000, 0.4, 0.4))
    assert pack.passed
    assert pack.shift == pytest.approx(0.4, abs=0.02)
    assert pack.model_id == model.id
    assert pack.from_model_id == MODEL.id
    assert model.name == "test model, recalibrated 2026-11-16"
    assert pack.questions == ()
    after = sum(band.predicted * band.loans for band in pack.after) / pack.loans
    assert after == pytest.approx(pack.observed)


@pytest.mark.parametrize(
    ("evidence", "gates"),
    [
        (halves(30, 0.9, 0.9), {"recent_outcomes"}),
        (halves(1_000, 0.02, 0.02), {"shift_no_chance"}),
        (halves(1_000, 1.3, 1.3), {"shift_size"}),
        (halves(1_000, 1.0, -0.5), {"later_half"}),
    ],
    ids=["few defaults", "within chance", "too far", "other later"],
)
def test_each_doubt_blocks_it(evidence: Evidence, gates: set[str]) -> None:
    assert blocked(made(evidence).pack) == gates


def test_a_slope_that_is_off_is_no_matter_of_level() -> None:
    sample = loans(3_000, -0.9, steep=0.5)
    evidence = Evidence(sample, loans(1_000, -0.9, steep=0.5), "", "2026-11-16", Coverage(1, 1))
    assert "calibration_slope" in blocked(made(evidence).pack)


def test_one_half_alone_cannot_judge() -> None:
    sample = loans(1_000, 0.4)
    evidence = Evidence(sample, sample, "", "2026-11-16", Coverage(1, 1))
    pack = made(evidence).pack
    assert pack.later is None
    assert blocked(pack) == {"later_half"}


def test_loans_of_one_probability_tell_no_slope() -> None:
    sample = [Given(0.1, 2_000, 300)]
    evidence = Evidence(sample, [Given(0.1, 1_000, 150)], "", "2026-11-16", Coverage(1, 1))
    pack = made(evidence).pack
    assert pack.slope is None
    assert blocked(pack) == {"calibration_slope"}


@pytest.mark.parametrize("defaults", [0, 50], ids=["none", "nothing else"])
def test_without_both_kinds_of_loans_there_is_no_level(defaults: int) -> None:
    evidence = Evidence([Given(0.1, 50, defaults)], [], "", "2026-11-16", Coverage(1, 1))
    assert recalibrate(MODEL, evidence) is None


def test_where_little_is_known_a_person_is_asked_why() -> None:
    evidence = halves(1_000, 0.4, 0.4)._replace(coverage=Coverage(1_000, 700))
    pack = made(evidence).pack
    assert pack.passed
    [question] = pack.questions
    assert "Of 1,000 applications" in question
    assert "known of 700" in question


@pytest.mark.parametrize("shift", [0.4, 0.02, -0.4])
def test_the_page_is_well_formed_and_says_what_moves(shift: float) -> None:
    pack = made(halves(1_000, shift, shift)).pack
    page = recalibration_page(pack)
    ET.fromstring(page.removeprefix("<!DOCTYPE html>\n"))  # noqa: S314  our own page
    assert "<script" not in page
    assert not re.search(r"(?:src|href)=\"(?!#)", page)
    assert ("it may be approved" in page) is pack.passed
    assert ("more than promised" in page) is (shift > 0.0)
    assert page.count("<svg") == 2


@pytest.mark.parametrize(
    ("shift", "unsigned"), [(0.4, None), (0.02, None), (0.4, "Nobody signs here")]
)
def test_there_is_room_to_sign_where_somebody_may(shift: float, unsigned: str | None) -> None:
    pack = made(halves(1_000, shift, shift)).pack
    signed = pack.passed and unsigned is None
    page = recalibration_page(pack, unsigned)
    end = page.partition('id="signoff"')[2]
    assert ("Date and signature" in end) is signed
    assert (pack.model_id in end.partition("<footer")[0]) is signed
    assert ("Not passed: more than chance." in end) is (not pack.passed)
    assert ("Nobody signs here." in end) is (unsigned is not None)


def test_the_slope_has_its_interval_and_the_loss_is_told_before_and_after() -> None:
    pack = made(halves(1_000, 0.4, 0.4)).pack
    shown = {gate.name: gate.shown for gate in pack.gates}
    assert pack.slope is not None
    assert pack.later is not None
    reach = 1.96 * pack.slope.standard_error
    low, high = pack.slope.value - reach, pack.slope.value + reach
    assert shown["calibration_slope"] == f"{pack.slope.value:.2f} ({low:.2f} to {high:.2f})"
    before, after = pack.later.loss_before, pack.later.loss_after
    assert shown["later_half"] == f"loss {before:.5f} -> {after:.5f}"


def test_the_page_shows_questions_and_what_could_not_be_judged() -> None:
    sample = loans(1_000, 0.4)
    evidence = Evidence(sample, sample, "", "2026-11-16", Coverage(1_000, 10))
    page = recalibration_page(made(evidence).pack)
    assert "To be answered before signing" in page
    assert "too few of a kind" in page


def test_the_pack_is_one_json_document_that_reads_back() -> None:
    pack = made(halves(1_000, 0.4, 0.4)).pack
    assert msgspec.json.decode(recalibration.encode(pack), type=Pack) == pack
