"""What cannot be undone: a person says that they mean it, a script says so by --yes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from alama.cli import terminal
from alama.service.errors import InvalidName

if TYPE_CHECKING:
    import argparse


def add_yes(parser: argparse.ArgumentParser) -> None:
    """Let a command be told that it is meant."""
    parser.add_argument("--yes", action="store_true", help="do not ask once more")


def confirm(word: str, warning: str) -> None:
    """Have a word typed, or raise `InvalidName`; `warning` is a sentence without its end."""
    if not sys.stdin.isatty():
        raise InvalidName(
            "nothing was done: this wants to be confirmed, and there is no terminal to ask at",
            hint=f"add --yes if it is meant: {warning[0].lower()}{warning[1:]}",
        )
    if ask(f"{warning}. To go on, type {word}: ") != word:
        raise InvalidName("nothing was done")


def ask(question: str) -> str:
    """Read a line; a pipe is asked without a word."""
    if sys.stdin.isatty():
        sys.stderr.write(question)
        sys.stderr.flush()
    answer = sys.stdin.readline()
    if not answer:
        raise InvalidName("nothing was answered", hint="give it with --ref, or pipe it in")
    return answer.strip()


def say_journal(emptied: bool) -> None:  # noqa: FBT001  it is what was found, not what to do
    """Warn where the journal of a SQLite file still holds what is no more in the file."""
    if not emptied:
        terminal.warn(
            "another process is reading, so the journal of the database still holds what is no "
            "more in it; run the same command again until it does not say so"
        )
