"""Texts as cells that no spreadsheet runs, and tables of them.

The content goes to a hidden file beside the target, which takes the target's name only when its
last byte is safely on disk. A crash, an error or Ctrl-C therefore leaves the old file, or none,
never a half. A symbolic link stays one: its target is what is written.
"""

from __future__ import annotations

import csv
import re
import unicodedata
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


APOSTROPHE: Final = "'"
SUSPECT: Final = r"^[^0-9A-Za-z]|[\x00-\x1f\x{85}\x{2028}\x{2029}]"
"""What every text that `inert` changes matches."""
NUMBER: Final = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\z"
"""Both as Arrow writes regular expressions, whose end of a text is \\z."""

_NUMBER: Final = re.compile(NUMBER.replace(r"\z", r"\Z"))
_SIGNS: Final = frozenset("=+-@\N{MINUS SIGN}")
_STRIPPED: Final = ("\t", "\r", "\n")
_UNSEEN: Final = frozenset("CZM")
"""Classes of characters that have no width or no ink: what reads a cell may pass over them."""


def inert(text: str) -> str:
    """Give a text as a cell that no spreadsheet runs, nor any line of it.

    An apostrophe comes before each line that begins with a sign, in whichever width it is written
    and whatever unseen characters are before it, and before a cell that begins with a tab or the
    end of a line.
    """
    if _NUMBER.match(text.strip(" ")):
        return text
    lines = text.splitlines(keepends=True)
    told = "".join(APOSTROPHE + line if _acts(line) else line for line in lines)
    return APOSTROPHE + told if told.startswith(_STRIPPED) else told


def _acts(line: str) -> bool:
    for character in line:
        if unicodedata.category(character)[0] not in _UNSEEN:
            return unicodedata.normalize("NFKC", character)[0] in _SIGNS
    return False


def as_csv(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    """Write a table in which no cell runs, those of its first row included."""
    lines = _Lines()
    written = csv.DictWriter(lines, columns)
    written.writerow({name: inert(name) for name in columns})
    for row in rows:
        written.writerow({name: _cell(value) for name, value in row.items()})
    return "".join(lines)


class _Lines(list[str]):
    """Rows of a table, each of which ends as a line does.

    The writer puts a carriage return within quotes only where its own lines end with one.
    """

    def write(self, row: str) -> None:
        self.append(row.removesuffix("\r\n") + "\n")


def _cell(value: object) -> object:
    return inert(value) if isinstance(value, str) else value
