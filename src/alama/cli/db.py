"""`alama db`: look after the database: upgrade it, back it up, restore it, check it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.cli import db_backup, db_check, db_plan, db_restore, words
from alama.cli.installed import bare_database
from alama.storage import schema
from alama.storage.registry import SqlRegistry
from alama.storage.upgrading import migrate

if TYPE_CHECKING:
    import argparse


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
    for action in (db_backup, db_restore, db_check):
        action.register(actions)


def upgrade(args: argparse.Namespace) -> int:
    """Migrate, and say from where to where."""
    with bare_database() as database:
        found = migrate.current(database)
        if args.plan or not migrate.upgrade(database, words.remark):
            return db_plan.show(database)
        lenders = SqlRegistry(database).lenders()
    before = "was empty" if found is None else f"stood at schema {found}"
    words.say(f"The database {before}; now it stands at schema {schema.HEAD}.")
    if not lenders:
        words.remark("Next: alama lenders add ID --name NAME --currency CODE")
    return 0
