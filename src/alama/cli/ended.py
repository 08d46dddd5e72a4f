"""Commands that have something to undo when they are asked to end."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_ASKED: Final = (signal.SIGTERM, signal.SIGHUP)
_BY_SIGNAL: Final = 128
"""What a shell adds to the number of the signal that ended a program."""


@contextmanager
def undone_when_ended() -> Iterator[None]:
    """Have SIGTERM and SIGHUP leave the block as Ctrl-C does, so that all is undone on the way.

    A signal that was ignored before stays so, as `nohup` wants it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # no other may ask for signals, and none reaches another
        return
    before = {one: signal.getsignal(one) for one in _ASKED}
    asked = [one for one, handler in before.items() if handler is not signal.SIG_IGN]

    def leave(number: int, _frame: FrameType | None) -> None:
        for one in asked:  # once is enough: a second would end what undoes
            signal.signal(one, signal.SIG_IGN)
        raise SystemExit(_BY_SIGNAL + number)

    for one in asked:
        signal.signal(one, leave)
    try:
        yield
    finally:
        for one in asked:
            signal.signal(one, before[one])
