"""What a module must offer to be a command of the front door."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    import argparse

# argparse gives the type of what `add_subparsers()` returns no public name.
Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001


class Command(Protocol):
    """A module named for the noun it serves, imported when that noun is called.

    `register` adds to the noun's parser what it takes, and calls `set_defaults(run=...)` on it or
    on those below with a function `run(args: argparse.Namespace) -> int` that returns the exit
    code. The module imports at its top what it needs, but for the training libraries and Arrow:
    they take longer to load than most commands take to run, and may not be installed.
    """

    def register(self, parser: argparse.ArgumentParser) -> None: ...
