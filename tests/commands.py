"""Commands of Alama, run without a process of their own."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout

import pytest

from alama.app.cli import main
from alama.platform.terminal import terminal


def run(arguments: Sequence[str], environment: Mapping[str, str]) -> tuple[int, str, str]:
    """The exit code of a command, what it prints, and what it says beside that.

    The environment is all that it finds there; nobody sits before it.
    """
    printed, said = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        for name in set(os.environ) - set(environment):
            patch.delenv(name)
        for name, value in environment.items():
            patch.setenv(name, value)
        patch.setattr(sys, "stdin", io.StringIO())
        _new_terminal()
        try:
            with redirect_stdout(printed), redirect_stderr(said):
                code = main(arguments)
        except SystemExit as left:  # what cannot be parsed
            code = int(left.code or 0)
        finally:
            _new_terminal()
    return code, printed.getvalue(), said.getvalue()


def _new_terminal() -> None:
    """As a process starts: a console keeps what it was made with."""
    terminal.stdout.cache_clear()
    terminal.stderr.cache_clear()
