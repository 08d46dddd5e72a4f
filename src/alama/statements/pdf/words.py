"""The words of a PDF and where they stand, and what the file tells of its making.

Runs where the hostile file is: in the process of `process.py`. It imports PDFium's bindings and the
standard library alone, because each file pays for what is imported.
"""

from __future__ import annotations

import codecs
import ctypes
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pypdfium2_raw as pdfium

if TYPE_CHECKING:
    from collections.abc import Iterator

OPENS: Final = b"%PDF-"
ENDS_MAX: Final = 1_000
META_CHARS_MAX: Final = 200
WORDS_OF_PAGE_MAX: Final = 50_000

MONEY: Final = re.compile(r"[-+(]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d{1,2})?\)?")
"""One figure of money, such as 1,200.00, -35 or 20,000."""

_WORD: Final = re.compile(r"\S+")
_LONG: Final = 10
"""Characters of a receipt, which is never parted."""
_GLUED_MONEY: Final = re.compile(r"(?:UGX|[\d,.]+){2,}")
_MONEY_OR_CURRENCY: Final = re.compile(r"UGX|[\d,.]+")
_GLUED_NUMBER: Final = re.compile(r"(?<=[A-Za-z])\d{9,12}\Z")
"""Cells may stand so close that nothing is between them."""

_DECODE: Final = codecs.utf_16_le_decode
"""Needs no module that would have to be read from the disk when it is used."""

_PASSWORD: Final = 4
"""FPDF_ERR_PASSWORD."""


class Fault(Exception):
    """The file cannot be read; `reader.py` has a sentence for each word."""


class Word(NamedTuple):
    """A word by the point where its baseline begins, in points from the lower left corner."""

    x: float
    y: float
    text: str
    page: int
    first: int
    """Of its first character on the page, for what is asked of few words only."""


class Page:
    """A page that is open: its words, and what is asked of single ones."""

    def __init__(self, number: int, text_page: Any) -> None:  # noqa: ANN401 - a pointer
        self.number = number
        self._text_page = text_page
        self._doubles = [ctypes.c_double() for _ in range(4)]
        self._refs = [ctypes.byref(double) for double in self._doubles]

    def words(self) -> list[Word]:
        """Give the words in the order in which they were drawn."""
        text = self._text()
        words = list[Word]()
        origin, page = pdfium.FPDFText_GetCharOrigin, self._text_page
        x_ref, y_ref = self._refs[:2]
        x, y = self._doubles[:2]
        for start, word in _split(text):
            origin(page, start, x_ref, y_ref)
            words.append(Word(x.value, y.value, word, self.number, start))
            if len(words) > WORDS_OF_PAGE_MAX:
                raise Fault("too_large")
        return words

    def right(self, word: Word) -> float:
        """Give where a word ends."""
        pdfium.FPDFText_GetCharBox(self._text_page, word.first + len(word.text) - 1, *self._refs)
        return self._doubles[1].value

    def font(self, word: Word) -> tuple[str, float]:
        """Give the name of the font of a word, and its size."""
        thing = pdfium.FPDFText_GetTextObject(self._text_page, word.first)
        font = pdfium.FPDFTextObj_GetFont(thing) if thing else None
        if not font:
            return "", 0.0
        buffer = ctypes.create_string_buffer(META_CHARS_MAX)
        pdfium.FPDFFont_GetBaseFontName(font, buffer, META_CHARS_MAX)
        size = pdfium.FPDFText_GetFontSize(self._text_page, word.first)
        return buffer.value.decode("latin-1"), round(size, 1)

    def _text(self) -> str:
        count = pdfium.FPDFText_CountChars(self._text_page)
        if count <= 0:
            return ""
        buffer = (ctypes.c_ushort * (count + 1))()
        written = pdfium.FPDFText_GetText(self._text_page, 0, count, buffer)
        if written == count + 1:
            return _DECODE(bytes(buffer)[: 2 * count], "replace")[0]
        # What has no letter of its own is left out there, and would move what comes after it.
        ask = pdfium.FPDFText_GetUnicode
        codes = (ask(self._text_page, index) for index in range(count))
        return "".join(chr(code) if 0 < code < 0xD800 else "\ufffd" for code in codes)  # noqa: PLR2004


def _split(text: str) -> Iterator[tuple[int, str]]:
    for match in _WORD.finditer(text):
        word, start = match.group(), match.start()
        if "UGX" in word and _GLUED_MONEY.fullmatch(word):
            for part in _MONEY_OR_CURRENCY.finditer(word):
                yield start + part.start(), part.group()
        elif len(word) > _LONG and (number := _GLUED_NUMBER.search(word)):
            yield start, word[: number.start()]
            yield start + number.start(), number.group()
        else:
            yield start, word


class Document:
    """A PDF that is open."""

    def __init__(self, content: bytes, handle: Any) -> None:  # noqa: ANN401 - a pointer
        self._content = content
        self._handle = handle
        self.pages = max(pdfium.FPDF_GetPageCount(handle), 0)

    @contextmanager
    def page(self, number: int) -> Iterator[Page]:
        """Open a page, from 0 on."""
        page = pdfium.FPDF_LoadPage(self._handle, number)
        if not page:
            raise Fault("broken")
        text_page = pdfium.FPDFText_LoadPage(page)
        try:
            if not text_page:
                raise Fault("broken")
            yield Page(number, text_page)
        finally:
            if text_page:
                pdfium.FPDFText_ClosePage(text_page)
            pdfium.FPDF_ClosePage(page)

    def meta(self, name: str) -> str:
        """Give an entry of the document's information, such as its Producer."""
        size = pdfium.FPDF_GetMetaText(self._handle, name.encode(), None, 0)
        if size <= 2 or size > 100 * META_CHARS_MAX:  # noqa: PLR2004 - the closing zero alone
            return ""
        buffer = ctypes.create_string_buffer(size)
        pdfium.FPDF_GetMetaText(self._handle, name.encode(), buffer, size)
        return _DECODE(buffer.raw[: size - 2], "replace")[0][:META_CHARS_MAX]

    def was_saved_again(self) -> bool | None:
        """Say whether its second identifier is another than its first; None without them."""
        first, last = (self._identifier(kind) for kind in (0, 1))
        return None if not first or not last else first != last

    def updates(self) -> int:
        """Give how often something was appended to the file after it was whole."""
        ends = pdfium.FPDF_GetTrailerEnds(self._handle, None, 0)
        linearized = b"/Linearized" in self._content[:2_048]
        return max(min(int(ends), ENDS_MAX) - (2 if linearized else 1), 0)

    def signatures(self) -> int:
        return max(int(pdfium.FPDF_GetSignatureCount(self._handle)), 0)

    def _identifier(self, kind: int) -> bytes:
        size = pdfium.FPDF_GetFileIdentifier(self._handle, kind, None, 0)
        if not 1 < size <= META_CHARS_MAX:
            return b""
        buffer = ctypes.create_string_buffer(size)
        pdfium.FPDF_GetFileIdentifier(self._handle, kind, buffer, size)
        return buffer.raw[: size - 1]


@contextmanager
def opened(content: bytes, password: str | None) -> Iterator[Document]:
    """Open a PDF, or raise `Fault`."""
    if OPENS not in content[:1_024]:
        raise Fault("not_a_pdf")
    given = None if password is None else password.encode()
    handle = pdfium.FPDF_LoadMemDocument64(content, len(content), given)
    if not handle:
        if pdfium.FPDF_GetLastError() == _PASSWORD:
            raise Fault("password_wrong" if password else "password_needed")
        raise Fault("broken")
    try:
        yield Document(content, handle)
    finally:
        pdfium.FPDF_CloseDocument(handle)
