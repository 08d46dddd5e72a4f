"""Statements of people who do not exist, drawn as PDFs like those of M-PESA Kenya and MTN Uganda.

The same statement gives the same bytes. Each page says that it is made up, and so does the
information of the file.
"""

from __future__ import annotations

import io
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reportlab.pdfgen.canvas import Canvas

    from alama.training.population.printed import MpesaLine, MtnLine

PRODUCER: Final = "Alama population"
_NOTICE: Final = "Synthetic statement: this person does not exist"
_WIDTH, _HEIGHT = 595.0, 842.0
_MARGIN: Final = 30.0
_BOTTOM: Final = 66.0
_LEADING: Final = 8.4
_PADDING: Final = 3.2
_SIZE: Final = 7.0
_SMALL: Final = 6.0
"""For a table of ten columns."""
_BODY: Final = "Helvetica"
_BOLD: Final = "Helvetica-Bold"
_INK: Final = (0.13, 0.13, 0.13)
_GREEN: Final = (0.24, 0.60, 0.20)
_YELLOW: Final = (1.0, 0.80, 0.0)
_GREY: Final = (0.95, 0.95, 0.95)


class Sheet(NamedTuple):
    """What stands around the rows. Money in hundredths."""

    holder: str
    number: str
    """Masked."""
    first_day: date
    last_day: date
    made_on: date
    opening: int
    closing: int
    password: str | None = None


class _Column(NamedTuple):
    header: tuple[str, ...]
    x: float
    """Where its text begins, or where its figures end."""
    width: float
    is_money: bool = False


_MPESA_COLUMNS: Final = (
    _Column(("Receipt No.",), 32, 54),
    _Column(("Completion", "Time"), 90, 50),
    _Column(("Details",), 144, 180),
    _Column(("Transaction", "Status"), 330, 46),
    _Column(("Paid In",), 436, 50, is_money=True),
    _Column(("Withdrawn",), 500, 56, is_money=True),
    _Column(("Balance",), 563, 56, is_money=True),
)

_MTN_COLUMNS: Final = (
    _Column(("Date & Time",), 32, 62),
    _Column(("Transaction", "Type"), 98, 44),
    _Column(("Description",), 145, 92),
    _Column(("Transaction", "ID"), 241, 40),
    _Column(("From",), 286, 56),
    _Column(("To",), 346, 56),
    _Column(("Amount",), 456, 50, is_money=True),
    _Column(("Fees",), 487, 30, is_money=True),
    _Column(("Taxes",), 513, 24, is_money=True),
    _Column(("Balance",), 565, 50, is_money=True),
)


def money(hundredths: int) -> str:
    sign = "-" if hundredths < 0 else ""
    whole, cents = divmod(abs(hundredths), 100)
    return f"{sign}{whole:,}.{cents:02d}"


def shillings(hundredths: int) -> str:
    """Give money as MTN prints it; cents only where there are any."""
    text = money(hundredths).removesuffix(".00")
    return f"UGX {text}"


def draw_mpesa(
    sheet: Sheet, lines: Sequence[MpesaLine], summed: Sequence[MpesaLine] | None = None
) -> bytes:
    """Draw a statement of M-PESA Kenya; `lines` stand newest first.

    `summed` are the rows of which its summary tells, where they are not its own.
    """
    rows = [
        (
            line.receipt,
            f"{line.at:%Y-%m-%d %H:%M:%S}",
            line.details,
            line.status,
            money(line.signed) if line.signed > 0 else "",
            money(line.signed) if line.signed < 0 else "",
            money(line.balance),
        )
        for line in lines
    ]
    return _Drawing("M-PESA STATEMENT", _GREEN, _MPESA_COLUMNS, sheet).drawn(
        [
            ("Customer Name:", sheet.holder),
            ("Mobile Number:", sheet.number),
            ("Request Date:", f"{sheet.made_on:%d %b %Y}"),
            ("Statement Period:", f"{sheet.first_day:%d %b %Y} - {sheet.last_day:%d %b %Y}"),
        ],
        _summary(lines if summed is None else summed),
        rows,
        f"Statement Verification Code: {_code(rows)}. To verify it, dial *334#.",
    )


def draw_mtn(sheet: Sheet, lines: Sequence[MtnLine]) -> bytes:
    """Draw a statement of MTN Uganda; `lines` stand newest first."""
    rows = [
        (
            f"{line.at:%d-%m-%Y%H:%M:%S}",
            line.type,
            line.description,
            line.id,
            line.payer,
            line.payee,
            *map(shillings, (line.amount, line.fees, line.taxes, line.balance)),
        )
        for line in lines
    ]
    return _Drawing("MOBILE MONEY STATEMENT", _YELLOW, _MTN_COLUMNS, sheet).drawn(
        [
            ("Account Holder:", sheet.holder),
            ("Mobile Number:", sheet.number),
            ("Statement Date:", f"{sheet.made_on:%d-%m-%Y}"),
            ("Period:", f"{sheet.first_day:%d-%m-%Y} to {sheet.last_day:%d-%m-%Y}"),
            ("Opening Balance:", shillings(sheet.opening)),
            ("Closing Balance:", shillings(sheet.closing)),
        ],
        [],
        rows,
        "This is a computer-generated statement.",
    )


_TYPES: Final = (
    ("Send Money", ("Customer Transfer",)),
    ("Received Money", ("Funds received",)),
    ("Agent Deposit", ("Deposit of Funds",)),
    ("Agent Withdrawal", ("Customer Withdrawal", "Withdrawal Charge")),
    ("Lipa na M-PESA (PayBill)", ("Pay Bill",)),
    ("Lipa na M-PESA (Buy Goods)", ("Merchant Payment",)),
)


def _summary(lines: Sequence[MpesaLine]) -> list[tuple[str, str, str]]:
    """Sum what came and went by type, as the first page tells it; completed rows alone."""
    sums = {name: [0, 0] for name, _ in _TYPES} | {"Others": [0, 0]}
    for line in lines:
        if line.status == "Completed":
            kind = next(
                (name for name, begin in _TYPES if line.details.startswith(begin)), "Others"
            )
            sums[kind][line.signed < 0] += abs(line.signed)
    total = [sum(pair[side] for pair in sums.values()) for side in (0, 1)]
    return [(f"{name}:", money(pair[0]), money(pair[1])) for name, pair in sums.items()] + [
        ("TOTAL:", money(total[0]), money(total[1]))
    ]


def _code(rows: Sequence[Sequence[str]]) -> str:
    import hashlib  # noqa: PLC0415

    told = "\n".join("|".join(row) for row in rows)
    return hashlib.blake2b(told.encode(), digest_size=4).hexdigest().upper()


class _Drawing:
    """One document while it is drawn."""

    def __init__(
        self,
        title: str,
        colour: tuple[float, float, float],
        columns: Sequence[_Column],
        sheet: Sheet,
    ) -> None:
        self._title = title
        self._colour = colour
        self._columns = columns
        self._sheet = sheet
        self._size = _SIZE if len(columns) < 10 else _SMALL

    def drawn(
        self,
        told: Sequence[tuple[str, str]],
        summary: Sequence[tuple[str, str, str]],
        rows: Sequence[Sequence[str]],
        last: str,
    ) -> bytes:
        """Draw twice: how many pages there are is known when all are drawn, and stands on each."""
        cells = [self._wrapped(row) for row in rows]
        pages = self._draw(io.BytesIO(), told, summary, cells, last, 0)
        whole = io.BytesIO()
        self._draw(whole, told, summary, cells, last, pages)
        return whole.getvalue()

    def _draw(
        self,
        into: io.BytesIO,
        told: Sequence[tuple[str, str]],
        summary: Sequence[tuple[str, str, str]],
        rows: Sequence[list[list[str]]],
        last: str,
        pages: int,
    ) -> int:
        canvas = _canvas(into, self._sheet, self._title)
        y = self._front(canvas, told, summary)
        y = self._header(canvas, y)
        page, shade = 1, False
        for row in rows:
            height = max(map(len, row)) * _LEADING + 2 * _PADDING
            if y - height < _BOTTOM:
                _footer(canvas, page, pages)
                canvas.showPage()
                page += 1
                y = self._header(canvas, _HEIGHT - 40)
            self._row(canvas, y, height, row, shade=shade)
            y, shade = y - height, not shade
        if y - 30 < _BOTTOM:
            _footer(canvas, page, pages)
            canvas.showPage()
            page, y = page + 1, _HEIGHT - 40
        canvas.setFont(_BODY, 8)
        canvas.drawString(_MARGIN, y - 26, last)
        _footer(canvas, page, pages)
        canvas.showPage()
        canvas.save()
        return page

    def _wrapped(self, row: Sequence[str]) -> list[list[str]]:
        from reportlab.lib.utils import simpleSplit  # noqa: PLC0415

        return [
            [text]
            if column.is_money
            else simpleSplit(text, _BODY, self._size, column.width) or [""]
            for column, text in zip(self._columns, row, strict=True)
        ]

    def _front(
        self,
        canvas: Canvas,
        told: Sequence[tuple[str, str]],
        summary: Sequence[tuple[str, str, str]],
    ) -> float:
        canvas.setFillColorRGB(*self._colour)
        canvas.rect(0, _HEIGHT - 54, _WIDTH, 54, stroke=0, fill=1)
        canvas.setFillColorRGB(*_INK)
        canvas.setFont(_BOLD, 15)
        canvas.drawString(_MARGIN, _HEIGHT - 34, self._title)
        y = _HEIGHT - 78
        for label, value in told:
            canvas.setFont(_BOLD, 9)
            canvas.drawString(_MARGIN, y, label)
            canvas.setFont(_BODY, 9)
            canvas.drawString(_MARGIN + 100, y, value)
            y -= 13
        y -= 8
        if summary:
            y = _draw_summary(canvas, y, summary)
        canvas.setFont(_BOLD, 10)
        canvas.drawString(_MARGIN, y, "DETAILED STATEMENT")
        return y - 12

    def _header(self, canvas: Canvas, y: float) -> float:
        """Draw the names of the columns; give where the first row begins."""
        height = 2 * _LEADING + 2 * _PADDING
        canvas.setFillColorRGB(*self._colour)
        canvas.rect(_MARGIN - 2, y - height, _WIDTH - 2 * _MARGIN + 4, height, stroke=0, fill=1)
        canvas.setFillColorRGB(*_INK)
        canvas.setFont(_BOLD, self._size)
        for column in self._columns:
            for place, text in enumerate(column.header):
                _put(canvas, column, y - _PADDING - 6 - place * _LEADING, text)
        return y - height

    def _row(
        self, canvas: Canvas, y: float, height: float, row: Sequence[Sequence[str]], *, shade: bool
    ) -> None:
        if shade:
            canvas.setFillColorRGB(*_GREY)
            canvas.rect(_MARGIN - 2, y - height, _WIDTH - 2 * _MARGIN + 4, height, stroke=0, fill=1)
            canvas.setFillColorRGB(*_INK)
        canvas.setFont(_BODY, self._size)
        for column, texts in zip(self._columns, row, strict=True):
            for place, text in enumerate(texts):
                if text:
                    _put(canvas, column, y - _PADDING - 6 - place * _LEADING, text)


def _put(canvas: Canvas, column: _Column, y: float, text: str) -> None:
    if column.is_money:
        canvas.drawRightString(column.x, y, text)
    else:
        canvas.drawString(column.x, y, text)


def _draw_summary(canvas: Canvas, y: float, summary: Sequence[tuple[str, str, str]]) -> float:
    canvas.setFont(_BOLD, 10)
    canvas.drawString(_MARGIN, y, "SUMMARY")
    y -= 14
    for name, paid_in, paid_out in [("TRANSACTION TYPE", "PAID IN", "PAID OUT"), *summary]:
        is_edge = name in {"TRANSACTION TYPE", "TOTAL:"}
        canvas.setFont(_BOLD if is_edge else _BODY, 8)
        canvas.drawString(_MARGIN, y, name)
        canvas.drawRightString(330, y, paid_in)
        canvas.drawRightString(430, y, paid_out)
        y -= 11
    return y - 8


def _footer(canvas: Canvas, page: int, pages: int) -> None:
    canvas.setFont(_BODY, 6.5)
    canvas.drawString(_MARGIN, 34, _NOTICE)
    canvas.drawRightString(_WIDTH - _MARGIN, 34, f"Page {page} of {pages}")


def _canvas(into: io.BytesIO, sheet: Sheet, title: str) -> Canvas:
    from reportlab.lib.pdfencrypt import StandardEncryption  # noqa: PLC0415
    from reportlab.pdfgen.canvas import Canvas  # noqa: PLC0415

    lock = None
    if sheet.password is not None:
        lock = StandardEncryption(sheet.password, ownerPassword=sheet.password, strength=128)
    canvas = Canvas(into, pagesize=(_WIDTH, _HEIGHT), invariant=1, encrypt=lock, pageCompression=1)
    made = datetime.combine(sheet.made_on, time(9, 12))
    # There is no other way to say when a file was made than to say what time it is.
    stamp = canvas._doc._timeStamp  # type: ignore[attr-defined]
    stamp.YMDhms, stamp.dhh, stamp.dmm = made.timetuple()[:6], 3, 0
    canvas.setTitle(f"{title.capitalize()} (synthetic)")
    canvas.setAuthor(PRODUCER)
    canvas.setCreator(PRODUCER)
    canvas.setProducer(PRODUCER)
    canvas.setSubject(_NOTICE)
    return canvas
