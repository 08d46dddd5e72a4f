"""The operator's guide, as a machine reads it: what is to be typed where, and what is to be seen.

A block of `sh` is typed as it stands; the block of `text` right below it is what one should see. A
block that is not for everybody, not for the server or not for now says so in its first line, to
people too. A line such as `KEY_ID=key_...` is filled in first, as a person does from what is shown.
"""

from __future__ import annotations

import re
import secrets
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
OPERATING = ROOT / "docs" / "operating"
GUIDE = OPERATING / "README.md"
PAGES = (GUIDE, OPERATING / "secrets.md", OPERATING / "failures.md")
"""Walked in this order: what the first has made, the others replace, and break and mend."""

LEFT_OUT = "..."
NEVER_RIGHT = ("command not found", "Traceback (most recent call last)")
"""Whatever a page leaves out, it is not this."""

BY_HAND = {
    "KEY_ID": "alama keys list --lender umoja | grep -o 'key_[0-9a-f]*' | head -n 1",
    "ENDPOINT": "alama webhooks add umoja https://receiver.example.org/hook --mode test >/dev/null"
    " && alama webhooks list umoja --mode test | grep -o 'we_[0-9a-f]*' | head -n 1",
}
"""What gives that which a person fills in."""

ASKED = {"alama vault rotate applicant": "customer-7"}
"""What a person answers to a command that asks."""

BLOCK_S_MAX = 900.0

_PIECE = re.compile(
    r"^## (?P<step>[^\n]+)$|^```sh\n(?P<sh>.*?)^```$(?:\n\n```text\n(?P<text>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)

_BY_HAND = re.compile(r"^([A-Z_]+)=[a-z_]*\.\.\.$", re.MULTILINE)


class Where(StrEnum):
    """Who types a block: its first line, or everybody on the server."""

    SERVER = ""
    ELSEWHERE = "# elsewhere"
    SYSTEMD = "# with systemd"
    PLAIN = "# without systemd"
    LATER = "# days later"
    NEW = "# on the new server"
    NEW_SYSTEMD = "# on the new server, with systemd"


class Block(NamedTuple):
    """What is pasted at once."""

    step: str
    where: Where
    commands: str
    shown: str
    """What one should see, or nothing."""


def blocks(page: str) -> Iterator[Block]:
    """Give what is typed, in its order."""
    step = ""
    for piece in _PIECE.finditer(page):
        if piece["step"] is not None:
            step = piece["step"]
            continue
        first = piece["sh"].partition("\n")[0]
        marks = [where for where in Where if where and first.startswith(where)]
        where = max(marks, key=len, default=Where.SERVER)
        yield Block(step, where, piece["sh"], piece["text"] or "")


def filled_in(commands: str) -> str:
    """Give a block with what a person fills in; a name that nobody knows of is a `KeyError`."""
    return _BY_HAND.sub(lambda found: f"{found[1]}=$({BY_HAND[found[1]]})", commands)


def answer(commands: str) -> str:
    """Give what a person answers to what a block asks, or nothing."""
    return "".join(words for asking, words in ASKED.items() if asking in commands)


def missing(shown: str, said: str) -> str | None:
    """Give the first line of what is shown that was not said, in its order; None: all was said.

    `...` stands for anything: as a line for lines, within one for the rest or the middle of it.
    """
    lines = iter(line.rstrip() for line in said.splitlines())
    for line in shown.splitlines():
        if line.strip() == LEFT_OUT:
            continue
        wanted = re.compile(".*".join(re.escape(part) for part in line.rstrip().split(LEFT_OUT)))
        if not any(wanted.fullmatch(one) for one in lines):
            return line
    return None


class GuideFailed(Exception):
    """A page says something that is not so."""


def require_sane(said: str) -> str:
    """Give what was said back, or raise `GuideFailed` where no `...` of a page may stand for it."""
    for words in NEVER_RIGHT:
        if words in said:
            raise GuideFailed(f"{words!r} was said:\n{said}")
    return said


class Shell:
    """One shell that blocks are pasted into; the first command that fails ends it."""

    def __init__(
        self,
        command: Sequence[str],
        hear: Callable[[str], object],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._hear = hear
        self._shell = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        self._keys, self._screen = self._shell.stdin, self._shell.stdout
        self._keys.write("set -e\n")

    def type(self, commands: str) -> str:
        """Paste a block; give what was said, or raise `GuideFailed` with it."""
        end = f"end of block {secrets.token_hex(8)}"
        # Read whole before any of it runs, and so that no command reads the ones after it.
        pasted = f"BLOCK=$(cat <<'{end}'\n{filled_in(commands)}\n{end}\n)\n"
        asked = answer(commands)
        given = f"<<<'{asked}'" if asked else "</dev/null"
        self._keys.write(f"{pasted}eval \"$BLOCK\" {given}\necho '{end}'\n")
        self._keys.flush()
        too_long = threading.Timer(BLOCK_S_MAX, self._shell.kill)
        too_long.start()
        said: list[str] = []
        try:
            for line in self._screen:
                if line.endswith(f"{end}\n"):
                    said.append(line.removesuffix(f"{end}\n"))
                    return require_sane("".join(said))
                said.append(line)
                self._hear(line)
        finally:
            too_long.cancel()
        code = self._shell.wait()
        told = "".join(said)
        raise GuideFailed(f"a command of this block ended with {code}:\n{commands}\n{told}")

    def close(self) -> None:
        """End it, and all that it has started where that lives in a world of its own."""
        self._shell.kill()
        self._shell.wait()
        self._keys.close()
        self._screen.close()
