"""What the words of a row say: its kind, and the other side. The patterns are data."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from alama.statements.ledger import Direction, Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

_PARTY: Final = re.compile(
    r"\b(?:to|from|till|agent|via|by|de|à|vers)\b[\s:-]+(?P<party>\S.*?)"
    r"(?:\s+(?:acc(?:ount)?\.?|a/c|original conversation|ref)\b.*)?$",
    re.IGNORECASE,
)
_FIGURES: Final = re.compile(r"\S*[\d*]\S*")
_WORDS_TOLD: Final = 3


class Pattern(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of the table."""

    begins: str | None = None
    has: str | None = None
    into: Kind | None = msgspec.field(name="in", default=None)
    out: Kind | None = None
    party: bool = True


class Meaning(NamedTuple):
    """What words mean: the kind, whether a pattern knew it, and whom they name."""

    kind: Kind
    is_known: bool
    party: str | None


class Patterns:
    """The patterns of one source: those of any source before its own, and others after."""

    def __init__(self, patterns: tuple[Pattern, ...]) -> None:
        self._compiled = tuple(
            (re.compile(f"^(?:{one.begins})" if one.begins else str(one.has), re.IGNORECASE), one)
            for one in patterns
        )
        self._known: dict[tuple[str, Direction], Meaning] = {}

    def meaning(self, words: str, direction: Direction) -> Meaning:
        """Give what the words of a row mean; what no pattern knows is `other`."""
        asked = (words, direction)
        found = self._known.get(asked)
        if found is None:
            if len(self._known) >= _REMEMBERED_MAX:
                self._known.clear()  # a process reads statements for months
            found = self._known[asked] = self._look_up(words, direction)
        return found

    def _look_up(self, words: str, direction: Direction) -> Meaning:
        plain = " ".join(words.split())
        for expression, pattern in self._compiled:
            kind = pattern.into if direction is Direction.IN else pattern.out
            if kind is not None and expression.search(plain):
                return Meaning(kind, True, _party(plain) if pattern.party else None)  # noqa: FBT003
        return Meaning(Kind.other(direction), False, _party(plain))  # noqa: FBT003


_REMEMBERED_MAX: Final = 50_000


@cache
def _table() -> Mapping[str, tuple[Pattern, ...]]:
    text = files("alama.statements").joinpath("details.toml").read_text("utf-8")
    told = tomllib.loads(text)
    del told["version"]
    return msgspec.convert(told, dict[str, tuple[Pattern, ...]])


@cache
def patterns_of(source: str | None) -> Patterns:
    """Give the patterns of a source, or of one that has none of its own."""
    table = _table()
    own = () if source is None else table[source]
    return Patterns((*table["any"], *own, *table["last"]))


def _party(words: str) -> str | None:
    found = _PARTY.search(words)
    return found["party"] if found else None


def first_words(words: str) -> str:
    """Give the words with which a row begins, without its figures: enough to write a pattern."""
    return " ".join(_FIGURES.sub(" ", words).split()[:_WORDS_TOLD]) or "(no words)"
