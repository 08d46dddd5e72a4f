"""Disks: room where something is kept, and whether it can be written."""

from __future__ import annotations

import shutil
import tempfile
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.operations import diagnosis
from alama.operations.doctor.findings import size
from alama.operations.findings import Finding, broken, look, ok, unchecked

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from alama.operations.doctor.patient import Patient


FREE_LOOK: Final = 2_000_000_000
FREE_BROKEN: Final = 200_000_000
SHARE_LOOK: Final = 0.10


class Room(NamedTuple):
    """What a disk holds, in bytes."""

    total: int
    free: int


def examine(patient: Patient) -> Iterator[Finding]:
    """Look at the disks of the home folder and of the database."""
    home = patient.settings.home_folder.absolute()
    if home.is_dir():
        yield _writable("disk.home", home) or judged("disk.home", _room(home), None)
    else:
        yield unchecked("disk.home", f"{home} is not there")
    if patient.database is None:
        return
    yield _check_database(patient)


def _check_database(patient: Patient) -> Finding:
    check, database = "disk.database", patient.database
    assert database is not None
    scores = None if patient.fit is None else diagnosis.scores_about(patient.fit)
    file = patient.file
    if file is None:
        taken = diagnosis.server(database).size_bytes
        about = f" for about {scores:,} scores" if scores else ""
        return ok(check, f"{size(taken)}{about}; its server knows how much is free")
    taken = sum(part.stat().st_size for part in _parts(file) if part.exists())
    unwritable = _writable(check, file.parent)  # where its journal is made
    return unwritable or judged(check, _room(file.parent), (taken, scores))


def judged(check: str, room: Room, database: tuple[int, int | None] | None) -> Finding:
    """Judge how much is free; `database`: what a file takes, in bytes and in scores at most."""
    share = room.free / room.total if room.total else 0.0
    seen = f"{size(room.free)} free, {share:.0%} of the disk"
    if database is not None:
        taken, scores = database
        held = f" for up to {scores:,} scores" if scores else ""
        seen = f"{size(taken)}{held}; {seen}"
        if scores:
            seen += f", room for up to {room.free * scores // max(1, taken):,} more"
    if room.free < FREE_BROKEN:
        return broken(check, seen, "make room at once: a full disk keeps no score")
    if room.free < FREE_LOOK or share < SHARE_LOOK:
        return look(check, seen, "make room, or have somebody told when it gets less")
    return ok(check, seen)


def _parts(file: Path) -> Iterator[Path]:
    yield file
    for companion in ("-wal", "-shm"):
        yield file.with_name(file.name + companion)


def _room(folder: Path) -> Room:
    total, _, free = shutil.disk_usage(folder)
    return Room(total, free)


def _writable(check: str, folder: Path) -> Finding | None:
    """Write a file that nobody sees, and let it go; None: it can be written."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(4_096))
            file.flush()
    except OSError as error:
        return broken(
            check,
            f"cannot write into {folder}: {error.strerror}",
            "let the user who runs Alama write there, and make room if it is full",
        )
    return None
