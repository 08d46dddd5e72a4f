"""The cells of delimited text as they stand in it, row by row, whatever its encoding and delimiter.

Nothing is decided here of what a cell means. What cannot be told by looking is refused in words
that somebody knows who uses a spreadsheet.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, Final, cast

from alama.core.errors import FileProblem
from alama.platform.files.asis.sheets import Sent, Sheet, Source
from alama.platform.files.table import GZIP, Limits, TooLarge, unreadable

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from alama.platform.files.asis.sheets import Row

HEAD_ROWS: Final = 200
"""So many rows are looked at to see how a text is delimited and where its table begins."""

LINE_LETTERS_MAX: Final = 4 << 20
"""A row of many columns with long values has less."""

DELIMITERS: Final = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}

ENCODINGS: Final = ("utf-8", "utf-16", "cp1252", "iso-8859-15", "cp850", "mac-roman")
"""Those that may be named where a file does not show its own."""

_HEAD_BYTES: Final = 256 << 10
_BLOCK_BYTES: Final = 1 << 20
_SEP_LINE: Final = re.compile(r"\s*\"?sep=(.)\"?\s*\r?\n", re.IGNORECASE)
_GARBLED: Final = re.compile(r"[\u00c2\u00c3][\u0080-\u00bf\u0152-\u0178\u2013-\u2122]|\ufffd")
"""Letters that were read in one encoding and written in another, and the sign of a lost one."""

_RIGHT_IN_WORDS: Final = re.compile(
    r"[\x00-\x7f\u00a0\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u00ff\u0152\u0153\u0160\u0161\u017d\u017e"
    r"\u0178\u20ac\u00a3\u00b0\u00ba\u00aa\u2018\u2019\u201c\u201d\u2013\u2014\u2026\u2022"
    r"\u00ab\u00bb\u00b7\u00a7]*"
)
"""What stands in names, words and money of western Europe and Africa as cp1252 has it."""


@dataclass(slots=True)
class TextWay:
    """How a text is written: its encoding, what stands between values, lines passed over."""

    encoding: str
    delimiter: str
    skipped: int = 0
    doubt: tuple[str, ...] = ()


# ----------------------------------------------------------------------------------- text


class TextGrid:
    """Delimited text, whatever its encoding and its delimiter; packed by gzip or not."""

    def __init__(
        self, path: Source, limits: Limits, encoding: str | None, delimiter: str | None
    ) -> None:
        self.path = path
        self.sheets = (Sheet(),)
        self.told: list[str] = []
        self._limits = limits
        self._source: IO[bytes] | None = None
        self._size = max(len(path.content) if isinstance(path, Sent) else path.stat().st_size, 1)
        self.way = self._look(encoding, delimiter)

    @property
    def share(self) -> float:
        if self._source is None or self._source.closed:
            return 1.0 if self._source is not None else 0.0
        return min(self._source.tell() / self._size, 1.0)

    def rows(self, sheet: Sheet) -> Generator[Row]:
        assert sheet is self.sheets[0]
        with self._opened(self.way.encoding) as text:
            for _ in range(self.way.skipped):
                text.readline()
            # The dialect is strict: a quote that is not closed must not swallow rows in silence.
            found = csv.reader(self._lines(text), delimiter=self.way.delimiter, strict=True)
            number = 0
            try:
                for number, row in enumerate(found, 1):
                    self._limits.check_rows(str(self.path), number)
                    self._limits.check_columns(str(self.path), len(row))
                    yield tuple(row)
            except csv.Error as error:
                raise self._unparsed(number + 1, str(error)) from None
            except UnicodeError:
                raise self._undecoded() from None
            except (OSError, EOFError) as error:
                raise FileProblem(f"{self.path} is damaged: it ends too early") from error

    def _lines(self, text: IO[str]) -> Iterator[str]:
        """Give the lines, of which none is longer than any row should be."""
        while line := text.readline(LINE_LETTERS_MAX + 1):
            if len(line) > LINE_LETTERS_MAX:
                raise TooLarge(
                    f"{self.path} has a line of more than {LINE_LETTERS_MAX:,} letters",
                    hint="look for breaks of lines that were lost",
                )
            yield line

    def formats(self, _sheet: Sheet, _header: int) -> dict[int, str]:
        """Give how cells are to be shown, by their columns: a text says nothing of it."""
        return {}

    @contextmanager
    def _opened(self, encoding: str) -> Iterator[IO[str]]:
        with (
            self._bytes() as source,
            io.TextIOWrapper(cast("Any", source), encoding=encoding, newline="") as text,
        ):
            yield text

    def _unparsed(self, row: int, reason: str) -> FileProblem:
        if "field larger" in reason:
            what = f"a value in or after row {row:,} is longer than any value should be"
        elif "NUL" in reason:
            what = f"row {row:,} holds bytes that are no text"
        else:
            what = f"a quote in or after row {row:,} is not closed, or stands inside a value"
        return FileProblem(f"{self.path}: {what}", hint=_QUOTE_HINT)

    def _undecoded(self) -> FileProblem:
        return FileProblem(
            f"{self.path} is not {self.way.encoding} text from beginning to end",
            hint="save it as CSV UTF-8",
        )

    # -------------------------------------------------------------------------------- looking

    def _look(self, encoding: str | None, delimiter: str | None) -> TextWay:
        found, doubt = (encoding, ()) if encoding else self._encoding()
        self.way = TextWay(found, ",", 0, doubt)
        with self._opened(found) as text:
            try:
                head = text.read(_HEAD_BYTES)
            except UnicodeError:
                raise self._undecoded() from None
            except (OSError, EOFError) as error:
                raise FileProblem(f"{self.path} is damaged: it cannot be unpacked") from error
        if not head.strip():
            raise FileProblem(f"{self.path} is empty", hint="look whether it was saved")
        named = _SEP_LINE.match(head)
        if named:
            head = head[named.end() :]
        chosen = delimiter or (named[1] if named else _delimiter(self.path, head))
        if _GARBLED.search(head.split("\n", 1)[0]):
            raise garbled(self.path)
        self.told = [*self._say(found, chosen)]
        return TextWay(found, chosen, 1 if named else 0, doubt)

    def _say(self, encoding: str, delimiter: str) -> Iterator[str]:
        if encoding not in {"utf-8", "utf-8-sig"}:
            yield f"its letters are written in {encoding}"
        if encoding == "utf-8-sig":
            yield "it begins with a byte order mark (UTF-8)"
        if delimiter != ",":
            yield f"its values are separated by {DELIMITERS.get(delimiter, repr(delimiter))}"

    def _encoding(self) -> tuple[str, tuple[str, ...]]:
        """Tell the encoding by all bytes of the file, and what else it might be."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        seen, is_utf8, upper = b"", True, set[int]()
        with self._bytes() as source:
            try:
                while block := source.read(_BLOCK_BYTES):
                    if not seen:
                        seen = block
                        if marked := _marked(seen):
                            return marked, ()
                    if is_utf8:
                        try:
                            decoder.decode(block)
                        except UnicodeDecodeError:
                            is_utf8 = False
                    upper.update(set(block) - _ASCII)
                if is_utf8:
                    decoder.decode(b"", final=True)
                    return "utf-8", ()
            except UnicodeDecodeError:
                pass
            except (OSError, EOFError) as error:
                raise FileProblem(f"{self.path} is damaged: it cannot be unpacked") from error
        try:
            letters = bytes(sorted(upper)).decode("cp1252")
        except UnicodeDecodeError:
            return "cp1252", tuple(name for name in ENCODINGS if name[:3] != "utf")
        sure = _RIGHT_IN_WORDS.fullmatch(letters) is not None
        return "cp1252", () if sure else tuple(n for n in ENCODINGS if n[:3] != "utf")

    @contextmanager
    def _bytes(self) -> Iterator[_Bounded]:
        try:
            raw = self.path.open("rb")
        except OSError as error:
            raise unreadable(self.path, error) from error
        with raw:
            self._source = raw
            is_packed = raw.read(len(GZIP)) == GZIP
            raw.seek(0)
            with gzip.open(raw) if is_packed else raw as unpacked:
                yield _Bounded(cast("IO[bytes]", unpacked), self._limits, str(self.path))


_ASCII: Final = frozenset(range(128))
_QUOTE_HINT: Final = (
    "a value that holds a quote doubles it and stands in quotes; saving the file again from a "
    "spreadsheet puts that right"
)
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ZEROS_MIN: Final = 0.2


def _marked(head: bytes) -> str | None:
    """Give the encoding that a byte order mark names, or that zeros between letters show."""
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    sample = head[:4096]
    if sample[1::2].count(0) > _ZEROS_MIN * len(sample):
        return "utf-16-le"
    if sample[0::2].count(0) > _ZEROS_MIN * len(sample):
        return "utf-16-be"
    return None


def garbled(path: Source) -> FileProblem:
    """Say that letters were lost before the file came here."""
    return FileProblem(
        f"{path}: letters with accents are garbled in it",
        hint="export it again from where it came from, as CSV UTF-8",
    )


def is_garbled(text: str) -> bool:
    """Say whether a text was read in one encoding and written in another."""
    return _GARBLED.search(text) is not None


class _Bounded(io.RawIOBase):
    """A file of which no more is read than the limits allow once it is unpacked."""

    def __init__(self, source: IO[bytes], limits: Limits, where: str) -> None:
        super().__init__()
        self._source = source
        self._limits = limits
        self._where = where
        self._seen = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        block = self._source.read(len(buffer))
        self._seen += len(block)
        self._limits.check_bytes(self._where, self._seen)
        buffer[: len(block)] = block
        return len(block)


# ----------------------------------------------------------------------------------- delimiters


@dataclass(frozen=True, slots=True)
class _Cut:
    """What comes of cutting the first rows at a delimiter."""

    delimiter: str
    columns: int
    share: float
    rows: list[list[str]] = field(default_factory=list)


def _delimiter(path: Source, head: str) -> str:
    """Tell what stands between values, by the rows that come out alike."""
    lines = head.splitlines(keepends=True)
    whole = len(head) < _HEAD_BYTES
    sample = "".join(lines if whole else lines[:-1])
    cuts = [cut for cut in (_cut(sample, mark) for mark in DELIMITERS) if cut.columns > 1]
    if not cuts:
        return ","  # one column; what reads it says that there is too little
    cuts.sort(key=lambda cut: (-round(cut.share, 2), -cut.columns))
    best, rest = cuts[0], cuts[1:]
    rivals = [cut for cut in rest if cut.share >= best.share - 0.05 and _is_headed(cut)]
    if not rivals or not _is_headed(best):
        return (rivals[0] if rivals and not _is_headed(best) else best).delimiter
    clearest = max((best, *rivals), key=lambda cut: cut.columns)
    if any(cut is not clearest and 2 * cut.columns > clearest.columns for cut in (best, *rivals)):
        raise FileProblem(
            f"{path}: its values may be separated by "
            + " or by ".join(DELIMITERS[cut.delimiter] for cut in (best, *rivals)),
            hint="save it once more with commas, or say which: --delimiter",
        )
    return clearest.delimiter


def _cut(sample: str, delimiter: str) -> _Cut:
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter, strict=True):
            if any(cell.strip() for cell in row):
                rows.append(row)
            if len(rows) == HEAD_ROWS:
                break
    except csv.Error:
        pass  # the end of the sample may lie inside a value
    if not rows:
        return _Cut(delimiter, 0, 0.0)
    widths = Counter(len(row) for row in rows)
    width, many = max(widths.items(), key=lambda one: (one[1] * (one[0] > 1), one[0]))
    return _Cut(delimiter, width, many / len(rows), rows)


def _is_headed(cut: _Cut) -> bool:
    """Say whether the first row of the common width could name columns."""
    first = next(row for row in cut.rows if len(row) == cut.columns)
    named = [cell for cell in first if cell.strip()]
    return len(named) > 1 and all(any(letter.isalpha() for letter in cell) for cell in named)
