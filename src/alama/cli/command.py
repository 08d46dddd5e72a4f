"""What a module must offer to be a command of the front door."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    import argparse

# argparse gives the type of what `add_subparsers()` returns no public name.
Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001


class Command(Protocol):
    """A module of `alama.cli` named for the noun it serves.

    `register` adds the noun's parser and calls `set_defaults(run=...)` on it with a function
    `run(args: argparse.Namespace) -> int` that returns the exit code. It runs at every start of
    `alama`, so the module imports heavy libraries inside `run`, never at its top.
    """

    def register(self, subparsers: Subparsers) -> None: ...
