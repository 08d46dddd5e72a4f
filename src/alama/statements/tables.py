"""Tables as they come: CSV of any encoding and separator, spreadsheets, columns by a mapping."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from typing import TYPE_CHECKING, Any, Final

import msgspec

from alama.statements.cells import BadCell, DayOrder, hundredths, moment, table_hundredths
from alama.statements.ledger import Declared, Pseudonyms, Statement
from alama.statements.problems import MappingNeeded, StatementUnreadable
from alama.statements.rows import Row, Source, assemble
from alama.statements.wallets import rows_of, status_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import tzinfo

ROWS_MAX: Final = 200_000
UNPACKED_BYTES_MAX: Final = 128 << 20
CELLS_MAX: Final = 4_000_000
HEADER_WITHIN: Final = 60
"""In how many first rows the header is looked for."""

_SEPARATORS: Final = ",;\t|"


_CREDITS: Final = ("c", "cr", "credit", "in", "credited")
_DEBITS: Final = ("d", "db", "dr", "debit", "out", "debited")


class Columns(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A mapping: which column of a table is what, and how its cells are written.

    `amount` carries its sign, or `direction` says it with one of the words of `credits`; or
    `paid_in` and `paid_out` are columns of their own.
    """

    at: str
    time: str | None = None
    amount: str | None = None
    direction: str | None = None
    credits: tuple[str, ...] = _CREDITS
    paid_in: str | None = None
    paid_out: str | None = None
    balance: str | None = None
    details: str | None = None
    counterparty: str | None = None
    receipt: str | None = None
    status: str | None = None
    decimal: str = "."
    dates: DayOrder | None = None
    currency: str | None = None

    @property
    def named(self) -> tuple[str, ...]:
        """The columns that the table has to have."""
        told = (
            self.at,
            self.time,
            self.amount,
            self.direction,
            self.paid_in,
            self.paid_out,
            self.balance,
            self.details,
            self.counterparty,
            self.receipt,
            self.status,
        )
        return tuple(name for name in told if name is not None)


_LIKELY: Final[Mapping[str, tuple[str, ...]]] = {
    "at": (
        "date",
        "transaction date",
        "date & time",
        "datetime",
        "timestamp",
        "posting date",
        "value date",
        "completion time",
    ),
    "time": ("time", "heure"),
    "amount": ("amount", "montant", "transaction amount"),
    "direction": ("type", "dr/cr", "cr/dr", "direction", "debit/credit"),
    "paid_in": ("paid in", "credit", "money in", "deposit", "deposits", "crédit", "credits"),
    "paid_out": (
        "paid out",
        "withdrawn",
        "debit",
        "money out",
        "withdrawal",
        "withdrawals",
        "débit",
        "debits",
    ),
    "balance": ("balance", "running balance", "solde", "closing balance", "available balance"),
    "details": ("details", "description", "narration", "particulars", "narrative", "service"),
    "counterparty": ("counterparty", "beneficiary", "payee", "party"),
    "receipt": ("receipt", "receipt no.", "reference", "transaction id", "ref", "référence", "id"),
    "status": ("status", "statut", "transaction status"),
}
"""Names that columns usually have."""


def rows_of_csv(content: bytes) -> list[tuple[int, list[str]]]:
    """Give the rows of a CSV file with their lines, whatever encoding and separator it has."""
    text = _decoded(content)
    if "\0" in text:
        raise StatementUnreadable("the file is neither text nor a format that is known here")
    separator = max(_SEPARATORS, key=lambda sign: _columns(text, sign))
    rows: list[tuple[int, list[str]]] = []
    try:
        # Strict: a quote that is never closed must not swallow rows in silence.
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        for cells in reader:
            if len(rows) >= ROWS_MAX:
                raise StatementUnreadable(f"the file has more than {ROWS_MAX:,} rows")
            rows.append((reader.line_num, cells))
    except csv.Error:
        raise StatementUnreadable(
            "the file is no table",
            hint="look for a quote that is never closed, or save the sheet as CSV once more",
        ) from None
    return rows


def _decoded(content: bytes) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        encodings: tuple[str, ...] = ("utf-16",)
    else:
        encodings = ("utf-8-sig", "cp1252", "latin-1")
    for encoding in encodings:
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise StatementUnreadable("the file is not text in an encoding that is known here")


def _columns(text: str, sign: str) -> int:
    """Say how many columns a separator makes of most of the first lines."""
    counts = [line.count(sign) for line in text[:20_000].splitlines()[:HEADER_WITHIN]]
    often = sorted(count for count in counts if count)
    return often[len(often) // 2] * len(often) if often else 0


def rows_of_spreadsheet(content: bytes) -> list[tuple[int, list[str]]]:
    """Give the rows of the first sheet that has a table."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            unpacked = sum(one.file_size for one in packed.infolist())
    except (zipfile.BadZipFile, ValueError, OSError):
        raise StatementUnreadable("the spreadsheet is damaged") from None
    if unpacked > UNPACKED_BYTES_MAX:
        raise StatementUnreadable("the spreadsheet is too large once it is unpacked")
    try:
        import openpyxl  # noqa: PLC0415
    except ModuleNotFoundError:
        raise StatementUnreadable(
            "spreadsheets cannot be read here", hint="install the extra `statements`, or send CSV"
        ) from None
    try:
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        sheets = _sheets(book)
    except StatementUnreadable:
        raise
    except Exception:  # noqa: BLE001 - a damaged workbook breaks its reader in any way
        raise StatementUnreadable("the spreadsheet is damaged") from None
    return max(sheets, key=len, default=[])


def _sheets(book: Any) -> list[list[tuple[int, list[str]]]]:  # noqa: ANN401 - openpyxl has no types
    sheets, cells = [], 0
    for sheet in book.worksheets[:10]:
        sheet.reset_dimensions()  # what a file says of its own size need not be so
        rows: list[tuple[int, list[str]]] = []
        for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
            cells += len(row)
            if number > ROWS_MAX or cells > CELLS_MAX:
                raise StatementUnreadable(
                    f"the spreadsheet has more than {ROWS_MAX:,} rows or {CELLS_MAX:,} cells"
                )
            rows.append((number, ["" if cell is None else str(cell) for cell in row]))
        sheets.append(rows)
    _require_one_table(sheets)
    return sheets


_NAMED_MIN: Final = 3


def _require_one_table(sheets: Sequence[Sequence[tuple[int, list[str]]]]) -> None:
    """Refuse a workbook with a sheet for each month: one of them is not the whole."""
    seen: set[tuple[str, ...]] = set()
    for rows in sheets:
        heads = {tuple(map(plain, cells)) for _, cells in rows[:HEADER_WITHIN]}
        named = {
            head
            for head in heads
            if sum(bool(name) for name in head) >= _NAMED_MIN
            and not any(sign.isdigit() for name in head for sign in name)
        }
        if named & seen:
            raise StatementUnreadable(
                "several sheets of the spreadsheet hold a table",
                hint="put all rows into one sheet, or send each sheet as a file of its own",
            )
        seen |= named


def plain(name: str) -> str:
    """Give a column's name as it is compared."""
    return " ".join(name.replace("\ufeff", "").split()).casefold()


def find_header(
    rows: Sequence[tuple[int, list[str]]], wanted: Sequence[str]
) -> tuple[int, list[int]] | None:
    """Give the row that names all wanted columns, and where they stand in it."""
    asked = [plain(name) for name in wanted]
    for place, (_, cells) in enumerate(rows[:HEADER_WITHIN]):
        names = [plain(cell) for cell in cells]
        if set(asked) <= set(names):
            return place, [names.index(name) for name in asked]
    return None


def body(
    rows: Sequence[tuple[int, list[str]]], header: int, places: Sequence[int]
) -> Iterable[tuple[int, list[str]]]:
    """Give the rows below a header in the order of the columns; a line of one cell is a note.

    A row that is wider than the header stays as it is: which of its cells is which, nobody knows.
    """
    width = len(rows[header][1])
    for number, cells in rows[header + 1 :]:
        if any(cell.strip() for cell in cells[width:]):
            yield number, cells
        elif sum(bool(cell.strip()) for cell in cells) > 1:
            yield number, [cells[place] if place < len(cells) else "" for place in places]


def guess(rows: Sequence[tuple[int, list[str]]]) -> Columns:
    """Find the columns by the names that they usually have, or raise `MappingNeeded`."""
    for _, cells in rows[:HEADER_WITHIN]:
        names = {plain(cell): cell for cell in cells}
        found = {
            role: next((names[name] for name in likely if name in names), None)
            for role, likely in _LIKELY.items()
        }
        has_money = found["amount"] or (found["paid_in"] and found["paid_out"])
        if found["at"] and has_money:
            if found["paid_in"] and found["paid_out"]:
                found["amount"] = found["direction"] = None
            told = {role: name for role, name in found.items() if name is not None}
            return msgspec.convert(told, Columns)
    raise MappingNeeded(
        "the columns of the table are not known",
        hint="send a mapping: which column has the date, the amount, the details, the balance",
    )


def read_mapped(
    rows: Sequence[tuple[int, list[str]]],
    columns: Columns,
    names: Pseudonyms,
    zone: tzinfo,
    declared: Declared,
    format_name: str,
) -> Statement:
    """Read a table by a mapping."""
    found = find_header(rows, columns.named)
    if found is None:
        raise MappingNeeded(
            "the table lacks a column of the mapping",
            hint="compare the mapping with the header of the file, word by word",
        )
    header, places = found
    known = [plain(cell) for cell in rows[header][1]]
    if any(known.count(plain(name)) > 1 for name in columns.named):
        raise MappingNeeded(
            "a column of the table stands twice under one name",
            hint="give each of the two a name of its own in the header of the file",
        )
    table = list(body(rows, header, places))
    role = {name: place for place, name in enumerate(columns.named)}
    order = columns.dates or _day_order([cells[role[columns.at]] for _, cells in table])

    def row(number: int, cells: Sequence[str]) -> list[Row]:
        def cell(name: str | None) -> str:
            return "" if name is None else cells[role[name]].strip()

        when = f"{cell(columns.at)} {cell(columns.time)}".strip()
        balance = table_hundredths(cell(columns.balance), columns.decimal)
        return [
            Row(
                number,
                cell(columns.receipt) or None,
                moment(when, zone, order),
                cell(columns.details),
                status_of(cell(columns.status)),
                _moved(columns, cell),
                balance,
                None,
                cell(columns.counterparty) or None,
            )
        ]

    read, bad = rows_of(table, len(places), row)
    source = Source(format_name, None, columns.currency)
    return assemble(source, read, names, unread=bad, declared=declared)


def _moved(columns: Columns, cell: Any) -> int:  # noqa: ANN401 - a function of the caller
    if columns.amount is None:
        came = table_hundredths(cell(columns.paid_in), columns.decimal) or 0
        return came - abs(table_hundredths(cell(columns.paid_out), columns.decimal) or 0)
    amount = table_hundredths(cell(columns.amount), columns.decimal)
    if amount is None:
        raise BadCell("needs an amount")
    if columns.direction is None:
        return amount
    word = cell(columns.direction).casefold()
    came_in = word in columns.credits
    if not came_in and columns.credits == _CREDITS and word not in _DEBITS:
        raise BadCell("does not tell whether money came or went")
    return abs(amount) if came_in else -abs(amount)


_TWO_FIRST: Final = re.compile(r"\s*(\d{1,2})[-/. ](\d{1,2})[-/. ]\d{2,4}")
_MONTHS: Final = 12


def _day_order(cells: Iterable[str]) -> DayOrder | None:
    """Say which of two figures is the day, by those that only one can be; None: none tells."""
    pairs = [(int(one[1]), int(one[2])) for cell in cells if (one := _TWO_FIRST.match(cell))]
    day_first = any(first > _MONTHS for first, _ in pairs)
    month_first = any(second > _MONTHS for _, second in pairs)
    if not pairs or day_first != month_first:
        return DayOrder.MONTH_FIRST if month_first else DayOrder.DAY_FIRST
    raise MappingNeeded(
        "day and month of the dates cannot be told apart",
        hint='say `dates = "day first"` or `dates = "month first"` in the mapping',
    )


# ------------------------------------------------------------------- what stands above a table


_LABELS: Final[Mapping[str, tuple[str, ...]]] = {
    "holder": (
        "customer name",
        "account holder",
        "account name",
        "name",
        "nom du client",
        "nom",
        "titulaire",
    ),
    "period": ("statement period", "period", "période", "periode"),
    "made_on": (
        "request date",
        "date of statement",
        "statement date",
        "printed on",
        "date d'édition",
        "date d'edition",
    ),
    "opened_on": ("account opened", "opened on", "date d'ouverture"),
    "opening": ("opening balance", "solde initial", "solde d'ouverture"),
    "closing": ("closing balance", "solde final", "solde de clôture"),
    "total": ("total", "total:"),
}
_ROLE_OF: Final = {label: role for role, labels in _LABELS.items() for label in labels}
_PERIOD: Final = re.compile(r"\s*(?:du )?(.+?)\s+(?:-|\u2013|to|au)\s+(.+?)\s*", re.IGNORECASE)
_TOTAL_CELLS: Final = 3


def declared_by(
    lines: Iterable[Sequence[str]], names: Pseudonyms, zone: tzinfo, decimal: str = "."
) -> Declared:
    """Read what a statement says of itself above its table; what cannot be read is left out."""
    told: dict[str, str] = {}
    totals: list[str] = []
    for line in lines:
        cells = [cell.strip() for cell in line if cell.strip()]
        if len(cells) == 1 and ":" in cells[0]:
            label, _, rest = cells[0].partition(":")
            cells = [label, rest.strip()]
        if len(cells) < 2:  # noqa: PLR2004 - a label and what it says
            continue
        role = _ROLE_OF.get(plain(cells[0]).rstrip(": "))
        if role == "total" and len(cells) >= _TOTAL_CELLS:
            totals = cells[1:3]
        elif role is not None:
            told.setdefault(role, cells[1])
    first, last = _period(told.get("period", ""), zone)
    return Declared(
        first_day=first,
        last_day=last,
        made_on=_day(told.get("made_on"), zone),
        opened_on=_day(told.get("opened_on"), zone),
        opening=_money(told.get("opening"), decimal),
        closing=_money(told.get("closing"), decimal),
        paid_in=_money(totals[0], decimal) if totals else None,
        paid_out=_total_out(totals, decimal),
        holder=names.holder(told["holder"]) if "holder" in told else None,
    )


def _total_out(totals: Sequence[str], decimal: str) -> int | None:
    out = _money(totals[1], decimal) if totals else None
    return None if out is None else abs(out)


def _period(text: str, zone: tzinfo) -> tuple[Any, Any]:
    found = _PERIOD.fullmatch(text)
    return (None, None) if found is None else (_day(found[1], zone), _day(found[2], zone))


def _day(text: str | None, zone: tzinfo) -> Any:  # noqa: ANN401 - a date or none
    try:
        return moment(text, zone).date() if text else None
    except ValueError:
        return None


def _money(text: str | None, decimal: str) -> int | None:
    try:
        return hundredths(text, decimal) if text else None
    except BadCell:
        return None
