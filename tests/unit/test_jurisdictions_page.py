"""The page of the jurisdictions says what the packs say."""

import re
from pathlib import Path

import pytest

from alama.core.lending.jurisdiction import Jurisdiction
from alama.files.jurisdictions import jurisdictions

PAGE = (Path(__file__).parents[2] / "docs" / "jurisdictions.md").read_text("utf-8")
PACKS = jurisdictions()
NUMBERS = ("apr_max", "charges_max", "inflow_share_max", "retention_days", "notice_days")
FIGURES = (*NUMBERS, "forbidden_fields")


def shown(value: object) -> str:
    match value:
        case tuple():
            return ", ".join(f"`{name}`" for name in value)
        case float() | int():
            return f"{value:g}" if value < 100 else f"{value:,}"
        case _:
            raise AssertionError


def summary(pack: Jurisdiction) -> str:
    """A pack as a row of numbers, empty where no rule is known."""
    figures = [getattr(pack, name) for name in NUMBERS]
    numbers = [shown(figure.value) if figure else "" for figure in figures]
    currencies = ", ".join(pack.currencies) or "any"
    return "| " + " | ".join([f"`{pack.code}`", pack.name, currencies, *numbers]) + " |"


def section(pack: Jurisdiction) -> str:
    """A pack with the rule, the source and the date of each figure, and what is left to ask."""
    figures = {name: getattr(pack, name) for name in FIGURES if getattr(pack, name)}
    lines = [f"### {pack.name} (`{pack.code}`)", ""]
    if figures:
        lines += ["| figure | value | rule | source | dated |", "|---|---|---|---|---|"]
        lines += [
            f"| `{name}` | {shown(figure.value)} | {figure.rule} | {figure.source} "
            f"| {figure.dated} |"
            for name, figure in figures.items()
        ]
        lines.append("")
    return "\n".join([*lines, *(f"- {note}" for note in pack.notes), ""])


def test_every_pack_is_a_row_of_the_page_and_nothing_else_is() -> None:
    rows = re.findall(r"^\| `[A-Za-z]+` \| .* \|$", PAGE, re.MULTILINE)
    assert rows == [summary(pack) for pack in PACKS]


@pytest.mark.parametrize("pack", PACKS, ids=lambda pack: pack.code)
def test_every_figure_stands_there_with_its_rule_its_source_and_its_date(
    pack: Jurisdiction,
) -> None:
    assert section(pack) in PAGE


def test_the_sections_are_those_of_the_packs() -> None:
    assert re.findall(r"^### .*\(`(.*)`\)$", PAGE, re.MULTILINE) == [pack.code for pack in PACKS]


def test_the_page_says_what_each_figure_does() -> None:
    assert re.findall(r"^\| `([a-z_]+)` \| [a-z]", PAGE, re.MULTILINE) == [*FIGURES]


def test_the_page_is_no_legal_advice() -> None:
    assert "not legal advice" in PAGE
    assert "check with counsel" in PAGE
