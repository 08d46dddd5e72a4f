"""What to write instead of a line that is no TOML, in the words of whoever wrote it.

`tomllib` says where it stopped, and speaks to programmers. People who write a policy make a dozen
mistakes again and again: each is told by how the line looks.
"""

from __future__ import annotations

import re
from typing import Final

SHOWN_MAX: Final = 70
"""Characters of a line that is shown; a longer one says nothing at a glance."""

_LISTS: Final = ("tiers", "rules")

_TWICE: Final = re.compile(r"overwrite|twice|mutate|immutable")
_UNCLOSED: Final = "Unclosed array"
_HEADER: Final = re.compile(r"\s*\[{1,2}\s*([\w.-]+)\s*\]{1,2}")
_KEY: Final = re.compile(r"\s*([\w.-]+)\s*=")

_GUESSES: Final = (
    # how the line looks, and what to say of it
    (r".*[“”‘’„].*", "write straight quotes, \" or '"),  # noqa: RUF001 - what is looked for
    (r"[^=]+=\s*(-?\d{1,3}(?:,\d{3})+)(?!\d).*", "write {plain} or {grouped}, without commas"),
    (r"[^=]+=\s*(-?\d{1,3}(?: \d{3})+)(?!\d).*", "write {plain} or {grouped}, without spaces"),
    (r"[^=]+=\s*(-?\d+,\d+)(?!\d).*", "write {point}, with a point"),
    (r"[^=]+=\s*(-?[\d.]+)\s*%.*", "write {0}, without %"),
    (r"[^=]+=\s*(-?)(\.\d+).*", "write {0}0{1}"),
    (r"[^=]+=\s*(-?\d+)\.(?!\d).*", "write {0} or {0}.0"),
    (r"[^=]+=\s*(-?\d[\d_.]*)\s*[^\W\d_]+\s*(?:#.*)?", "write the number alone: {0}"),
    (r'[^=]+=\s*"[^"#]*', 'a quote is not closed: it ends with "'),
    (r"[^=]+=\s*'[^'#]*", "a quote is not closed: it ends with '"),
    (r'[^=]+=\s*"[^"]*"\s*[^\s#,\]"].*', "inside \"...\" write '...'"),
    (r"[^=]+=\s*([^\W\d][\w -]*?)\s*(?:#.*)?", 'put a text in quotes: "{0}"'),
    (r"[^=]+=\s*(?:#.*)?", "write a value behind the ="),
    (r"\s*([\w-]+)\s*:\s*[^=]+", "write = between a key and its value, not :"),
    (r"\s*\[{1,2}[\w.]+\]?\s*(?:#.*)?", "close the brackets as they were opened"),
    (r"[^=#\[\]]+(?:#.*)?", "a key, = and a value are expected here; # begins a remark"),
)


def advice_on(line: str, complaint: str) -> str:
    """Say what is wrong with a line of which a reader of TOML complains, and show it."""
    guess = _repetition(line) if _TWICE.search(complaint.lower()) else _guess(line)
    if complaint == _UNCLOSED:
        guess = "a [ is not closed, here or above, or a comma is missing in the list"
    said = guess or f"this is not TOML: {complaint[0].lower()}{complaint[1:]}"
    shown = line.strip()
    is_fit = shown and shown.isprintable() and len(shown) <= SHOWN_MAX
    return f"{said} (the line is: {shown})" if is_fit else said


def _guess(line: str) -> str | None:
    for pattern, said in _GUESSES:
        if found := re.fullmatch(pattern, line.rstrip("\r")):
            figure = found[1] if found.re.groups else ""
            return said.format(
                *found.groups(),
                plain=re.sub("[ ,]", "", figure),
                grouped=re.sub("[ ,]", "_", figure),
                point=figure.replace(",", "."),
            )
    return None


def _repetition(line: str) -> str | None:
    """Speak of a table or a key that stands twice."""
    if header := _HEADER.match(line):
        name = header[1]
        if name in _LISTS:
            return f"write [[{name}]], with two brackets, above each of the {name}"
        return f"[{name}] stands twice: make one of them"
    if key := _KEY.match(line):
        missing = " or ".join(f"[[{name}]]" for name in _LISTS)
        return f"{key[1]} stands twice in its table: is a line {missing} missing above it?"
    return None
