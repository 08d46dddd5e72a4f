"""Secrets that Alama makes itself: a file that appears whole, and that its owner alone can read."""

from __future__ import annotations

import os
import secrets
import stat
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING

from alama.platform.errors import StoreUnfit
from alama.platform.files import promise

if TYPE_CHECKING:
    from pathlib import Path


_RANDOM_BYTES = 32


def make(path: Path) -> None:
    """Write a new secret, 64 hexadecimal digits, unless another process has been quicker.

    The file appears with its content: a process that read an empty one would go on with nothing.
    """
    promise.make_folder(path.parent)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=f"{path.name}-") as file:
        file.write(secrets.token_hex(_RANDOM_BYTES))
        file.flush()
        os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(file.name, path)
    promise.sync(path.parent)


def read(path: Path, called: str) -> bytes:
    """Read a secret, or refuse a file that everyone can read; `called`: what it is, in words."""
    if is_open(path):
        raise StoreUnfit(
            f"everyone on this machine can read the {called}, {path}", hint=how_to_close(path)
        )
    return path.read_bytes().strip()


def is_open(path: Path) -> bool:
    """Say whether everyone can read a file, or write it. Of a link the file behind it counts."""
    return bool(path.stat().st_mode & stat.S_IRWXO)


def others_reach(path: Path) -> bool:
    """Say whether everyone gets as far as a file: through every folder above it."""
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in path.resolve().parents)


def how_to_close(path: Path) -> str:
    """Give what to do about a file that everyone can read, so that Alama can read it still."""
    found, us = path.stat(), os.geteuid()
    if us == found.st_uid and (us != 0 or found.st_gid == 0):
        return f"`chmod 600 {path}`"
    if us != found.st_uid and any(os.path.ismount(place) for place in (path, path.parent)):
        return (
            "close it where it is mounted from: `chmod 600` for a file of the host, owned by the "
            "user who runs Alama; `defaultMode: 0440` for a volume of Kubernetes"
        )
    # Root's with a group of its own: given to whoever is in it, as the guide does.
    ours = {found.st_gid} if us == found.st_uid else {os.getegid(), *os.getgroups()}
    if found.st_gid in ours:
        return f"`chmod 640 {path}`"
    return f"`chmod 600 {path}`, owned by the user who runs Alama"
