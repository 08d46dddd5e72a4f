"""What the steps of an onboarding do in sight of a person: bars while they work, then tables."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import msgspec
from rich.text import Text

from alama.app import installation
from alama.app.cli.onboard_arguments import decided_from, options_from
from alama.app.cli.onboard_tables import Judged, show_gates, show_signatures, show_standing
from alama.core.errors import FileProblem
from alama.onboarding.approval import Approval, Signing
from alama.onboarding.errors import UnknownHistory
from alama.onboarding.steps import Standing, Stores, standing
from alama.platform.files.promise import promised
from alama.platform.terminal import terminal
from alama.platform.terminal import terminal as words
from alama.platform.terminal.tables import Scale, glyphs, plain_table
from alama.training.history.evidence import DRIFT_MONTHS, DRIFTED_PSI
from alama.training.history.report import HistoryReport
from alama.training.history.report import Standing as SuspectStanding
from alama.training.history.report_page import history_page

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rich.table import Table

    from alama.app.installation import Installation
    from alama.onboarding.records import Candidate


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
    SuspectStanding.OPEN: Text("decide: --exclude or --keep", "bold red"),
    SuspectStanding.KEPT: Text("kept: blocks approval", "red"),
    SuspectStanding.EXCLUDED: Text("excluded", "green"),
    SuspectStanding.SET_ASIDE: Text("no field of a request: set aside", "green"),
}


def stand_of(opened: Installation, lender: str) -> Standing:
    """Give where a lender stands."""
    return standing(Stores.at(opened), lender, opened.clock())


def say_standing(opened: Installation, lender: str) -> None:
    """Print where a lender stands."""
    show_standing(stand_of(opened, lender), opened.registry.lender(lender))


def read_and_keep(
    opened: Installation,
    args: argparse.Namespace,
    path: Path,
    page: Path | None = None,
    document: Path | None = None,
) -> HistoryReport:
    """Read a file, show and write its report, then seal the file unless somebody has to decide.

    The report is written in either case: whoever decides needs it. A file that is the newest
    history already, and was read in the same way, is not sealed again: what was trained on it
    goes on to count.
    """
    from alama.app.cli import onboard_work  # noqa: PLC0415  the training libraries take seconds to load

    newest = stand_of(opened, args.lender).history
    if newest is not None and onboard_work.is_the_same(opened, newest, path, options_from(args)):
        report = onboard_work.report_of(opened, newest)
        _show_report(opened, args.lender, report, page, document)
        when = words.minute(newest.created_us)
        words.remark(f"\n{path.name} is the file of {when} UTC already, sealed as {newest.id}.")
        return report
    with terminal.share(f"Reading {path.name}") as watch:
        report = onboard_work.read_file(
            opened, args.lender, path, options_from(args), lambda share: watch("", share, "")
        )
    _show_report(opened, args.lender, report, page, document)
    by = args.by or installation.operator()
    record = onboard_work.keep_file(opened, args.lender, path, report, by)
    words.remark(f"\n{path.name} is sealed as {record.id}, under the key of {args.lender}.")
    return report


def show_kept(
    opened: Installation, lender: str, page: Path | None, document: Path | None = None
) -> HistoryReport:
    """Show and write the report of the newest history; `UnknownHistory` where there is none.

    It takes none of the training libraries.
    """
    opened.registry.lender(lender)
    record = next(iter(Stores.at(opened).histories.of(lender)), None)
    if record is None:
        raise UnknownHistory
    kept = Stores.at(opened).histories.report(lender, record.id)
    report = msgspec.json.decode(kept, type=HistoryReport)
    when = words.minute(record.created_us)
    words.remark(f"{record.id}, handed in at {when} UTC by {record.kept_by}.")
    _show_report(opened, lender, report, page, document)
    return report


def _show_report(
    opened: Installation,
    lender: str,
    report: HistoryReport,
    page: Path | None,
    document: Path | None,
) -> None:
    show_history(report)
    name = opened.registry.lender(lender).name
    _write({page: history_page(report, name).encode(), document: msgspec.json.encode(report)})


def train_in_sight(opened: Installation, args: argparse.Namespace) -> Candidate:
    """Train with a bar."""
    from alama.app.cli import onboard_work  # noqa: PLC0415  see `read_and_keep`

    decided, by = decided_from(args), args.by or installation.operator()
    with terminal.share("Training") as watch:
        return onboard_work.train(opened, args.lender, decided, by, watch, args.jobs)


def show_judged(opened: Installation, candidate: Candidate) -> None:
    """Print the gates of a candidate, and what it is called."""
    pack = Stores.at(opened).candidates.pack(candidate.lender, candidate.id)
    show_gates(msgspec.json.decode(pack, type=Judged))
    words.remark(f"\ncandidate {candidate.id}\nmodel {candidate.model_id}")


def show_candidate(opened: Installation, candidate: Candidate) -> None:
    """Print the gates of a candidate, and who has signed it."""
    show_judged(opened, candidate)
    signatures = Stores.at(opened).candidates.signatures(candidate.lender, candidate.id)
    if signatures:
        words.say("")
        show_signatures(signatures)


def write_pack(
    opened: Installation,
    candidate: Candidate,
    *,
    page: Path | None,
    document: Path | None = None,
    model: Path | None = None,
) -> None:
    """Write the pack of a candidate, and the model itself, to the files that are named."""
    candidates = Stores.at(opened).candidates
    found = candidates.pack(candidate.lender, candidate.id)
    artefact = candidates.document(candidate.lender, candidate.id)
    drawn = candidates.page(candidate.lender, candidate.id)
    if page is not None and drawn is None:
        raise FileProblem(
            "no page was kept of this candidate", hint="--json writes its pack for programs"
        )
    _write({page: drawn or b"", document: found, model: artefact})


def _write(contents: Mapping[Path | None, bytes]) -> None:
    """Write all of the files that somebody has named, or none of them."""
    named = {path: content for path, content in contents.items() if path is not None}
    with ExitStack() as outputs:
        for path, content in named.items():
            outputs.enter_context(promised(path)).write(content)
    for path, content in named.items():
        words.remark(f"wrote {path} ({len(content) / 1e3:,.0f} kB)")


def sign(opened: Installation, lender: str, candidate_id: str, person: str, reason: str) -> None:
    """Sign for a candidate, and say what came of it."""
    signed = Approval.at(opened).sign(lender, candidate_id, Signing(person, reason))
    show_signatures(signed.signatures)
    if signed.live:
        words.say(
            f"\n{signed.candidate.model_id} answers for {lender} in live mode: "
            "every process uses it within a second."
        )
    else:
        lacking = signed.needed - len(signed.signatures)
        words.say(f"\n{lacking} more signature is needed, by somebody else.")


# ------------------------------------------------------------------------- the report of a history


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
