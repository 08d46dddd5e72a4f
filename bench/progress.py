"""A bar for minutes of work: what runs now, how long it will take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from types import TracebackType


class Bar:
    """One bar at a time; work is counted in the seconds it is expected to take."""

    def __init__(self) -> None:
        self._progress = Progress(
            BarColumn(30), TextColumn("{task.percentage:>3.0f} %"), TimeElapsedColumn(),
            TextColumn("{task.description}"),
        )  # fmt: skip
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def start(self, title: str, seconds: float) -> None:
        """Begin a bar and say how long it may take."""
        self.say(f"{title}: about {_duration(seconds)}")
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._task = self._progress.add_task(title, total=max(seconds, 1e-9))

    def at(self, doing: str) -> None:
        """Say what runs now."""
        if self._task is not None:
            self._progress.update(self._task, description=doing)

    def advance(self, seconds: float) -> None:
        """Count work as done."""
        if self._task is not None:
            self._progress.advance(self._task, seconds)

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        self._progress.console.print(line, highlight=False, soft_wrap=True)


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds > 90 else f"{seconds:.0f} seconds"
