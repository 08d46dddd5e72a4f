"""`alama db upgrade --plan`: what an upgrade would do, and who can go on serving meanwhile."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from alama.cli import words
from alama.storage import schema
from alama.storage.upgrading import migrate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alama.storage.database import Database
    from alama.storage.upgrading.migrate import Plan


def show(database: Database) -> int:
    """Say what would be done; nothing is."""
    for line in _lines(migrate.plan(database), embedded=database.embedded):
        words.say(line)
    return 0


def _lines(plan: Plan, *, embedded: bool) -> Iterator[str]:
    if not plan.steps:
        assert plan.found is not None, "an empty database has every step before it"
        yield _standing(plan.found)
        return
    if plan.found is None:
        yield f"The database is empty; an upgrade makes it, at schema {schema.HEAD}."
        return
    yield f"The database stands at schema {plan.found}; an upgrade brings it to {schema.HEAD}:"
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
    if found == schema.HEAD:
        return f"The database stands at schema {found} already: nothing to do."
    return (
        f"The database stands at schema {found}, newer than the {schema.HEAD} of this version, "
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
