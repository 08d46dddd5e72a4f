"""`alama db backup`: all of the database in one file, while the service runs."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from alama.lenders.installation import existing_database
from alama.operations import backup
from alama.platform import settings
from alama.platform.terminal import terminal
from alama.platform.terminal import terminal as words
from alama.platform.terminal.tables import facts
from alama.platform.terminal.terminal import Progress, undone_when_ended

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from alama.operations.backup import Kept
    from alama.operations.backup_file import Contents
    from alama.operations.sqlite_backup import Watch
    from alama.platform.terminal.command import Subparsers


DESCRIPTION: Final = """\
Write all of the database to a new file, while the service runs: everything that
was acknowledged before this begins is in it. The file appears when all of it is
on the disk and was read once more, readable by its owner alone, and takes the
place of no other.

SQLite is copied as it is. Of PostgreSQL the file is what its own pg_dump writes,
which has to be installed. The pepper and the master key are in neither: keep a
copy of them apart. docs/operating/backup.md has the whole of it."""

EXAMPLES: Final = """\
examples:
  # every night, by a timer
  alama db backup "/mnt/backup/alama-$(date +%F).backup"

  # see that it is good: restored beside, and checked
  export ALAMA_DATABASE=sqlite:////tmp/drill/alama.db
  alama db restore /mnt/backup/alama-2026-11-16.backup && alama db check"""

MEGABYTE: Final = 1_000_000
_SECRETS: Final = (
    "The pepper and the master key are not in it. Without the master key nothing that applicants "
    "sent can be read: keep a copy of both, apart from this file."
)


def register(actions: Subparsers) -> None:
    parser = actions.add_parser(
        "backup",
        help="write all of it to a file, while the service runs",
        description=DESCRIPTION,
        epilog=EXAMPLES,
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="that is not there yet")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Back up, and say what is in the file."""
    address = settings.read(os.environ).database_address
    started_s = time.monotonic()
    # First: it may be for their sake that there is no room.
    for left in backup.left_behind(args.file):
        terminal.warn(f"{left} is left of a backup that was ended: remove it if none is under way")
    with undone_when_ended(), existing_database() as database, counted("Backing up") as watch:
        kept = backup.back_up(database, address, args.file, watch)
    words.say(f"Backed up to {args.file}.")
    _say(kept, time.monotonic() - started_s)
    words.remark(_SECRETS)
    if kept.caution is not None:
        terminal.warn(kept.caution)
    return 0


def _say(kept: Kept, elapsed_s: float) -> None:
    held = kept.contents
    rows = [
        ("size", f"{kept.size_bytes / MEGABYTE:,.1f} MB, in {elapsed_s:.1f} s"),
        ("schema", held.version or ""),
        ("scores", scores_in(held)),
    ]
    words.say(facts(rows))


def scores_in(held: Contents) -> str:
    """Say how many scores there are, and when the newest was given."""
    newest = "" if held.newest_us is None else f", the newest of {words.second(held.newest_us)} UTC"
    return f"{held.scores:,}{newest}"


# ---------------------------------------------------------------------------------------- under way


_MEGABYTE: Final = 1_000_000


@contextmanager
def counted(description: str) -> Iterator[Watch]:
    """Show a bar from the first time that something is told: only then its length is known."""
    with ExitStack() as stack:
        bar: Progress | None = None
        reached = 0

        def tell(done: int, total: int | None) -> None:
            nonlocal bar, reached
            if bar is None:
                length = None if total is None else total / _MEGABYTE
                # Not for the nightly mail of a timer: the result has the size and the time.
                shown = terminal.progress(description, length, unit="MB", vanishing=True)
                bar = stack.enter_context(shown)
            bar.advance((done - reached) / _MEGABYTE)
            reached = done

        yield tell
