"""Tables that leave as files of spreadsheets: XLSX with a sheet for each, or all as one CSV."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.platform.files import cells

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


TABLE: Final = "table"
"""The column that says in a CSV which table a row is of."""

_WIDTH_MIN: Final = 12
_FORBIDDEN: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""What the XML inside an XLSX cannot hold."""

Cell = str | int | float | None


class Sheet(NamedTuple):
    """A table: its name, its columns, and its rows by column."""

    name: str
    columns: Sequence[str]
    rows: Sequence[Mapping[str, Cell]]


def as_xlsx(sheets: Iterable[Sheet]) -> bytes:
    """Write a workbook in which no cell runs; numbers stay numbers."""
    from openpyxl import Workbook  # noqa: PLC0415  it takes a while to load
    from openpyxl.cell import WriteOnlyCell  # noqa: PLC0415
    from openpyxl.styles import Font  # noqa: PLC0415
    from openpyxl.utils import get_column_letter  # noqa: PLC0415

    book = Workbook(write_only=True)
    bold = Font(bold=True)
    for sheet in sheets:
        page = book.create_sheet(sheet.name)
        page.freeze_panes = "B2"
        head = []
        for place, name in enumerate(sheet.columns, start=1):
            width = max(len(name) + 2, _WIDTH_MIN)
            page.column_dimensions[get_column_letter(place)].width = width
            cell = WriteOnlyCell(page, value=_plain(name))
            cell.font = bold
            head.append(cell)
        page.append(head)
        for row in sheet.rows:
            page.append([_plain(row.get(name)) for name in sheet.columns])
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


def as_csv(sheets: Sequence[Sheet]) -> str:
    """Write all tables as one, with the columns of all of them."""
    columns = dict.fromkeys([TABLE, *(name for sheet in sheets for name in sheet.columns)])
    rows = ({TABLE: sheet.name, **row} for sheet in sheets for row in sheet.rows)
    return cells.as_csv(list(columns), rows)


def _plain(value: Cell) -> Cell:
    return cells.inert(_FORBIDDEN.sub("\ufffd", value)) if isinstance(value, str) else value
