"""What a query asks for, read strictly: a name that is not known is refused, not dropped.

Nothing that was sent is echoed, apart from what looks like a name where a name is wanted.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl

from alama.platform import ids
from alama.platform.http.problems import BadParameter

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from alama.core.reasons.dictionary import Language
    from alama.platform.http.exchange import Call


PARAMETERS_MAX: Final = 200
"""Three lists of fifty names, each as a parameter of its own, and some more."""

NAME_MAX: Final = 40
"""Letters of a name that are worth repeating."""

_WHOLE: Final = re.compile(r"[0-9]{1,3}")
SWITCH: Final = {"true": True, "1": True, "false": False, "0": False}
"""How text says what is so or not, in letters of either case."""

_NAME: Final = re.compile(rf"[A-Za-z_][A-Za-z0-9_.-]{{0,{NAME_MAX - 1}}}")


def read(call: Call, known: Sequence[str], lists: Collection[str] = ()) -> Mapping[str, str]:
    """Read the query; a parameter that is misspelled or stands twice is refused, not dropped.

    Those of `lists` may stand several times: that is one list, as if commas stood between.
    """
    if not call.query:
        return {}
    try:
        sent = parse_qsl(
            call.query.decode("ascii"),
            keep_blank_values=True,
            max_num_fields=PARAMETERS_MAX,
            errors="strict",
        )
    except ValueError:
        raise BadParameter(
            f"the query is not one of name=value, joined by &, {PARAMETERS_MAX} at most"
        ) from None
    asked: dict[str, str] = {}
    for name, value in sent:
        if name not in known:
            raise _unknown(name, known)
        if name in asked and name not in lists:
            raise BadParameter(f"the parameter {name} stands twice")
        asked[name] = f"{asked[name]},{value}" if name in asked else value
    return asked


def limit(asked: str | None, default: int, most: int) -> int:
    """Read how many are wanted, from 1 to `most`."""
    if asked is None:
        return default
    if not (_WHOLE.fullmatch(asked) and 1 <= int(asked) <= most):
        raise BadParameter(f"limit must be a whole number from 1 to {most}")
    return int(asked)


def switch(name: str, asked: str | None) -> bool:
    """Read what is either so or not; it is not where nothing is said."""
    if asked is None:
        return False
    found = SWITCH.get(asked.lower())
    if found is None:
        raise BadParameter(f"{name} must be true or false")
    return found


def cursor(asked: str | None, prefix: str) -> str | None:
    """Read where a page begins: the id, of this kind, that the page before ended with."""
    if asked is not None and not ids.is_sortable(prefix, asked):
        raise BadParameter("cursor must be the next_cursor of a page before")
    return asked


def expansions(asked: str | None, known: Collection[str]) -> frozenset[str]:
    """Read what is to be added to a reply."""
    names = frozenset() if asked is None else frozenset(asked.split(","))
    if not names <= frozenset(known):
        raise BadParameter(f"expand knows {', '.join(known)}")
    return names


def listed(asked: str | None) -> tuple[str, ...]:
    """Read a list of names; space around them counts for nothing, and so does an empty name."""
    return tuple(filter(None, map(str.strip, (asked or "").split(","))))


def no_field(parameter: str, given: Collection[str], known: Collection[str]) -> BadParameter:
    """Name the first that is no field, unless that is no name at all, and what was meant by it."""
    wrong = next(name for name in given if name not in known)
    shown = f"{wrong}, which is no field" if _NAME.fullmatch(wrong) else "what is no field"
    near = _nearest(wrong, known)
    meant = f"the nearest is {near}; " if near else ""
    return BadParameter(
        f"the parameter {parameter} names {shown}",
        hint=f"{meant}the fields are {', '.join(known)}",
    )


def language(asked: str | None, languages: Sequence[Language]) -> Language:
    """Read in which language to answer; the first is that of callers who do not say."""
    if asked is None:
        return languages[0]
    for known in languages:
        if known.code == asked:
            return known
    raise BadParameter(f"language knows {', '.join(known.code for known in languages)}")


def _unknown(name: str, known: Sequence[str]) -> BadParameter:
    """Name what is unknown, unless that is no name at all, and what was meant by it."""
    shown = f"the parameter {name}" if _NAME.fullmatch(name) else "one of the parameters"
    message = f"this path does not know {shown}"
    if not known:
        return BadParameter(message, hint="it knows none")
    near = _nearest(name, known)
    meant = f"; the nearest is {near}" if near else ""
    return BadParameter(message, hint=f"it knows {', '.join(known)}{meant}")


def _nearest(name: str, known: Collection[str]) -> str | None:
    near = difflib.get_close_matches(name[:NAME_MAX], list(known), n=1, cutoff=0.6)
    return near[0] if near else None
