"""`alama db`: look after the database: upgrade it, back it up, restore it, check it."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

from alama.lenders.installation import bare_database, existing_database, operators_view
from alama.lenders.store import Registry
from alama.operations import backup, check
from alama.operations.findings import Finding, Mark, ok
from alama.operations.findings_table import checkup_table, summary
from alama.platform import settings
from alama.platform.database import migrate, tables
from alama.platform.terminal import terminal
from alama.platform.terminal.tables import facts
from alama.platform.terminal.terminal import Progress, undone_when_ended

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from alama.operations.backup import Kept
    from alama.operations.backup_file import Contents
    from alama.operations.sqlite_backup import Watch
    from alama.platform.database.database import Database
    from alama.platform.database.migrate import Plan
    from alama.platform.terminal.command import Subparsers


DESCRIPTION: Final = """\
Look after the database that ALAMA_DATABASE names. A SQLite file is brought up to date by every
command; on PostgreSQL that is a step of its own, because other processes may be at work there."""

UPGRADE_DESCRIPTION: Final = """\
Bring the database to the schema of this version. Where there is nothing to do, nothing happens, so
it can run before every start, on every machine: one of them does it, the others wait. Until it has
run, the service and every other command refuse a database that is empty or old.

The version before this one goes on serving meanwhile, unless a step takes away what it uses. Such
a step is refused while that version is connected. A step that fails leaves nothing behind."""


def register(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    upgraded = actions.add_parser(
        "upgrade",
        help="migrate to the schema of this version",
        description=UPGRADE_DESCRIPTION,
    )
    upgraded.add_argument(
        "--plan", action="store_true", help="only say what would be done, and who may go on serving"
    )
    upgraded.set_defaults(run=upgrade)
    _register_backup(actions)
    _register_restore(actions)
    _register_check(actions)


def upgrade(args: argparse.Namespace) -> int:
    with bare_database() as database:
        found = migrate.current(database)
        if args.plan or not migrate.upgrade(database, terminal.remark):
            return _show_plan(database)
        lenders = Registry(database).lenders()
    before = "was empty" if found is None else f"stood at schema {found}"
    terminal.say(f"The database {before}; now it stands at schema {tables.HEAD}.")
    if not lenders:
        terminal.remark("Next: alama lenders add ID --name NAME --currency CODE")
    return 0


# ----------------------------------------------------------------------------------------- the plan


def _show_plan(database: Database) -> int:
    """Say what would be done; nothing is."""
    for line in _lines(migrate.plan(database), embedded=database.embedded):
        terminal.say(line)
    return 0


def _lines(plan: Plan, *, embedded: bool) -> Iterator[str]:
    if not plan.steps:
        assert plan.found is not None, "an empty database has every step before it"
        yield _standing(plan.found)
        return
    if plan.found is None:
        yield f"The database is empty; an upgrade makes it, at schema {tables.HEAD}."
        return
    yield f"The database stands at schema {plan.found}; an upgrade brings it to {tables.HEAD}:"
    for step in plan.steps:
        yield f"  {step.id}  {step.about}"
    serves = plan.steps[-1].serves
    if serves <= plan.found:
        yield f"The version that serves schema {plan.found} can go on serving meanwhile."
    elif embedded:
        yield f"Stop everything first that is older than a version with schema {serves}."
    else:
        yield from _in_the_way(plan, serves)


def _standing(found: str) -> str:
    if found == tables.HEAD:
        return f"The database stands at schema {found} already: nothing to do."
    return (
        f"The database stands at schema {found}, newer than the {tables.HEAD} of this version, "
        "which it still serves: nothing to do."
    )


def _in_the_way(plan: Plan, serves: str) -> Iterator[str]:
    served = [plan.found or "", *(step.serves for step in plan.steps)]
    taking = [
        step.id for step, (was, now) in zip(plan.steps, pairwise(served), strict=True) if now > was
    ]
    yield (
        f"{', '.join(taking)} takes away what versions before schema {serves} use: "
        "while one is connected, the upgrade is refused."
    )
    if plan.outdated:
        yield "Connected now:"
        yield from (f"  {one}" for one in plan.outdated)
    else:
        yield "None is connected now."


BACKUP_DESCRIPTION: Final = """\
Write all of the database to a new file, while the service runs: everything that
was acknowledged before this begins is in it. The file appears when all of it is
on the disk and was read once more, readable by its owner alone, and takes the
place of no other.

SQLite is copied as it is. Of PostgreSQL the file is what its own pg_dump writes,
which has to be installed. The pepper and the master key are in neither: keep a
copy of them apart. docs/operating/backup.md has the whole of it."""

BACKUP_EXAMPLES: Final = """\
examples:
  # every night, by a timer
  alama db backup "/mnt/backup/alama-$(date +%F).backup"

  # see that it is good: restored beside, and checked
  export ALAMA_DATABASE=sqlite:////tmp/drill/alama.db
  alama db restore /mnt/backup/alama-2026-11-16.backup && alama db check"""

_MB: Final = 1_000_000
_SECRETS: Final = (
    "The pepper and the master key are not in it. Without the master key nothing that applicants "
    "sent can be read: keep a copy of both, apart from this file."
)


def _register_backup(actions: Subparsers) -> None:
    parser = actions.add_parser(
        "backup",
        help="write all of it to a file, while the service runs",
        description=BACKUP_DESCRIPTION,
        epilog=BACKUP_EXAMPLES,
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="that is not there yet")
    parser.set_defaults(run=back_up)


def back_up(args: argparse.Namespace) -> int:
    address = settings.read(os.environ).database_address
    started_s = time.monotonic()
    # First: it may be for their sake that there is no room.
    for left in backup.left_behind(args.file):
        terminal.warn(f"{left} is left of a backup that was ended: remove it if none is under way")
    with undone_when_ended(), existing_database() as database, counted("Backing up") as watch:
        kept = backup.back_up(database, address, args.file, watch)
    terminal.say(f"Backed up to {args.file}.")
    _say_kept(kept, time.monotonic() - started_s)
    terminal.remark(_SECRETS)
    if kept.caution is not None:
        terminal.warn(kept.caution)
    return 0


def _say_kept(kept: Kept, elapsed_s: float) -> None:
    held = kept.contents
    rows = [
        ("size", f"{kept.size_bytes / _MB:,.1f} MB, in {elapsed_s:.1f} s"),
        ("schema", held.version or ""),
        ("scores", scores_in(held)),
    ]
    terminal.say(facts(rows))


def scores_in(held: Contents) -> str:
    """Say how many scores there are, and when the newest was given."""
    newest = (
        "" if held.newest_us is None else f", the newest of {terminal.second(held.newest_us)} UTC"
    )
    return f"{held.scores:,}{newest}"


@contextmanager
def counted(description: str) -> Iterator[Watch]:
    """Show a bar from the first time that something is told: only then its length is known."""
    with ExitStack() as stack:
        bar: Progress | None = None
        reached = 0

        def tell(done: int, total: int | None) -> None:
            nonlocal bar, reached
            if bar is None:
                length = None if total is None else total / _MB
                # Not for the nightly mail of a timer: the result has the size and the time.
                shown = terminal.progress(description, length, unit="MB", vanishing=True)
                bar = stack.enter_context(shown)
            bar.advance((done - reached) / _MB)
            reached = done

        yield tell


RESTORE_DESCRIPTION: Final = """\
Put a backup where ALAMA_DATABASE, or ALAMA_HOME, says, all of it or nothing. Nothing
is overwritten: there must be no SQLite file yet, or a PostgreSQL database without
tables. A backup of an older version is restored as it is, and then upgraded.

Then the pepper and the master key at hand are held against the database.

Exits with 0 where all is in order, and with 1 where a secret is not the right one.
docs/operating/backup.md says what to do before and after."""

RESTORE_EXAMPLES: Final = """\
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


def _register_restore(actions: Subparsers) -> None:
    parser = actions.add_parser(
        "restore",
        help="put a backup where there is no database",
        description=RESTORE_DESCRIPTION,
        epilog=RESTORE_EXAMPLES,
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="of `alama db backup`")
    parser.set_defaults(run=restore)


def restore(args: argparse.Namespace) -> int:
    chosen = settings.read(os.environ)
    address = chosen.database_address
    for left in backup.left_beside(address):
        terminal.warn(f"{left} is left of a restore that was ended: remove it if none is under way")
    with undone_when_ended(), operators_view(), counted("Restoring") as watch:
        held, is_learnt = backup.restore(address, args.file, watch)
    with existing_database() as database:
        findings = list(check.secrets(chosen, database))
    terminal.say(f"Restored {args.file}.")
    _say_restored(held, findings)
    if not is_learnt:
        terminal.warn(UNLEARNT)
    terminal.remark(f"\n{ERASED}")
    terminal.remark(_next(held))
    return _EXIT_WRONG if any(finding.mark is Mark.BROKEN for finding in findings) else 0


def _say_restored(held: Contents, findings: Sequence[Finding]) -> None:
    facts = [ok("schema", held.version or ""), ok("scores", scores_in(held))]
    terminal.say(checkup_table([*facts, *findings]))


def _next(held: Contents) -> str:
    if held.version == tables.HEAD:
        return "Next: alama db check"
    return f"Next: alama db upgrade, to schema {tables.HEAD}; then alama db check"


CHECK_DESCRIPTION: Final = """\
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

CHECK_EXAMPLES: Final = """\
examples:
  # all of it; some minutes where there are millions of scores
  alama db check

  # what takes a second, however many there are
  alama db check --quick"""

_EXIT_WRONG: Final = 1
_EXIT_UNTOLD: Final = 2


def _register_check(actions: Subparsers) -> None:
    parser = actions.add_parser(
        "check",
        help="is it whole, and is the audit?",
        description=CHECK_DESCRIPTION,
        epilog=CHECK_EXAMPLES,
    )
    parser.add_argument(
        "--quick", action="store_true", help="leave out what takes longer the more scores there are"
    )
    parser.set_defaults(run=show_check)


def show_check(args: argparse.Namespace) -> int:
    chosen = settings.read(os.environ)
    check.require_unchanged_by_looking(chosen)
    with existing_database() as database:
        findings = list(check.check(chosen, database, _bar, quickly=args.quick))
    terminal.say(checkup_table(findings))
    terminal.say("")
    terminal.say(summary(findings, well={Mark.OK, Mark.UNCHECKED}))
    marks = {finding.mark for finding in findings}
    if Mark.BROKEN in marks:
        return _EXIT_WRONG
    return _EXIT_UNTOLD if Mark.LOOK in marks else 0


@contextmanager
def _bar(what: str, total: int) -> Iterator[Callable[[int], None]]:
    with terminal.progress(f"Checking {what}", total, unit=what, vanishing=True) as bar:
        yield bar.advance
