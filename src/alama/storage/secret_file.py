"""Secrets that Alama makes itself: a file that appears whole, and that its owner alone can read."""

from __future__ import annotations

import os
import secrets
import stat
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING

from alama.service.errors import StoreUnfit

if TYPE_CHECKING:
    from pathlib import Path

_RANDOM_BYTES = 32


def make(path: Path) -> None:
    """Write a new secret, 64 hexadecimal digits, unless another process has been quicker.

    The file appears with its content: a process that read an empty one would go on with nothing.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=f"{path.name}-") as file:
        file.write(secrets.token_hex(_RANDOM_BYTES))
        file.flush()
        os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(file.name, path)
    _sync_folder(path.parent)


def read(path: Path, called: str) -> bytes:
    """Read a secret, or refuse a file that everyone can read; `called`: what it is, in words."""
    if path.stat().st_mode & stat.S_IRWXO:
        raise StoreUnfit(
            f"everyone on this machine can read the {called}, {path}", hint=f"`chmod 600 {path}`"
        )
    return path.read_bytes().strip()


def _sync_folder(folder: Path) -> None:
    """Make what has appeared in a folder outlive a power cut: what rests on it will."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
