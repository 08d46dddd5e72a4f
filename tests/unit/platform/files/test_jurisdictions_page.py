"""The page of the jurisdictions says what the packs say."""

import re
from pathlib import Path

from alama.core.lending.jurisdiction import Jurisdiction
from alama.platform.files.packaged import jurisdictions
from tools.reference import FIGURES, shown

PAGE = (Path(__file__).parents[4] / "docs" / "jurisdictions.md").read_text("utf-8")


def summary(pack: Jurisdiction) -> str:
    """A pack as a row of numbers, empty where no rule is known."""
    figures = [getattr(pack, name) for name in FIGURES if name != "forbidden_fields"]
    numbers = [shown(figure.value) if figure else "" for figure in figures]
    currencies = ", ".join(pack.currencies) or "any"
    return "| " + " | ".join([f"`{pack.code}`", pack.name, currencies, *numbers]) + " |"


def test_every_pack_is_a_row_of_the_page_and_nothing_else_is() -> None:
    rows = re.findall(r"^\| `[A-Za-z]+` \| .* \|$", PAGE, re.MULTILINE)
    assert rows == [summary(pack) for pack in jurisdictions()]


def test_the_page_says_what_each_figure_does() -> None:
    assert re.findall(r"^\| `([a-z_]+)` \| [a-z]", PAGE, re.MULTILINE) == [*FIGURES]


def test_the_page_is_no_legal_advice() -> None:
    assert "not legal advice" in PAGE
    assert "check with counsel" in PAGE
