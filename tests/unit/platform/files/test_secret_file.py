"""A secret that everyone can read: how it is closed so that Alama can read it still."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from alama.platform.files import secret_file

ALAMA, OTHER = 998, 1_234


@pytest.mark.parametrize(
    ("user", "owner", "group", "told"),
    [
        (ALAMA, ALAMA, ALAMA, "`chmod 600 {}`"),
        (ALAMA, 0, ALAMA, "`chmod 640 {}`"),  # as the guide makes them
        (0, 0, ALAMA, "`chmod 640 {}`"),  # and the same seen by root
        (0, 0, 0, "`chmod 600 {}`"),
        (ALAMA, 0, 0, "`chmod 600 {}`, owned by the user who runs Alama"),
        (ALAMA, OTHER, OTHER, "`chmod 600 {}`, owned by the user who runs Alama"),
    ],
)
def test_it_is_closed_without_locking_alama_out(
    user: int, owner: int, group: int, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    become(user, owner, group, monkeypatch)
    path = tmp_path / "pepper"
    assert secret_file.how_to_close(path) == told.format(path)


@pytest.mark.parametrize("is_folder", [False, True])
def test_what_a_platform_mounts_is_closed_where_it_comes_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_folder: bool
) -> None:
    become(ALAMA, 0, 0, monkeypatch)
    path = tmp_path / "pepper"
    monkeypatch.setattr(os.path, "ismount", (path.parent if is_folder else path).__eq__)
    assert "defaultMode: 0440" in secret_file.how_to_close(path)


def become(user: int, owner: int, group: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be a user with a group of the same number, where files belong to others."""
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(os, "getegid", lambda: user)
    monkeypatch.setattr(os, "getgroups", lambda: [user])
    found = SimpleNamespace(st_uid=owner, st_gid=group, st_mode=0o100644)
    monkeypatch.setattr(Path, "stat", lambda *_, **__: found)
