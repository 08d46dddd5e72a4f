"""What a disk may hold after a power cut, by the record that `disk.c` makes of a folder.

What was synced is there. Of what was not, any part may be: writes reach a disk in any order, sector
by sector. A name is there once its folder was synced; before that as many of the newest changes are
missing as it pleases. What a failed sync was to bring to the disk is lost, for good.
"""

from __future__ import annotations

import os
import random
import shutil
import struct
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

COMPILER = shutil.which("cc")
SECTOR_BYTES = 512
ACKNOWLEDGED = b"A"
FAULT = b"F"

_HEAD = struct.Struct("=4Q")


class Step(NamedTuple):
    """One thing that was done to a file of the folder; `what` is a letter of `disk.c`."""

    what: bytes
    name: str
    at: int
    data: bytes


@dataclass
class Content:
    """A file: what the disk has for certain, and what it may have."""

    durable: bytearray = field(default_factory=bytearray)
    pending: list[Step] = field(default_factory=list)

    def sync(self) -> None:
        for step in self.pending:
            _apply(self.durable, step)
        self.pending = []

    def after_a_cut(self, chance: random.Random) -> bytes:
        """What may be found: all that was not waited for, none of it, or some sectors."""
        found = bytearray(self.durable)
        likely = chance.choice((0.0, 0.5, 1.0))
        for step in self.pending:
            for part in _sectors(step):
                if chance.random() < likely:
                    _apply(found, part)
        return bytes(found)


class Disk:
    """A folder, step by step. Its first content is on the disk."""

    def __init__(self, first: Mapping[str, bytes]) -> None:
        self._names = {name: Content(bytearray(data)) for name, data in first.items()}
        self._durable_names = dict(self._names)
        self._changes: list[dict[str, Content]] = []
        self.acknowledged: list[str] = []

    def take(self, step: Step) -> None:
        """Go a step further."""
        if step.what == ACKNOWLEDGED:
            self.acknowledged += step.data.decode().split()
        elif step.what == FAULT:
            pass  # what came of it is a step of its own
        elif step.name == ".":
            if step.what == b"S":
                self._durable_names, self._changes = dict(self._names), []
        elif step.what in b"CURL":
            self._rename(step)
        else:
            self._write(self._names[step.name], step)

    def _write(self, content: Content, step: Step) -> None:
        match step.what:
            case b"S":
                content.sync()
            case b"D":
                content.pending = []
            case _:
                content.pending.append(step)

    def _rename(self, step: Step) -> None:
        match step.what:
            case b"C":
                self._names[step.name] = Content()
            case b"U":
                del self._names[step.name]
            case b"L":
                self._names[step.data.decode()] = self._names[step.name]
            case b"R":
                self._names[step.data.decode()] = self._names.pop(step.name)
        self._changes.append(dict(self._names))

    def hold(self, folder: Path) -> None:
        """Write what must be found, and no more, into an empty folder."""
        for name, content in self._durable_names.items():
            (folder / name).write_bytes(content.durable)

    def cut(self, chance: random.Random, folder: Path) -> None:
        """Write what may be found after a cut now into an empty folder."""
        names = chance.choice([self._durable_names, *self._changes])
        for name, content in names.items():
            (folder / name).write_bytes(content.after_a_cut(chance))


class Recorded:
    """A folder whose processes are recorded: `environment` is theirs."""

    def __init__(self, place: Path, fault: str | None = None) -> None:
        self.folder = place / "running"
        self.folder.mkdir(parents=True, exist_ok=True)
        self._record = place / "record"
        self._done = place / "fault"
        self._first = {
            one.name: one.read_bytes()
            for one in self.folder.iterdir()
            if not one.name.endswith("-shm")
        }
        self.environment = {
            "LD_PRELOAD": str(_library(place)),
            "DISK_FOLDER": str(self.folder),
            "DISK_RECORD": str(self._record),
            "DISK_FAULT_DONE": str(self._done),
        }
        if fault is not None:
            self.environment["DISK_FAULT"] = fault

    @property
    def has_failed(self) -> bool:
        """Whether the fault has happened."""
        return self._done.exists()

    def steps(self) -> Sequence[Step]:
        """Everything that was done."""
        return list(_read(self._record.read_bytes())) if self._record.exists() else []

    def disk(self) -> Disk:
        """The disk before the first step."""
        return Disk(self._first)

    def last_cut(self, folder: Path) -> Disk:
        """Write what is found if the power fails now, and nothing is there that need not be."""
        disk = self.disk()
        for step in self.steps():
            disk.take(step)
        disk.hold(folder)
        return disk


def acknowledge(ids: Sequence[str]) -> None:
    """Put into the record that something was acknowledged; for a process that is recorded."""
    data = " ".join([*ids, ""]).encode()
    head = _HEAD.pack(ACKNOWLEDGED[0], 0, 0, len(data))
    descriptor = os.open(os.environ["DISK_RECORD"], os.O_APPEND | os.O_WRONLY)
    os.write(descriptor, head + data)
    os.close(descriptor)


def _library(place: Path) -> Path:
    library = place / "disk.so"
    if not library.exists():
        source = Path(__file__).with_name("disk.c")
        assert COMPILER is not None
        options = ["-Wall", "-Werror", "-O1", "-shared", "-fPIC"]
        subprocess.run([COMPILER, *options, "-o", library, source], check=True)
    return library


def _read(record: bytes) -> Iterator[Step]:
    place = 0
    while place < len(record):
        what, name_size, at, size = _HEAD.unpack_from(record, place)
        place += _HEAD.size
        name = record[place : place + name_size].decode()
        place += name_size
        yield Step(bytes([what]), name, at, record[place : place + size])
        place += size


def _apply(content: bytearray, step: Step) -> None:
    if step.what == b"T":
        del content[step.at :]
    size = step.at + len(step.data)
    content.extend(bytes(max(size - len(content), 0)))
    content[step.at : size] = step.data


def _sectors(step: Step) -> Iterator[Step]:
    if step.what == b"T":
        yield step
        return
    done, size = 0, len(step.data)
    while done < size:
        part = SECTOR_BYTES - (step.at + done) % SECTOR_BYTES
        yield step._replace(at=step.at + done, data=step.data[done : done + part])
        done += part
