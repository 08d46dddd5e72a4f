"""Tables as they come: any delimiter, encoding, sheet and way of writing, read in one sure way.

A file is looked at, and what was found is said. Where it can be read in one way only it is; where
there are several ways, somebody is asked; what could be read wrong is refused. The answers are a
`Mapping`, which holds names of columns and no value, and can be kept for the next file. A `Reading`
is all that it takes to read this very file again in the same way.

    inspected = inspect(path, targets, mapping)
    convert(path, inspected.reading, out)        # CSV with the names and ways that Alama knows
"""

from __future__ import annotations

import csv
import itertools
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from alama.core.errors import FileProblem
from alama.platform.files.asis.columns import ColumnSeen, ColumnWay, Trouble, as_word, rewriter
from alama.platform.files.asis.delimited import ENCODINGS, TextGrid, is_garbled
from alama.platform.files.asis.grids import Grid, open_grid
from alama.platform.files.asis.layout import (
    HEADER_WITHIN,
    Body,
    Header,
    Passed,
    find_header,
    lies_on_its_side,
    split_between,
)
from alama.platform.files.asis.likeness import Holds, Target, is_scaled
from alama.platform.files.asis.written import (
    COMMA,
    DAY_FIRST,
    MONTH_FIRST,
    ORDERS,
    POINT,
    SYSTEMS,
    Cell,
    currencies_in,
    tidy,
)
from alama.platform.files.promise import promised
from alama.platform.files.table import OWN, Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from collections.abc import Mapping as Names
    from pathlib import Path

    from alama.platform.files.asis.sheets import Row, Sheet

PREVIEW_ROWS: Final = 20
_LOOKED_AT: Final = HEADER_WITHIN + 200
_WATCHED_EVERY: Final = 256


class Mapping(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What somebody has said of files of one kind: it holds names of columns, and no value.

    `columns` gives the column of the file for a name that Alama knows; an empty one: none.
    """

    columns: dict[str, str] = {}
    dates: str | None = None
    serial: str | None = None
    decimal: str | None = None
    dash: str | None = None
    hidden: str | None = None
    sheet: str | None = None
    encoding: str | None = None
    delimiter: str | None = None


CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "dates": ORDERS,
    "serial": tuple(SYSTEMS),
    "decimal": (POINT, COMMA),
    "dash": ("zero", "missing"),
    "hidden": ("read", "skip"),
    "encoding": ENCODINGS,
    "delimiter": (",", ";", "\t", "|"),
}
"""What may be answered to each question, where that is a closed set."""


class Question(msgspec.Struct, frozen=True):
    """Something that the file does not tell: what it is about, in words, and the answers there are.

    `about` is a field of `Mapping`; for a column also the name that is to be mapped.
    """

    about: str
    words: str
    answers: tuple[str, ...]
    column: str | None = None


class Column(msgspec.Struct, frozen=True):
    """A column of the file: its place, its name there, the name it gets, and how it is read."""

    place: int
    source: str
    name: str
    way: ColumnWay


class Reading(msgspec.Struct, frozen=True):
    """All that it takes to read one file again in the same way. It holds no value of a row."""

    sheet: str
    header: Header
    columns: tuple[Column, ...]
    skips_hidden: bool = False
    encoding: str | None = None
    delimiter: str | None = None


class Inspected(msgspec.Struct, frozen=True):
    """What was found: `reading` is None while a question is open.

    `told` says in words what was detected, `likened` names columns that were told by likeness.
    `before` and `after` are the first rows as they stand
    and as they are read, values and all: for the eyes of whoever has the file, to be kept nowhere.
    """

    reading: Reading | None
    questions: tuple[Question, ...]
    told: tuple[str, ...]
    mapped: dict[str, str]
    likened: tuple[str, ...]
    unmapped: tuple[str, ...]
    money: tuple[str, ...]
    rows: int
    before: tuple[tuple[str, ...], ...]
    after: tuple[tuple[str, ...], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Give the names of columns as they are read."""
        return () if self.reading is None else tuple(one.name for one in self.reading.columns)


def inspect(
    path: Path,
    targets: Sequence[Target],
    mapping: Mapping | None = None,
    watch: Callable[[float], None] = lambda _share: None,
    limits: Limits = OWN,
) -> Inspected:
    """Look at all of a file, and say how it is read or what has to be asked first.

    FileProblem where it could be read wrong, in words that somebody knows who uses a spreadsheet.
    """
    return _Inspection(path, targets, mapping or Mapping(), limits).run(watch)


class _Chosen(NamedTuple):
    """A column of the file, the name it gets, and what it is wanted for, if anybody wants it."""

    place: int
    source: str
    name: str
    target: Target | None

    @property
    def holds(self) -> Holds:
        return Holds.ANY if self.target is None else self.target.holds


class _Found(NamedTuple):
    """What was looked at: the file, its table, its columns, and the first rows."""

    grid: Grid
    sheet: Sheet
    header: Header
    seen: dict[int, ColumnSeen]
    before: list[Row]


class _Inspection:
    def __init__(
        self, path: Path, targets: Sequence[Target], mapping: Mapping, limits: Limits
    ) -> None:
        self.path = path
        self.targets = targets
        self.mapping = mapping
        self.limits = limits
        self.questions: list[Question] = []
        self.told: list[str] = []

    def run(self, watch: Callable[[float], None]) -> Inspected:
        grid = open_grid(self.path, self.limits, self.mapping.encoding, self.mapping.delimiter)
        self.told += grid.told
        self._ask_encoding(grid)
        sheet, head, header = self._table(grid)
        if lies_on_its_side(head, self.targets):
            raise FileProblem(
                f"{self.path}: the names of columns stand below one another: the table lies on its "
                "side",
                hint="in a spreadsheet, copy it and paste it transposed, so that each loan is a "
                "row",
            )
        require_sound(str(self.path), sheet, head, header, self.targets)
        if hidden := sheet.hidden_columns.intersection(range(header.first, header.end)):
            s = "s that are" if len(hidden) > 1 else " that is"
            self.told.append(f"{len(hidden)} column{s} hidden in the sheet can be read, too")
        if header.row > 1:
            self.told.append(
                f"the names of columns stand in row {header.row:,}; what is above them is left out"
            )
        columns = self._columns(header)
        skipped = self._hidden(sheet, header)
        body = Body(
            str(self.path), header, self.targets, skipped, is_padded=not isinstance(grid, TextGrid)
        )
        seen = {one.place: ColumnSeen(one.source, one.holds, sheet.epoch) for one in columns}
        before: list[Row] = []
        merged = _fills(sheet, header, columns, str(self.path))
        with closing(grid.rows(sheet)) as rows:
            for number, row in _filled(body.rows(rows), merged):
                if len(before) < PREVIEW_ROWS:
                    before.append(row)
                for place, column in seen.items():
                    column.add(row[place], number)
                if not number % _WATCHED_EVERY:
                    watch(grid.share)
        watch(1.0)
        if not body.passed.rows:
            raise FileProblem(
                f"{self.path} has names of columns, but no rows below them",
                hint="look whether a filter was on when it was saved",
            )
        ways = self._ways(columns, seen)
        found = _Found(grid, sheet, header, seen, before)
        return self._result(found, columns, ways, body)

    # -------------------------------------------------------------------------------- the table

    def _ask_encoding(self, grid: Grid) -> None:
        if isinstance(grid, TextGrid) and grid.way.doubt:
            words = (
                "letters with accents in it can be read in several ways; which encoding was it "
                "written in? (Saving it as CSV UTF-8 answers that, too.)"
            )
            self.questions.append(Question("encoding", words, grid.way.doubt))

    def _table(self, grid: Grid) -> tuple[Sheet, list[Row], Header]:
        found: list[tuple[Sheet, list[Row], Header]] = []
        shown = [
            sheet for sheet in grid.sheets if sheet.is_shown or sheet.name == self.mapping.sheet
        ]
        if self.mapping.sheet is not None and len(grid.sheets) > 1:
            shown = [sheet for sheet in shown if sheet.name == self.mapping.sheet]
            if not shown:
                raise FileProblem(
                    f"{self.path} has no sheet of the name that was kept for it",
                    hint=f"its sheets are {_listed(sheet.name for sheet in grid.sheets)}",
                )
        for sheet in shown:
            with closing(grid.rows(sheet)) as rows:
                head = _headed(list(itertools.islice(rows, _LOOKED_AT)), sheet)
            header = find_header(head, self.targets, self.mapping.columns)
            if header is not None:
                found.append((sheet, head, header))
        if not found:
            raise FileProblem(
                f"{self.path}: no row in it names the columns that are needed",
                hint="the first row of the table must name its columns; "
                f"needed are {_listed(t.name for t in self.targets if t.required)}",
            )
        return self._one_of(grid, found)

    def _one_of(
        self, grid: Grid, found: list[tuple[Sheet, list[Row], Header]]
    ) -> tuple[Sheet, list[Row], Header]:
        needed = {target.name for target in self.targets if target.required}
        whole = [one for one in found if needed <= one[2].likeness.places.keys()]
        chosen = whole or found
        if len(chosen) > 1:
            names = tuple(one[0].name for one in chosen)
            words = f"{len(names)} sheets hold a table; which one is to be read?"
            self.questions.append(Question("sheet", words, names))
        if len(grid.sheets) > 1:
            self.told.append(f"of its {len(grid.sheets)} sheets, {chosen[0][0].name} is read")
        if hidden := sum(not sheet.is_shown for sheet in grid.sheets):
            self.told.append(f"{hidden} hidden sheet{'s are' if hidden > 1 else ' is'} not read")
        return chosen[0]

    def _hidden(self, sheet: Sheet, header: Header) -> frozenset[int]:
        rows = frozenset(row for row in sheet.hidden_rows if row > header.row)
        if not rows:
            return rows
        if self.mapping.hidden is None:
            words = (
                f"{len(rows):,} rows are hidden in the sheet, by a filter or by hand; read them?"
            )
            self.questions.append(Question("hidden", words, CHOICES["hidden"]))
        return rows if self.mapping.hidden == "skip" else frozenset()

    # -------------------------------------------------------------------------------- columns

    def _columns(self, header: Header) -> list[_Chosen]:
        """Give for each column its place, its name in the file and that it gets, and its target."""
        by_name = {target.name: target for target in self.targets}
        left_out = {name for name, source in self.mapping.columns.items() if not source}
        places = {
            place: by_name[name]
            for name, place in header.likeness.places.items()
            if name in by_name and name not in left_out
        }
        self._require_chosen(header)
        self._ask_columns(header, left_out)
        twice = {n for n in header.names if n and header.names.count(n) > 1}
        wanted = {*places, *(p for rivals in header.likeness.rivals.values() for p in rivals)}
        if taken := sorted(twice.intersection(header.names[place] for place in wanted)):
            raise FileProblem(
                f"{self.path} has two columns named {taken[0]}",
                hint="rename or remove one of them",
            )
        told, names = [], {target.name for target in places.values()}
        for place, source in enumerate(header.names):
            if not source:
                continue
            target = places.get(place)
            name = source if target is None else target.name
            while target is None and name in names:
                name = f"{name} (in the file)" if name == source else f"{name}+"
            names.add(name)
            told.append(_Chosen(place, source, name, target))
            if target is not None and target.holds is Holds.NUMBER and is_scaled(source):
                raise FileProblem(
                    f"{self.path}: by its name, column {source} counts in thousands, millions or "
                    "hundredths",
                    hint="write the amounts out in whole money, and take that out of the name",
                )
        return told

    def _require_chosen(self, header: Header) -> None:
        for name, source in self.mapping.columns.items():
            if source and name not in header.likeness.places:
                raise FileProblem(
                    f"{self.path} has no column {source}, or has it twice: the mapping reads "
                    f"{name} from it",
                    hint=f"its columns are {_listed(header.names)}; map it anew",
                )

    def _ask_columns(self, header: Header, left_out: set[str]) -> None:
        likeness = header.likeness
        for target in self.targets:
            if target.name in left_out:
                continue
            rivals = likeness.rivals.get(target.name)
            place = likeness.places.get(target.name)
            if rivals is not None:
                names = tuple(header.names[place] for place in rivals)
                words = f"which column is {target.name}?"
                self.questions.append(Question("columns", words, names, target.name))
            elif place is not None and target.name in likeness.unsure:
                words = f"is column {header.names[place]} what is meant by {target.name}?"
                names = (header.names[place],)
                self.questions.append(Question("columns", words, names, target.name))
            elif place is None and target.required:
                taken = set(likeness.places.values())
                names = tuple(n for p, n in enumerate(header.names) if n and p not in taken)
                words = f"no column is like {target.name}; which one is it?"
                self.questions.append(Question("columns", words, names, target.name))

    def _ways(
        self,
        columns: list[_Chosen],
        seen: Names[int, ColumnSeen],
    ) -> dict[int, ColumnWay]:
        asked: dict[str, list[ColumnSeen]] = {}
        marks = self._marks(columns, seen)
        if any(one.looks_years_first for one in seen.values()):
            for one in seen.values():
                one.may_be_years_first = True

        def decide(what: str, column: ColumnSeen) -> str | None:
            answer: str | None = getattr(self.mapping, what)
            if what == "decimal" and len(marks) == 1 and answer is None:
                answer = next(iter(marks))
            if what == "dates" and answer is not None and answer not in column.open_orders:
                raise Trouble(
                    f"the days in column {column.name} cannot be read {answer}",
                    "answer anew how they are written: --dates",
                )
            if answer is None:
                asked.setdefault(what, []).append(column)
            return answer

        ways = {}
        for place, _, _, _ in columns:
            try:
                way = seen[place].judged(decide)
            except Trouble as trouble:
                reason, hint = trouble.args
                raise FileProblem(f"{self.path}: {reason}", hint=hint) from None
            if way is not None:
                ways[place] = way
        self.questions += [_question(what, many) for what, many in asked.items()]
        return ways

    def _marks(
        self,
        columns: list[_Chosen],
        seen: Names[int, ColumnSeen],
    ) -> set[str]:
        """Give the decimal marks that other columns of numbers show beyond doubt."""
        numbers = [seen[c.place].numbers.counts for c in columns if c.holds is Holds.NUMBER]
        return {mark for mark in (POINT, COMMA) for counts in numbers if counts[mark]}

    # -------------------------------------------------------------------------------- the result

    def _result(
        self, found: _Found, columns: list[_Chosen], ways: dict[int, ColumnWay], body: Body
    ) -> Inspected:
        grid, sheet, header, seen, before = found
        passed = body.passed
        reading = None
        if not self.questions:
            reading = Reading(
                sheet=sheet.name,
                header=header,
                columns=tuple(
                    Column(place, source, name, ways[place]) for place, source, name, _ in columns
                ),
                skips_hidden=self.mapping.hidden == "skip",
                encoding=grid.way.encoding if isinstance(grid, TextGrid) else None,
                delimiter=grid.way.delimiter if isinstance(grid, TextGrid) else None,
            )
        self._say_passed(passed)
        self._say_ways(columns, ways, seen)
        mapped = {name: source for _, source, name, target in columns if target is not None}
        money = self._money(found, columns)
        return Inspected(
            reading=reading,
            questions=tuple(self.questions),
            told=tuple(self.told),
            mapped=mapped,
            likened=tuple(name for name in header.likeness.likened if name in mapped),
            unmapped=tuple(source for _, source, _, target in columns if target is None),
            money=money,
            rows=passed.rows,
            before=tuple(tuple(map(as_word, row)) for row in before),
            after=() if reading is None else _rewritten(reading, before),
        )

    def _money(self, found: _Found, columns: list[_Chosen]) -> tuple[str, ...]:
        """Give the currencies that the values, names and formats of all amounts leave."""
        wanted = {c.place: c.source for c in columns if c.target is not None and c.target.money}
        formats = found.grid.formats(found.sheet, found.header.row)
        meant: frozenset[str] | None = None
        for place, source in wanted.items():
            for told in (
                found.seen[place].numbers.money,
                currencies_in(source),
                currencies_in(formats.get(found.header.first + place, "")),
            ):
                meant = told if meant is None else meant & (told or meant)
            if meant is not None and not meant:
                raise FileProblem(
                    f"{self.path}: column {source} is in another currency than what its values, "
                    "its format or other columns say",
                    hint="bring all amounts into one currency",
                )
        return tuple(sorted(meant or ()))

    def _say_passed(self, passed: Passed) -> None:
        for rows, what in (
            (passed.totals, "with totals"),
            (passed.notes, "with notes below the table"),
            (passed.headers, "that name the columns again"),
            (passed.hidden, "that are hidden in the sheet"),
        ):
            if rows:
                s = "s are" if len(rows) > 1 else " is"
                self.told.append(f"{len(rows):,} row{s} left out {what}")

    def _say_ways(
        self,
        columns: list[_Chosen],
        ways: dict[int, ColumnWay],
        seen: dict[int, ColumnSeen],
    ) -> None:
        read = {
            source: (ways[place], seen[place])
            for place, source, _, target in columns
            if target is not None and place in ways
        }
        numbers = {n: (w, s.numbers) for n, (w, s) in read.items() if w.holds is Holds.NUMBER}
        days = {n: (w, s.days) for n, (w, s) in read.items() if w.holds is Holds.DAY}
        self._say("have decimal commas", (n for n, (w, s) in numbers.items() if s.counts[COMMA]))
        self._say(
            "have their thousands set apart",
            (n for n, (_, s) in numbers.items() if s.counts["group"]),
        )
        self._say("name a currency", (n for n, (_, s) in numbers.items() if s.money))
        self._say("are in percent", (n for n, (w, _) in numbers.items() if w.percent))
        for order in ORDERS[:2]:
            self._say(
                f"hold days, {order.replace('-', ' ')}",
                (
                    n
                    for n, (w, s) in days.items()
                    if s.counts["parts"] + s.counts["digits"] and w.order == order
                ),
            )
        self._say(
            "hold days as a spreadsheet counts them",
            (n for n, (_, s) in days.items() if s.counts["serial"]),
        )
        for name, (way, found) in read.items():
            unread = found.numbers if way.holds is Holds.NUMBER else found.days
            if way.holds in {Holds.NUMBER, Holds.DAY} and unread.counts["unread"]:
                many = unread.counts["unread"]
                stay = f"{many:,} values" if many > 1 else "1 value"
                stay += f" of {name} cannot be read, and stay{'' if many > 1 else 's'} as"
                stay += f" {'they are' if many > 1 else 'it is'} ({unread.where('unread')})"
                self.told.append(stay)

    def _say(self, what: str, names: Iterable[str]) -> None:
        listed = list(names)
        if listed:
            self.told.append(f"{_listed(listed)} {what}")


def require_sound(
    where: str, sheet: Sheet, head: Sequence[Row], header: Header, targets: Sequence[Target]
) -> None:
    """Refuse a table of which nobody can tell what it means, by what surrounds its rows."""
    if split_between(head[header.row - 1], header, targets):
        raise FileProblem(
            f"{where}: an empty column lies between columns that are needed: one table "
            "with a gap, or two tables side by side?",
            hint="delete the empty column, or put each table into a sheet of its own",
        )
    if sheet.unsolved:
        raise FileProblem(
            f"{where}: {sheet.unsolved:,} cells hold a formula without its result",
            hint="open it in a spreadsheet, let it calculate, and save it again",
        )
    if any(is_garbled(name) for name in header.names):
        raise FileProblem(
            f"{where}: letters with accents are garbled in the names of its columns",
            hint="export it again from where it came from, as CSV UTF-8 or .xlsx",
        )
    for first, left, last, right in sheet.merged:
        if first <= header.row <= last and left < header.end and right > left:
            raise FileProblem(
                f"{where}: in row {header.row:,}, which names columns, cells are merged",
                hint="unmerge them, and give each column a name of its own in that row",
            )


def _headed(head: list[Row], sheet: Sheet) -> list[Row]:
    """Let a name stand in each row over which its cell is merged: the last names columns."""
    for first, left, last, right in sheet.merged:
        if (
            left != right
            or last > HEADER_WITHIN
            or len(head) < last
            or left >= len(head[first - 1])
        ):
            continue
        for number in range(first, last):
            row = (*head[number], *(None,) * (left + 1 - len(head[number])))
            head[number] = (*row[:left], head[first - 1][left], *row[left + 1 :])
    return head


def _question(what: str, columns: Sequence[ColumnSeen]) -> Question:
    names = _listed(column.name for column in columns)
    match what:
        case "dates":
            words = f"is 03/04/2026 the 3rd of April or the 4th of March? No day in {names} tells"
            orders = [order for order in ORDERS if all(order in c.open_orders for c in columns)]
            return Question(what, words, tuple(orders or (DAY_FIRST, MONTH_FIRST)))
        case "serial":
            words = (
                f"{names} hold days as a spreadsheet counts them; from which year (Excel: 1900)?"
            )
        case "decimal":
            words = (
                f"is 1,234 in {names} more than a thousand, or little more than one? What is the "
                "decimal mark?"
            )
        case _:
            words = f"a dash stands for some numbers in {names}: are they zero, or missing?"
    return Question(what, words, CHOICES[what])


def _listed(names: Iterable[str]) -> str:
    return ", ".join(name for name in names if name)


# ----------------------------------------------------------------------------------- merged cells

_FILLED: Final = frozenset((Holds.ID, Holds.WORD, Holds.ANSWER, Holds.ANY))


@dataclass(frozen=True, slots=True)
class _Fills:
    """Cells that are merged downwards (place and last row, by their first), and merged sidewards.

    `wide` are spans of rows in which cells of several columns are merged, in their order.
    """

    by_row: dict[int, list[tuple[int, int]]]
    wide: tuple[tuple[int, int], ...]
    where: str


def _fills(
    sheet: Sheet,
    header: Header,
    columns: Sequence[_Chosen],
    where: str,
) -> _Fills:
    """Give what merged cells say of the rows below their first, or refuse what is ambiguous."""
    holds = {header.first + one.place: one.holds for one in columns}
    by_row: dict[int, list[tuple[int, int]]] = {}
    wide = []
    for first, left, last, right in sheet.merged:
        if last <= header.row or left >= header.end or right < header.first:
            continue
        if right > left:
            wide.append((first, last))
            continue
        if holds.get(left, Holds.ANY) not in _FILLED:
            raise FileProblem(
                f"{where}: cells are merged over rows {first:,} to {last:,} in a column of numbers "
                "or days",
                hint="unmerge them, and write the value into each row it is meant for",
            )
        by_row.setdefault(first, []).append((left - header.first, last))
    return _Fills(by_row, tuple(sorted(wide)), where)


def _filled(rows: Iterator[tuple[int, Row]], fills: _Fills) -> Iterator[tuple[int, Row]]:
    """Give the rows with each cell that is merged downwards in every row that it covers."""
    held: dict[int, tuple[int, Cell]] = {}
    wide = list(reversed(fills.wide))
    until = 0
    for number, row in rows:
        while wide and wide[-1][0] <= number:
            until = max(until, wide.pop()[1])
        if number <= until:
            raise FileProblem(
                f"{fills.where}: in row {number:,}, cells of several columns are merged",
                hint="unmerge them, and write into each column what is meant for it",
            )
        for place, last in fills.by_row.get(number, ()):
            held[place] = last, row[place]
        if held:
            held = {place: one for place, one in held.items() if number <= one[0]}
            row = tuple(held[p][1] if p in held else cell for p, cell in enumerate(row))  # noqa: PLW2901 - the row as it is read
        yield number, row


# ----------------------------------------------------------------------------------- converting


def convert(
    path: Path,
    reading: Reading,
    targets: Sequence[Target],
    out: Path,
    watch: Callable[[float], None] = lambda _share: None,
    limits: Limits = OWN,
) -> int:
    """Write a file anew as CSV that every reader of Alama knows; give how many rows it has."""
    grid = open_grid(path, limits, reading.encoding, reading.delimiter)
    sheet = next((one for one in grid.sheets if one.name == reading.sheet), grid.sheets[0])
    header = reading.header
    skipped = sheet.hidden_rows if reading.skips_hidden else frozenset()
    body = Body(str(path), header, targets, skipped, is_padded=not isinstance(grid, TextGrid))
    by_name = {target.name: target for target in targets}
    columns = [
        _Chosen(one.place, one.source, one.name, by_name.get(one.name)) for one in reading.columns
    ]
    fills = _fills(sheet, header, columns, str(path))
    writers = [(one.place, rewriter(one.way)) for one in reading.columns]
    with promised(out) as output, output.part.open("w", encoding="utf-8", newline="") as file:
        written = csv.writer(file, lineterminator="\n")
        written.writerow([tidy(one.name) for one in reading.columns])
        with closing(grid.rows(sheet)) as rows:
            for number, row in _filled(body.rows(rows), fills):
                written.writerow([write(row[place]) for place, write in writers])
                if not number % _WATCHED_EVERY:
                    watch(grid.share)
    return body.passed.rows


def _rewritten(reading: Reading, rows: Sequence[Row]) -> tuple[tuple[str, ...], ...]:
    writers = [(one.place, rewriter(one.way)) for one in reading.columns]
    return tuple(tuple(write(row[place]) for place, write in writers) for row in rows)
