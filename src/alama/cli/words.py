"""What administration commands say: results and remarks in whole lines, times and durations."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from alama.cli import terminal

if TYPE_CHECKING:
    from rich.console import RenderableType

_US: Final = 1_000_000
_SPANS: Final = (("d", 86_400 * _US), ("h", 3_600 * _US), ("min", 60 * _US), ("s", _US))


def say(result: RenderableType) -> None:
    """Print a result; brackets in a name of the lender's are not markup."""
    terminal.stdout().print(result, markup=False, soft_wrap=isinstance(result, str))


def remark(text: str) -> None:
    """Print a line about the result to stderr, out of the way of a pipe."""
    terminal.stderr().print(text, markup=False, soft_wrap=True)


def day(moment_us: int) -> str:
    """Give the day of a time, UTC."""
    return f"{_moment(moment_us):%Y-%m-%d}"


def minute(moment_us: int) -> str:
    """Give a time to the minute, UTC."""
    return f"{_moment(moment_us):%Y-%m-%d %H:%M}"


def second(moment_us: int) -> str:
    """Give a time to the second, UTC."""
    return f"{_moment(moment_us):%Y-%m-%d %H:%M:%S}"


def span(duration_us: int) -> str:
    """Give a duration in the largest unit that it fills, rounded down: 23 h, 5 min."""
    for unit, length_us in _SPANS:
        if duration_us >= length_us:
            return f"{duration_us // length_us} {unit}"
    return "0 s"


def _moment(moment_us: int) -> datetime:
    return datetime.fromtimestamp(moment_us / _US, UTC)
