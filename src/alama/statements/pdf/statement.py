"""From the table of a PDF, and what stands around it, to a statement."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Final

from alama.statements import wallets
from alama.statements.cells import hundredths
from alama.statements.ledger import Declared, Pseudonyms, Statement, Unread
from alama.statements.pdf.facts import checks_of
from alama.statements.pdf.reader import LIMITS, PdfDocument, PdfLimits, read_document

if TYPE_CHECKING:
    from collections.abc import Sequence


def read_pdf(
    content: bytes,
    names: Pseudonyms,
    password: str | None = None,
    limits: PdfLimits = LIMITS,
) -> Statement:
    """Read the statement of a PDF, or raise an error that says what to do.

    Starts a process and waits for it, so call it from a thread where others wait.
    """
    return statement_of(read_document(content, password, limits), names)


def statement_of(document: PdfDocument, names: Pseudonyms) -> Statement:
    """Give the statement whose table was read."""
    table, unread = _numbered(document)
    declared = _declared(document, names)
    read = wallets.mpesa if document.layout == "mpesa_kenya" else wallets.mtn
    return read(
        table,
        names,
        format_name=f"{document.layout}_pdf",
        declared=declared,
        unread=unread,
        checks=checks_of(document, declared),
    )


def _numbered(document: PdfDocument) -> tuple[list[tuple[int, list[str]]], list[Unread]]:
    """Give each row its place among all rows, read or not, from 1 on."""
    places = sorted(
        [(row.page, row.line) for row in document.rows]
        + [(row.page, row.line) for row in document.unread]
    )
    number = {place: at for at, place in enumerate(places, start=1)}
    table = [(number[row.page, row.line], row.cells) for row in document.rows]
    unread = [
        Unread(
            number[row.page, row.line],
            f"the cell of `{row.column.replace('_', ' ')}` on page {row.page}, row {row.line} "
            "cannot be read",
        )
        for row in document.unread
    ]
    return table, unread


# ----------------------------------------------------------------------------- declared

_NAME: Final = ("customer name", "account holder", "account name", "name")
_PERIOD: Final = ("statement period", "period")
_MADE: Final = ("request date", "date of statement", "statement date", "date")
_OPENED: Final = ("registration date", "opened on")
_OPENING: Final = ("opening balance",)
_CLOSING: Final = ("closing balance",)

_MONTHS: Final = [
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
]
_DAY: Final = re.compile(
    r"(\d{1,2})(?:st|nd|rd|th)? ([A-Za-z]{3})[a-z]* (\d{4})|(\d{4})-(\d{2})-(\d{2})"
    r"|(\d{2})[-/](\d{2})[-/](\d{4})"
)
_MONEY: Final = re.compile(r"(?:[A-Za-z]{3}\.? ?)?([-(]?[\d,]+(?:\.\d{1,2})?\)?)")


def _declared(document: PdfDocument, names: Pseudonyms) -> Declared:
    head = document.head
    period = _days(_value(head, _PERIOD))
    made, opened = _days(_value(head, _MADE)), _days(_value(head, _OPENED))
    paid_in, paid_out = _totals(head)
    holder = _value(head, _NAME)
    return Declared(
        first_day=period[0] if len(period) > 1 else None,
        last_day=period[-1] if len(period) > 1 else None,
        made_on=made[0] if made else None,
        opened_on=opened[0] if opened else None,
        opening=_declared_money(head, _OPENING),
        closing=_declared_money(head, _CLOSING),
        paid_in=paid_in,
        paid_out=paid_out,
        holder=names.holder(holder) if holder else None,
    )


def _value(lines: Sequence[Sequence[str]], labels: Sequence[str]) -> str | None:
    """Give what stands beside a label, in the same cell or the next."""
    for label in labels:
        for cells in lines:
            for place, cell in enumerate(cells):
                told, colon, beside = cell.partition(":")
                if told.casefold().strip() != label:
                    continue
                if beside.strip():
                    return beside.strip()
                if place + 1 < len(cells) and (colon or len(cells) == 2):  # noqa: PLR2004 - a pair
                    return cells[place + 1]
    return None


def _days(text: str | None) -> list[date]:
    days = list[date]()
    for found in _DAY.finditer(text or ""):
        try:
            if found[1]:
                month = _MONTHS.index(found[2].casefold()) + 1
                days.append(date(int(found[3]), month, int(found[1])))
            elif found[4]:
                days.append(date(int(found[4]), int(found[5]), int(found[6])))
            else:
                days.append(date(int(found[9]), int(found[8]), int(found[7])))
        except ValueError:
            return []
    return days


def _declared_money(lines: Sequence[Sequence[str]], labels: Sequence[str]) -> int | None:
    value = _value(lines, labels)
    found = None if value is None else _MONEY.fullmatch(value)
    return None if found is None else hundredths(found[1])


def _totals(lines: Sequence[Sequence[str]]) -> tuple[int | None, int | None]:
    """Give what the summary by type adds up to, in and out."""
    for cells in lines:
        if cells and cells[0].casefold().rstrip(":").strip() == "total":
            found = [_MONEY.fullmatch(cell) for cell in cells[1:]]
            sums = [abs(hundredths(one[1]) or 0) for one in found if one is not None]
            if len(sums) == 2:  # noqa: PLR2004 - in and out
                return sums[0], sums[1]
    return None, None
