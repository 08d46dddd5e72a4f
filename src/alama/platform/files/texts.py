"""Short texts that a person wrote or will change: applications, policies, fields."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from alama.core.errors import FaultyText, FileProblem, InvalidPolicy
from alama.core.lending import policy_text
from alama.platform.files.promise import promised

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alama.core.lending.policy import Policy
    from alama.core.model import Model


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


def read_policy(path: Path, model: Model) -> Policy:
    """Read a policy; what is wrong with it is told with the name of its file."""
    text = read_bytes(path, policy_text.SIZE_MAX)
    with told_of(path):
        return policy_text.read(text, model.catalogue)


@contextmanager
def told_of(path: Path) -> Iterator[None]:
    """Tell what is wrong with a text by the name of its file, a line for each fault."""
    try:
        yield
    except FaultyText as error:
        listing = "".join(f"\n  {fault}" for fault in error.faults) or f" {error}"
        noun = "policy" if isinstance(error, InvalidPolicy) else "fields"
        hint = error.hint or f"mend it until `alama {noun} check {path}` calls it sound"
        raise type(error)(f"{named(path)}:{listing}", hint=hint) from error


def titled(policy: Policy) -> str:
    """Name a policy as its owner does."""
    return f"{policy.name}, version {policy.version}"


def is_namesake(one: Policy, other: Policy) -> bool:
    """Say whether two policies say different things under one name: people mix them up."""
    return one.id != other.id and titled(one) == titled(other)


def is_file(given: str) -> bool:
    """Say whether a file is meant where an id would do too: an id has no ending."""
    path = Path(given)
    if path == STDIN or path.suffix:
        return True
    try:
        return path.exists()
    except OSError:  # too long for the name of a file
        return False
