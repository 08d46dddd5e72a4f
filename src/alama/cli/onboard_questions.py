"""What an onboarding has to know and nobody has said yet: asked at a terminal, else refused."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Final, Protocol, TypeVar

from alama.cli import terminal
from alama.core.errors import AlamaError
from alama.service.errors import InvalidName

Answer = TypeVar("Answer")

Read = Callable[[str], Answer]
"""Understands an answer, or raises `AlamaError` or `argparse.ArgumentTypeError`."""


class Question(Protocol):
    """Asks for one thing."""

    def __call__(
        self, question: str, option: str, read: Read[Answer], default: str | None = None
    ) -> Answer:
        """Give what was answered; `option` is how it is said on the command line."""
        ...


def asker() -> Question:
    """Ask where somebody looks on and can answer; elsewhere take defaults, or refuse."""
    seen = sys.stdin.isatty() and sys.stderr.isatty()
    return ask_person if seen else take_default


def take_default(
    question: str, option: str, read: Read[Answer], default: str | None = None
) -> Answer:
    """Answer by the default; `InvalidName` names the option where there is none."""
    if default is None:
        raise InvalidName(f"this is not known yet: {question}", hint=f"say {option}")
    return read(default)


def ask_person(
    question: str, option: str, read: Read[Answer], default: str | None = None
) -> Answer:
    """Ask until the answer is understood; an empty one is the default."""
    shown = "" if default is None else f" [{default}]"
    while True:
        sys.stderr.write(f"{question}{shown}: ")
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            raise InvalidName(f"this was not answered: {question}", hint=f"say {option}")
        answer = line.strip() or default
        if answer is None:
            continue
        try:
            return read(answer)
        except AlamaError as error:
            terminal.error(str(error), error.hint)
        except argparse.ArgumentTypeError as error:
            terminal.error(str(error))


YES: Final = frozenset({"y", "yes"})
NO: Final = frozenset({"n", "no"})


def yes_or_no(text: str) -> bool:
    """Understand yes and no."""
    word = text.casefold()
    if word not in YES | NO:
        raise InvalidName("that is neither yes nor no")
    return word in YES
