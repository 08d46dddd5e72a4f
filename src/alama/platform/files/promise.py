"""Files that are there only if all went well, and whose cells no spreadsheet runs.

The content goes to a hidden file beside the target, which takes the target's name only when its
last byte is safely on disk. A crash, an error or Ctrl-C therefore leaves the old file, or none,
never a half. A symbolic link stays one: its target is what is written.
"""

from __future__ import annotations

import csv
import os
import re
import secrets
import unicodedata
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from alama.core.errors import FileProblem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


APOSTROPHE: Final = "'"
SUSPECT: Final = r"^[^0-9A-Za-z]|[\x00-\x1f\x{85}\x{2028}\x{2029}]"
"""What every text that `inert` changes matches."""
NUMBER: Final = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\z"
"""Both as Arrow writes regular expressions, whose end of a text is \\z."""

_NUMBER: Final = re.compile(NUMBER.replace(r"\z", r"\Z"))
_SIGNS: Final = frozenset("=+-@\N{MINUS SIGN}")
_STRIPPED: Final = ("\t", "\r", "\n")
_UNSEEN: Final = frozenset("CZM")
"""Classes of characters that have no width or no ink: what reads a cell may pass over them."""


def inert(text: str) -> str:
    """Give a text as a cell that no spreadsheet runs, nor any line of it.

    An apostrophe comes before each line that begins with a sign, in whichever width it is written
    and whatever unseen characters are before it, and before a cell that begins with a tab or the
    end of a line.
    """
    if _NUMBER.match(text.strip(" ")):
        return text
    lines = text.splitlines(keepends=True)
    told = "".join(APOSTROPHE + line if _acts(line) else line for line in lines)
    return APOSTROPHE + told if told.startswith(_STRIPPED) else told


def _acts(line: str) -> bool:
    for character in line:
        if unicodedata.category(character)[0] not in _UNSEEN:
            return unicodedata.normalize("NFKC", character)[0] in _SIGNS
    return False


def as_csv(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    """Write a table in which no cell runs, those of its first row included."""
    lines = _Lines()
    written = csv.DictWriter(lines, columns)
    written.writerow({name: inert(name) for name in columns})
    for row in rows:
        written.writerow({name: _cell(value) for name, value in row.items()})
    return "".join(lines)


class _Lines(list[str]):
    """Rows of a table, each of which ends as a line does.

    The writer puts a carriage return within quotes only where its own lines end with one.
    """

    def write(self, row: str) -> None:
        self.append(row.removesuffix("\r\n") + "\n")


def _cell(value: object) -> object:
    return inert(value) if isinstance(value, str) else value


class Output:
    """The content of a file to be; it waits in a hidden file, `part`, beside its place."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.target = Path(os.path.realpath(path))
        self.part = self.target.with_name(f".{self.target.name}.{secrets.token_hex(4)}.part")

    def write(self, content: bytes) -> None:
        """Replace the content."""
        with told_as_file_problem(self.path):
            self.part.write_bytes(content)


@contextmanager
def promised(path: Path) -> Iterator[Output]:
    """Hold a place beside the target at once: a run of minutes must not fail at its last line.

    The target appears or changes only if the block succeeds; nothing is left behind otherwise.
    """
    if path.is_dir():
        raise FileProblem(f"cannot write {path}: it is a folder")
    output = Output(path)
    if (path.exists() and not path.is_file()) or output.target.is_symlink():
        message = f"cannot write {path}: it is not a regular file"
        raise FileProblem(message, hint="give the name of a file; devices and pipes are none")
    folder = output.target.parent if path.is_symlink() else path.parent
    if not folder.is_dir():
        raise FileProblem(f"cannot write {path}: the folder {folder} does not exist")
    try:
        with told_as_file_problem(path):
            output.part.touch(exist_ok=False)
        yield output
        with told_as_file_problem(path):
            _sync(output.part)
            output.part.replace(output.target)
            _sync(output.target.parent)
    finally:
        output.part.unlink(missing_ok=True)


@contextmanager
def promised_in_private(path: Path) -> Iterator[Output]:
    """Promise a file that only its owner will be able to read: it holds somebody's data."""
    with promised(path) as output:
        with told_as_file_problem(path):
            output.part.chmod(0o600)
        yield output


@contextmanager
def told_as_file_problem(path: Path) -> Iterator[None]:
    """Translate the disk's troubles."""
    try:
        yield
    except OSError as error:
        # A library may put the hidden file's name into its message; the system's words are enough.
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise FileProblem(f"cannot write {path}: {reason}") from error


def _sync(place: Path) -> None:
    """Make a file's content, or a folder's names, survive a power cut."""
    descriptor = os.open(place, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
