"""`alama db restore`: a backup, put where there is no database yet."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from alama.lenders.installation import existing_database, operators_view
from alama.operations import backup, check
from alama.operations.backup_cli import counted, scores_in
from alama.platform import settings
from alama.platform.checkup import Finding, Mark, ok
from alama.platform.database import tables
from alama.platform.terminal import terminal
from alama.platform.terminal import terminal as words
from alama.platform.terminal.checkup import checkup_table
from alama.platform.terminal.terminal import undone_when_ended

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from alama.operations.backup_file import Contents
    from alama.platform.terminal.command import Subparsers


DESCRIPTION: Final = """\
Put a backup where ALAMA_DATABASE, or ALAMA_HOME, says, all of it or nothing. Nothing
is overwritten: there must be no SQLite file yet, or a PostgreSQL database without
tables. A backup of an older version is restored as it is, and then upgraded.

Then the pepper and the master key at hand are held against the database.

Exits with 0 where all is in order, and with 1 where a secret is not the right one.
docs/operating/backup.md says what to do before and after."""

EXAMPLES: Final = """\
examples:
  # beside the running service, to see that the backup is good
  export ALAMA_DATABASE=sqlite:////tmp/drill/alama.db
  alama db restore /mnt/backup/alama-2026-11-16.backup && alama db check

  # for good: the service is stopped, and what was there moved away
  alama db restore /mnt/backup/alama-2026-11-16.backup
  alama db upgrade
  alama db check"""

ERASED: Final = (
    "Applicants who were erased after this backup was made are there again, and so are keys that "
    "were revoked since. Erase and revoke them once more: docs/operating/backup.md says how to "
    "find out whom."
)
UNLEARNT: Final = (
    "all of it is there, but the server has not counted its tables: have it run ANALYZE, or "
    "answers take longer until it does so by itself"
)
_EXIT_WRONG: Final = 1


def register(actions: Subparsers) -> None:
    parser = actions.add_parser(
        "restore",
        help="put a backup where there is no database",
        description=DESCRIPTION,
        epilog=EXAMPLES,
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="of `alama db backup`")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Restore, hold the secrets against it, and say what comes next."""
    chosen = settings.read(os.environ)
    address = chosen.database_address
    for left in backup.left_beside(address):
        terminal.warn(f"{left} is left of a restore that was ended: remove it if none is under way")
    with undone_when_ended(), operators_view(), counted("Restoring") as watch:
        held, is_learnt = backup.restore(address, args.file, watch)
    with existing_database() as database:
        findings = list(check.secrets(chosen, database))
    words.say(f"Restored {args.file}.")
    _say(held, findings)
    if not is_learnt:
        terminal.warn(UNLEARNT)
    words.remark(f"\n{ERASED}")
    words.remark(_next(held))
    return _EXIT_WRONG if any(finding.mark is Mark.BROKEN for finding in findings) else 0


def _say(held: Contents, findings: Sequence[Finding]) -> None:
    facts = [ok("schema", held.version or ""), ok("scores", scores_in(held))]
    words.say(checkup_table([*facts, *findings]))


def _next(held: Contents) -> str:
    if held.version == tables.HEAD:
        return "Next: alama db check"
    return f"Next: alama db upgrade, to schema {tables.HEAD}; then alama db check"
