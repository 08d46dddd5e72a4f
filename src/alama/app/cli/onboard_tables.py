"""Where an onboarding stands, and the gates of a candidate, as tables in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from rich.text import Text

from alama.onboarding.records import Candidate, Signature, short
from alama.onboarding.steps import COMMANDS, Standing, State, Step, StepStanding
from alama.platform.terminal import terminal
from alama.platform.terminal.tables import plain_table
from alama.training.validation.gates import Gate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from alama.lenders.records import Lender


_STYLES: Final = {State.DONE: "green", State.MISSING: "yellow", State.BLOCKED: "red"}
_WHOLE: Final = frozenset({Gate.EVIDENCE, Gate.TIERS, Gate.LEAKAGE, "recent_outcomes"})
"""Gates that count things: what they measured is a whole number."""


def show_standing(stand: Standing, lender: Lender, candidates: Sequence[Candidate] = ()) -> None:
    """Print the six steps, what comes next with each command on a line of its own, and a pause.

    Candidates, where there are any, are listed by their ids between the steps and the rest.
    """
    done = sum(step.state is State.DONE for step in stand.steps)
    terminal.say(
        Text(f"\n{lender.name} ({lender.id}): {done} of {len(stand.steps)} steps\n", "bold")
    )
    terminal.say(_steps(stand.steps))
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


def upcoming(stand: Standing) -> Upcoming | None:
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
        return Upcoming("read the pack, then sign", (_pack(stand), step.command))
    failed = stand.candidate is not None and not stand.candidate.passed
    if step.step is Step.VALIDATE and failed:
        again = COMMANDS[Step.HISTORY].format(lender=stand.lender)
        return Upcoming("mend the file", (again,))
    return Upcoming(step.step, (step.command,))


def _pack(stand: Standing) -> str:
    return COMMANDS[Step.VALIDATE].format(lender=stand.lender) + " --pack pack.html"


def _steps(steps: Sequence[StepStanding]) -> Table:
    table = plain_table("", "step", "state", "what there is", "who and when")
    for column, width in ((2, len(State.BLOCKED)), (1, 8)):
        table.columns[column].min_width = width
    table.columns[4].max_width = len("2026-11-15 12:00")
    for number, step in enumerate(steps, 1):
        table.add_row(
            str(number),
            step.step,
            Text(step.state, _style(step)),
            Text(step.words),
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


def _style(step: StepStanding) -> str:
    """Give red to what was tried and stopped, and none to what only waits for its turn."""
    waits = step.state is State.BLOCKED and step.at_us is None
    return "dim" if waits else _STYLES[step.state]


def _who_and_when(step: StepStanding) -> Text:
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


class Judged(msgspec.Struct, frozen=True):
    """The part of a pack that this page shows; the rest needs no reading for it."""

    model_id: str
    name: str
    gates: tuple[ShownGate, ...]
    questions: tuple[str, ...] = ()


class Wording(NamedTuple):
    """How gates are spoken of: what a failed one means, what to do about it, and what is asked.

    `helps` is the page that says what to do against a gate that failed.
    """

    helps: str = "docs/onboarding.md, The gates"
    failing: str = ": nobody can approve it"
    asking: str = "To be answered before signing"


_SIGNED: Final = Wording()


def show_gates(judged: Judged, wording: Wording = _SIGNED) -> None:
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
    """Print who has signed, when and why."""
    table = plain_table("signed by", "when (UTC)", "because")
    for signature in signatures:
        table.add_row(
            Text(signature.person), terminal.minute(signature.signed_us), Text(signature.reason)
        )
    terminal.say(table)
