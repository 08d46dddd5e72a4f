"""From a PDF to a statement: its table, what stands above it, and what the file tells of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alama.statements import wallets
from alama.statements.cells import DayOrder
from alama.statements.ledger import Unread
from alama.statements.pdf.facts import checks_of
from alama.statements.pdf.reader import LIMITS, PdfDocument, PdfLimits, read_document
from alama.statements.tables import declared_by

if TYPE_CHECKING:
    from alama.statements.ledger import Pseudonyms, Statement


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
    """Give the statement of a document whose table was read."""
    places = sorted(
        [(row.page, row.line) for row in document.rows]
        + [(row.page, row.line) for row in document.unread]
    )
    number = {place: at for at, place in enumerate(places, start=1)}
    declared = declared_by(document.head, names, wallets.EAST_AFRICA, order=DayOrder.DAY_FIRST)
    read = wallets.mpesa if document.layout == "mpesa_kenya" else wallets.mtn
    return read(
        [(number[row.page, row.line], row.cells) for row in document.rows],
        names,
        format_name=f"{document.layout}_pdf",
        declared=declared,
        unread=[
            Unread(number[row.page, row.line], _reason(row.page, row.line, row.column))
            for row in document.unread
        ],
        checks=checks_of(document, declared),
    )


def _reason(page: int, line: int, column: str) -> str:
    name = column.replace("_", " ")
    return f"page {page}, row {line}: what stands under {name!r} cannot be read"
