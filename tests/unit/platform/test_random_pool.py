"""Random bytes: as many as asked for, and never the same, whoever asks."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from alama.platform.ids import _AT_ONCE, RandomPool

SIZE = 16


def test_no_two_draws_are_alike_however_often_the_system_is_asked() -> None:
    chance = RandomPool(SIZE)
    drawn = [chance.draw() for _ in range(3 * _AT_ONCE)]
    assert {len(one) for one in drawn} == {SIZE}
    assert len(set(drawn)) == len(drawn)


def test_threads_that_draw_at_once_get_nothing_in_common() -> None:
    chance = RandomPool(SIZE)

    def many(_: int) -> list[bytes]:
        return [chance.draw() for _ in range(5 * _AT_ONCE)]

    with ThreadPoolExecutor(4) as threads:
        drawn = [one for part in threads.map(many, range(4)) for one in part]
    assert len(set(drawn)) == len(drawn)


@pytest.mark.skipif(not hasattr(os, "register_at_fork"), reason="nothing is forked here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_process_that_was_forked_draws_others() -> None:
    chance = RandomPool(SIZE)
    chance.draw()  # so that there is a pool to inherit
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(sending, chance.draw())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(receiving, SIZE) != chance.draw()
    os.close(receiving)
    os.close(sending)
