"""Where an onboarding stands, and the gates of a candidate, as tables in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from rich.text import Text

from alama.cli import words
from alama.cli.tables import plain_table
from alama.service.onboarding.steps import State
from alama.training.validation.gates import Gate, GateResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from alama.service.lenders import Lender
    from alama.service.onboarding.records import Signature
    from alama.service.onboarding.steps import Standing, StepStanding

_STYLES: Final = {State.DONE: "green", State.MISSING: "yellow", State.BLOCKED: "red"}
_WHOLE: Final = frozenset({Gate.EVIDENCE, Gate.TIERS, Gate.LEAKAGE})
"""Gates that count things: what they measured is a whole number."""


def show_standing(stand: Standing, lender: Lender) -> None:
    """Print the six steps, and what comes next with its command on a line of its own."""
    done = sum(step.state is State.DONE for step in stand.steps)
    words.say(Text(f"\n{lender.name} ({lender.id}): {done} of {len(stand.steps)} steps\n", "bold"))
    words.say(_steps(stand.steps))
    upcoming = stand.next
    if upcoming is None:
        words.say(f"\n{lender.id} scores in live mode, with a model of its own.")
    else:
        words.say(f"\nNext, {upcoming.step}:\n  {upcoming.command}")


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


def _style(step: StepStanding) -> str:
    """Give red to what was tried and stopped, and none to what only waits for its turn."""
    waits = step.state is State.BLOCKED and step.at_us is None
    return "dim" if waits else _STYLES[step.state]


def _who_and_when(step: StepStanding) -> Text:
    when = None if step.at_us is None else words.minute(step.at_us)
    return Text("\n".join(filter(None, (step.by, when))), "dim")


# ----------------------------------------------------------------------------------- gates


class Judged(msgspec.Struct, frozen=True):
    """The part of a validation pack that this page shows; the rest needs no reading for it."""

    model_id: str
    name: str
    gates: tuple[GateResult, ...]


def show_gates(judged: Judged) -> None:
    """Print every gate with what was measured, then why those that failed did."""
    failed = [gate for gate in judged.gates if not gate.passed]
    many = len(judged.gates)
    verdict = (
        Text(f"{len(failed)} of {many} gates failed: nobody can approve it", "bold red")
        if failed
        else Text(f"all {many} gates passed", "bold green")
    )
    words.say(Text.assemble(f"\nThe gates of {judged.name}: ", verdict, "\n"))
    words.say(_gates(judged.gates))
    for gate in failed:
        words.say(Text.assemble(("\nfailed ", "red"), (f"{gate.name}: ", "bold"), gate.words))
    if failed:
        words.remark("What helps against each stands in docs/onboarding.md, The gates.")


def _gates(gates: Sequence[GateResult]) -> Table:
    table = plain_table("gate", "result", "measured", "asked for")
    table.columns[2].justify = "right"
    for column in table.columns[:3]:
        column.no_wrap = True
    for gate in gates:
        result = Text("passed", "green") if gate.passed else Text("FAILED", "bold red")
        table.add_row(gate.name, result, _figure(gate), Text(gate.limit))
    return table


def _figure(gate: GateResult) -> str:
    if gate.measured is None:
        return "nothing"
    return f"{gate.measured:,.0f}" if gate.name in _WHOLE else f"{gate.measured:.3f}"


# ----------------------------------------------------------------------------------- signatures


def show_signatures(signatures: Sequence[Signature]) -> None:
    """Print who has signed, when and why."""
    table = plain_table("signed by", "when (UTC)", "because")
    for signature in signatures:
        table.add_row(
            Text(signature.person), words.minute(signature.signed_us), Text(signature.reason)
        )
    words.say(table)
