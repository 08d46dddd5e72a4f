"""The progress of what is counted in bytes, and may not be known beforehand."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

from alama.cli import terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alama.cli.terminal import Progress
    from alama.storage.keeping.sqlite_backup import Watch

_MEGABYTE: Final = 1_000_000


@contextmanager
def counted(description: str) -> Iterator[Watch]:
    """Show a bar from the first time that something is told: only then its length is known."""
    with ExitStack() as stack:
        bar: Progress | None = None
        reached = 0

        def tell(done: int, total: int | None) -> None:
            nonlocal bar, reached
            if bar is None:
                length = None if total is None else total / _MEGABYTE
                # Not for the nightly mail of a timer: the result has the size and the time.
                shown = terminal.progress(description, length, unit="MB", vanishing=True)
                bar = stack.enter_context(shown)
            bar.advance((done - reached) / _MEGABYTE)
            reached = done

        yield tell
