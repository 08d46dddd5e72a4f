"""The codes on docs/reasons.md, as the dictionary has them: `python -m tests.reasons_page`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from alama.core.lending.policy import Rule
from alama.core.reasons.dictionary import FIELD_LOWERS_SCORE, FIELD_RAISES_SCORE, LENDER_RULE
from alama.core.reasons.dictionary import NOT_GIVEN as CODE_NOT_GIVEN
from alama.files.reasons import languages

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE: Final = Path(__file__).parents[1] / "docs" / "reasons.md"
BEGINNING: Final = "## The codes, version "

_LANGUAGES: Final = languages()
_OTHERS: Final = {
    FIELD_LOWERS_SCORE: "a field lowers the score, and no code above is true of it",
    FIELD_RAISES_SCORE: "a field raises the score, and no code above is true of it",
    CODE_NOT_GIVEN: "a field is not given, and that lowers the score",
}


def codes() -> str:
    """Give the part of the page that lists every code with its texts."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    texts = " | ".join(language.name for language in _LANGUAGES)
    rule = "|---" * (2 + len(_LANGUAGES)) + "|"
    yield from (f"{BEGINNING}{_LANGUAGES[0].version}", "", "### Fields", "")
    yield from (f"| code | given when | {texts} |", rule)
    for name, own in _LANGUAGES[0].fields.items():
        yield _row(own.lowers, f"`{name}` lowers the score")
        yield _row(own.raises, f"`{name}` raises the score")
    for code, when in _OTHERS.items():
        yield _row(code, when)
    yield from ("", "### Rules", "", f"| code | given when | {texts} |", rule)
    for built_in in Rule:
        yield _row(built_in.value, f"the rule `{built_in.value}` decided")
    yield _row(LENDER_RULE, "a rule of the policy's own decided")
    yield ""


def _row(code: str, when: str) -> str:
    texts = [language.texts[code] for language in _LANGUAGES]
    told = [" ".join(filter(None, (text.text, text.help))) for text in texts]
    return "| " + " | ".join([f"`{code}`", when, *told]) + " |"


def main() -> None:
    """Write the codes into the page, and leave what stands above them."""
    above, _, _ = PAGE.read_text("utf-8").partition(BEGINNING)
    PAGE.write_text(above + codes(), "utf-8")


if __name__ == "__main__":
    main()
