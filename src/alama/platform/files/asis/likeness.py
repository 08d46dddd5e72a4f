"""Columns of a file told by their names: the same word, another word for it, or nearly the word.

What is sure is taken, what is doubtful is asked about: a balance of today is no average balance,
and days late today are not the most there ever were.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from alama.platform.files.asis.written import plain_letters

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Holds(StrEnum):
    """What the values of a column are."""

    NUMBER = "number"
    DAY = "day"
    WORD = "word"
    ANSWER = "yes or no"
    ID = "id"
    ANY = "any"


class Target(msgspec.Struct, frozen=True):
    """A column that somebody wants: its name, what it holds, and what else it is called.

    `also` are names that say the same, `maybe` names that may. Every row of a table has something
    in a column that is `always` given. `money`: its numbers are in a currency. `spelling` is
    another name that Alama knows it by.
    """

    name: str
    holds: Holds
    required: bool = False
    always: bool = False
    also: tuple[str, ...] = ()
    maybe: tuple[str, ...] = ()
    money: bool = False
    spelling: str | None = None


class Likeness(msgspec.Struct, frozen=True):
    """Which column each target has (its place), and which others it may be.

    `likened` were told by another word for the target, or nearly its word; `unsure` by a word that
    may mean something else.
    """

    places: dict[str, int]
    likened: tuple[str, ...]
    unsure: tuple[str, ...]
    rivals: dict[str, tuple[int, ...]]


_NEAR: Final = 0.86
_NEAR_LETTERS: Final = 6
_SAME, _ALSO, _NEARLY, _MAYBE = 4, 3, 2, 1

_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_IN_BRACKETS: Final = re.compile(r"\(([^)]*)\)|\[([^]]*)\]")
_NO_LETTER: Final = re.compile(r"[^a-z0-9%]+")
_FILLER: Final = frozenset(
    [
        "the",
        "of",
        "a",
        "an",
        "de",
        "du",
        "des",
        "la",
        "le",
        "les",
        "d",
        "l",
        "ya",
        "wa",
        "za",
        "cha",
        "kwa",
        "in",
        "en",
    ]
)
_NUMBER_WORDS: Final = {
    "no": "number",
    "n": "number",
    "num": "number",
    "nr": "number",
    "numero": "number",
    "#": "number",
}
_UNITS: Final = {
    **dict.fromkeys(["day", "days", "jour", "jours", "siku", "d"], "days"),
    **dict.fromkeys(["week", "weeks", "semaine", "semaines", "wiki"], "weeks"),
    **dict.fromkeys(["month", "months", "mois", "mwezi", "miezi"], "months"),
    **dict.fromkeys(["year", "years", "an", "ans", "annee", "annees", "mwaka", "miaka"], "years"),
}
_SCALE: Final = re.compile(
    r"'000|\b000s?\b|\bthousands?\b|\bmillions?\b|\bmilliers?\b|\bmaelfu\b|\bcents?\b|\bcentimes?\b|\bsenti\b|\bk(?:es|shs?)?\s?'?000\b",
    re.IGNORECASE,
)


def key_of(name: str) -> str:
    """Give a name as it is compared: small plain words, without filler and brackets."""
    folded = plain_letters(_CAMEL.sub(" ", _IN_BRACKETS.sub(" ", name)))
    words = [word for word in _NO_LETTER.split(folded.replace("#", " number ")) if word]
    return " ".join(_NUMBER_WORDS.get(word, word) for word in words if word not in _FILLER)


def unit_of(name: str) -> str | None:
    """Give the unit of time that a name tells, in or out of brackets."""
    inside = " ".join(one or two for one, two in _IN_BRACKETS.findall(name))
    words = _NO_LETTER.split(plain_letters(f"{_CAMEL.sub(' ', name)} {inside}"))
    return next((_UNITS[word] for word in reversed(words) if word in _UNITS), None)


def is_scaled(name: str) -> bool:
    """Say whether a name tells that its numbers are thousands, millions or hundredths."""
    return _SCALE.search(name) is not None


def match(
    names: Sequence[str], targets: Sequence[Target], chosen: Mapping[str, int] | None = None
) -> Likeness:
    """Find the column of each target; `chosen` are places on which somebody has decided."""
    chosen = chosen or {}
    told = {name: (key_of(name), unit_of(name)) for name in dict.fromkeys(names)}
    taken = set(chosen.values())
    scores: dict[tuple[str, int], int] = {}
    for target in targets:
        if target.name in chosen:
            continue
        known = _known(target)
        scored = {name: _score(known, name, *of) for name, of in told.items()}
        for place, name in enumerate(names):
            if place not in taken and (score := scored[name]):
                scores[target.name, place] = score
    return _assigned(targets, scores, dict(chosen))


def _assigned(
    targets: Sequence[Target], scores: Mapping[tuple[str, int], int], places: dict[str, int]
) -> Likeness:
    likened, unsure = list[str](), list[str]()
    rivals: dict[str, tuple[int, ...]] = {}
    for level in (_SAME, _ALSO, _NEARLY, _MAYBE):
        taken = set(places.values())
        open_targets = [target.name for target in targets if target.name not in places]
        found = {
            name: [
                p
                for (of, p), score in scores.items()
                if of == name and score == level and p not in taken
            ]
            for name in open_targets
        }
        wanted_by = [place for many in found.values() for place in many]
        for name, many in found.items():
            if not many or name in rivals:
                continue
            if len(many) > 1 or wanted_by.count(many[0]) > 1:
                rivals[name] = tuple(many)
            else:
                places[name] = many[0]
                if level < _SAME:
                    (unsure if level == _MAYBE else likened).append(name)
    still = {name: many for name, many in rivals.items() if name not in places}
    return Likeness(places, tuple(likened), tuple(unsure), still)


class _Known(NamedTuple):
    """What is known of a target, as names are compared."""

    exact: frozenset[str | None]
    same: tuple[str, ...]
    also: tuple[str, ...]
    maybe: frozenset[str]
    units: frozenset[str | None] | None
    """The units of time that a name may tell; None: any."""


@lru_cache(maxsize=1_024)
def _known(target: Target) -> _Known:
    """Work out once what every name is compared with: a table may have a thousand columns."""
    unit = unit_of(target.name)
    is_any = unit is None and target.holds is not Holds.NUMBER
    return _Known(
        frozenset({target.name, target.spelling}),
        tuple(key_of(known) for known in (target.name, target.spelling) if known),
        tuple(map(key_of, target.also)),
        frozenset(map(key_of, target.maybe)),
        None if is_any else frozenset([None, unit, *map(unit_of, target.also)]),
    )


def _score(known: _Known, name: str, key: str, unit: str | None) -> int:
    if name in known.exact:
        return _SAME
    if not key or (known.units is not None and unit not in known.units):
        return 0
    if key in known.same:
        return _SAME
    if key in known.also:
        return _ALSO
    if any(_nearly(key, other) for other in (*known.same, *known.also)):
        return _NEARLY
    return _MAYBE if key in known.maybe else 0


def _nearly(one: str, other: str) -> bool:
    """Say whether two names differ by a slip of the hand; never by a whole word."""
    if min(len(one), len(other)) < _NEAR_LETTERS or len(one.split()) != len(other.split()):
        return one.replace(" ", "") == other.replace(" ", "") and len(one) >= _NEAR_LETTERS
    pairs = list(zip(one.split(), other.split(), strict=True))
    if any(a != b and min(len(a), len(b)) < 5 for a, b in pairs):  # noqa: PLR2004 - in on no: words of their own
        return False
    return all(a == b or _alike(a, b) for a, b in pairs)


def _alike(one: str, other: str) -> bool:
    found = SequenceMatcher(None, one, other)
    bounds = (found.real_quick_ratio, found.quick_ratio, found.ratio)  # each below the one before
    return all(ratio() >= _NEAR for ratio in bounds)
