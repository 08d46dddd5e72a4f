"""What the steps of an onboarding do in sight of a person: bars while they work, then tables."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from rich.text import Text

from alama.core.errors import FileProblem, TrainingProblem
from alama.lenders import installation
from alama.onboarding.approval import Approval, Signing
from alama.onboarding.arguments import decided_from, options_from
from alama.onboarding.commands import (
    COMMANDS,
    command_for,
    naming_commands,
    naming_shadow_key,
    words_for,
)
from alama.onboarding.records import Candidate, Signature, UnknownHistory, Unmapped, short
from alama.onboarding.steps import Progress, State, Step, StepProgress, progress_of
from alama.onboarding.store import Stores
from alama.platform.files.promise import promised
from alama.platform.terminal import terminal
from alama.platform.terminal.tables import mention_rest, plain_table
from alama.training.history.report import HistoryReport
from alama.training.history.report import Standing as SuspectStanding
from alama.training.history.report_page import history_page
from alama.training.validation.gates import Gate

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from rich.table import Table

    from alama.lenders.installation import Installation
    from alama.lenders.records import Lender


_STYLES: Final = {State.DONE: "green", State.MISSING: "yellow", State.BLOCKED: "red"}
_WHOLE: Final = frozenset({Gate.EVIDENCE, Gate.TIERS, Gate.LEAKAGE, "recent_outcomes"})
"""Gates that count things: what they measured is a whole number."""


def show_standing(stand: Progress, lender: Lender, candidates: Sequence[Candidate] = ()) -> None:
    """Print the six steps, what comes next with each command on a line of its own, and a pause.

    Candidates, where there are any, are listed by their ids between the steps and the rest.
    """
    done = sum(step.state is State.DONE for step in stand.steps)
    terminal.say(
        Text(f"\n{lender.name} ({lender.id}): {done} of {len(stand.steps)} steps\n", "bold")
    )
    terminal.say(_steps(stand.lender, stand.steps))
    if candidates:
        terminal.say("\nCandidates, the newest first:\n")
        terminal.say(_candidates(candidates))
    if stand.next is None:
        terminal.say(f"\n{lender.id} scores in live mode, with a model of its own.")
    if (coming := upcoming(stand)) is not None:
        terminal.say("\n  ".join((f"\nNext, {coming.what}:", *coming.commands)))
    if stand.paused is not None:
        since = terminal.minute(stand.paused.since_us)
        terminal.say(Text(f"\nPAUSED since {since} UTC: {stand.paused.reason}", "bold red"))


class Upcoming(NamedTuple):
    """What a person does next, in words, and what is to be typed, one line after the other."""

    what: str
    commands: Sequence[str]


def upcoming(stand: Progress) -> Upcoming | None:
    """Say what comes next; None where nothing is left to do.

    Nobody signs what they have not read, and a model that failed is mended at its file.
    """
    step = stand.next
    if stand.newer and (step is None or step.step is Step.KEY):
        signed = COMMANDS[Step.APPROVE].format(lender=stand.lender)
        return Upcoming("read the pack of the newer model, then sign", (_pack(stand), signed))
    if step is None:
        return None
    if step.step is Step.APPROVE:
        return Upcoming("read the pack, then sign", (_pack(stand), command_for(stand.lender, step)))
    failed = stand.candidate is not None and not stand.candidate.passed
    if step.step is Step.VALIDATE and failed:
        again = COMMANDS[Step.HISTORY].format(lender=stand.lender)
        return Upcoming("mend the file", (again,))
    return Upcoming(step.step, (command_for(stand.lender, step),))


def _pack(stand: Progress) -> str:
    return COMMANDS[Step.VALIDATE].format(lender=stand.lender) + " --pack pack.html"


def _steps(lender: str, steps: Sequence[StepProgress]) -> Table:
    table = plain_table("", "step", "state", "what there is", "who and when")
    for column, width in ((2, len(State.BLOCKED)), (1, 8)):
        table.columns[column].min_width = width
    table.columns[4].max_width = len("2026-11-15 12:00")
    for number, step in enumerate(steps, 1):
        table.add_row(
            str(number),
            step.step,
            Text(step.state, _style(step)),
            Text(words_for(lender, step)),
            _who_and_when(step),
        )
    return table


def _candidates(candidates: Sequence[Candidate]) -> Table:
    table = plain_table("candidate", "made (UTC)", "gates", "model")
    for column in table.columns:
        column.no_wrap = True
    for one in candidates:
        gates = Text("passed", "green") if one.passed else Text(f"{len(one.failed)} failed", "red")
        table.add_row(one.id, terminal.minute(one.created_us), gates, short(one.model_id))
    return table


def _style(step: StepProgress) -> str:
    """Give red to what was tried and stopped, and none to what only waits for its turn."""
    waits = step.state is State.BLOCKED and step.at_us is None
    return "dim" if waits else _STYLES[step.state]


def _who_and_when(step: StepProgress) -> Text:
    when = None if step.at_us is None else terminal.minute(step.at_us)
    return Text("\n".join(filter(None, (step.by, when))), "dim")


# ----------------------------------------------------------------------------------- gates


class ShownGate(msgspec.Struct, frozen=True):
    """A gate of any pack: a trained model is asked other things than a recalibrated one."""

    name: str
    passed: bool
    measured: float | None
    limit: str
    words: str
    shown: str | None = None


class ShownRefit(msgspec.Struct, frozen=True):
    """That a refit was asked for. Where none was made, the judged model is the candidate."""

    judged_model_id: str


class ShownPack(msgspec.Struct, frozen=True):
    """The part of a pack that this page shows; the rest needs no reading for it."""

    model_id: str
    name: str
    gates: tuple[ShownGate, ...]
    questions: tuple[str, ...] = ()
    refit: ShownRefit | None = None


class Wording(NamedTuple):
    """How gates are spoken of: what a failed one means, what to do about it, and what is asked.

    `helps` is the page that says what to do against a gate that failed.
    """

    helps: str = "docs/onboarding.md, The gates"
    failing: str = ": nobody can approve it"
    asking: str = "To be answered before signing"


_SIGNED: Final = Wording()


def show_gates(judged: ShownPack, wording: Wording = _SIGNED) -> None:
    """Print every gate with what was measured, why some failed, and what is to be answered."""
    failed = [gate for gate in judged.gates if not gate.passed]
    many = len(judged.gates)
    verdict = (
        Text(f"{len(failed)} of {many} gates failed{wording.failing}", "bold red")
        if failed
        else Text(f"all {many} gates passed", "bold green")
    )
    terminal.say(Text.assemble(f"\nThe gates of {judged.name}: ", verdict, "\n"))
    terminal.say(_gates(judged.gates))
    for gate in failed:
        terminal.say(Text.assemble(("\nfailed ", "red"), (f"{gate.name}: ", "bold"), gate.words))
    if failed:
        terminal.remark(f"What helps against each stands in {wording.helps}.")
    if judged.questions:
        terminal.say(Text(f"\n{wording.asking}", "bold"))
    for question in judged.questions:
        terminal.say(Text(f"- {question}"))


def _gates(gates: Sequence[ShownGate]) -> Table:
    table = plain_table("gate", "result", "measured", "asked for")
    table.columns[2].justify = "right"
    for column in table.columns[:3]:
        column.no_wrap = True
    for gate in gates:
        result = Text("passed", "green") if gate.passed else Text("FAILED", "bold red")
        table.add_row(gate.name, result, _figure(gate), Text(gate.limit))
    return table


def _figure(gate: ShownGate) -> str:
    if gate.shown is not None:
        return gate.shown
    if gate.measured is None:
        return "nothing"
    return f"{gate.measured:,.0f}" if gate.name in _WHOLE else f"{gate.measured:.3f}"


# ----------------------------------------------------------------------------------- signatures


def show_signatures(signatures: Sequence[Signature]) -> None:
    table = plain_table("signed by", "when (UTC)", "because")
    for signature in signatures:
        table.add_row(
            Text(signature.person), terminal.minute(signature.signed_us), Text(signature.reason)
        )
    terminal.say(table)


_LINES_MAX: Final = 12
"""Faults and columns listed of each kind; the page lists them all."""

_COUNTED_FROM: Final = "rows are counted from 1, without the header"

_ENOUGH: Final = {
    "nothing": ("not enough to train on", "bold red"),
    "model": ("enough for a model", "bold green"),
}
_STANDINGS: Final = {
    SuspectStanding.OPEN: Text("decide: --exclude or --keep", "bold red"),
    SuspectStanding.KEPT: Text("kept: blocks approval", "red"),
    SuspectStanding.EXCLUDED: Text("excluded", "green"),
    SuspectStanding.SET_ASIDE: Text("no field of a request: set aside", "green"),
}
_KEPT_DOUBT: Final = Text("kept on your word", "yellow")


def stand_of(opened: Installation, lender: str) -> Progress:
    """Give where a lender stands."""
    return progress_of(Stores.at(opened), lender, opened.clock())


def say_standing(opened: Installation, lender: str) -> None:
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
    from alama.onboarding import offline  # noqa: PLC0415  the training libraries take seconds to load

    newest = stand_of(opened, args.lender).history
    if newest is not None and offline.is_the_same(opened, newest, path, options_from(args)):
        report = offline.report_of(opened, newest)
        _show_report(opened, args.lender, report, page, document)
        when = terminal.minute(newest.created_us)
        terminal.remark(f"\n{path.name} is the file of {when} UTC already, sealed as {newest.id}.")
        return report
    with _naming_map(args.lender, path), terminal.share(f"Reading {path.name}") as watch:
        report = offline.read_file(
            opened, args.lender, path, options_from(args), lambda share: watch("", share, "")
        )
    _show_report(opened, args.lender, report, page, document)
    by = args.by or installation.operator()
    record = offline.keep_file(opened, args.lender, path, report, by)
    terminal.remark(f"\n{path.name} is sealed as {record.id}, under the key of {args.lender}.")
    return report


@contextmanager
def _naming_map(lender: str, path: Path) -> Iterator[None]:
    """Name the command that answers what a file leaves open."""
    try:
        yield
    except Unmapped as error:
        error.hint = f"alama onboard map {lender} {path}"
        raise


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
    when = terminal.minute(record.created_us)
    terminal.remark(f"{record.id}, handed in at {when} UTC by {record.kept_by}.")
    _show_report(opened, lender, report, page, document)
    return report


def _show_report(
    opened: Installation,
    lender: str,
    report: HistoryReport,
    page: Path | None,
    document: Path | None,
) -> None:
    report = naming_shadow_key(report)
    show_history(report)
    if page is None:
        terminal.remark("\nMonth by month, what is missing and what moved: --report PAGE")
    name = opened.registry.lender(lender).name
    _write({page: history_page(report, name).encode(), document: msgspec.json.encode(report)})


def train_in_sight(opened: Installation, args: argparse.Namespace) -> Candidate:
    from alama.onboarding import offline  # noqa: PLC0415  see `read_and_keep`
    from alama.training.pilot import ADD_OR_WAIT, WAIT  # noqa: PLC0415

    decided, by = decided_from(args), args.by or installation.operator()
    try:
        with terminal.share("Training") as watch:
            return offline.train(opened, args.lender, decided, by, watch, args.jobs)
    except TrainingProblem as error:
        if error.hint in {ADD_OR_WAIT, WAIT}:
            error.hint += " (alama keys issue --mode live --shadow)"
        raise


def show_judged(opened: Installation, candidate: Candidate) -> None:
    """Print the gates of a candidate, and what it is called."""
    found = Stores.at(opened).candidates.pack(candidate.lender, candidate.id)
    pack = msgspec.json.decode(found, type=ShownPack)
    show_gates(pack)
    terminal.remark(f"\ncandidate {candidate.id}\nmodel {candidate.model_id}")
    if pack.refit is not None:
        judged = pack.refit.judged_model_id
        was_made = judged != pack.model_id
        terminal.remark(
            f"fitted once more on every loan, judged as {judged}"
            if was_made
            else "no refit was made: it takes a model that has passed its gates"
        )


def show_candidate(opened: Installation, candidate: Candidate) -> None:
    """Print the gates of a candidate, and who has signed it."""
    show_judged(opened, candidate)
    signatures = Stores.at(opened).candidates.signatures(candidate.lender, candidate.id)
    if signatures:
        terminal.say("")
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
        terminal.remark(f"wrote {path} ({len(content) / 1e3:,.0f} kB)")


def sign(opened: Installation, lender: str, candidate_id: str, person: str, reason: str) -> None:
    """Sign for a candidate, and say what came of it."""
    with naming_commands(opened, lender):
        signed = Approval.at(opened).sign(lender, candidate_id, Signing(person, reason))
    show_signatures(signed.signatures)
    if signed.live:
        terminal.say(
            f"\n{signed.candidate.model_id} answers for {lender} in live mode: "
            "every process uses it within a second."
        )
    else:
        lacking = signed.needed - len(signed.signatures)
        terminal.say(f"\n{lacking} more signature is needed, by somebody else.")


# ------------------------------------------------------------------------- the report of a history


def show_history(report: HistoryReport) -> None:
    """Print what was read, what is wrong where, and what to do; the page has the rest."""
    verdict, style = _ENOUGH[report.enough]
    rate = "" if report.default_rate is None else f" ({report.default_rate:.1%})"
    terminal.say(
        Text.assemble(
            f"\n{report.rows:,} rows: {report.mature:,} loans whose outcome is known, "
            f"{report.defaults:,} defaults{rate}: ",
            (verdict, style),
        )
    )
    terminal.section("Where every row went", _counts(report))
    terminal.section(
        f"What is wrong where (these rows are left out; {_COUNTED_FROM})", _faults(report)
    )
    terminal.section(f"Rows that repeat others (left out; {_COUNTED_FROM})", _duplicates(report))
    terminal.section("What gives the outcome away", _suspects(report))
    terminal.section("What the history is made of", _structure(report))
    if report.source is not None:
        terminal.say(Text("\nHow the file was read", "bold"))
        for line in report.source.told:
            terminal.say(Text(f"- {line}"))
    if report.notes or report.advice:
        terminal.say(Text("\nWhat to know and to do", "bold"))
    for line in (*report.notes, *report.advice):
        terminal.say(Text(f"- {line}"))


def _counts(report: HistoryReport) -> Table:
    table = plain_table("rows", "share", "")
    for column in table.columns[:2]:
        column.justify = "right"
    for many, what in (
        (report.mature, "mature loans to learn from"),
        (report.immature, "loans too young to judge: set aside, not counted as good"),
        (report.not_booked, "applications without a loan"),
        (report.unsound, "left out: they break a rule"),
        (report.repeated, "left out: they repeat others"),
    ):
        table.add_row(f"{many:,}", f"{many / max(report.rows, 1):.1%}", what)
    return table


def _faults(report: HistoryReport) -> Table:
    table = plain_table("column", "rows", "what is wrong", "first rows")
    table.columns[1].justify = "right"
    for fault in sorted(report.faults, key=lambda fault: -fault.rows)[:_LINES_MAX]:
        table.add_row(
            Text(fault.column), f"{fault.rows:,}", Text(fault.rule), _listed(fault.first_rows)
        )
    mention_rest(table, len(report.faults), _LINES_MAX, ": --report PAGE has all")
    return table


def _structure(report: HistoryReport) -> Table:
    table = plain_table("rows", "share", "what was found")
    for column in table.columns[:2]:
        column.justify = "right"
    for oddity in report.structure:
        table.add_row(f"{oddity.rows:,}", f"{oddity.share:.1%}", Text(oddity.words))
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
            _KEPT_DOUBT if suspect.kept and suspect.doubt else _STANDINGS[suspect.standing],
        )
    mention_rest(table, len(report.suspects), _LINES_MAX, ": --report PAGE has all")
    return table


def _listed(rows: Sequence[int]) -> str:
    return ", ".join(map(str, rows))
