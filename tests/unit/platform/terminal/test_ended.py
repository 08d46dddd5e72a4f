"""What is asked to end leaves its work as it leaves it on Ctrl-C, so that all is undone."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from alama.platform.terminal.terminal import undone_when_ended


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """As a terminal has them: `nohup` would have the second ignored."""
    before = {one: signal.signal(one, signal.SIG_DFL) for one in (signal.SIGTERM, signal.SIGHUP)}
    yield
    for one, handler in before.items():
        signal.signal(one, handler)


@pytest.mark.parametrize("asked", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_the_block_once_and_the_exit_code_tells_which(
    asked: signal.Signals,
) -> None:
    undone = []

    def work() -> None:
        with undone_when_ended():
            try:
                os.kill(os.getpid(), asked)
            finally:
                os.kill(os.getpid(), asked)  # impatient
                undone.append(True)

    before = signal.getsignal(asked)
    with pytest.raises(SystemExit) as it:
        work()
    assert it.value.code == 128 + asked
    assert undone == [True]
    assert signal.getsignal(asked) is before


def test_a_signal_that_was_ignored_stays_so() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with undone_when_ended():
        os.kill(os.getpid(), signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
