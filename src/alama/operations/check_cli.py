"""`alama db check`: whether the database is whole, and the one that our secrets belong to."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from alama.lenders.installation import existing_database
from alama.operations.check import check, require_unchanged_by_looking
from alama.platform import settings
from alama.platform.checkup import Mark
from alama.platform.terminal import terminal
from alama.platform.terminal import terminal as words
from alama.platform.terminal.checkup import checkup_table, summary

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from alama.platform.terminal.command import Subparsers


DESCRIPTION: Final = """\
Look at the database from all sides, and say of each whether it is in order:

  schema, tables   those of this version, with every column and index
  files            SQLite reads every page; PostgreSQL tells what it knows of
  rows             whatever a row names is there, with a foreign key or without
  documents        every model and policy has the hash that is its id
  pepper, keys     the secrets at hand are those of this database
  audit            every entry, and every score by it: `alama audit verify`

The service may run meanwhile, and nothing is written, so it also tells whether a
backup is good: restore it beside, and check it there.

Exits with 0 where everything is in order, with 1 where something is wrong, and with
2 where something cannot be told."""

EXAMPLES: Final = """\
examples:
  # all of it; some minutes where there are millions of scores
  alama db check

  # what takes a second, however many there are
  alama db check --quick"""

_EXIT_WRONG: Final = 1
_EXIT_UNTOLD: Final = 2


def register(actions: Subparsers) -> None:
    parser = actions.add_parser(
        "check",
        help="is it whole, and is the audit?",
        description=DESCRIPTION,
        epilog=EXAMPLES,
    )
    parser.add_argument(
        "--quick", action="store_true", help="leave out what takes longer the more scores there are"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Look, and say what was found."""
    chosen = settings.read(os.environ)
    require_unchanged_by_looking(chosen)
    with existing_database() as database:
        findings = list(check(chosen, database, _bar, quickly=args.quick))
    words.say(checkup_table(findings))
    words.say("")
    words.say(summary(findings, well={Mark.OK, Mark.UNCHECKED}))
    marks = {finding.mark for finding in findings}
    if Mark.BROKEN in marks:
        return _EXIT_WRONG
    return _EXIT_UNTOLD if Mark.LOOK in marks else 0


@contextmanager
def _bar(what: str, total: int) -> Iterator[Callable[[int], None]]:
    with terminal.progress(f"Checking {what}", total, unit=what, vanishing=True) as bar:
        yield bar.advance
