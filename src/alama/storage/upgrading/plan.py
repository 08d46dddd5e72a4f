"""What an upgrade has to do, step by step, and which code may go on serving after each step.

A migration says so itself: `serves` is the oldest schema whose code may go on serving once the step
is done. A step that only adds serves the schema before it. One that takes away what older code uses
serves a later one, and has to wait until that code is gone. What says nothing serves itself alone.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Final

from sqlalchemy import column as named_column
from sqlalchemy import inspect, select, table

from alama.storage import schema
from alama.storage.upserts import insert_into

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from alembic.config import Config
    from sqlalchemy import Connection

SERVES_FACT: Final = "schema_serves"
"""Where a database says which code it serves: a version reads it that is older than the schema."""

_VERSIONS: Final = table("alembic_version", named_column("version_num"))


@dataclass(frozen=True, slots=True)
class Step:
    """One migration that has not been done yet."""

    id: str
    about: str
    serves: str
    """The oldest schema whose code may go on serving after this step and all those before it."""

    outside: bool
    """Whether it runs outside a transaction, as what builds an index beside the service must."""


def found_in(connection: Connection) -> str | None:
    """Give the migration that a database stands at; None for one that is empty."""
    if not inspect(connection).has_table(_VERSIONS.name):
        return None
    found: str | None = connection.execute(select(_VERSIONS.c.version_num)).scalar()
    return found


def served_by(connection: Connection) -> str | None:
    """Give the oldest schema whose code a database serves; None where no step has said so yet."""
    facts = schema.facts
    query = select(facts.c.value).where(facts.c.name == SERVES_FACT)
    found: str | None = connection.execute(query).scalar()
    return found


def note_served(connection: Connection, serves: str) -> None:
    """Write down, in the transaction of the step, which code the database serves from now on."""
    insert = insert_into(connection, schema.facts)
    connection.execute(
        insert.on_conflict_do_update(
            index_elements=["name"], set_={"value": insert.excluded.value}
        ),
        {"name": SERVES_FACT, "value": serves},
    )


def steps_of(connection: Connection, config: Config) -> Sequence[Step]:
    """Give what is to be done, in its order."""
    from alembic.script import ScriptDirectory  # noqa: PLC0415  only when there is something to do

    found = found_in(connection)
    # A database that no step has spoken for serves the code that was written for it.
    serves = "" if found is None else served_by(connection) or found
    scripts = ScriptDirectory.from_config(config).iterate_revisions("head", found or "base")
    steps = []
    for script in reversed(list(scripts)):
        serves = max(serves, getattr(script.module, "serves", script.revision))
        outside = getattr(script.module, "outside_transaction", False)
        steps.append(Step(script.revision, script.doc, serves, outside))
    return steps


@contextmanager
def configured() -> Iterator[Config]:
    """Give Alembic's configuration with the migrations of this package."""
    from alembic.config import Config  # noqa: PLC0415  see above

    with resources.as_file(resources.files("alama.storage").joinpath("migrations")) as folder:
        config = Config()
        config.set_main_option("script_location", str(folder).replace("%", "%%"))
        config.set_main_option("path_separator", "os")
        yield config
