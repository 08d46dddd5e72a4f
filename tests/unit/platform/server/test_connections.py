"""How many connections there may be, and whose is closed where there are too many."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from alama.platform.server import connections
from alama.platform.server.connections import Connections, Limits, place_of
from tests.unit.platform.server.raw_http import (
    PATIENT,
    Noted,
    Spoken,
    rest,
    spoken,
    statuses,
    until,
)

GET = b"GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n"
SCORE = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
HELD = b"GET /held HTTP/1.1\r\nHost: x\r\n\r\n"
SMALL = PATIENT._replace(descriptors_kept=20, health=3, address_share=4)
DESCRIPTORS = 60  # 40 connections, 10 of one address without a head


def sends(served: Spoken, count: int, sent: bytes, stack: ExitStack) -> list[socket.socket]:
    opened = []
    for _ in range(count):
        caller = stack.enter_context(served.connect())
        caller.sendall(sent)
        opened.append(caller)
    return opened


def answer(caller: socket.socket, sent: bytes) -> int:
    caller.sendall(sent)
    return statuses(caller.recv(65_536))[0]


def is_closed(caller: socket.socket) -> bool:
    caller.settimeout(0)
    try:
        return caller.recv(1) == b""
    except ConnectionResetError:
        return True
    except BlockingIOError:
        return False


def test_one_address_has_a_share_of_heads_that_are_not_whole() -> None:
    with spoken(SMALL, DESCRIPTORS) as served, ExitStack() as stack:
        real = stack.enter_context(served.connect())
        assert answer(real, SCORE) == 200
        slow = sends(served, 100, b"GET / HTTP/1.1\r\n", stack)
        assert answer(stack.enter_context(served.connect()), GET) == 200
        assert answer(stack.enter_context(served.connect()), SCORE) == 200
        assert answer(real, SCORE) == 200
        until(lambda: sum(not is_closed(one) for one in slow) <= 10)
        assert served.noted.lines == ["address"]  # once, not a hundred times
        assert set(served.noted.reasons) == {"address"}


def test_where_all_are_taken_who_waits_longest_makes_room() -> None:
    with spoken(SMALL, DESCRIPTORS) as served, ExitStack() as stack:
        idle = []
        for _ in range(60):
            caller = stack.enter_context(served.connect())
            assert answer(caller, SCORE) == 200
            idle.append(caller)
        until(lambda: sum(map(is_closed, idle)) >= 20)
        time.sleep(0.5)  # in which no more are closed
        closed = [is_closed(one) for one in idle]
        assert 20 <= sum(closed) <= 24
        assert not any(closed[-30:])
        assert served.noted.lines == ["all"]


@pytest.mark.parametrize(
    "sent",
    [
        b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n",
        b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n" * 3,
    ],
    ids=["unfinished bodies", "unread replies"],
)
def test_who_owes_the_rest_of_a_body_or_reads_nothing_makes_room(sent: bytes) -> None:
    with spoken(SMALL, DESCRIPTORS) as served, ExitStack() as stack:
        owing = sends(served, 40, sent, stack)
        time.sleep(0.5)
        assert answer(stack.enter_context(served.connect()), SCORE) == 200
        assert served.noted.reasons
        assert owing


def test_where_nobody_waits_only_health_is_answered() -> None:
    with spoken(SMALL, DESCRIPTORS) as served, ExitStack() as stack:
        busy = sends(served, 40, HELD, stack)
        until(lambda: served.held == 40)
        refused = stack.enter_context(served.connect())
        refused.sendall(SCORE)
        said = rest(refused)
        assert statuses(said) == [503]
        assert b"retry-after: 1" in said
        for path in (b"/livez", b"/readyz", b"/v1/health"):
            with served.connect() as probe:
                probe.sendall(GET.replace(b"/v1/health", path))
                assert statuses(rest(probe)) == [200]  # and closed
        served.go_on.set()
        assert [statuses(one.recv(65_536)) for one in busy] == [[200]] * 40
        # As soon as it looks again who waits.
        until(lambda: answer(stack.enter_context(served.connect()), SCORE) == 200)


class Held:
    """A connection that counts how often it is looked at."""

    due_s, watch, looks = 0.0, Noted(), 0

    def __init__(self, place: str, *, is_busy: bool) -> None:
        self.place, self._is_busy = place, is_busy

    @property
    def is_waiting(self) -> bool:
        Held.looks += 1
        return not self._is_busy

    def expire(self) -> None: ...

    def cut(self) -> None: ...


def test_where_nobody_waits_newcomers_do_not_each_look_through_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "AGAIN_S", 3_600.0)  # however long the machine takes

    async def flooded() -> int:
        held = Connections(SMALL, DESCRIPTORS)
        for number in range(40):
            busy = Held(f"busy {number}", is_busy=True)
            assert held.opened(busy)
            held.settled(busy)
        Held.looks = 0
        for number in range(1_000):
            assert not held.opened(Held(f"new {number}", is_busy=False))
        return Held.looks

    assert asyncio.run(flooded()) <= 40 + 1_000 * (SMALL.health + 1)


@contextmanager
def descriptors(count: int) -> Iterator[None]:
    """Leave this process so many descriptors, all of them taken but one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
    taken: list[int] = []
    try:
        while True:
            try:
                taken.append(os.open(os.devnull, os.O_RDONLY))
            except OSError:
                break
        yield
    finally:
        for one in taken:
            os.close(one)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_that_no_descriptor_is_left_is_told_and_room_is_made() -> None:
    with spoken(SMALL, 10_000) as served, ExitStack() as stack:
        idle = sends(served, 10, b"", stack)
        time.sleep(0.2)
        with descriptors(256):
            until(lambda: "descriptors" in served.noted.lines)
        until(lambda: all(map(is_closed, idle)))
        assert answer(stack.enter_context(served.connect()), SCORE) == 200


@pytest.mark.parametrize(
    ("client", "place"),
    [
        (None, ""),
        (("10.1.2.3", 5), "10.1.2.3"),
        (("::ffff:10.1.2.3", 5), "::ffff:10.1.2.3"),
        (("2001:db8:1:2:3:4:5:6", 5), "20010db800010002"),
        (("fe80::1%eth0", 5), "fe80000000000000"),
    ],
)
def test_addresses_of_one_customer_count_as_one(client: tuple[str, int] | None, place: str) -> None:
    assert place_of(client) == place


def test_the_limits_are_those_that_the_pages_name() -> None:
    assert Limits() == Limits(
        head_bytes=32_768,
        head_s=10.0,
        body_s=30.0,
        body_bytes_s=16_384,
        reply_s=30.0,
        ahead=100,
        descriptors_kept=96,
        health=16,
        address_share=4,
        sweep_s=1.0,
    )
