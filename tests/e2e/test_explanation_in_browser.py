"""The page for the applicant in a real browser: on a phone, on a screen, and on paper."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from alama.core.recourse.answer import COUNT_MAX, Sought
from alama.platform.files.packaged import languages
from alama.scoring.page import explanation_page
from tests.browser import CHROMIUM, QUIET, chromium, measured, needs_chromium
from tests.explanations import (
    APPROVED,
    BEYOND_HELP,
    DECLINED,
    DECLINED_FOR_MUCH,
    REVIEWED,
    explained,
)

pytestmark = needs_chromium

LANGUAGES = {language.code: language for language in languages()}


def written(folder: Path, sent: dict[str, Any], code: str = "en", ways: int = 3) -> Path:
    """Write the page of an applicant into a folder."""
    language = LANGUAGES[code]
    case = explained(sent, language, Sought(count=ways))
    path = folder / "page.html"
    page = explanation_page(
        case.ready, case.application, case.sought.goal, case.explanation, language, "2026-11-15"
    )
    path.write_text(page, "utf-8")
    return path


def sheets(page: Path) -> int:
    """How many sheets of paper the page takes."""
    paper = page.with_name("page.pdf")
    chromium(page.parent, f"--print-to-pdf={paper}", "--no-pdf-header-footer", page.as_uri())
    return len(re.findall(rb"/Type\s*/Page\b", paper.read_bytes()))


def test_every_drawing_is_drawn_and_nothing_runs_out_of_the_page(tmp_path: Path) -> None:
    page = written(tmp_path, REVIEWED, "fr")
    ways = explained(REVIEWED, LANGUAGES["fr"]).explanation.recourse.counterfactuals
    for width, found in measured(page, 320, 360, 390, 820, 1280):
        assert found["drawings"] == 1 + len(ways) + sum(len(way.changes) for way in ways), width
        assert found["empty"] == 0, width
        assert found["overflow"] <= 0, width
        assert found["asked"] == 0, "the page must not ask for anything beside itself"


@pytest.mark.long
@pytest.mark.parametrize("code", LANGUAGES)
def test_on_a_phone_no_label_runs_into_another_or_out_of_its_drawing(
    tmp_path: Path, code: str
) -> None:
    for width, found in measured(written(tmp_path, DECLINED_FOR_MUCH, code), 320, 360):
        assert (found["colliding"], found["outside"]) == (0, 0), width


def test_a_long_reference_stays_in_its_field(tmp_path: Path) -> None:
    page = written(tmp_path, {**DECLINED, "applicant_ref": "W" * 64})
    for width, found in measured(page, 320, 1280):
        assert found["overflow"] <= 0, width


@pytest.mark.long
@pytest.mark.parametrize("code", LANGUAGES)
def test_even_the_longest_page_takes_no_more_than_two_sheets(tmp_path: Path, code: str) -> None:
    assert sheets(written(tmp_path, REVIEWED, code)) <= 2
    assert sheets(written(tmp_path, REVIEWED, code, COUNT_MAX)) <= 2


@pytest.mark.long
@pytest.mark.parametrize("sent", [APPROVED, BEYOND_HELP], ids=["approved", "beyond help"])
def test_where_there_is_no_way_to_show_one_sheet_is_enough(
    tmp_path: Path, sent: dict[str, Any]
) -> None:
    assert sheets(written(tmp_path, sent)) == 1


def test_the_browser_has_nothing_to_complain_about(tmp_path: Path) -> None:
    assert CHROMIUM is not None
    page = written(tmp_path, DECLINED)
    done = subprocess.run(
        [
            CHROMIUM,
            *QUIET,
            f"--user-data-dir={tmp_path / 'profile'}",
            "--enable-logging=stderr",
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert "CONSOLE" not in done.stderr
