"""Versions of Alama that are yet to come: this one with more migrations."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from alembic.config import Config

import alama
from alama.platform.database import migrate, tables

THIS = Path(alama.__file__).parent
MIGRATIONS = Path("platform", "database", "migrations")

STEP = '''"""{about}"""

import sqlalchemy as sa
from alembic import op

from alama.platform.database.migrations import beside

revision = "{id}"
down_revision = "{after}"
serves = "{serves}"
outside_transaction = {outside}


def upgrade() -> None:
    {body}
'''


class Next(NamedTuple):
    """A migration of a version to come."""

    id: str
    serves: str
    body: str
    outside: bool = False
    about: str = "A step of a version to come."


def numbered(ahead: int) -> str:
    """The schema so many steps after this version's."""
    return f"{int(tables.HEAD) + ahead:04}"


def write_steps(migrations: Path, steps: tuple[Next, ...]) -> None:
    """Add steps to the migrations in a folder."""
    for step in steps:
        text = STEP.format(after=f"{int(step.id) - 1:04}", **step._asdict())
        (migrations / "versions" / f"{step.id}_later.py").write_text(text, "utf-8")


def make_version(folder: Path, version: str, *steps: Next) -> Path:
    """Make a whole version with more migrations; where Python finds it: its PYTHONPATH."""
    package = folder / "alama"
    shutil.copytree(THIS, package)  # with what was compiled: it is as new as its source
    write_steps(package / MIGRATIONS, steps)
    _change(package / "__init__.py", r'(__version__ = )"[^"]+"', rf'\1"{version}"')
    _change(
        package / "platform" / "database" / "tables.py",
        r'(HEAD: Final = )"\d+"',
        rf'\1"{steps[-1].id}"',
    )
    return folder


def become_later(patch: pytest.MonkeyPatch, folder: Path, *steps: Next) -> None:
    """Let this process be a version with more migrations, as far as its database is concerned."""
    migrations = folder / "migrations"
    shutil.copytree(THIS / MIGRATIONS, migrations, dirs_exist_ok=True)
    write_steps(migrations, steps)

    @contextmanager
    def configured() -> Iterator[Config]:
        config = Config()
        config.set_main_option("script_location", str(migrations))
        config.set_main_option("path_separator", "os")
        yield config

    patch.setattr(migrate, "configured", configured)
    patch.setattr(tables, "HEAD", steps[-1].id)


def _change(file: Path, pattern: str, replacement: str) -> None:
    text, times = re.subn(pattern, replacement, file.read_text("utf-8"))
    assert times == 1, f"{pattern} is {times} times in {file}"
    file.write_text(text, "utf-8")
