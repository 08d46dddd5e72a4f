"""What was found, on a screen: a line for each check, what to do about it, and how it stands."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from rich.table import Table
from rich.text import Text

from alama.operations.findings import Finding, Mark
from alama.platform.terminal import terminal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from rich.console import RenderableType


STYLES: Final = {
    Mark.OK: "green",
    Mark.LOOK: "bold yellow",
    Mark.BROKEN: "bold red",
    Mark.UNCHECKED: "dim",
}
_SIGNS: Final = {Mark.OK: "✓", Mark.LOOK: "!", Mark.BROKEN: "✗", Mark.UNCHECKED: "–"}  # noqa: RUF001  a dash
_ASCII_SIGNS: Final = {Mark.OK: "+", Mark.LOOK: "!", Mark.BROKEN: "x", Mark.UNCHECKED: "-"}
_TOLD: Final = {
    Mark.BROKEN: "broken",
    Mark.LOOK: "to look at",
    Mark.OK: "well",
    Mark.UNCHECKED: "not checked",
}
_WORKS: Final = frozenset(Mark) - {Mark.BROKEN}
_ADVISED: Final = frozenset({Mark.LOOK, Mark.BROKEN})


def checkup_table(
    findings: Iterable[Finding], titles: Mapping[str, str] | None = None, *, advise: bool = True
) -> Table:
    """Give a line for each finding; what to do stands below what it is about.

    A check is called by its own name where `titles` has none for it.
    """
    titles = titles or {}
    grid = Table.grid(padding=(0, 2, 0, 0), pad_edge=False)
    grid.add_column(width=1, no_wrap=True)
    grid.add_column(no_wrap=True, min_width=max(map(len, titles.values()), default=0))
    grid.add_column(overflow="fold")
    for finding in findings:
        title = titles.get(finding.check, finding.check)
        grid.add_row(sign(finding.mark), Text(title, _title_style(finding.mark)), seen(finding))
        if advise and finding.mark in _ADVISED and finding.todo is not None:
            grid.add_row("", "", advice(finding))
    return grid


def sign(mark: Mark) -> Text:
    """Give the sign of a mark, in letters that this terminal knows."""
    return Text((_ASCII_SIGNS if _is_plain() else _SIGNS)[mark], STYLES[mark])


def seen(finding: Finding) -> Text:
    """Give what was seen. Of what was not checked, what to do is no more than a remark."""
    if finding.mark is not Mark.UNCHECKED:
        return Text(finding.seen)
    return Text("; ".join(filter(None, (finding.seen, finding.todo))), STYLES[Mark.UNCHECKED])


def advice(finding: Finding) -> RenderableType:
    """Give what to do, beside an arrow."""
    todo = Table.grid(padding=(0, 1, 0, 0), pad_edge=False)
    todo.add_row(Text("->" if _is_plain() else "→", STYLES[finding.mark]), Text(finding.todo or ""))
    return todo


def counted(findings: Iterable[Finding], marks: Iterable[Mark] = tuple(_TOLD)) -> Text:
    """Say how many there are of some marks, the worst first."""
    counts = Counter(finding.mark for finding in findings)
    wanted = [mark for mark in _TOLD if mark in set(marks) and counts[mark]]
    return Text(", ").join(Text(f"{counts[mark]} {_TOLD[mark]}", STYLES[mark]) for mark in wanted)


def summary(findings: Sequence[Finding], well: AbstractSet[Mark] = _WORKS) -> Text:
    """Say in one line how it stands; nothing is broken where all of it is as `well` as that."""
    if any(finding.mark not in well for finding in findings):
        return counted(findings)
    return Text.assemble(("nothing is broken", "bold green"), ", ", counted(findings))


def _title_style(mark: Mark) -> str:
    return "" if mark is Mark.OK else STYLES[mark]


def _is_plain() -> bool:
    return terminal.stdout().options.ascii_only
