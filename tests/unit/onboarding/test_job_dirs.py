"""What jobs write to disk: gone with them, and where all were killed, with the next worker."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from alama.onboarding import job_supervisor


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def left_in(place: Path, name: str) -> Path:
    """A folder of a process that was killed, with a history in clear."""
    folder = place / name
    (folder / "alama-history-1").mkdir(parents=True)
    (folder / "alama-history-1" / "history.csv").write_text("in clear")
    return folder


def test_a_room_is_gone_in_the_end_and_its_lock_with_it() -> None:
    with job_supervisor.job_dir() as room:
        (room.folder / "history.csv").write_text("in clear")
        assert room.folder.stat().st_mode & 0o077 == 0
    assert not room.folder.exists()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(room.lock)


def test_what_the_dead_have_left_is_removed_and_what_is_in_use_is_not(place: Path) -> None:
    left, unlocked = left_in(place, "alama-jobs-1"), left_in(place, "alama-jobs-2")
    (left / job_supervisor.LOCK).touch()
    others = left_in(place, "another-program")
    with job_supervisor.job_dir() as room:
        job_supervisor.sweep_job_dirs()
        assert room.folder.exists()
    assert (left.exists(), unlocked.exists(), others.exists()) == (False, False, True)


def test_a_room_is_held_until_the_last_of_its_processes_is_dead() -> None:
    room = job_supervisor._make()
    with subprocess.Popen(
        (sys.executable, "-c", "input()"), stdin=subprocess.PIPE, pass_fds=(room.lock,)
    ) as process:
        os.close(room.lock)  # as it is where the worker was killed
        job_supervisor.sweep_job_dirs()
        assert room.folder.exists()
        process.kill()
    job_supervisor.sweep_job_dirs()
    assert not room.folder.exists()


def test_a_folder_that_is_being_swept_is_no_room(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [left_in(place, "alama-jobs-1"), left_in(place, "alama-jobs-2")]
    swept = job_supervisor._locked(made[0], fcntl.LOCK_EX)
    monkeypatch.setattr(tempfile, "mkdtemp", lambda **_: str(made.pop(0)))
    with job_supervisor.job_dir() as room:
        assert room.folder.name == "alama-jobs-2"
    os.close(swept)


def test_a_link_that_only_looks_like_a_room_is_left_alone(place: Path) -> None:
    others = left_in(place, "another-program")
    (place / "alama-jobs-1").symlink_to(others)
    job_supervisor.sweep_job_dirs()
    assert others.exists()
