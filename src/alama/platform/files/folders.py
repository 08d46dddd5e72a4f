"""Folders whose names outlive a power cut: what rests on a file rests on its name, too."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path


_UNSUPPORTED: Final = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP})


def make(folder: Path) -> None:
    """Make a folder that its owner alone can enter, and those above it, where there is none."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for one in missing:
        sync(one.parent)


def sync(place: Path) -> None:
    """Have the names in a folder, or the content of a file, outlive a power cut.

    Some mounts cannot sync a folder, and say so: that is no fault of the disk.
    """
    descriptor = os.open(place, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _UNSUPPORTED or not place.is_dir():
            raise
    finally:
        os.close(descriptor)
