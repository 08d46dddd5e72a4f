"""Scores kept on a disk that fails once, and what is found of them after power cuts."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import select, text

from alama.platform.database import database as databases
from alama.platform.database import migrate
from alama.scoring import schema
from tests.databases import sqlite_url
from tests.reliability.disks import FAULT, Recorded
from tests.stores import lenders_in

FILE = "alama.db"
JOURNAL = f"{FILE}-wal"
FAULTS = (
    *((what, FILE) for what in ("write", "sync", "truncate")),
    *((what, JOURNAL) for what in ("write", "sync", "truncate", "create", "unlink")),
    ("sync", "."),
)
"""What may fail once, and of which file; "." is the folder."""


@dataclass
class Tally:
    """What came of the cuts after one kind of fault."""

    faults: int = 0
    cuts: int = 0
    acknowledged: int = 0
    losing: int = 0
    missing: int = 0
    malformed: int = 0
    files: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        return (
            f"{self.faults} faults, {self.cuts} cuts after them, "
            f"{self.acknowledged:,} acknowledged; "
            f"{self.missing} missing in {self.losing} cuts, {self.malformed} malformed"
        )


def prepare(folder: Path) -> Path:
    """A database with a lender, closed: the same start for every fault."""
    folder.mkdir()
    with closing(databases.connect(sqlite_url(folder))) as database:
        migrate.upgrade(database)
        lenders_in(database, "demo")
    return folder


def run(start: Path, place: Path, fault: str | None, commits: int, seed: int) -> Recorded:
    """Keep scores until they are refused for good, and again after a restart."""
    shutil.copytree(start, place / "running")
    recorded = Recorded(place, fault)
    for round_ in range(2):
        command = [sys.executable, "-m", "tests.reliability.disk_load"]
        arguments = [sqlite_url(recorded.folder), str(commits), str(seed + round_)]
        environment = os.environ | recorded.environment
        done = subprocess.run([*command, *arguments], env=environment, check=False)
        assert done.returncode in {0, 3}, done.returncode
    return recorded


def cut(recorded: Recorded, place: Path, cuts: int, seed: int, tally: Tally) -> None:
    """Cut the power at some moments after the fault, and look for what was acknowledged by then."""
    chance = random.Random(seed)  # noqa: S311  no secret
    steps = recorded.steps()
    failed = next((at for at, step in enumerate(steps) if step.what == FAULT), len(steps))
    after = range(failed + 1, len(steps) + 1)
    moments = sorted(chance.sample(after, min(cuts, len(after))))
    disk, done = recorded.disk(), 0
    for moment in moments:
        for step in steps[done:moment]:
            disk.take(step)
        done = moment
        folder = place / "found"
        folder.mkdir()
        disk.cut(chance, folder)
        judge(folder, disk.acknowledged, tally)
        shutil.rmtree(folder)


def judge(folder: Path, acknowledged: list[str], tally: Tally) -> None:
    """Open what a cut has left as a start does, and count what is not there."""
    tally.cuts += 1
    tally.acknowledged += len(acknowledged)
    try:
        with closing(databases.connect(sqlite_url(folder))) as database:
            database.restore()
            with database.reading() as connection:
                kept = set(connection.execute(select(schema.scores.c.request_id)).scalars())
                sound = connection.execute(text("PRAGMA integrity_check")).scalars().all()
    except Exception:  # noqa: BLE001  whatever it is, it cannot be read
        kept, sound = set(), ["malformed"]
    missing = set(acknowledged) - kept
    tally.malformed += sound != ["ok"]
    tally.losing += bool(missing)
    tally.missing += len(missing)
