"""What the doctor found, as a screen and as data."""

from __future__ import annotations

import sys
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Final

import msgspec
from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from alama import __version__
from alama.cli import words
from alama.cli.checkup_table import STYLES, advice, checkup_table, counted, seen, sign, summary
from alama.service.checkup import Finding, Mark
from alama.wiring.doctor.findings import CHECKS, GROUPS, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType

_WORST_FIRST: Final = (Mark.BROKEN, Mark.LOOK, Mark.OK, Mark.UNCHECKED)
_BAD: Final = (Mark.BROKEN, Mark.LOOK)
_INDENT: Final = (0, 0, 0, 3)
_TOGETHER: Final = ""
_TITLES: Final = {**CHECKS, _TOGETHER: "not checked"}


def show(findings: Sequence[Finding], *, every: bool) -> None:
    """Print the screen: a line for each group, or for each check; what is not well; the sum."""
    by_group = {
        group: [finding for finding in findings if finding.group == group] for group in GROUPS
    }
    overview = _checks(by_group) if every else [_groups(by_group)]
    words.say(Group(*overview, *_not_well(findings), Text(""), _summary(findings, every=every)))


def print_json(findings: Sequence[Finding], now_us: int) -> None:
    """Print the findings as one JSON object."""
    counts = Counter(finding.mark for finding in findings)
    told = {
        "version": __version__,
        "looked_at": words.second(now_us).replace(" ", "T") + "Z",
        "summary": {mark.value: counts[mark] for mark in Mark},
        "findings": findings,
    }
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(told), indent=2).decode() + "\n")


def _groups(by_group: Mapping[str, Sequence[Finding]]) -> RenderableType:
    grid = Table.grid(padding=(0, 2, 0, 0), pad_edge=False)
    grid.add_column(width=1, no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for group, findings in by_group.items():
        worst = next(mark for mark in _WORST_FIRST if _marked(findings, mark))
        grid.add_row(sign(worst), Text(GROUPS[group], "bold"), _group_told(findings, worst))
    return grid


def _group_told(findings: Sequence[Finding], worst: Mark) -> Text:
    if worst in _BAD:
        return counted(findings, _BAD)
    if worst is Mark.UNCHECKED:
        return seen(findings[0])
    if len(_marked(findings, Mark.OK)) < len(findings):
        return counted(findings)
    return Text(number(len(findings), "check"), "dim")


def _checks(by_group: Mapping[str, Sequence[Finding]]) -> Iterator[RenderableType]:
    for number_of_group, (group, findings) in enumerate(by_group.items()):
        if number_of_group:
            yield Text("")
        yield Text(GROUPS[group], "bold")
        # What to do is told below, with all else that is not well.
        table = checkup_table(_told_together(findings), _TITLES, advise=False)
        yield Padding(table, (0, 0, 0, 2))


def _not_well(findings: Sequence[Finding]) -> Iterator[RenderableType]:
    """Tell what is broken and then what to look at, where the screen comes to rest."""
    for finding in (*_marked(findings, Mark.BROKEN), *_marked(findings, Mark.LOOK)):
        title = f"{GROUPS[finding.group]}: {CHECKS[finding.check]}"
        yield Text("")
        yield Text.assemble(sign(finding.mark), "  ", (title, STYLES[finding.mark]))
        yield Padding(Text(finding.seen), _INDENT)
        if finding.todo is not None:
            yield Padding(advice(finding), _INDENT)


def _told_together(findings: Sequence[Finding]) -> Iterator[Finding]:
    """Tell in one line what was not checked in a row, and for the same reason."""
    for why, run in groupby(findings, key=_reason):
        same = list(run)
        if why is None or len(same) == 1:
            yield from same
        else:
            names = ", ".join(CHECKS[finding.check] for finding in same)
            yield Finding(_TOGETHER, Mark.UNCHECKED, f"{names}: {why}")


def _reason(finding: Finding) -> str | None:
    is_bare = finding.mark is Mark.UNCHECKED and finding.todo is None
    return finding.seen if is_bare else None


def _marked(findings: Sequence[Finding], mark: Mark) -> Sequence[Finding]:
    return [finding for finding in findings if finding.mark is mark]


def _summary(findings: Sequence[Finding], *, every: bool) -> Text:
    more = Text("") if every else Text("; --all shows each check", "dim")
    return Text.assemble(summary(findings), more)
