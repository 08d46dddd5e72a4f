"""What the test of protection knows of scores, and the installation that it begins with."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import NamedTuple

from alama.platform.database import database as databases
from alama.platform.database import migrate
from tests.clocks import HandClock
from tests.protected import House


class Given(NamedTuple):
    """A score that stands, as the test knows it."""

    applicant_ref: str | None
    at_us: int
    term_days: int


class Retry(NamedTuple):
    """What was sent first under an idempotency key."""

    request_id: str
    sent: tuple[str | None, int]
    at_us: int


@functools.cache
def new_database() -> bytes:
    """The file of an installation in which nothing has happened yet."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "alama.db"
        database = databases.connect(f"sqlite:///{file}")
        migrate.upgrade(database)
        House(database, HandClock())
        database.close()
        return file.read_bytes()
