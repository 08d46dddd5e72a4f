"""The line on which each value of a TOML text stands, which `tomllib` does not say."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


Path = tuple[str | int, ...]

_SPACE: Final = " \t"
_BETWEEN_ELEMENTS: Final = " \t\n,"
_AFTER_BARE_KEY: Final = " \t.=]"
_AFTER_BARE_VALUE: Final = "\n#,]}"


def lines_of(text: str, paths: Iterable[Sequence[str | int]]) -> list[int | None]:
    """Give the lines, from 1, where values stand: of a path such as ("tiers", 2, "score_min").

    What does not stand in the text has the line of the nearest thing above it that does: a missing
    key that of its table's header, an element beyond the end that of its array. None where nothing
    of the path stands anywhere. The text must be one that `tomllib` accepts.
    """
    lines = _Walk(text).lines
    return [_nearest(lines, path) for path in paths]


def _nearest(lines: Mapping[Path, int], path: Sequence[str | int]) -> int | None:
    prefixes = (tuple(path[:length]) for length in range(len(path), 0, -1))
    return next((lines[prefix] for prefix in prefixes if prefix in lines), None)


class _Container:
    """An inline table, or an array whose next element is `count`."""

    __slots__ = ("count", "path")

    def __init__(self, path: Path, count: int | None) -> None:
        self.path = path
        self.count = count


class _Walk:
    """One pass over a text. It keeps a stack of its own: values may be nested hundreds deep."""

    def __init__(self, text: str) -> None:
        self.lines: dict[Path, int] = {}
        self._text = text.replace("\r\n", "\n")
        self._here = 0
        self._line = 1
        self._tables_in_array: dict[Path, int] = {}
        self._document()

    def _document(self) -> None:
        table: Path = ()
        while self._skip_blank(" \t\n"):
            if self._take("["):
                table = self._header()
            else:
                self._value(self._entry(table))

    def _header(self) -> Path:
        """Read `[a.b]` or `[[a.b]]`, whose first bracket is taken; give the path of its table."""
        opens_element = self._take("[")
        *above, last = self._key()
        path: Path = ()
        for name in above:
            path = self._newest((*path, name))
            self.lines.setdefault(path, self._line)
        path = (*path, last)
        if opens_element:
            self.lines.setdefault(path, self._line)
            self._tables_in_array[path] = self._tables_in_array.get(path, 0) + 1
            path = self._newest(path)
        # A table may have been made in passing, by the header of a table inside it.
        self.lines[path] = self._line
        self._here = self._text.index("]", self._here) + 1 + opens_element
        return path

    def _newest(self, path: Path) -> Path:
        """Give the path itself or, for an array of tables, that of the element being written."""
        count = self._tables_in_array.get(path)
        return path if count is None else (*path, count - 1)

    def _entry(self, table: Path) -> Path:
        """Read a key and its `=`; give the path of the value that follows."""
        path = table
        for name in self._key():
            path = (*path, name)
            self.lines.setdefault(path, self._line)
        self._here = self._text.index("=", self._here) + 1
        return path

    def _key(self) -> list[str]:
        """Read a key, of several names where it is dotted."""
        names = []
        while True:
            self._skip(_SPACE)
            names.append(self._name())
            self._skip(_SPACE)
            if not self._take("."):
                return names

    def _name(self) -> str:
        start = self._here
        if self._text[start] in "\"'":
            self._skip_string()
            # What escapes mean is tomllib's to say.
            name: str = tomllib.loads(f"name = {self._text[start : self._here]}")["name"]
            return name
        self._skip_until(_AFTER_BARE_KEY)
        return self._text[start : self._here]

    def _value(self, path: Path) -> None:
        """Read a value with all that it holds."""
        stack: list[_Container] = []
        self._open(path, stack)
        while stack and self._skip_blank(_BETWEEN_ELEMENTS):
            container = stack[-1]
            if self._take("]") or self._take("}"):
                stack.pop()
            elif container.count is None:
                self._open(self._entry(container.path), stack)
            else:
                element = (*container.path, container.count)
                container.count += 1
                self.lines[element] = self._line
                self._open(element, stack)

    def _open(self, path: Path, stack: list[_Container]) -> None:
        """Read a value that holds no others, or enter one that does."""
        self._skip(_SPACE)
        if self._take("["):
            stack.append(_Container(path, count=0))
        elif self._take("{"):
            stack.append(_Container(path, count=None))
        elif self._text[self._here] in "\"'":
            self._skip_string()
        else:
            self._skip_until(_AFTER_BARE_VALUE)

    # ------------------------------------------------------------------------------- characters

    def _take(self, sign: str) -> bool:
        taken = self._text.startswith(sign, self._here)
        self._here += len(sign) * taken
        return taken

    def _skip(self, characters: str) -> None:
        while self._here < len(self._text) and self._text[self._here] in characters:
            self._line += self._text[self._here] == "\n"
            self._here += 1

    def _skip_until(self, characters: str) -> None:
        while self._here < len(self._text) and self._text[self._here] not in characters:
            self._here += 1

    def _skip_blank(self, characters: str) -> bool:
        """Skip these characters, and comments; say whether the text goes on."""
        self._skip(characters)
        while self._take("#"):
            self._skip_until("\n")
            self._skip(characters)
        return self._here < len(self._text)

    def _skip_string(self) -> None:
        start = self._here
        quote = self._text[start]
        end = quote * 3 if self._text.startswith(quote * 3, start) else quote
        self._here += len(end)
        while not self._take(end):
            self._here += 2 if quote == '"' and self._text[self._here] == "\\" else 1
        # One or two quotes more may stand directly before the three that close.
        if len(end) > 1:
            self._skip(quote)
        self._line += self._text.count("\n", start, self._here)
