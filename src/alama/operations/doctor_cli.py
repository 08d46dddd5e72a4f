"""`alama doctor`: look at the whole installation, and say what to do about what is wrong."""

from __future__ import annotations

import os
import sys
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from alama import __version__
from alama.core.errors import AlamaError
from alama.operations.doctor import examine
from alama.operations.doctor.check_proxy import front_at
from alama.operations.doctor.findings import CHECKS, GROUPS, number
from alama.operations.findings import Finding, Mark
from alama.operations.findings_table import (
    STYLES,
    advice,
    checkup_table,
    counted,
    seen,
    sign,
    summary,
)
from alama.platform import clock
from alama.platform.terminal import terminal

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType


DESCRIPTION: Final = """\
Look at the whole installation: its settings, whether it runs, its database, the clock, the disk,
secrets and keys, the models, webhooks and the way out to their receivers; and, with --url, at what
callers meet in front of it: the certificate, TLS, and what is open that should not be.

Run it as the user who runs the service, with the same environment. Nothing is changed, nothing is
sent to a receiver, and no secret is shown. A group of checks that is well is one line; whatever is
not says what to do. What cannot be looked at because something else is broken is not checked.

Exits with 0 if nothing is broken, and with 1 otherwise; with --strict also with 1 if there is
something to look at."""

EXAMPLES: Final = """\
examples:
  # after an installation, an upgrade, or a night that went badly
  alama doctor

  # and what callers meet, with a certificate from an authority of your own
  alama doctor --url https://scores.example.org --ca authority.pem

  # for a program that watches, and warns of what is to be looked at, too
  alama doctor --json --strict"""


def register(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    add = parser.add_argument
    add("--url", metavar="URL", help="the address that callers use, https://...")
    add(
        "--ca",
        type=Path,
        metavar="FILE",
        help="authorities that callers trust, in PEM (default: those of this system)",
    )
    add("--all", action="store_true", help="show each check, those that are well too")
    add("--strict", action="store_true", help="exit with 1 for what is to be looked at, too")
    add("--json", action="store_true", help="print the findings as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Look, print, and say by the exit code whether anything is broken, or to be looked at."""
    if args.ca is not None and args.url is None:
        raise AlamaError("--ca is for --url", hint="name the address that callers use, too")
    front = front_at(args.url, args.ca) if args.url is not None else None
    with terminal.progress("Looking", len(GROUPS), unit="groups of checks", vanishing=True) as bar:

        def begun(title: str) -> None:
            bar.advance()
            bar.note(title)

        findings = examine.examine(os.environ, clock.wall_us, front, begun)
        bar.note("")
    if args.json:
        _print_json(findings, clock.wall_us())
    else:
        _show(findings, every=args.all)
    wrong = {Mark.BROKEN, Mark.LOOK} if args.strict else {Mark.BROKEN}
    return int(any(finding.mark in wrong for finding in findings))


# --------------------------------------------------------------------------------------- the screen


_WORST_FIRST: Final = (Mark.BROKEN, Mark.LOOK, Mark.OK, Mark.UNCHECKED)
_BAD: Final = (Mark.BROKEN, Mark.LOOK)
_INDENT: Final = (0, 0, 0, 3)
_TOGETHER: Final = ""
_TITLES: Final = {**CHECKS, _TOGETHER: "not checked"}


def _show(findings: Sequence[Finding], *, every: bool) -> None:
    """Print the screen: a line for each group, or for each check; what is not well; the sum."""
    by_group = {
        group: [finding for finding in findings if finding.group == group] for group in GROUPS
    }
    overview = _checks(by_group) if every else [_groups(by_group)]
    terminal.say(Group(*overview, *_not_well(findings), Text(""), _summary(findings, every=every)))


def _print_json(findings: Sequence[Finding], now_us: int) -> None:
    counts = Counter(finding.mark for finding in findings)
    told = {
        "version": __version__,
        "looked_at": terminal.second(now_us).replace(" ", "T") + "Z",
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
