"""Walks: pages of the docs whose every command is typed into a shell, in its order.

A page shows commands behind a prompt, in indented blocks, and below each what it says. A block
without a prompt is one command, of which nothing is shown.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

PROMPT = "$ "
GOES_ON = "> "
LEFT_OUT = "..."
END_OF_OUTPUT = "=== end of output ==="
ADDRESS = "http://127.0.0.1:8000"

Unstable = tuple[re.Pattern[str], str]
"""What is another at every run, and the name it is compared by."""

USUAL: tuple[Unstable, ...] = (
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?"), "DATE AND TIME"),
    (re.compile(r"\bin \d+\.\d s\b"), "in SECONDS"),
)


class Step(NamedTuple):
    """One command, and what the page shows that it says."""

    command: str
    shown: list[str]


class Walk:
    """One page."""

    def __init__(self, page: str, unstable: Sequence[Unstable] = ()) -> None:
        self._page = page
        self._unstable = (*USUAL, *unstable)
        self.steps = self._steps()

    def go(self, folder: Path, environment: Mapping[str, str], url: str = ADDRESS) -> None:
        """Type everything into one shell, and fail where it says another thing than the page.

        The service that the page speaks to is found at another address.
        """
        said = self._outputs(folder, environment, url)
        assert len(said) == len(self.steps)
        for step, printed in zip(self.steps, said, strict=True):
            _require_shown(step.shown, printed)

    def _steps(self) -> list[Step]:
        found: list[Step] = []
        for block in self._blocks():
            if not block[0].startswith(PROMPT):
                found.append(Step("\n".join(block), [LEFT_OUT]))
                continue
            for line in block:
                if line.startswith(PROMPT):
                    found.append(Step(line.removeprefix(PROMPT), []))
                elif line.startswith(GOES_ON) and not found[-1].shown:
                    step = found.pop()
                    found.append(Step(f"{step.command}\n{line.removeprefix(GOES_ON)}", []))
                else:
                    found[-1].shown.append(self._stable(line))
        return found

    def _blocks(self) -> list[list[str]]:
        """The indented blocks of the page, without their indent; what is fenced is no command."""
        open_text = re.sub(r"^```.*?^```$", "", self._page, flags=re.MULTILINE | re.DOTALL)
        found = re.findall(r"(?:^    .*\n|^\n(?=    ))+", open_text, re.MULTILINE)
        return [[line[4:] for line in block.strip("\n").splitlines()] for block in found]

    def _stable(self, line: str) -> str:
        line = line.rstrip()
        for pattern, name in self._unstable:
            line = pattern.sub(name, line)
        return line

    def _outputs(self, folder: Path, environment: Mapping[str, str], url: str) -> list[list[str]]:
        script = "".join(f"{step.command}\necho '{END_OF_OUTPUT}'\n" for step in self.steps)
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["/bin/sh", "-ec", script.replace(ADDRESS, url)],
            cwd=folder,
            env={**environment, "PATH": path, "COLUMNS": "80"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        *said, _ = done.stdout.split(f"{END_OF_OUTPUT}\n")
        return [[self._stable(line) for line in one.splitlines()] for one in said]


def _require_shown(shown: list[str], said: list[str]) -> None:
    """Fail unless the page shows what was said, but for what it leaves out."""
    first, *others = _parts(shown)
    if not others:
        assert shown == said
        return
    assert first == said[: len(first)]
    last = others.pop()
    assert last == said[len(said) - len(last) :]
    text = "\n".join(said)
    assert all("\n".join(piece) in text for piece in others)


def _parts(shown: list[str]) -> list[list[str]]:
    """What is shown, in pieces between the lines that say that something is left out."""
    pieces: list[list[str]] = [[]]
    for line in shown:
        if line == LEFT_OUT:
            pieces.append([])
        else:
            pieces[-1].append(line)
    return pieces
