"""Short texts that a person wrote or will change: applications, policies."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from alama.core.errors import FileProblem
from alama.platform.files.promise import promised

STDIN: Final = Path("-")


def read_bytes(path: Path, size_max: int) -> bytes:
    """Read a file, or standard input for -, or raise `FileProblem`; no more than `size_max`."""
    try:
        if path == STDIN:
            content = sys.stdin.buffer.read(size_max + 1)
        else:
            with path.open("rb") as file:
                content = file.read(size_max + 1)
    except OSError as error:
        raise FileProblem(f"cannot read {path}: {error.strerror}") from error
    if len(content) > size_max:
        raise FileProblem(f"{named(path)} is larger than {size_max // 1024} KiB")
    return content


def named(path: Path) -> str:
    """Give the name of a file for a message."""
    return "standard input" if path == STDIN else str(path)


def write_new_text(path: Path, text: str) -> None:
    """Write a file that is not there yet: a draft must not bury what somebody has worked on."""
    if path.exists():
        raise FileProblem(f"{path} is there already", hint="give another name, or move it away")
    with promised(path) as output:
        output.write(text.encode())
