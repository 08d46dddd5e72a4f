"""What the steps of an onboarding do in sight of a person: bars while they work, then tables."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import msgspec

from alama import wiring
from alama.cli import terminal, words
from alama.cli.pilot_arguments import decided_from, options_from
from alama.cli.pilot_history_tables import show_history
from alama.cli.pilot_tables import Judged, show_gates, show_signatures
from alama.core.errors import FileProblem
from alama.files.promise import promised
from alama.service.onboarding.approval import Signing
from alama.service.onboarding.errors import UnknownHistory
from alama.service.onboarding.steps import standing
from alama.training.history.report import HistoryReport
from alama.training.history.report_page import history_page

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from pathlib import Path

    from alama.service.onboarding.records import Candidate
    from alama.wiring import Installation


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
    from alama.cli import pilot_work  # noqa: PLC0415  the training libraries take seconds to load

    stand = standing(opened.onboarding, args.lender, opened.clock())
    newest = stand.history
    if newest is not None and pilot_work.is_the_same(opened, newest, path, options_from(args)):
        report = pilot_work.report_of(opened, newest)
        _show_report(opened, args.lender, report, page, document)
        when = words.minute(newest.created_us)
        words.remark(f"\n{path.name} is the file of {when} UTC already, sealed as {newest.id}.")
        return report
    with terminal.share(f"Reading {path.name}") as watch:
        report = pilot_work.read_file(
            opened, args.lender, path, options_from(args), lambda share: watch("", share, "")
        )
    _show_report(opened, args.lender, report, page, document)
    by = args.by or wiring.operator()
    record = pilot_work.keep_file(opened, args.lender, path, report, by)
    words.remark(f"\n{path.name} is sealed as {record.id}, under the key of {args.lender}.")
    return report


def show_kept(
    opened: Installation, lender: str, page: Path | None, document: Path | None = None
) -> HistoryReport:
    """Show and write the report of the newest history; `UnknownHistory` where there is none.

    It takes none of the training libraries.
    """
    opened.registry.lender(lender)
    record = next(iter(opened.onboarding.histories.of(lender)), None)
    if record is None:
        raise UnknownHistory
    kept = opened.onboarding.histories.report(lender, record.id)
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
    from alama.cli import pilot_work  # noqa: PLC0415  see `read_and_keep`

    decided, by = decided_from(args), args.by or wiring.operator()
    with terminal.share("Training") as watch:
        return pilot_work.train(opened, args.lender, decided, by, watch, args.jobs)


def show_judged(opened: Installation, candidate: Candidate) -> None:
    """Print the gates of a candidate, and what it is called."""
    pack = opened.onboarding.candidates.pack(candidate.lender, candidate.id)
    show_gates(msgspec.json.decode(pack, type=Judged))
    words.remark(f"\ncandidate {candidate.id}\nmodel {candidate.model_id}")


def show_candidate(opened: Installation, candidate: Candidate) -> None:
    """Print the gates of a candidate, and who has signed it."""
    show_judged(opened, candidate)
    signatures = opened.onboarding.candidates.signatures(candidate.lender, candidate.id)
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
    candidates = opened.onboarding.candidates
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
    signed = opened.approval.sign(lender, candidate_id, Signing(person, reason))
    show_signatures(signed.signatures)
    if signed.live:
        words.say(
            f"\n{signed.candidate.model_id} answers for {lender} in live mode: "
            "every process uses it within a second."
        )
    else:
        lacking = signed.needed - len(signed.signatures)
        words.say(f"\n{lacking} more signature is needed, by somebody else.")
