"""A new file appears whole, for its owner alone, and in the place of no other."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from alama.core.errors import FileProblem
from alama.operations import backup_file, sqlite_backup
from alama.operations.backup_file import appearing


def test_it_has_no_name_before_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with appearing(path) as part:
        part.write_bytes(b"all of it")
        assert not path.exists()
        assert part.stat().st_mode & 0o777 == 0o600
    assert path.read_bytes() == b"all of it"
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_is_left_of_one_that_failed(tmp_path: Path) -> None:
    def fail() -> None:
        with appearing(tmp_path / "file") as part:
            part.write_bytes(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_what_has_appeared_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with pytest.raises(FileProblem, match="is there already"), appearing(path):
        path.write_text("another")
    assert path.read_text() == "another"
    assert list(tmp_path.iterdir()) == [path]


def test_a_disk_without_hard_links_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    path = tmp_path / "file"
    with appearing(path) as part:
        part.write_text("whole")
    with pytest.raises(FileProblem, match="is there already"), appearing(path):
        pass
    path.unlink()
    with pytest.raises(FileProblem, match="is there already"), appearing(path):
        path.write_text("another")
    assert path.read_text() == "another"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_that_leads_nowhere_is_not_written_through(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileProblem, match="is there already"), appearing(path):
        pass


@pytest.mark.parametrize("ending", sqlite_backup.COMPANIONS)
def test_a_database_is_not_put_beside_the_journal_of_another(tmp_path: Path, ending: str) -> None:
    (tmp_path / f"alama.db{ending}").touch()
    with pytest.raises(FileProblem, match="is left of another database"):
        sqlite_backup.put_back(tmp_path / "backup", tmp_path / "alama.db", lambda *_: None)


NOBODY = 65_534


@pytest.fixture
def closed() -> Iterator[Path]:
    """A folder that whoever runs the test may not write into, nor look into."""
    folder = Path(tempfile.mkdtemp())
    (folder / "below").mkdir()
    folder.chmod(0)
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY)
    yield folder
    os.seteuid(before)
    folder.chmod(0o700)
    shutil.rmtree(folder)


@pytest.mark.parametrize("name", ["file", "below/file"])
def test_who_may_not_write_there_is_told_where_and_as_whom(closed: Path, name: str) -> None:
    path = closed / name
    with pytest.raises(FileProblem) as caught, appearing(path):
        pass
    assert str(caught.value).startswith(f"cannot write to {path.parent} as user ")
    assert caught.value.hint is not None


def test_who_is_ended_the_moment_a_file_is_made_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(part: Path, *_: object) -> None:
        part.touch()
        raise SystemExit(143)

    monkeypatch.setattr(backup_file, "_hold", ended)
    with pytest.raises(SystemExit):
        appearing(tmp_path / "backup").__enter__()
    assert list(tmp_path.iterdir()) == []
