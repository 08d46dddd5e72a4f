"""The table of a statement, found by where its words stand.

A layout is told by the words of its header. A row begins with what stands in its key columns; what
stands below it (or around it, where cells are centred) in columns of text is more of the same cell.
A row of which a cell is missing is counted, and named by page and line; none is guessed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.statements.pdf.words import MONEY, Fault, Page, Word

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class Column(NamedTuple):
    """A column by what its header may say, in small letters."""

    name: str
    headers: tuple[str, ...]
    form: re.Pattern[str] | None = None
    """What a whole cell looks like; None: any text, also none."""
    is_money: bool = False


class Layout(NamedTuple):
    """A kind of statement."""

    name: str
    columns: tuple[Column, ...]
    told_by: frozenset[str]
    """Words that one line of its header has."""
    keys: Mapping[int, re.Pattern[str]]
    """Columns that tell where a row begins, and what stands there."""
    times: int
    """The column of times."""
    wrapped: int
    """The column whose text is the longest."""


_TEXT: Final = re.compile(r"\S.*", re.DOTALL)
_FIGURE: Final = MONEY
_FIGURE_OR_NONE: Final = re.compile(rf"(?:{MONEY.pattern})?")
_RECEIPT: Final = re.compile(r"[A-Z0-9]{8,14}")
_NUMBER: Final = re.compile(r"\d{6,16}")
_ISO_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_ISO: Final = re.compile(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}(?::\d{2})?")
_DAY_FIRST: Final = re.compile(r"\d{2}[-/]\d{2}[-/]\d{4}")
_DAY_AND_TIME: Final = re.compile(r"\d{2}[-/]\d{2}[-/]\d{4} ?\d{2}:\d{2}(?::\d{2})?")
_DAY_OR_CLOCK: Final = re.compile(
    rf"{_ISO_DAY.pattern}|{_DAY_FIRST.pattern}|\d{{2}}:\d{{2}}(?::\d{{2}})?"
)

MPESA_KENYA: Final = Layout(
    "mpesa_kenya",
    (
        Column("receipt", ("receipt no.", "receipt no", "receipt"), _RECEIPT),
        Column("time", ("completion time",), _ISO),
        Column("details", ("details",), _TEXT),
        Column("status", ("transaction status", "status"), _TEXT),
        Column("paid_in", ("paid in",), _FIGURE_OR_NONE, is_money=True),
        Column("withdrawn", ("withdrawn", "withdraw"), _FIGURE_OR_NONE, is_money=True),
        Column("balance", ("balance",), _FIGURE, is_money=True),
    ),
    told_by=frozenset({"details", "withdrawn", "balance"}),
    keys={0: _RECEIPT, 1: _ISO_DAY, 6: MONEY},
    times=1,
    wrapped=2,
)

MTN_UGANDA: Final = Layout(
    "mtn_uganda",
    (
        Column(
            "time",
            ("date & time", "date and time", "date/time", "date time", "date"),
            _DAY_AND_TIME,
        ),
        Column("type", ("transaction type", "type"), _TEXT),
        Column("description", ("description",)),
        Column("id", ("transaction id", "id"), _NUMBER),
        Column("from", ("from",)),
        Column("to", ("to",)),
        Column("amount", ("amount",), _FIGURE, is_money=True),
        Column("fees", ("fees", "fee", "charges"), _FIGURE_OR_NONE, is_money=True),
        Column("taxes", ("taxes", "tax"), _FIGURE_OR_NONE, is_money=True),
        Column("balance", ("balance",), _FIGURE, is_money=True),
    ),
    told_by=frozenset({"description", "amount", "balance"}),
    keys={0: _DAY_FIRST, 3: _NUMBER, 9: MONEY},
    times=0,
    wrapped=2,
)

LAYOUTS: Final = (MPESA_KENYA, MTN_UGANDA)

_CURRENCIES: Final = frozenset({"ugx", "kes", "ksh", "ksh."})

_SAME_LINE: Final = 1.5
"""Points between baselines of one line."""

_BAND: Final = 14.0
"""Points above and below a line of a header in which more of it may stand."""

_NEAR: Final = 2.0
"""Points by which a word may begin before its column."""

_GAP: Final = 4.5
"""Points between words from which on they are two cells."""

_FAR: Final = 60.0
"""Points by which a figure may stand beside the header of its column."""

_LEADING: Final = 13.0
"""Points between lines of one cell, at most."""

_KEYS_MIN: Final = 2
"""Of receipt, time and balance, what a row has to show so that it counts as one."""

ROWS_MAX: Final = 50_000
LINES_MAX: Final = 300
"""Of what stands before the table, and behind it."""


class Line(NamedTuple):
    """Words of one baseline, from left to right."""

    y: float
    words: list[Word]


class Header(NamedTuple):
    """Where the columns of a page stand."""

    y: float
    """Of its lowest line: what is below belongs to the table."""
    lefts: tuple[float, ...]
    rights: tuple[float, ...]


class Row(NamedTuple):
    """One row as it stands. Pages and their rows count from 1."""

    page: int
    line: int
    cells: list[str]
    font: str
    """Of its figures; several where they differ."""


class Unread(NamedTuple):
    """A row of which a cell cannot be read, and which."""

    page: int
    line: int
    column: str


class Table(NamedTuple):
    """What the pages of a document came to."""

    layout: str
    rows: list[Row]
    unread: list[Unread]
    head: list[list[str]]
    """Lines before the table, by cells."""
    tail: list[list[str]]
    """Lines behind its last row."""


class _Begun(NamedTuple):
    """A row whose first line was found: its words by column."""

    page: int
    line: int
    y: float
    cells: list[list[Word]]
    font: str


class _Placed(NamedTuple):
    """A line of the table, with the column of each word; None for what belongs to none."""

    line: Line
    columns: list[int | None]


def lines_of(words: Iterable[Word]) -> list[Line]:
    """Give the lines of a page, from its top."""
    lines = list[Line]()
    for word in sorted(words, key=lambda word: -word.y):
        if lines and lines[-1].y - word.y <= _SAME_LINE:
            lines[-1].words.append(word)
        else:
            lines.append(Line(word.y, [word]))
    for line in lines:
        line.words.sort(key=lambda word: word.x)
    return lines


def cells_of(page: Page, line: Line) -> list[tuple[float, float, str]]:
    """Give what stands together in a line: from where, to where, and what."""
    cells = list[tuple[float, float, str]]()
    for word in line.words:
        right = page.right(word)
        if cells and word.x - cells[-1][1] < _GAP:
            cells[-1] = (cells[-1][0], right, f"{cells[-1][2]} {word.text}")
        else:
            cells.append((word.x, right, word.text))
    return cells


class Reader:
    """Reads the pages of one document, in their order."""

    def __init__(self) -> None:
        self._layout: Layout | None = None
        self._header: Header | None = None
        self._head = list[list[str]]()
        self._tail = list[list[str]]()
        self._rows = list[_Begun]()
        self._is_centred: bool | None = None

    def add(self, page: Page) -> None:
        """Read a page."""
        lines = lines_of(page.words())
        found = _find_header(page, lines, LAYOUTS if self._layout is None else (self._layout,))
        if found is not None:
            self._layout, self._header = found
            body = [line for line in lines if line.y < self._header.y - _SAME_LINE]
            if not self._rows:
                _keep(self._head, page, lines[: len(lines) - len(body)])
        else:
            body = lines
        if self._layout is None or self._header is None:
            _keep(self._head, page, lines)
        else:
            self._read(page, self._layout, _place_all(page, self._layout, self._header, body))

    def table(self) -> Table | None:
        """Give what was read; None where no page had a header that is known."""
        if self._layout is None:
            return None
        rows, unread = list[Row](), list[Unread]()
        for begun in self._rows:
            cells = _texts(self._layout, begun.cells)
            wrong = _first_wrong(self._layout, cells)
            if wrong is None:
                rows.append(Row(begun.page, begun.line, cells, begun.font))
            else:
                unread.append(Unread(begun.page, begun.line, wrong))
        return Table(self._layout.name, rows, unread, self._head, self._tail)

    def _read(self, page: Page, layout: Layout, body: Sequence[_Placed]) -> None:
        starts = [placed for placed in body if _is_start(layout, placed)]
        if len(self._rows) + len(starts) > ROWS_MAX:
            raise Fault("too_large")
        if self._is_centred is None and starts:
            self._is_centred = _is_centred(layout, body, starts)
        here = list[_Begun]()
        for number, placed in enumerate(starts, start=1):
            cells = _by_column(layout, placed)
            font = _fonts(page, layout, cells)
            here.append(_Begun(page.number + 1, number, placed.line.y, cells, font))
        more = [placed for placed in body if not _is_start(layout, placed)]
        rest = _continue(layout, more, here, self._rows[-1:], centred=bool(self._is_centred))
        if here:
            self._tail.clear()  # what stood below the rows of an earlier page is its footer
            rest = [line for line in rest if line.y < here[-1].y]
        self._rows += here
        _keep(self._tail, page, rest)


def _keep(where: list[list[str]], page: Page, lines: Sequence[Line]) -> None:
    kept = lines[: max(LINES_MAX - len(where), 0)]
    where.extend([text for _, _, text in cells_of(page, line)] for line in kept)


def _find_header(
    page: Page, lines: Sequence[Line], layouts: Sequence[Layout]
) -> tuple[Layout, Header] | None:
    for line in lines:
        said = {word.text.casefold() for word in line.words}
        for layout in layouts:
            if layout.told_by <= said:
                near = [other for other in lines if abs(other.y - line.y) <= _BAND]
                header = _header(page, layout, near)
                if header is not None:
                    return layout, header
    return None


def _header(page: Page, layout: Layout, lines: Sequence[Line]) -> Header | None:
    """Give where the columns stand; a header's cell may have several lines."""
    known = {word for column in layout.columns for said in column.headers for word in said.split()}
    merged = list[tuple[float, float, str]]()
    lowest = lines[0].y
    for line in lines:
        if not {word.text.casefold() for word in line.words} <= known:
            continue
        lowest = min(lowest, line.y)
        for left, right, text in cells_of(page, line):
            above = [cell for cell in merged if cell[0] < right and left < cell[1]]
            for cell in above:
                merged.remove(cell)
            words = " ".join([*(cell[2] for cell in above), text])
            lefts, rights = [cell[0] for cell in above], [cell[1] for cell in above]
            merged.append((min([left, *lefts]), max([right, *rights]), words))
    by_text = {text.casefold(): (left, right) for left, right, text in merged}
    places = [
        next((by_text[said] for said in column.headers if said in by_text), None)
        for column in layout.columns
    ]
    found = [place for place in places if place is not None]
    if len(found) < len(places) or found != sorted(found):
        return None
    return Header(lowest, tuple(left for left, _ in found), tuple(right for _, right in found))


def _place_all(page: Page, layout: Layout, header: Header, lines: Sequence[Line]) -> list[_Placed]:
    last_text = max(at for at, column in enumerate(layout.columns) if not column.is_money)
    lefts = header.lefts[: last_text + 1]
    figures_from = header.lefts[last_text]
    placed = list[_Placed]()
    for line in lines:
        columns = list[int | None]()
        for word in line.words:
            at = bisect_right(lefts, word.x + _NEAR) - 1
            if word.x > figures_from + _NEAR and not word.text.isalpha():
                at = _money_column(page, layout, header, word, at)
            elif word.x > figures_from and word.text.casefold() in _CURRENCIES:
                at = -1
            columns.append(at if at >= 0 else None)
        placed.append(_Placed(line, columns))
    return placed


def _money_column(page: Page, layout: Layout, header: Header, word: Word, text: int) -> int:
    """Give the column of money that a figure stands nearest to by an edge or its middle."""
    right = page.right(word)
    best, least = text, _FAR
    for at, column in enumerate(layout.columns):
        if column.is_money:
            left_off, right_off = word.x - header.lefts[at], right - header.rights[at]
            off = min(abs(left_off), abs(right_off), abs(left_off + right_off) / 2)
            if off < least:
                best, least = at, off
    return best


def _is_start(layout: Layout, placed: _Placed) -> bool:
    """Say whether a row begins in a line: whether it shows two of its three keys."""
    keys = set[int]()
    for word, at in zip(placed.line.words, placed.columns, strict=True):
        if at is not None and at in layout.keys and layout.keys[at].match(word.text):
            keys.add(at)
    return len(keys) >= _KEYS_MIN


def _by_column(layout: Layout, placed: _Placed) -> list[list[Word]]:
    cells: list[list[Word]] = [[] for _ in layout.columns]
    for word, at in zip(placed.line.words, placed.columns, strict=True):
        if at is not None:
            cells[at].append(word)
    return cells


def _is_centred(layout: Layout, body: Sequence[_Placed], starts: Sequence[_Placed]) -> bool:
    """Say whether cells of several lines stand around the first line of their row.

    They do where text stands above the first row, or above and below a row that has none beside
    its figures.
    """
    texts = [
        placed.line.y
        for placed in body
        if layout.wrapped in placed.columns and _is_text(layout, placed)
    ]
    for place, start in enumerate(starts):
        y = start.line.y
        above = any(y < text <= y + _LEADING for text in texts)
        below = any(y - _LEADING <= text < y for text in texts)
        if above and (place == 0 or (below and layout.wrapped not in start.columns)):
            return True
    return False


def _continue(
    layout: Layout,
    more: Sequence[_Placed],
    here: Sequence[_Begun],
    before: Sequence[_Begun],
    *,
    centred: bool,
) -> list[Line]:
    """Give each line that belongs to a row to it, and return the others."""
    lowest = {id(begun): begun.y for begun in here}
    rest = list[Line]()
    for placed in more:
        y = placed.line.y
        owner: _Begun | None = None
        if _is_text(layout, placed):
            if centred:
                owner = min(here, key=lambda begun: abs(begun.y - y), default=None)
                if owner is not None and abs(owner.y - y) > 3 * _LEADING:
                    owner = None
            elif above := [begun for begun in here if begun.y > y]:
                owner = above[-1] if lowest[id(above[-1])] - y <= _LEADING else None
            elif here and before and y - here[0].y <= _LEADING:
                owner = before[-1]  # begun on the page before
        if owner is None:
            rest.append(placed.line)
            continue
        lowest[id(owner)] = y
        for word, at in zip(placed.line.words, placed.columns, strict=True):
            assert at is not None
            owner.cells[at].append(word)
    return rest


def _is_text(layout: Layout, placed: _Placed) -> bool:
    """Say whether a line has nothing but what cells of text may go on with."""
    for word, at in zip(placed.line.words, placed.columns, strict=True):
        if at is None or layout.columns[at].is_money:
            return False
        if at == layout.times:
            if not _DAY_OR_CLOCK.fullmatch(word.text):
                return False
        elif at in layout.keys:
            return False
    return True


def _texts(layout: Layout, cells: Sequence[Sequence[Word]]) -> list[str]:
    """Give what the cells of a row say, their words in the order in which they are read."""
    return [
        ("" if column.is_money else " ").join(word.text for word in _in_order(words))
        for column, words in zip(layout.columns, cells, strict=True)
    ]


def _in_order(words: Sequence[Word]) -> Iterable[Word]:
    if len(words) < 2 or words[0].y - words[-1].y == 0:  # noqa: PLR2004
        return words
    first = [word for word in words if word.page == words[0].page]
    later = [word for word in words if word.page != words[0].page]
    lines = [*lines_of(first), *lines_of(later)]
    return [word for line in lines for word in line.words]


def _first_wrong(layout: Layout, cells: Sequence[str]) -> str | None:
    """Give the name of the first column whose cell is not what stands there."""
    for column, cell in zip(layout.columns, cells, strict=True):
        if column.form is not None and not column.form.fullmatch(cell):
            return column.name
    return None


def _fonts(page: Page, layout: Layout, cells: Sequence[Sequence[Word]]) -> str:
    """Give the fonts of the figures of a row, with their sizes."""
    fonts = {
        page.font(word)
        for column, words in zip(layout.columns, cells, strict=True)
        if column.is_money
        for word in words[:1]
    }
    return ", ".join(f"{name} {size:g}" for name, size in sorted(fonts))
