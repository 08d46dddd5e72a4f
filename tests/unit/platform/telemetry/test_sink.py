from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator

import pytest

from alama.platform.telemetry.log import LATE_S_MAX, TOGETHER_MAX, Sink


class Pipe:
    """Both ends of a pipe; `writes` tells what arrived, as far as it has."""

    def __init__(self) -> None:
        self.reading, self.writing = os.pipe()
        os.set_blocking(self.reading, False)

    def arrived(self) -> bytes:
        try:
            return os.read(self.reading, 1 << 20)
        except BlockingIOError:
            return b""

    def close(self) -> None:
        os.close(self.reading)
        os.close(self.writing)


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    pipe = Pipe()
    yield pipe
    pipe.close()


def test_a_line_that_can_wait_is_written_within_its_time(pipe: Pipe) -> None:
    async def scenario() -> tuple[bytes, bytes]:
        Sink(pipe.writing).later("one\n")
        at_once = pipe.arrived()
        await asyncio.sleep(LATE_S_MAX + 0.1)
        return at_once, pipe.arrived()

    assert asyncio.run(scenario()) == (b"", b"one\n")


def test_lines_go_out_again_and_again(pipe: Pipe) -> None:
    async def scenario() -> None:
        sink = Sink(pipe.writing)
        for line in (b"one\n", b"two\n"):
            sink.later(line.decode())
            await asyncio.sleep(LATE_S_MAX + 0.1)
            assert pipe.arrived() == line

    asyncio.run(scenario())


def test_a_line_that_cannot_wait_comes_after_those_that_did(pipe: Pipe) -> None:
    async def scenario() -> bytes:
        sink = Sink(pipe.writing)
        sink.later("one\n")
        sink.now("two\n")
        return pipe.arrived()

    assert asyncio.run(scenario()) == b"one\ntwo\n"


def test_every_write_is_of_whole_lines_and_no_larger_than_a_pipe_takes_whole(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[bytes] = []

    def write(_descriptor: int, data: bytes) -> int:
        written.append(data)
        return len(data)

    monkeypatch.setattr(os, "write", write)

    async def scenario() -> None:
        sink = Sink(pipe.writing)
        for number in range(1000):
            sink.later(f"line {number}\n")
        sink.flush()

    asyncio.run(scenario())
    assert all(data.endswith(b"\n") and len(data) <= TOGETHER_MAX for data in written)
    assert b"".join(written) == b"".join(b"line %d\n" % number for number in range(1000))
    assert len(written) < 10


def write_often(sink: Sink) -> None:
    for _ in range(2000):
        sink.now("now\n")


def test_no_line_is_lost_when_threads_write_at_once(pipe: Pipe) -> None:
    async def scenario() -> bytes:
        sink = Sink(pipe.writing)
        thread = threading.Thread(target=write_often, args=(sink,))
        thread.start()
        for _ in range(2000):
            sink.later("later\n")
        await asyncio.to_thread(thread.join)
        sink.flush()
        return pipe.arrived()

    lines = asyncio.run(scenario()).splitlines()
    assert lines.count(b"now") == lines.count(b"later") == 2000


def test_a_reader_that_left_stops_nothing() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    Sink(writing).now("nobody reads this\n")
    os.close(writing)
