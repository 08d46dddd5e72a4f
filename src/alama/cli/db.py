"""`alama db`: bring the database to the schema of this version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import argparse

    from alama.cli.command import Subparsers

DESCRIPTION: Final = """\
Look after the database that ALAMA_DATABASE names. A SQLite file is brought up to date by every
command; on PostgreSQL that is a step of its own, because other processes may be at work there."""

UPGRADE_DESCRIPTION: Final = """\
Bring the database to the schema of this version, in one transaction: all of it or nothing.
Where there is nothing to do, nothing happens, so it can run before every start. Until it has run,
the service and every other command refuse a database that is empty or old."""


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "db", help="bring the database to this version", description=DESCRIPTION
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    upgraded = actions.add_parser(
        "upgrade",
        help="migrate to the schema of this version",
        description=UPGRADE_DESCRIPTION,
    )
    upgraded.set_defaults(run=upgrade)


def upgrade(_: argparse.Namespace) -> int:
    """Migrate, and say from where to where."""
    from alama.cli import words  # noqa: PLC0415  not for the front door
    from alama.cli.installed import bare_database  # noqa: PLC0415
    from alama.storage import migrate, schema  # noqa: PLC0415
    from alama.storage.registry import SqlRegistry  # noqa: PLC0415

    with bare_database() as database:
        found = migrate.current(database)
        if found is not None and found >= schema.HEAD:
            migrate.require_current(database)
            words.say(f"The database stands at schema {found} already: nothing to do.")
            return 0
        migrate.upgrade(database)
        lenders = SqlRegistry(database).lenders()
    before = "was empty" if found is None else f"stood at schema {found}"
    words.say(f"The database {before}; now it stands at schema {schema.HEAD}.")
    if not lenders:
        words.remark("Next: alama lenders add ID --name NAME --currency CODE")
    return 0
