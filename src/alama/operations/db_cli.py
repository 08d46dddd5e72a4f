"""`alama db`: look after the database: upgrade it, back it up, restore it, check it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from alama.lenders.installation import bare_database
from alama.lenders.store import Registry
from alama.operations import backup_cli, check_cli, restore_cli
from alama.platform.database import migrate, tables
from alama.platform.terminal import terminal

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from alama.platform.database.database import Database
    from alama.platform.database.migrate import Plan


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
    for action in (backup_cli, restore_cli, check_cli):
        action.register(actions)


def upgrade(args: argparse.Namespace) -> int:
    """Migrate, and say from where to where."""
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
