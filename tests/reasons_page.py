"""The texts on docs/generated/reasons.md, from the dictionary: `python -m tests.reasons_page`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from alama.core.lending.policy import Rule
from alama.core.reasons.dictionary import FIELD_LOWERS_SCORE, FIELD_RAISES_SCORE, LENDER_RULE
from alama.core.reasons.dictionary import NOT_GIVEN as CODE_NOT_GIVEN
from alama.core.recourse.answer import Hindrance
from alama.platform.files.packaged import languages

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE: Final = Path(__file__).parents[1] / "docs" / "generated" / "reasons.md"
BEGINNING: Final = "## The codes, version "

_LANGUAGES: Final = languages()
_RULE: Final = "|---" * len(_LANGUAGES) + "|"
_OTHERS: Final = {
    FIELD_LOWERS_SCORE: "a field lowers the score, and no code above is true of it",
    FIELD_RAISES_SCORE: "a field raises the score, and no code above is true of it",
    CODE_NOT_GIVEN: "a field is not given, and that lowers the score",
}


def codes() -> str:
    """Give the part of the page that lists every code, change and obstacle with its texts."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    texts = " | ".join(language.name for language in _LANGUAGES)
    rule = "|---|---" + _RULE
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
    yield from _changes(texts)
    yield from _obstacles(texts)


def _changes(texts: str) -> Iterator[str]:
    yield from ("## The changes", "", f"| field | way | {texts} |", "|---|---" + _RULE)
    for name in _LANGUAGES[0].changes:
        for way in ("up", "down"):
            told = [getattr(language.changes[name], way) for language in _LANGUAGES]
            if told[0] is not None:
                yield _line(f"`{name}`", way, *told)
    for way in ("up", "down"):
        yield _line("any other", way, *(getattr(each.advice, way) for each in _LANGUAGES))
    yield ""


def _obstacles(texts: str) -> Iterator[str]:
    yield from ("## What stands in the way", "", f"| obstacle | {texts} |", "|---" + _RULE)
    for hindrance in Hindrance:
        if hindrance is not Hindrance.RULE:
            told = [language.obstacles[hindrance] for language in _LANGUAGES]
            yield _line(f"`{hindrance.value}`", *told)
    for rule in _LANGUAGES[0].rules_that_bind:
        told = [language.rules_that_bind[rule] for language in _LANGUAGES]
        yield _line(f"`rule`: `{rule.value}`", *told)
    yield _line("`rule`: any other", *(["its text above"] * len(_LANGUAGES)))
    yield ""


def _row(code: str, when: str) -> str:
    texts = [language.texts[code] for language in _LANGUAGES]
    told = [" ".join(filter(None, (text.text, text.help))) for text in texts]
    return _line(f"`{code}`", when, *told)


def _line(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Write the texts into the page, and leave what stands above them."""
    above, _, _ = PAGE.read_text("utf-8").partition(BEGINNING)
    PAGE.write_text(above + codes(), "utf-8")


if __name__ == "__main__":
    main()
