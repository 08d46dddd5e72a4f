"""The walk of docs/changing-a-policy.md: every command works, and says what the page shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.databases import sqlite_url
from tests.server import Server

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "changing-a-policy.md").read_text("utf-8")
PROMPT = "$ "
LEFT_OUT = "..."
END_OF_OUTPUT = "=== end of output ==="
UNSTABLE = (
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d"), "DATE AND TIME"),
    (re.compile(r"\bin \d+\.\d s\b"), "in SECONDS"),
)


def blocks() -> list[list[str]]:
    """The indented blocks of the page, without their indent."""
    found = re.findall(r"(?:^    .*\n|^\n(?=    ))+", PAGE, re.MULTILINE)
    return [[line[4:] for line in block.strip("\n").splitlines()] for block in found]


def steps() -> list[tuple[str, list[str]]]:
    """Every command in its order, and what the page shows that it says.

    A block without a prompt is one command, of which nothing is shown.
    """
    found: list[tuple[str, list[str]]] = []
    for block in blocks():
        if not block[0].startswith(PROMPT):
            found.append(("\n".join(block), [LEFT_OUT]))
            continue
        for line in block:
            if line.startswith(PROMPT):
                found.append((line.removeprefix(PROMPT), []))
            else:
                found[-1][1].append(stable(line))
    return found


def stable(line: str) -> str:
    for pattern, name in UNSTABLE:
        line = pattern.sub(name, line)
    return line.rstrip()


def outputs(commands: list[str], server: Server, folder: Path) -> list[list[str]]:
    """What the commands print, all of them typed into one shell."""
    script = "".join(f"{command}\necho '{END_OF_OUTPUT}'\n" for command in commands)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["/bin/sh", "-ec", script.replace("http://127.0.0.1:8000", server.url)],
        cwd=folder,
        env={**server.environment, "PATH": path, "COLUMNS": "80"},
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


def test_the_walk_through_a_change_goes_as_the_page_says(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    walk = steps()
    with Server(sqlite_url(home), home, workers=2) as server:
        said = outputs([command for command, _ in walk], server, tmp_path)
    assert len(said) == len(walk) > 10
    for (_, shown), printed in zip(walk, said, strict=True):
        require_shown(shown, printed)
    assert (tmp_path / "page.html").read_text("utf-8").startswith("<!DOCTYPE html>")
