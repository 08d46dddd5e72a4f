"""The commands that do something about a finding or a challenger, as the terminal names them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from alama.core.monitoring.findings import Remedy, findings
from alama.monitoring.comparing import ITSELF
from alama.platform.book import Mode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from alama.core.monitoring.figures import MonitoringReport
    from alama.monitoring.records import Comparison
    from alama.platform.book import Book


def naming_commands(report: MonitoringReport) -> MonitoringReport:
    """Give the report with what is to be typed in its findings."""
    return replace(report, findings=findings(report, _remedies(report)))


def _remedies(report: MonitoringReport) -> Mapping[Remedy, str]:
    lender, book = report.lender, f"{report.lender} --mode {report.mode}"
    out = " --out moved.json" if report.mode == "test" else ""
    return {
        Remedy.RECALIBRATE: f"`alama models recalibrate {book}{out}` moves the level of the model "
        "to what came true.",
        Remedy.SIMULATE_POLICY: "`alama policy simulate` shows what that does to prices and "
        "decisions.",
        Remedy.SEND_OUTCOMES: "`POST /v1/outcomes`, or "
        f"`alama outcomes load FILE --lender {book}`.",
        Remedy.REPORT_ON_MODEL: f"`alama monitor {book} --model {{model}}` reports on it.",
        Remedy.REVIEW: f"`alama scores list --lender {book} --waiting`, or "
        "`GET /v1/scores?waiting=true`, lists them. `POST /v1/scores/{request_id}/review`, or "
        "`alama scores review`, gives them their end.",
        Remedy.END_CHALLENGER: f"End it: `alama models challenge {book} --end --by NAME "
        '--reason "..."`.',
        Remedy.COMPARE: f"`alama models compare {book}` holds the two against each other.",
        Remedy.LOOK_FURTHER_BACK: "A longer one may have some. "
        f"`alama outcomes simulate {lender}` fills the test book with months of synthetic scores "
        "and outcomes.",
    }


def how_to_begin(book: Book) -> str:
    """Tell somebody who wants a challenger what to type."""
    what = "--candidate ID" if book.mode is Mode.LIVE else "--model FILE"
    return f"begin with one: {_challenge(book, what)}"


def how_to_end(book: Book) -> str:
    """Give what ends the challenger of a book, to be typed with a name and a reason."""
    return _challenge(book, "--end")


def _challenge(book: Book, what: str) -> str:
    mode = "" if book.mode is Mode.LIVE else f" --mode {book.mode}"
    return f'alama models challenge {book.lender}{mode} {what} --by NAME --reason "..."'


def naming_end(found: Comparison, book: Book) -> Comparison:
    """Give the comparison with what ends a challenger that answers itself."""
    told = f"{ITSELF} End it with: {how_to_end(book)}"
    return replace(found, notes=tuple(told if note == ITSELF else note for note in found.notes))
