"""The checklist in docs/ and the page answer each other, line by line."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from alama.platform.files.packaged import builtin
from alama.training.history.loans import Options
from alama.training.population.people import PopulationOptions
from alama.training.validation.gates import FOR_EVERYONE, Gate
from alama.training.validation.pack_page import pack_page
from bench.pilot.loans import loan_table
from tests.pilots import TODAY, judged_again, read_loans

CHECKLIST = Path(__file__).parents[4] / "docs" / "validation-checklist.md"
LINES = (
    "purpose",
    "data",
    "exclusions",
    "method",
    "assumptions",
    "performance",
    "calibration",
    "worth",
    "stability",
    "fairness",
    "limits",
    "monitoring plan",
    "sign-off",
)
BESIDE = {"importance", "pairs"}
"""Sections that carry the one before further, and answer no question of their own."""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    table = loan_table(PopulationOptions(rows=3_000, seed=4))
    asked = Options(region=True, today=TODAY)
    history = read_loans(tmp_path_factory.mktemp("checklist"), table, asked)
    model = builtin()
    return pack_page(judged_again(history, model), model)


def listed() -> list[tuple[str, str]]:
    rows = re.findall(r"^\| ([a-z -]+) \|.*\| `#([a-z]+)` \|$", CHECKLIST.read_text(), re.MULTILINE)
    assert rows
    return rows


def test_every_line_of_the_issue_stands_on_the_checklist_in_order() -> None:
    assert tuple(dict.fromkeys(line for line, _ in listed())) == LINES


def test_every_section_that_the_checklist_names_is_on_the_page(page: str) -> None:
    sections = set(re.findall(r'<section id="([a-z]+)"', page))
    assert {anchor for _, anchor in listed()} <= sections


def test_every_section_of_the_page_is_on_the_checklist(page: str) -> None:
    sections = set(re.findall(r'<section id="([a-z]+)"', page))
    assert sections - BESIDE <= {anchor for _, anchor in listed()}


def test_every_gate_and_limit_stands_on_the_checklist() -> None:
    text = CHECKLIST.read_text()
    for gate in Gate:
        assert f"| `{gate.value}` |" in text
    for name, limit in msgspec.structs.asdict(FOR_EVERYONE).items():
        assert f"`{name}`" in text
        assert f"{limit:g}" in text.replace("0.60", "0.6")
