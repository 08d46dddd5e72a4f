"""Sheets of an Excel workbook (.xlsx), read within bounds.

openpyxl gives the values. What it does not tell of a sheet that it streams (merged cells, hidden
rows, formulas without a result) is gathered first, by a pass of our own over the parts of the
archive; that pass refuses what no spreadsheet writes: entities, too many cells, archives that
unpack to more than the limits.
"""

from __future__ import annotations

import re
import warnings
import zipfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from xml.parsers import expat

from alama.core.errors import AlamaError, FileProblem
from alama.platform.files.asis.sheets import Sheet
from alama.platform.files.table import Limits, TooLarge, unreadable

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from alama.platform.files.asis.sheets import Row, Source

PARTS_MAX: Final = 2_000
UNPACKED_BYTES_MAX: Final = 512 << 20
MERGED_MAX: Final = 20_000
ELEMENTS_MAX: Final = 1_000_000
"""In a part that is no sheet and holds no texts, such as that of styles; Excel writes far fewer."""
COLUMNS_MAX: Final = 16_384
ROWS_MAX: Final = 1_048_576
"""A sheet of Excel has no more."""

_LATER_EPOCH: Final = 1904
_BLOCK_BYTES: Final = 256 << 10
_DEPTH_MAX: Final = 64
_RANGE: Final = re.compile(r"\$?([A-Z]{1,3})\$?([0-9]{1,7}):\$?([A-Z]{1,3})\$?([0-9]{1,7})")
_SHEET: Final = re.compile(r"/?xl/worksheets/[^/]+\.xml")
_TEXTS: Final = re.compile(r"/?xl/sharedStrings\.xml")
_LOCALE: Final = re.compile(r"\[\$([^\]-]*)(?:-[^\]]*)?\]")
"""A currency or a language in a format, such as [$KES-409]: the first sign is none of dollars."""

_FORMATS_WITHIN: Final = 20
_LESS: Final = "leave out what is not needed, or save the sheet as CSV UTF-8"


class SpreadsheetGrid:
    """A workbook; what its cells hold comes in their own types."""

    def __init__(self, path: Source, limits: Limits) -> None:
        self.path = path
        self.told = ["it is an Excel workbook"]
        self._limits = limits
        self._done = 0.0
        self._shapes = _shapes(path, limits)
        with self._workbook() as book:
            self.sheets = tuple(self._sheet(book, one) for one in book.worksheets)
        if not self.sheets:
            raise FileProblem(f"{path} has no sheet with cells")

    @property
    def share(self) -> float:
        return self._done

    def rows(self, sheet: Sheet) -> Generator[Row]:
        self._done = 0.0
        with self._workbook() as book:
            found = book.worksheets[self.sheets.index(sheet)]
            found.reset_dimensions()  # what a file says of its own size need not be so
            rows = found.iter_rows(values_only=True)
            total = max(self._shape(found).rows, 1)
            number, cells = 0, 0
            while True:
                with _told(self.path):
                    row = next(rows, None)
                if row is None:
                    break
                number, cells = number + 1, cells + len(row)
                self._limits.check_rows(str(self.path), number)
                if number > ROWS_MAX or cells > 4 * self._limits.cells:
                    raise _too_many(self.path, self._limits)
                self._done = min(number / total, 1.0)
                yield tuple(row)
        self._done = 1.0

    def formats(self, sheet: Sheet, header: int) -> dict[int, str]:
        """Give how the first numbers below the names are shown, by their columns from 0.

        An amount of 100 that is shown as $100.00 is no number of shillings.
        """
        shown: dict[int, str] = {}
        with self._workbook() as book, _told(self.path):
            found = book.worksheets[self.sheets.index(sheet)]
            found.reset_dimensions()
            for row in found.iter_rows(min_row=header + 1, max_row=header + _FORMATS_WITHIN):
                for place, cell in enumerate(row):
                    if isinstance(cell.value, int | float):
                        shown.setdefault(place, _LOCALE.sub(r"\1", cell.number_format))
        return shown

    def _sheet(self, book: Any, found: Any) -> Sheet:  # noqa: ANN401 - openpyxl has no types
        shape = self._shape(found)
        is_1904 = book.epoch.year == _LATER_EPOCH
        return Sheet(
            name=found.title,
            is_shown=found.sheet_state == "visible",
            hidden_rows=frozenset(shape.hidden_rows),
            hidden_columns=frozenset(shape.hidden_columns),
            merged=tuple(shape.merged),
            unsolved=shape.unsolved,
            epoch="1904" if is_1904 else "1900",
        )

    def _shape(self, found: Any) -> _Shape:  # noqa: ANN401 - as above
        part = str(found._worksheet_path).lstrip("/")  # noqa: SLF001 - nothing else names the part
        return self._shapes.get(part) or _Shape()

    @contextmanager
    def _workbook(self) -> Iterator[Any]:
        import openpyxl  # noqa: PLC0415  few files need it

        try:
            file = self.path.open("rb")  # by its name openpyxl would judge it
        except OSError as error:
            raise unreadable(self.path, error) from error
        with file:
            with _told(self.path), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of styles and extensions that nobody reads
                book = openpyxl.load_workbook(
                    file, read_only=True, data_only=True, keep_links=False
                )
            try:
                yield book
            finally:
                book.close()


@contextmanager
def _told(path: Source) -> Iterator[None]:
    """Tell in words of our own what a library says of a damaged workbook."""
    try:
        yield
    except (AlamaError, MemoryError):
        raise
    except Exception:  # noqa: BLE001 - of a hostile archive it raises whatever comes
        raise FileProblem(
            f"{path} is no Excel workbook that can be read, or is damaged",
            hint="open it in a spreadsheet and save it again as .xlsx, or as CSV UTF-8",
        ) from None


# ----------------------------------------------------------------------------------- parts


@dataclass(slots=True)
class _Shape:
    rows: int = 0
    cells: int = 0
    unsolved: int = 0
    hidden_rows: set[int] = field(default_factory=set)
    hidden_columns: set[int] = field(default_factory=set)
    merged: list[tuple[int, int, int, int]] = field(default_factory=list)


def _shapes(path: Source, limits: Limits) -> dict[str, _Shape]:
    """Look through every part of the archive; give what the sheets among them are like."""
    most = min(limits.unpacked_bytes, UNPACKED_BYTES_MAX)
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            parts = archive.infolist()
            names = {part.filename for part in parts}
            if len(parts) > PARTS_MAX or sum(part.file_size for part in parts) > most:
                raise TooLarge(
                    f"{path} is larger than {most >> 20:,} MiB once it is unpacked", hint=_LESS
                )
            if "xl/workbook.xml" not in {name.lstrip("/") for name in names}:
                raise FileProblem(
                    f"{path} is a ZIP archive, and no Excel workbook",
                    hint="save the sheet as an Excel workbook (.xlsx) or as CSV UTF-8",
                )
            cells, told = 0, {}
            for part in parts:
                if part.filename.endswith((".xml", ".rels")):
                    shape = _look(path, archive, part, limits, limits.cells - cells)
                    cells += shape.cells
                    told[part.filename.lstrip("/")] = shape
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError):
        raise FileProblem(
            f"{path} is damaged, or protected by a password",
            hint="open it in a spreadsheet and save it again as .xlsx, without a password",
        ) from None
    return {name: shape for name, shape in told.items() if _SHEET.fullmatch(name)}


def _look(
    path: Source, archive: zipfile.ZipFile, part: zipfile.ZipInfo, limits: Limits, cells_max: int
) -> _Shape:
    is_counted = _SHEET.fullmatch(part.filename) or _TEXTS.fullmatch(part.filename)
    looker = _Looker(path, limits, cells_max, 3 * limits.cells if is_counted else ELEMENTS_MAX)
    with archive.open(part) as source:
        try:
            while block := source.read(_BLOCK_BYTES):
                looker.parser.Parse(block, False)  # noqa: FBT003 - not its last block
            looker.parser.Parse(b"", True)  # noqa: FBT003 - its last
        except expat.ExpatError:
            raise FileProblem(
                f"{path} is damaged: a part of it cannot be read",
                hint="open it in a spreadsheet and save it again as .xlsx",
            ) from None
    return looker.shape


class _Looker:
    """Counts cells of a part, and keeps what is merged, hidden and unsolved."""

    def __init__(self, path: Source, limits: Limits, cells_max: int, elements_max: int) -> None:
        self.shape = _Shape()
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.StartDoctypeDeclHandler = self._refuse
        self.parser.EntityDeclHandler = self._refuse
        self._path = path
        self._limits = limits
        self._cells_max = cells_max
        self._elements_left = elements_max
        self._depth = 0
        self._formula = self._value = self._in_value = False

    def _refuse(self, *_: object) -> None:
        raise FileProblem(
            f"{self._path} holds what no spreadsheet writes (a document type)",
            hint="save the sheet as CSV UTF-8",
        )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._count()
        match name.rpartition(":")[2]:
            case "c":
                self.shape.cells += 1
                self._formula = self._value = False
                if self.shape.cells > self._cells_max:
                    raise _too_many(self._path, self._limits)
            case "f":
                self._formula = True
            case "v":
                self._in_value = True
            case "is":
                self._value = True
            case "row":
                self._row(attributes)
            case "col":
                self._column(attributes)
            case "mergeCell":
                self._merge(attributes.get("ref", ""))

    def _count(self) -> None:
        self._depth += 1
        self._elements_left -= 1
        if self._depth > _DEPTH_MAX:
            self._refuse()
        if self._elements_left < 0:
            raise _too_many(self._path, self._limits)

    def _end(self, name: str) -> None:
        self._depth -= 1
        self._in_value = False
        if name.rpartition(":")[2] == "c" and self._formula and not self._value:
            self.shape.unsolved += 1

    def _text(self, text: str) -> None:
        self._value |= self._in_value and bool(text.strip())

    def _row(self, attributes: dict[str, str]) -> None:
        told = attributes.get("r", "")
        is_told = told.isdecimal() and len(told) <= len(str(ROWS_MAX))
        number = int(told) if is_told else self.shape.rows + 1
        if number > ROWS_MAX:
            raise _too_many(self._path, self._limits)
        self.shape.rows = number
        if attributes.get("hidden") in {"1", "true"} or attributes.get("ht") == "0":
            self.shape.hidden_rows.add(number)

    def _column(self, attributes: dict[str, str]) -> None:
        if attributes.get("hidden") not in {"1", "true"}:
            return
        first, last = (attributes.get(name, "0") for name in ("min", "max"))
        is_told = first.isdecimal() and last.isdecimal()
        if is_told and max(len(first), len(last)) <= len(str(COLUMNS_MAX)):
            span = range(int(first) - 1, min(int(last), COLUMNS_MAX))
            self.shape.hidden_columns.update(span)

    def _merge(self, ref: str) -> None:
        found = _RANGE.fullmatch(ref)
        if found is None:
            return
        if len(self.shape.merged) == MERGED_MAX:
            raise TooLarge(f"{self._path} has more than {MERGED_MAX:,} merged cells", hint=_LESS)
        first, last = column_of(found[1]), column_of(found[3])
        self.shape.merged.append((int(found[2]), first, int(found[4]), last))


def column_of(letters: str) -> int:
    """Give the place of a column, from 0, by its letters."""
    place = 0
    for letter in letters:
        place = 26 * place + ord(letter) - ord("A") + 1
    return place - 1


def letters_of(place: int) -> str:
    """Give the letters of a column, by its place from 0."""
    letters, place = "", place + 1
    while place:
        place, rest = divmod(place - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def _too_many(path: Source, limits: Limits) -> TooLarge:
    return TooLarge(f"{path} has more than {limits.cells:,} cells", hint=_LESS)
