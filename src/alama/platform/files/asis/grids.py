"""Opening a file of cells by its content, whatever its name says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from alama.core.errors import FileProblem
from alama.platform.files.asis.delimited import TextGrid
from alama.platform.files.asis.spreadsheet import SpreadsheetGrid
from alama.platform.files.table import PARQUET, SPREADSHEET, Limits, unreadable

if TYPE_CHECKING:
    from alama.platform.files.asis.sheets import Source

Grid = TextGrid | SpreadsheetGrid

_HEAD_BYTES: Final = 64 << 10
_OLE: Final = b"\xd0\xcf\x11\xe0"
_JSON: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:\[\s*)?\{\s*\"")
_WEB: Final = re.compile(rb"\s*<(?:!doctype|html|table|\?xml)", re.IGNORECASE)


def open_grid(
    path: Source, limits: Limits, encoding: str | None = None, delimiter: str | None = None
) -> Grid:
    """Find out how a file is written, by its content; or raise FileProblem and say what to do."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError as error:
        raise unreadable(path, error) from error
    if not head.strip(b"\x00 \r\n\t"):
        raise FileProblem(f"{path} is empty", hint="look whether it was saved")
    if head.startswith(SPREADSHEET):
        return SpreadsheetGrid(path, limits)
    _refuse_others(path, head)
    return TextGrid(path, limits, encoding, delimiter)


def _refuse_others(path: Source, head: bytes) -> None:
    if head.startswith(PARQUET):
        raise FileProblem(f"{path} is a Parquet file", hint="name it so that it ends in .parquet")
    if head.startswith(_OLE):
        raise FileProblem(
            f"{path} is a workbook of an old Excel, or is protected by a password",
            hint="open it, and save it as an Excel workbook (.xlsx) without a password",
        )
    if _WEB.match(head):
        raise FileProblem(
            f"{path} is a web page, whatever its name says",
            hint="open it in a spreadsheet, and save it as an Excel workbook (.xlsx) or as CSV",
        )
    if _JSON.match(head):
        raise FileProblem(f"{path} is JSON, and no table", hint="export the table as CSV or .xlsx")
    if head.startswith(b"%PDF"):
        raise FileProblem(f"{path} is a PDF", hint="export the table as CSV or as .xlsx")
