"""The report of a lender's history as tables in a terminal; the page has all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from alama.cli import terminal, words
from alama.cli.bars import Scale, glyphs
from alama.cli.tables import plain_table
from alama.training.history.evidence import DRIFT_MONTHS, DRIFTED_PSI
from alama.training.history.report import Standing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from alama.training.history.report import HistoryReport

_LINES_MAX: Final = 12
"""Faults and columns listed of each kind; the page lists them all."""

_MISSING_MIN: Final = 0.01
_DRIFT_SHOWN_PSI: Final = 0.1
_BAR_CELLS: Final = 12
_COUNTED_FROM: Final = "rows are counted from 1, without the header"

_ENOUGH: Final = {
    "nothing": ("not enough to train on", "bold red"),
    "mains": ("enough to learn each field by itself", "bold green"),
    "pairs": ("enough to learn fields and pairs of them", "bold green"),
}
_STANDINGS: Final = {
    Standing.OPEN: Text("decide: --exclude or --keep", "bold red"),
    Standing.KEPT: Text("kept: blocks approval", "red"),
    Standing.EXCLUDED: Text("excluded", "green"),
    Standing.SET_ASIDE: Text("no field of a request: set aside", "green"),
}


def show_history(report: HistoryReport) -> None:
    """Print what was read, what is wrong where, and what to do."""
    verdict, style = _ENOUGH[report.enough]
    rate = "" if report.default_rate is None else f" ({report.default_rate:.1%})"
    words.say(
        Text.assemble(
            f"\n{report.rows:,} rows: {report.mature:,} loans whose outcome is known, "
            f"{report.defaults:,} defaults{rate}: ",
            (verdict, style),
        )
    )
    _section("Where every row went", _counts(report))
    _section(f"What is wrong where (these rows are left out; {_COUNTED_FROM})", _faults(report))
    _section(f"Rows that repeat others (left out; {_COUNTED_FROM})", _duplicates(report))
    _section("What gives the outcome away", _suspects(report))
    _section("What is missing", _missing(report))
    _section("Month by month", _months(report))
    _section(f"What moved in the last {DRIFT_MONTHS} months", _drift(report))
    if report.notes or report.advice:
        words.say(Text("\nWhat to know and to do", "bold"))
    for line in (*report.notes, *report.advice):
        words.say(Text(f"- {line}"))


def _section(title: str, table: Table) -> None:
    if table.row_count:
        words.say(Text(f"\n{title}", "bold"))
        words.say(table)


def _counts(report: HistoryReport) -> Table:
    table = _counted("rows", "share", "", "")
    for many, what in (
        (report.mature, "mature loans to learn from"),
        (report.immature, "loans too young to judge: set aside, not counted as good"),
        (report.not_booked, "applications without a loan"),
        (report.unsound, "left out: they break a rule"),
        (report.repeated, "left out: they repeat others"),
    ):
        share = many / max(report.rows, 1)
        table.add_row(f"{many:,}", f"{share:.1%}", _bar(share, 1.0, "cyan"), what)
    return table


def _faults(report: HistoryReport) -> Table:
    table = plain_table("column", "rows", "what is wrong", "first rows")
    table.columns[1].justify = "right"
    for fault in sorted(report.faults, key=lambda fault: -fault.rows)[:_LINES_MAX]:
        table.add_row(
            Text(fault.column), f"{fault.rows:,}", Text(fault.rule), _listed(fault.first_rows)
        )
    _mention_rest(table, len(report.faults))
    return table


def _duplicates(report: HistoryReport) -> Table:
    table = plain_table("rows", "how they repeat", "first rows")
    table.columns[0].justify = "right"
    for repeated in report.duplicates:
        table.add_row(f"{repeated.rows:,}", repeated.kind, _listed(repeated.first_rows))
    return table


def _suspects(report: HistoryReport) -> Table:
    table = plain_table("column", "AUC alone", "why", "what becomes of it")
    for suspect in report.suspects[:_LINES_MAX]:
        table.add_row(
            Text(suspect.column, "bold"),
            f"{suspect.auc:.3f}",
            Text(suspect.why),
            _STANDINGS[suspect.standing],
        )
    _mention_rest(table, len(report.suspects))
    return table


def _missing(report: HistoryReport) -> Table:
    absent = sorted(
        (column for column in report.missing if column.share >= _MISSING_MIN),
        key=lambda column: -column.share,
    )
    table = plain_table("column", "missing", "")
    table.columns[1].justify = "right"
    for column in absent[:_LINES_MAX]:
        bar = _bar(column.share, 1.0, "yellow")
        table.add_row(Text(column.column), f"{column.share:.1%}", bar)
    _mention_rest(table, len(absent))
    return table


def _months(report: HistoryReport) -> Table:
    table = _counted("month", "applied", "booked", "mature", "defaults", "rate", "")
    top = max((month.rate or 0.0 for month in report.months), default=0.0)
    for month in report.months:
        table.add_row(
            month.month,
            f"{month.applications:,}",
            f"{month.booked:,}",
            f"{month.mature:,}",
            f"{month.defaults:,}",
            "" if month.rate is None else f"{month.rate:.1%}",
            "" if not month.rate else _bar(month.rate, top, "magenta"),
        )
    return table


def _drift(report: HistoryReport) -> Table:
    moved = [shift for shift in report.drift if shift.psi >= _DRIFT_SHOWN_PSI]
    table = plain_table("column", "PSI", "")
    for shift in moved[:_LINES_MAX]:
        far = shift.psi >= DRIFTED_PSI
        said = Text("far", "red") if far else Text("somewhat", "yellow")
        table.add_row(Text(shift.column), f"{shift.psi:.3f}", said)
    _mention_rest(table, len(moved))
    return table


# ----------------------------------------------------------------------------------- helpers


def _counted(*heads: str) -> Table:
    """Give a table of numbers; a column without a head is for a bar or for words."""
    table = plain_table(*heads)
    for column, head in zip(table.columns, heads, strict=True):
        column.justify = "right" if head else "left"
        column.no_wrap = bool(head)
    return table


def _bar(value: float, top: float, style: str) -> Text:
    if value <= 0.0:
        return Text()
    drawn = Scale(0.0, top, _BAR_CELLS).bar(0.0, value, glyphs(terminal.stdout()), 0.0, style)
    drawn.rstrip()
    return drawn


def _listed(rows: Sequence[int]) -> str:
    return ", ".join(map(str, rows))


def _mention_rest(table: Table, count: int) -> None:
    if count > _LINES_MAX:
        table.add_row(Text(f"and {count - _LINES_MAX} more: --report PAGE has all", "dim"))
