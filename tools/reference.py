"""The lists of docs/generated that the code is the source of: `python -m tools.reference`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from alama.app import openapi
from alama.platform.files.packaged import jurisdictions
from alama.platform.http import problem_codes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from alama.core.lending.jurisdiction import Jurisdiction


FOLDER: Final = Path(__file__).parents[1] / "docs" / "generated"
FIGURES: Final = (
    *("apr_max", "capped_apr", "shown_apr", "fee_tax", "charges_max", "inflow_share_max"),
    *("retention_days", "notice_days", "forbidden_fields"),
)

_WRITTEN: Final = "Written by `python -m tools.reference` from the code; change it there."


def pages() -> dict[str, str]:
    """Give each page by its name."""
    return {"codes.md": codes(), "jurisdictions.md": packs()}


def codes() -> str:
    """List every code of a problem, a field and a rule, as the service tells it."""
    problems = [
        (f"`{code}`", str(told["status"]), str(told["when"]), str(told["remedy"]))
        for code, told in openapi.problem_codes().items()
    ]
    fields = [
        (f"`{code}`", meaning.when, meaning.remedy)
        for code, meaning in problem_codes.FIELDS.items()
    ]
    rules = [
        (f"`{code}`", meaning.when, meaning.remedy) for code, meaning in problem_codes.RULES.items()
    ]
    parts = (
        "# Codes",
        f"{_WRITTEN} See [errors](../errors.md) and the [policy](../policy.md).",
        "## Codes of problems",
        _table(("code", "status", "when", "what to do"), problems),
        "## Codes of fields",
        _table(("code", "when", "what to do"), fields),
        "## Codes of rules",
        _table(("code", "when", "what to do"), rules),
    )
    return "\n\n".join(parts) + "\n"


def packs() -> str:
    """Tell each jurisdiction pack: its figures with their sources, and what is left to ask."""
    head = (
        "# Jurisdiction packs",
        f"{_WRITTEN} [Jurisdictions](../jurisdictions.md) says what each figure does.",
        "**This is not legal advice: check with counsel.**",
    )
    return "\n\n".join((*head, *map(_pack, jurisdictions()))) + "\n"


def shown(value: object) -> str:
    """Write a figure of a pack."""
    match value:
        case tuple():
            return ", ".join(f"`{name}`" for name in value)
        case str():
            return f"`{value}`"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:g}"
        case _:
            raise AssertionError


def _pack(pack: Jurisdiction) -> str:
    figures = {name: getattr(pack, name) for name in FIGURES if getattr(pack, name)}
    rows = [
        (f"`{name}`", shown(figure.value), figure.rule, figure.source, str(figure.dated))
        for name, figure in figures.items()
    ]
    known = [_table(("figure", "value", "rule", "source", "dated"), rows)] if rows else []
    notes = "\n".join(f"- {note}" for note in pack.notes)
    return "\n\n".join((f"## {pack.name} (`{pack.code}`)", *known, notes))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = (head, ["---"] * len(head), *rows)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def main() -> None:
    """Write the pages."""
    for name, text in pages().items():
        (FOLDER / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
