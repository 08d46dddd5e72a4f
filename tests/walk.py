"""A page of docs as a walk: every command on it works, and says what the page shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

PROMPT = "$ "
GOES_ON = "> "
LEFT_OUT = "..."
END_OF_OUTPUT = "=== end of output ==="
UNSTABLE = (
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d"), "DATE AND TIME"),
    (re.compile(r"\bin \d+\.\d s\b"), "in SECONDS"),
)


def blocks(page: str) -> list[list[str]]:
    """The indented blocks of a page, without their indent."""
    found = re.findall(r"(?:^    .*\n|^\n(?=    ))+", page, re.MULTILINE)
    return [[line[4:] for line in block.strip("\n").splitlines()] for block in found]


def steps(page: str) -> list[tuple[str, list[str]]]:
    """Every command in its order, and what the page shows that it says.

    A block without a prompt is one command, of which nothing is shown.
    """
    found: list[tuple[str, list[str]]] = []
    for block in blocks(page):
        if not block[0].startswith(PROMPT):
            found.append(("\n".join(block), [LEFT_OUT]))
            continue
        for line in block:
            if line.startswith(PROMPT):
                found.append((line.removeprefix(PROMPT), []))
            elif line.startswith(GOES_ON) and not found[-1][1]:
                command, shown = found.pop()
                found.append((f"{command}\n{line.removeprefix(GOES_ON)}", shown))
            else:
                found[-1][1].append(stable(line))
    return found


def stable(line: str) -> str:
    for pattern, name in UNSTABLE:
        line = pattern.sub(name, line)
    return line.rstrip()


def outputs(commands: list[str], folder: Path, environment: Mapping[str, str]) -> list[list[str]]:
    """What the commands print, all of them typed into one shell."""
    script = "".join(f"{command}\necho '{END_OF_OUTPUT}'\n" for command in commands)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["/bin/sh", "-ec", script],
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
    return [[stable(line) for line in one.splitlines()] for one in said]


def parts(shown: list[str]) -> list[list[str]]:
    """What is shown, in pieces between the lines that say that something is left out."""
    pieces: list[list[str]] = [[]]
    for line in shown:
        if line == LEFT_OUT:
            pieces.append([])
        else:
            pieces[-1].append(line)
    return pieces


def require_shown(shown: list[str], said: list[str]) -> None:
    """Fail unless the page shows what was said, but for what it leaves out."""
    first, *others = parts(shown)
    if not others:
        assert shown == said
        return
    assert first == said[: len(first)]
    last = others.pop()
    assert last == said[len(said) - len(last) :]
    text = "\n".join(said)
    assert all("\n".join(piece) in text for piece in others)
