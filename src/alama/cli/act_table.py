"""Acts of administration as a table: what was done, to what, and by whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.cli import words
from alama.cli.tables import plain_table
from alama.service.audit.acts import FOR_PROGRAMS, heads_in
from alama.service.audit.reading import OF_CHAINS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.table import Table

    from alama.service.audit.acts import Act, Detail
    from alama.service.audit.reading import Done

_BY_WIDTH: Final = 24
_DIGITS: Final = 12
_PREFIX: Final = "sha256:"


def act_table(done: Iterable[Done]) -> Table:
    """Lay acts out in their order, with all that is said of one in a single wide column."""
    table = plain_table("no.", "done (UTC)", "by", "act")
    table.columns[0].justify = "right"
    for place in (0, 1):
        table.columns[place].no_wrap = True
    table.columns[2].max_width = _BY_WIDTH
    for one in done:
        act = one.act
        said = ["cannot be read"] if act is None else _said(act)
        by = "" if act is None else act.by or ""
        what = ", ".join([one.kind.replace("_", " "), *said])
        table.add_row(str(one.number), _minute(one.at_us), by, what)
    return table


def _minute(at_us: int) -> str:
    """Give a time to the minute; what is listed was not verified, and may be none."""
    try:
        return words.minute(at_us)
    except (OverflowError, ValueError, OSError):
        return "at no time"


def _said(act: Act) -> Iterator[str]:
    if act.lender is not None:
        yield " ".join(filter(None, (act.lender, act.mode)))
    if act.kind in OF_CHAINS:
        yield from (f"{head.writer} at {head.number:,}" for head in heads_in(act))
        return
    if act.subject is not None:
        yield act.subject
    for name, value in act.details.items():
        if value is not None and name not in FOR_PROGRAMS:
            yield f"{name.removesuffix('_us').replace('_', ' ')}: {_shown(name, value)}"


def _shown(name: str, value: Detail) -> str:
    if isinstance(value, int) and name.endswith("_us"):
        return _minute(value)
    if isinstance(value, int):
        return f"{value:,}"
    if name == "kinds" and not value:
        return "all"
    text = str(value)
    return text.removeprefix(_PREFIX)[:_DIGITS] if text.startswith(_PREFIX) else text
