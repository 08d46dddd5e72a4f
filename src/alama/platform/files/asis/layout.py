"""Where in a sheet the table is: its names of columns, its rows, and what only surrounds it.

Title lines above, totals, notes below and names that come again on each page are no loans. What
could be a second table, or a heading that says something of the rows below it, is refused: nobody
here can tell what it means.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from alama.core.errors import FileProblem
from alama.platform.files.asis.likeness import Holds, Likeness, Target, match
from alama.platform.files.asis.written import Cell, amount_of, day_of, is_empty, is_marker, tidy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from alama.platform.files.asis.sheets import Row

HEADER_WITHIN: Final = 60
"""Rows above the names of columns, at most."""

_TOTALS: Final = re.compile(
    r"(?:sub|grand|page|report|sous)?[ -]*(?:total|totals|totaux|jumla|sum|somme|average|mean"
    r"|moyenne|wastani|count|nombre)(?:[ :(=].{0,40})?",
    re.IGNORECASE,
)
_TOTALS_BEGIN: Final = frozenset("sgprtjamwcn -\u00a0")
_THIN: Final = 2
_NARROW: Final = 5
"""In a table of more columns no row of one or two cells is whole."""

_NAMED_MIN: Final = 2
_ROWS_TOLD: Final = 5


@dataclass(frozen=True, slots=True)
class Header:
    """The row with the names of columns, and the columns that belong to the table.

    `names` has a name for each column from `first` on; an empty one has none.
    """

    row: int
    first: int
    names: tuple[str, ...]
    likeness: Likeness

    @property
    def end(self) -> int:
        return self.first + len(self.names)


def find_header(
    head: Sequence[Row], targets: Sequence[Target], mapping: Mapping[str, str]
) -> Header | None:
    """Find the names of columns among the first rows; None where no row looks like it."""
    best: tuple[int, Header] | None = None
    for number, row in enumerate(head[:HEADER_WITHIN], 1):
        if not _may_name(row):
            continue
        for first, names in _blocks(row, head[number:]):
            likeness = match(names, targets, _chosen(names, mapping))
            fits = len(likeness.places) + len(likeness.rivals)
            if fits and (best is None or fits > best[0]):
                best = fits, Header(number, first, names, likeness)
    return None if best is None else best[1]


def _chosen(names: Sequence[str], mapping: Mapping[str, str]) -> dict[str, int]:
    """Give the places of columns that somebody has named; a name that stands twice is none."""
    many = Counter(names)
    return {target: names.index(name) for target, name in mapping.items() if many[name] == 1}


def _may_name(row: Row) -> bool:
    given = [cell for cell in row if not is_empty(cell)]
    words = [c for c in given if isinstance(c, str) and amount_of(c) is None and day_of(c) is None]
    return len(words) >= _NAMED_MIN and 2 * len(words) > len(given)


def _blocks(row: Row, below: Sequence[Row]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Cut a row of names where a whole column is empty between tables that stand side by side."""
    names = [tidy(str(cell)) if not is_empty(cell) else "" for cell in row]
    while names and not names[-1]:
        names.pop()
    gaps = [
        place
        for place, name in enumerate(names)
        if not name and all(place >= len(r) or is_empty(r[place]) for r in below)
    ]
    edges = [-1, *gaps, len(names)]
    blocks = [(a + 1, tuple(names[a + 1 : b])) for a, b in pairwise(edges) if b > a + 1]
    wide = [block for block in blocks if len(block[1]) >= _NAMED_MIN]
    if len(wide) > 1:
        yield from wide
    elif names:
        first = next(place for place, name in enumerate(names) if name)
        yield first, tuple(names[first:])


def lies_on_its_side(head: Sequence[Row], targets: Sequence[Target]) -> bool:
    """Say whether the names of columns stand below one another."""
    names = [tidy(row[0]) if row and isinstance(row[0], str) else "" for row in head]
    needed = {target.name for target in targets if target.required}
    return 2 * len(needed.intersection(match(names, targets).places)) > len(needed)


def split_between(row: Row, header: Header, targets: Sequence[Target]) -> bool:
    """Say whether wanted columns stand beyond an empty column, too."""
    rest = [
        tidy(str(cell)) if not is_empty(cell) and not header.first <= place < header.end else ""
        for place, cell in enumerate(row)
    ]
    found = match(rest, targets)
    return bool(found.places or found.rivals)


def says_total(cell: Cell) -> bool:
    """Say whether a cell begins as the name of a total does."""
    if not isinstance(cell, str) or cell[:1].casefold() not in _TOTALS_BEGIN:
        return False
    return _TOTALS.fullmatch(tidy(cell).rstrip(" :")) is not None


# ----------------------------------------------------------------------------------- rows


@dataclass(slots=True)
class Passed:
    """The rows that are no loans, by what they are."""

    blank: int = 0
    totals: list[int] = field(default_factory=list)
    headers: list[int] = field(default_factory=list)
    notes: list[int] = field(default_factory=list)
    hidden: list[int] = field(default_factory=list)
    rows: int = 0
    first: int = 0


class Body:
    """Tells the rows of a table from what surrounds them, by their numbers in the sheet."""

    def __init__(
        self,
        where: str,
        header: Header,
        targets: Sequence[Target],
        skipped: frozenset[int] = frozenset(),
        *,
        is_padded: bool,
    ) -> None:
        self.passed = Passed()
        self._where = where
        self._header = header
        self._skipped = skipped
        self._is_padded = is_padded
        places = header.likeness.places
        self._always = [places[t.name] for t in targets if t.always and t.name in places]
        self._typed = [
            places[t.name]
            for t in targets
            if t.name in places and t.holds in {Holds.NUMBER, Holds.DAY}
        ]
        self._ids = {places[t.name] for t in targets if t.name in places and t.holds is Holds.ID}

    def rows(self, rows: Iterable[Row]) -> Iterator[tuple[int, Row]]:
        """Give the rows of the table below its names, each with its number, cut to its columns."""
        header, passed = self._header, self.passed
        waiting: list[int] = []
        for number, row in enumerate(rows, 1):
            if number <= header.row:
                continue
            own = self._own(number, row)
            given = [cell for cell in own if not is_empty(cell)]
            if not given:
                passed.blank += 1
            elif number in self._skipped:
                passed.hidden.append(number)
            elif self._names_again(own):
                passed.headers.append(number)
            elif self._totals(own):
                passed.totals.append(number)
            elif self._noted(own, given):
                waiting.append(number)
            else:
                self._require_one_table(number, own, given, waiting)
                self._require_whole(number, row)
                passed.rows += 1
                passed.first = passed.first or number
                yield number, own
        passed.notes.extend(waiting)

    def _own(self, number: int, row: Row) -> Row:
        header = self._header
        beyond = [p for p in range(header.end, len(row)) if not is_empty(row[p])]
        if beyond and not self._is_padded:
            raise FileProblem(
                f"{self._where}: row {number:,} has {max(beyond) + 1} values where the names of "
                f"columns are {header.end}",
                hint="a value that holds the sign between values needs quotes around it",
            )
        own = tuple(row[header.first : header.end])
        return own + (None,) * (len(header.names) - len(own))

    def _require_whole(self, number: int, row: Row) -> None:
        """Refuse a line of text that ends too early: nobody knows which value is missing."""
        if not self._is_padded and len(row) < self._header.end:
            raise FileProblem(
                f"{self._where}: row {number:,} has {len(row)} values where the names of columns "
                f"are {self._header.end}",
                hint="look for a break of the line inside a value, or a missing separator",
            )

    def _names_again(self, own: Row) -> bool:
        return all(
            isinstance(cell, str) and tidy(cell) == name
            for cell, name in zip(own, self._header.names, strict=True)
            if name
        )

    def _totals(self, own: Row) -> bool:
        """Say whether a cell says total, and what every row of the table has is missing.

        What stands there instead of an id says it by itself: a total may have a day, too.
        """
        says = [place for place, cell in enumerate(own) if says_total(cell)]
        if not says:
            return False
        return not self._ids.isdisjoint(says) or all(
            is_empty(own[place]) or place in says for place in self._always
        )

    def _noted(self, own: Row, given: Sequence[Cell]) -> bool:
        """Say whether a row is a note: one or two cells where each loan has more."""
        columns = len(self._header.names)
        if columns <= _THIN + 1 or len(given) > _THIN:
            return False
        lacks = any(is_empty(own[place]) for place in self._always) or not self._always
        return lacks or columns > _NARROW

    def _require_one_table(
        self, number: int, own: Row, given: Sequence[Cell], waiting: Sequence[int]
    ) -> None:
        if self._names_others(own, given):
            raise FileProblem(
                f"{self._where}: row {number:,} names columns again, and others than row "
                f"{self._header.row:,}: two tables stand in one sheet",
                hint="put each table into a sheet or a file of its own",
            )
        if waiting:
            told = ", ".join(f"{row:,}" for row in waiting[:_ROWS_TOLD])
            raise FileProblem(
                f"{self._where}: between the rows of the table stand others with one or two cells "
                f"(row {told}): headings or notes, whose meaning for the rows below is not known",
                hint="delete them, or put what they say into a column of its own",
            )

    def _names_others(self, own: Row, given: Sequence[Cell]) -> bool:
        if len(given) < _NAMED_MIN or not all(isinstance(c, str) for c in given):
            return False
        texts = [c for c in given if isinstance(c, str)]
        if any(any(letter.isdigit() for letter in text) for text in texts):
            return False
        typed = [own[place] for place in self._typed if not is_empty(own[place])]
        words = [
            c
            for c in typed
            if isinstance(c, str) and not is_marker(tidy(c)) and any(map(str.isalpha, c))
        ]
        return len(words) >= _NAMED_MIN and len(words) == len(typed)
