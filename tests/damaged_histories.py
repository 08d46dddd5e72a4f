"""Loan histories as lenders send them: sixty ways to write one table, and the table itself.

Each case is made by code from the same loans, so what is read can be held against what is true.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from pathlib import Path
from random import Random
from typing import Any, Final, Literal

import openpyxl

from alama.platform.files.asis.inspection import Mapping

NAMES: Final = (
    "borrower_id",
    "applied_on",
    "disbursed_on",
    "due_on",
    "observed_on",
    "largest_days_past_due",
    "amount",
    "restructured",
    "mobile_money_months",
    "monthly_inflow",
    "stability_score",
    "airtime_regularity",
    "region",
)
NUMBERS: Final = (5, 6, 8, 9, 10, 11)
DAYS: Final = (1, 2, 3, 4)
AMOUNTS: Final = (6, 9)
SHARES: Final = (10, 11)

READ: Final = "read"
ASKED: Final = "asked"
REFUSED: Final = "refused"

Value = Any
Rows = Sequence[Sequence[str]]
Loans = list[list[Value]]


def loans(count: int = 80, seed: int = 27) -> Loans:
    """Give true loans: days, numbers, and None where nothing is known."""
    chance = Random(seed)  # noqa: S311 - nothing here is a secret
    told: Loans = []
    for number in range(count):
        applied = date(2024, 1, 1) + timedelta(days=chance.randrange(500))
        out = applied + timedelta(days=chance.randrange(3))
        has_loan = number % 7 != 5
        told.append(
            [
                f"B{1000 + number // 2}",
                applied,
                out if has_loan else None,
                out + timedelta(days=30) if has_loan else None,
                date(2026, 3, 31) if has_loan else None,
                float(chance.choice((0, 0, 0, 3, 12, 45, 90))) if has_loan else None,
                round(chance.uniform(800, 250_000), 2) if has_loan else None,
                chance.choice(("yes", "no", "no")) if has_loan else None,
                float(chance.randrange(1, 90)),
                round(chance.uniform(2_000, 1_900_000), 2),
                round(chance.uniform(0.05, 0.99), 3),
                None if number % 9 == 4 else round(chance.uniform(0.05, 0.99), 2),
                chance.choice(("Nairobi", "Région Côtière", "Mwanza", "Kérou")),
            ]
        )
    return told


# ----------------------------------------------------------------------------------- writing text

Write = Callable[[float], str]


def plain(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(value)


def grouped(group: str, mark: str) -> Write:
    """Write two digits after the mark, three of a share, and thousands apart."""

    def write(value: float) -> str:
        digits = 2 if round(value, 2) == value else 3
        whole, _, rest = f"{value:,.{digits}f}".partition(".")
        return whole.replace(",", group) + mark + rest

    return write


def comma(value: float) -> str:
    return plain(value).replace(".", ",")


@dataclass
class Text:
    """How a text is written; each case changes what it is about."""

    names: Sequence[str] = NAMES
    delimiter: str = ","
    encoding: str = "utf-8"
    end: str = "\r\n"
    number: Write = plain
    amount: Write | None = None
    share: Write | None = None
    day: Callable[[date], str] = date.isoformat
    missing: str = ""
    answer: dict[str, str] = field(default_factory=dict)
    above: Sequence[Sequence[str]] = ()
    below: Sequence[Sequence[str]] = ()
    quoting: Literal[0, 1] = csv.QUOTE_MINIMAL
    change: Callable[[list[list[str]]], list[list[str]]] = lambda rows: rows
    mark: bytes = b""

    def rows(self, told: Loans) -> list[list[str]]:
        return [[self._cell(place, value) for place, value in enumerate(loan)] for loan in told]

    def _cell(self, place: int, value: Value) -> str:
        if value is None:
            return self.missing
        if place in DAYS:
            return self.day(value)
        if place in AMOUNTS:
            return (self.amount or self.number)(value)
        if place in SHARES:
            return (self.share or self.number)(value)
        if place in NUMBERS:
            return self.number(value)
        word = str(value)
        return self.answer.get(word, word) if place == NAMES.index("restructured") else word

    def write(self, path: Path, told: Loans) -> None:
        lines = io.StringIO(newline="")
        written = csv.writer(
            lines, delimiter=self.delimiter, lineterminator=self.end, quoting=self.quoting
        )
        written.writerows(self.above)
        written.writerows(self.change([list(self.names), *self.rows(told)]))
        written.writerows(self.below)
        path.write_bytes(self.mark + lines.getvalue().encode(self.encoding))


# ----------------------------------------------------------------------------------- writing sheets

Dress = Callable[[Any, Any], None]


@dataclass
class Book:
    """How a workbook is written: `dress` changes the sheet of the loans, or adds others."""

    names: Sequence[str] = NAMES
    above: Sequence[Sequence[Value]] = ()
    below: Sequence[Sequence[Value]] = ()
    dress: Dress = lambda _book, _sheet: None
    cell: Callable[[int, Value], Value] = lambda _place, value: value

    def write(self, path: Path, told: Loans) -> None:
        book = openpyxl.Workbook()
        sheet = book.active
        assert sheet is not None
        sheet.title = "Loans"
        for row in (*self.above, self.names):
            sheet.append(list(row))
        for loan in told:
            sheet.append([self.cell(place, value) for place, value in enumerate(loan)])
        for row in self.below:
            sheet.append(list(row))
        self.dress(book, sheet)
        book.save(path)


# ----------------------------------------------------------------------------------- the cases


@dataclass
class Case:
    """One damaged file. An `answer` is what reads one right that is asked about.

    `lost` are rows of the truth (by their place) that are rightly left out.
    """

    name: str
    ending: str
    written: Text | Book | Callable[[Path, Loans], None]
    comes: str = READ
    about: str = ""
    answer: Mapping | None = None
    lost: frozenset[int] = frozenset()
    told: Loans = field(default_factory=loans)

    def write(self, folder: Path) -> Path:
        path = folder / f"{self.name.replace(' ', '-')}{self.ending}"
        if isinstance(self.written, Text | Book):
            self.written.write(path, self.told)
        else:
            self.written(path, self.told)
        return path

    @property
    def truth(self) -> Loans:
        return [loan for place, loan in enumerate(self.told) if place not in self.lost]


def slashed(day: date) -> str:
    return f"{day:%d/%m/%Y}"


def early(told: Loans) -> Loans:
    """Give loans whose days are all before the 13th: nothing tells days from months."""
    return [
        [
            value.replace(day=value.day % 12 + 1) if isinstance(value, date) else value
            for value in loan
        ]
        for loan in told
    ]


SHORT: Final = {"yes": "Y", "no": "N"}
SWAHILI: Final = (
    "Namba ya mteja",
    "Tarehe ya maombi",
    "Tarehe ya kutolewa",
    "Tarehe ya mwisho",
    "Tarehe ya ripoti",
    "Siku nyingi zaidi za kuchelewa",
    "Kiasi cha mkopo",
    "Umepangwa upya",
    "Miezi ya M-Pesa",
    "Mapato ya mwezi",
    "Uthabiti wa salio",
    "airtime_regularity",
    "Mkoa",
)
FRENCH: Final = (
    "N° client",
    "Date de la demande",
    "Date de décaissement",
    "Date d'échéance",
    "Date d'arrêté",
    "Jours de retard maximum",
    "Montant du prêt",
    "Restructurée",
    "Mois de mobile money",
    "Entrées mensuelles",
    "Stabilité du solde",
    "Régularité des recharges",
    "Département",
)
ENGLISH: Final = (
    "BorrowerID",
    "Application Date",
    "Date Disbursed",
    "Maturity Date",
    "As-of date",
    "Max. DPD",
    "Loan Amount (KES)",
    "Rescheduled",
    "Mobile Money Months",
    "Avg. Monthly Inflow",
    "STABILITY SCORE",
    "Airtime regularty",
    "County",
)


def every(rows: list[list[str]], place: int, change: Callable[[str], str]) -> list[list[str]]:
    """Change the values of one column, and not its name."""
    head, *rest = rows
    return [head, *([*r[:place], change(r[place]), *r[place + 1 :]] for r in rest)]


def encodings() -> Iterable[Case]:
    excel = Text(delimiter=";", number=comma)
    yield Case("excel export", ".csv", Text(**(vars(excel) | {"mark": b"\xef\xbb\xbf"})))
    for name in ("utf-16", "utf-16-le", "utf-32", "cp1252"):
        yield Case(f"in {name}", ".csv", Text(encoding=name, delimiter=";"))
    yield Case(
        "in cp850", ".csv", Text(encoding="cp850"), ASKED, "encoding", Mapping(encoding="cp850")
    )
    twice = Text(change=lambda rows: every(rows, 12, lambda v: v.encode().decode("cp1252")))
    yield Case("letters garbled", ".csv", twice, REFUSED, "garbled")
    lost = Text(change=lambda rows: every(rows, 12, lambda v: v.replace("é", "\ufffd")))
    yield Case("letters lost", ".csv", lost, REFUSED, "garbled")


def separators() -> Iterable[Case]:
    for name, sign in (("tabs", "\t"), ("bars", "|"), ("semicolons", ";")):
        yield Case(f"between {name}", ".csv", Text(delimiter=sign))
    yield Case("says sep", ".csv", Text(delimiter=";", mark=b"sep=;\r\n", number=comma))
    yield Case("old mac lines", ".csv", Text(end="\r"))
    yield Case("all quoted", ".csv", Text(quoting=csv.QUOTE_ALL, number=grouped(",", ".")))
    yield Case("packed", ".csv.gz", packed)
    trailing = Text(change=lambda rows: [[*row, "", ""] for row in rows])
    yield Case("trailing delimiters", ".csv", trailing)
    told = [[*loan[:12], f"{loan[12]}\nnear the market, left"] for loan in loans()]
    yield Case("line breaks in values", ".csv", Text(), told=told)
    bare = Text(change=lambda rows: [[cell.replace(".", ",") for cell in row] for row in rows])
    yield Case("decimal commas unquoted", ".csv", unquoted(bare), REFUSED, "values where")
    yield Case("quote never closed", ".csv", broken_quote, REFUSED, "quote")
    yield Case("a row too short", ".csv", Text(change=shortened), REFUSED, "values where")
    yield Case("a row too long", ".csv", Text(change=lengthened), REFUSED, "values where")


def packed(path: Path, told: Loans) -> None:
    Text(delimiter=";", number=comma).write(path, told)
    path.write_bytes(gzip.compress(path.read_bytes()))


def unquoted(text: Text) -> Callable[[Path, Loans], None]:
    def write(path: Path, told: Loans) -> None:
        rows = text.change([list(NAMES), *text.rows(told)])
        path.write_text("\n".join(",".join(row) for row in rows), "utf-8")

    return write


def broken_quote(path: Path, told: Loans) -> None:
    Text().write(path, told)
    lines = path.read_text("utf-8").splitlines()
    lines[20] = lines[20].replace("B10", '"B10', 1)
    path.write_text("\n".join(lines), "utf-8")


def shortened(rows: list[list[str]]) -> list[list[str]]:
    return [*rows[:30], rows[30][:-2], *rows[31:]]


def lengthened(rows: list[list[str]]) -> list[list[str]]:
    return [*rows[:30], [*rows[30][:6], "7", *rows[30][6:]], *rows[31:]]


def numbers() -> Iterable[Case]:
    for name, group, mark in (
        ("commas and points", ",", "."),
        ("points and commas", ".", ","),
        ("spaces and commas", " ", ","),
        ("narrow spaces", "\u202f", ","),
        ("hard spaces", "\u00a0", "."),
        ("apostrophes", "'", "."),
        ("curly apostrophes", "\u2019", "."),
    ):
        yield Case(f"thousands by {name}", ".csv", Text(number=grouped(group, mark), delimiter=";"))
    for name, before, after in (
        ("KES", "KES ", ""),
        ("KSh", "KSh", ""),
        ("shillings", "", "/="),
        ("FCFA", "", " FCFA"),
    ):
        write = grouped(",", ".")
        money = Text(amount=lambda v, b=before, a=after, w=write: f"{b}{w(v)}{a}")  # type: ignore[misc]
        yield Case(f"money in {name}", ".csv", money)
    percent = Text(share=lambda v: f"{plain(round(100 * v, 1))}%")
    yield Case("shares in percent", ".csv", percent)
    spaced = Text(share=lambda v: f"{comma(round(100 * v, 1))} %", number=comma, delimiter=";")
    yield Case("shares in percent with commas", ".csv", spaced)
    truth = [thousands_of(loan) for loan in loans()]
    only = Text(delimiter=";", amount=lambda v: f"{v:,.0f}")
    answer = Mapping(decimal="point")
    hundredths = Text(names=tuple("amount (cents)" if n == "amount" else n for n in NAMES))
    yield Case("amounts in cents", ".csv", hundredths, REFUSED, "hundredths")
    named = tuple("amount (USD)" if n == "amount" else n for n in NAMES)
    other = Text(names=named, amount=lambda v: f"KES {v:,.2f}")
    yield Case("a currency in a name and another in values", ".csv", other, REFUSED, "currency")
    yield Case("thousands or decimals", ".csv", only, ASKED, "decimal", answer, told=truth)
    mixed = Text(
        change=lambda rows: [
            r if n % 2 else [comma(float(c)) if p == 9 and n else c for p, c in enumerate(r)]
            for n, r in enumerate(rows)
        ]
    )
    yield Case("two decimal marks", ".csv", mixed, REFUSED, "decimal comma")
    two = Text(
        change=lambda rows: [
            [(f"USD {c}" if n % 3 else f"KES {c}") if p == 9 and n else c for p, c in enumerate(r)]
            for n, r in enumerate(rows)
        ]
    )
    yield Case("two currencies", ".csv", two, REFUSED, "more than one currency")
    some = Text(
        change=lambda rows: [
            [f"{100 * float(c):.0f}%" if p == 10 and n > 40 else c for p, c in enumerate(r)]
            for n, r in enumerate(rows)
        ]
    )
    yield Case("percent in some rows", ".csv", some, REFUSED, "percent")
    shown = Text(change=lambda rows: every(rows, 9, lambda v: f"{float(v):.2E}"))
    yield Case("numbers shortened", ".csv", shown, REFUSED, "shortened")
    ids = Text(change=lambda rows: every(rows, 0, lambda v: f"{254_700_000_000 + int(v[1:]):.5E}"))
    yield Case("ids shortened", ".csv", ids, REFUSED, "shortened")
    thousands = Text(names=tuple("amount ('000)" if n == "amount" else n for n in NAMES))
    yield Case("amounts in thousands", ".csv", thousands, REFUSED, "thousands")
    negative = [[*r[:6], r[6] and -r[6], *r[7:]] for r in loans()]
    brackets = Text(amount=lambda v: f"({abs(v):,.2f})" if v < 0 else f"{v:,.2f}")
    yield Case("negatives in brackets", ".csv", brackets, told=negative)
    dashes = Text(amount=lambda v: f"KES {v:,.2f}", missing="-")
    yield Case("dashes for nothing", ".csv", dashes, ASKED, "dash", Mapping(dash="missing"))


def thousands_of(loan: list[Value]) -> list[Value]:
    """Give a loan of whole thousands below a million, and whole numbers."""
    told = list(loan)
    for place in NUMBERS:
        if told[place] is not None:
            is_amount = place in AMOUNTS
            told[place] = 1000.0 * (1 + told[place] // 10_000) if is_amount else told[place] // 1
    return told


def days() -> Iterable[Case]:
    for name, write in (
        ("slashes", slashed),
        ("points", lambda d: f"{d:%d.%m.%Y}"),
        ("month first", lambda d: f"{d:%m/%d/%Y}"),
        ("short years", lambda d: f"{d.day}/{d.month}/{d:%y}"),
        ("names of months", lambda d: f"{d:%d-%b-%Y}"),
        ("long names", lambda d: f"{d:%B} {d.day}, {d.year}"),
        ("times", lambda d: f"{d:%d/%m/%Y} 14:05:33"),
        ("year first with slashes", lambda d: f"{d:%Y/%m/%d}"),
    ):
        told = [[*r[:4], r[4] and date(2026, 3, 31), *r[5:]] for r in loans()]
        yield Case(f"days with {name}", ".csv", Text(day=write), told=told)
    yield Case(
        "days or months", ".csv", Text(day=slashed, amount=lambda v: f"KES {v:,.2f}"),
        ASKED, "dates",
        Mapping(dates="day-first"), told=early(loans()),
    )  # fmt: skip
    zoned = Text(day=lambda d: f"{d - timedelta(days=1)}T21:00:00.000Z")
    yield Case("midnights of another zone", ".csv", zoned, REFUSED, "another time zone")
    moments = Text(day=lambda d: f"{d}T{d.day % 24:02}:{d.month:02}:09Z")
    yield Case("moments in UTC", ".csv", moments)
    for name, day in (("slashes", "%y/%m/%d"), ("dashes", "%y-%m-%d")):
        yield Case(
            f"short years first with {name}", ".csv", Text(day=lambda d, w=day: d.strftime(w)),  # type: ignore[misc]
            ASKED, "dates",
            Mapping(dates="year-first"),
        )  # fmt: skip
    last = Text(day=lambda d: f"{d:%d-%m-%y}")
    answer = Mapping(dates="day-first")
    yield Case("short years last with dashes", ".csv", last, ASKED, "dates", answer)
    fr = (
        "",
        "janv.",
        "févr.",
        "mars",
        "avril",
        "mai",
        "juin",
        "juil.",
        "août",
        "sept.",
        "oct.",
        "nov.",
        "déc.",
    )
    yield Case("days in French", ".csv", Text(day=lambda d: f"{d.day} {fr[d.month]} {d.year}"))
    digits = Text(day=lambda d: f"{d:%Y%m%d}")
    yield Case("days in eight digits", ".csv", digits)
    serial = Text(day=lambda d: str((d - date(1899, 12, 30)).days))
    yield Case("days as counted", ".csv", serial, ASKED, "serial", Mapping(serial="1900"))
    both = Text(
        change=lambda rows: [
            [
                (c if n % 2 else f"{date.fromisoformat(c):%d/%m/%Y}")
                if n and p in (1, 2) and c
                else c
                for p, c in enumerate(r)
            ]
            for n, r in enumerate(rows)
        ]
    )
    yield Case("days in two ways", ".csv", both, REFUSED, "more than one way")
    orders = Text(
        day=slashed,
        change=lambda rows: [
            [
                f"{c[3:5]}/{c[:2]}{c[5:]}" if n % 2 and n and p in DAYS and c else c
                for p, c in enumerate(r)
            ]
            for n, r in enumerate(rows)
        ],
    )
    yield Case("days in two orders", ".csv", orders, REFUSED, "only in another order")


def names() -> Iterable[Case]:
    for language, told in (("English", ENGLISH), ("Swahili", SWAHILI), ("French", FRENCH)):
        yield Case(f"names in {language}", ".csv", Text(names=told, answer=SHORT))
    odd = tuple(f" {name.upper().replace('_', ' ')} " for name in NAMES)
    yield Case("names in capitals", ".csv", Text(names=odd))
    today = tuple("DPD" if n == "largest_days_past_due" else n for n in NAMES)
    answer = Mapping(columns={"largest_days_past_due": "DPD"})
    yield Case(
        "days late of today", ".csv", Text(names=today), ASKED, "largest_days_past_due", answer
    )
    rivals = Text(
        names=(*(n if n != "amount" else "Principal" for n in NAMES), "Loan amount"),
        change=lambda rows: [[*rows[0]], *([*r, "1"] for r in rows[1:])],
    )
    yield Case(
        "two columns alike",
        ".csv",
        rivals,
        ASKED,
        "amount",
        Mapping(columns={"amount": "Principal"}),
    )
    twice = Text(change=lambda rows: [[*r, r[6]] for r in rows])
    yield Case("a name twice", ".csv", twice, REFUSED, "amount")
    spare = Text(
        change=lambda rows: [
            [*r, *(("note", "note") if not n else ("a", "b"))] for n, r in enumerate(rows)
        ]
    )
    yield Case("a spare name twice", ".csv", spare)
    yield Case("no names", ".csv", Text(change=lambda rows: rows[1:]), REFUSED, "names the columns")


def surroundings() -> Iterable[Case]:
    side = Text(change=lambda rows: [list(column) for column in zip(*rows, strict=True)])
    yield Case("on its side", ".csv", side, REFUSED, "on its side")
    marks = Text(change=lambda rows: [rows[0], *([f"\u200f{c}" for c in r] for r in rows[1:])])
    yield Case("marks of right to left", ".csv", marks)
    title: Rows = (["UMOJA SACCO LTD"], ["Loan book", "as at 31/03/2026"], [])
    yield Case("titles above", ".csv", Text(above=title))
    foot: Rows = ([], ["Prepared by: Jane"], ["Page 1 of 1"])
    yield Case("notes below", ".csv", Text(below=foot))
    total = (["TOTAL", *[""] * 5, "9,999,999.00", "", "", "9,999,999.00", *[""] * 3],)
    yield Case("totals below", ".csv", Text(below=total, amount=grouped(",", ".")))
    unnamed = (["", *[""] * 5, "9999999", "", "", "9999999", *[""] * 3],)
    yield Case("totals without a word", ".csv", Text(below=unnamed))
    again = Text(change=lambda rows: [*rows[:30], rows[0], *rows[30:60], rows[0], *rows[60:]])
    yield Case("names on each page", ".csv", again)
    blank = Text(change=lambda rows: [*rows[:30], [""] * 13, *rows[30:]])
    yield Case("blank rows", ".csv", blank)
    headed = Text(change=lambda rows: [*rows[:30], ["Branch: Kisumu", *[""] * 12], *rows[30:]])
    yield Case("headings between", ".csv", headed, REFUSED, "headings")
    second = (
        [],
        ["Staff", "Hired", "Left", "Role", "Desk", *[""] * 8],
        *(["Jane", "2020-01-01", "", "clerk", "4", *[""] * 8] for _ in range(3)),
    )
    yield Case("two tables below", ".csv", Text(below=second), REFUSED, "two tables")
    yield Case("empty", ".csv", holding(b"\n\n"), REFUSED, "empty")
    yield Case("names alone", ".csv", Text(), REFUSED, "no rows", told=[])


def holding(content: bytes) -> Callable[[Path, Loans], None]:
    def write(path: Path, _told: Loans) -> None:
        path.write_bytes(content)

    return write


# ----------------------------------------------------------------------------------- workbooks


def shown(day: date) -> str:
    return day.strftime("%d/%m/%Y")


def merge_title(_book: Any, sheet: Any) -> None:
    sheet.merge_cells("A1:F1")


def merge_borrowers(_book: Any, sheet: Any) -> None:
    for row in range(2, 82, 2):
        sheet.merge_cells(start_row=row, end_row=row + 1, start_column=1, end_column=1)


def merge_amounts(_book: Any, sheet: Any) -> None:
    sheet.merge_cells("G4:G5")


def merge_across(_book: Any, sheet: Any) -> None:
    sheet.merge_cells("F9:G9")


def merge_names(_book: Any, sheet: Any) -> None:
    sheet.merge_cells("G1:H1")


def hide_rows(_book: Any, sheet: Any) -> None:
    for row in (5, 6, 7):
        sheet.row_dimensions[row].hidden = True


def another_year(book: Any, sheet: Any) -> None:
    other = book.create_sheet("2023")
    for row in sheet.iter_rows(values_only=True, max_row=20):
        other.append(row)


def a_note(book: Any, _sheet: Any) -> None:
    book.create_sheet("Read me").append(["These are the loans of", "2024 and 2025"])
    old = book.create_sheet("old")
    old.append(list(NAMES))
    old.sheet_state = "hidden"


def beside(_book: Any, sheet: Any, _word: str = "Arrears") -> None:
    for row, told in enumerate((("Month", "Loans", _word), ("Jan", 12, 1200), ("Feb", 9, 900)), 1):
        for place, value in enumerate(told, 15):
            sheet.cell(row, place, value)


def likewise_beside(book: Any, sheet: Any) -> None:
    beside(book, sheet, "Amount lent")


def two_tables_beside(_book: Any, sheet: Any) -> None:
    sheet.insert_cols(7)


def formulas(_book: Any, sheet: Any) -> None:
    sheet["G3"] = "=1000+500"


def texts_and_days(place: int, value: Value) -> Value:
    """Write days as a spreadsheet leaves them that was told the wrong order."""
    if place not in DAYS or value is None:
        return value
    return (
        value.strftime("%d/%m/%Y")
        if value.day > 12
        else value.replace(day=value.month, month=value.day)
    )


def workbooks() -> Iterable[Case]:
    yield Case("workbook", ".xlsx", Book())
    yield Case("workbook named csv", ".csv", Book())
    at_noon = Book(cell=lambda p, v: datetime.combine(v, time(12)) if p in DAYS and v else v)
    yield Case("workbook with times", ".xlsx", at_noon)
    texts = Book(
        cell=lambda p, v: (
            v if v is None else shown(v) if p in DAYS else f"KES {v:,.2f}" if p in AMOUNTS else v
        )
    )
    yield Case("workbook of texts", ".xlsx", texts)
    counted = Book(cell=lambda p, v: (v - date(1899, 12, 30)).days if p in DAYS and v else v)
    yield Case("workbook of counted days", ".xlsx", counted)
    yield Case(
        "workbook with titles", ".xlsx",
        Book(
            above=(["Umoja SACCO"], [None], ["Loans", None, 2026]),
            below=((None,), ("Total",), ("printed", "on Monday")),
            dress=merge_title,
        ),
    )  # fmt: skip
    yield Case("borrowers merged", ".xlsx", Book(dress=merge_borrowers))
    yield Case("amounts merged", ".xlsx", Book(dress=merge_amounts), REFUSED, "merged")
    yield Case("merged across", ".xlsx", Book(dress=merge_across), REFUSED, "merged")
    yield Case("names merged", ".xlsx", Book(dress=merge_names), REFUSED, "merged")
    yield Case(
        "rows hidden read", ".xlsx", Book(dress=hide_rows), ASKED, "hidden", Mapping(hidden="read")
    )
    yield Case(
        "rows hidden skipped", ".xlsx", Book(dress=hide_rows), ASKED, "hidden",
        Mapping(hidden="skip"),
        lost=frozenset((3, 4, 5)),
    )  # fmt: skip
    yield Case(
        "two years", ".xlsx", Book(dress=another_year), ASKED, "sheet", Mapping(sheet="Loans")
    )
    yield Case("a note and a hidden sheet", ".xlsx", Book(dress=a_note))
    yield Case("a summary beside", ".xlsx", Book(dress=beside))
    yield Case(
        "a summary alike beside", ".xlsx", Book(dress=likewise_beside), REFUSED, "empty column"
    )
    yield Case(
        "an empty column between", ".xlsx", Book(dress=two_tables_beside), REFUSED, "empty column"
    )
    yield Case("formulas without results", ".xlsx", Book(dress=formulas), REFUSED, "formula")
    yield Case("days swapped", ".xlsx", Book(cell=texts_and_days), REFUSED, "more than one way")
    ids = Book(cell=lambda p, v: 12_345_678_901_234_567 + int(v[1:]) if p == 0 else v)
    yield Case("ids of too many digits", ".xlsx", ids, REFUSED, "shortened")
    for name, content, words in (
        ("old workbook", b"\xd0\xcf\x11\xe0" + bytes(600), "old Excel"),
        ("list of JSON", b'[{"borrower_id": "B1000"}]', "JSON"),
        ("lines of JSON", b'{"borrower_id": "B1000"}\n{"borrower_id": "B1001"}', "JSON"),
        ("web page", b"<html><table><tr><td>borrower_id</td></tr></table></html>", "web page"),
        ("archive", b"PK\x03\x04" + bytes(180), "damaged"),
    ):
        yield Case(name, ".xlsx", holding(content), REFUSED, words)


def cases() -> list[Case]:
    """Give all of them."""
    kinds = (encodings, separators, numbers, days, names, surroundings, workbooks)
    return [case for kind in kinds for case in kind()]
