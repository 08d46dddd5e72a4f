"""Installations for the doctor to look at."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import text

from alama.lenders import installation
from alama.operations.doctor import examine
from alama.operations.findings import Finding, Mark
from alama.platform import clock, settings
from alama.platform.database.database import Database
from tests.ports import free_port

OK, LOOK, BROKEN, UNCHECKED = Mark.OK, Mark.LOOK, Mark.BROKEN, Mark.UNCHECKED


def looked_at(home: Path, **variables: str) -> dict[str, Finding]:
    """What the doctor finds with these settings, by the name of the check."""
    # A service of somebody else's on this machine is none of the tests'.
    environment = {"ALAMA_HOME": str(home), "ALAMA_PORT": str(free_port()), **variables}
    return by_check(examine.examine(environment, clock.wall_us, None))


def by_check(findings: Iterable[Finding]) -> dict[str, Finding]:
    return {finding.check: finding for finding in findings}


def install(home: Path, **variables: str) -> None:
    """Make an installation, as the first start does."""
    environment = {"ALAMA_HOME": str(home), **variables}
    installation.open_installation(settings.read(environment)).close()


def copied(template: Path, home: Path) -> Path:
    """An installation as another, which took longer to make."""
    shutil.copytree(template, home)
    return home


@contextmanager
def opened(home: Path, **variables: str) -> Iterator[installation.Installation]:
    """An installation, to be harmed."""
    one = installation.open_installation(settings.read({"ALAMA_HOME": str(home), **variables}))
    try:
        yield one
    finally:
        one.close()


def run_sql(database: Database, statement: str, **values: str | int) -> None:
    with database.writing() as connection:
        connection.execute(text(statement), values)
