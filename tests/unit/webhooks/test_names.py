"""No name keeps another one waiting, and a silent name server holds one thread for each name."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from contextlib import suppress

import pytest

from alama.webhooks.sender import OF_LENDER_MAX, UNDER_WAY_MAX, Names, TooManyNames, on_behalf_of

SOON_S = 0.05
ADDRESS = "203.0.113.7"


class Server:
    """A name server that is silent until it is told to speak, and counts who asks."""

    def __init__(self) -> None:
        self.speaks = threading.Event()
        self.asked: list[str] = []

    def __call__(self, name: str) -> list[str]:
        self.asked.append(name)
        self.speaks.wait(60)
        return [ADDRESS]


def test_those_who_ask_for_a_name_at_once_share_one_lookup() -> None:
    async def scenario(server: Server) -> None:
        names = Names(server)
        asking = [asyncio.create_task(names.resolve("slow.example", port)) for port in (443, 8443)]
        await asyncio.sleep(SOON_S)
        server.speaks.set()
        found = [address for answer in asking for address in await answer]
        assert [(one["host"], one["port"]) for one in found] == [(ADDRESS, 443), (ADDRESS, 8443)]
        assert server.asked == ["slow.example"]
        await names.resolve("slow.example")
        assert server.asked == ["slow.example"] * 2, "what was found is not kept"

    asyncio.run(scenario(Server()))


def test_who_stops_waiting_for_a_name_takes_it_from_nobody_else() -> None:
    async def scenario(server: Server) -> None:
        names = Names(server)
        leaving, staying = (asyncio.create_task(names.resolve("slow.example")) for _ in range(2))
        await asyncio.sleep(SOON_S)
        leaving.cancel()
        await asyncio.sleep(SOON_S)
        server.speaks.set()
        assert (await staying)[0]["host"] == ADDRESS

    asyncio.run(scenario(Server()))


def test_while_a_lookup_is_overdue_the_next_one_fails_at_once_and_holds_no_thread() -> None:
    async def scenario(server: Server) -> None:
        names = Names(server, timeout_s=SOON_S)
        for _ in range(20):
            with pytest.raises(OSError, match="does not answer") as failure:
                await names.resolve("slow.example")
            assert not isinstance(failure.value, TimeoutError)
        assert server.asked == ["slow.example"]
        server.speaks.set()
        async with asyncio.timeout(60):
            while True:
                with suppress(OSError):  # until its thread has heard, and the next has begun
                    assert (await names.resolve("slow.example"))[0]["host"] == ADDRESS
                    return
                await asyncio.sleep(SOON_S)

    asyncio.run(scenario(Server()))


def test_so_many_names_are_looked_up_at_once_and_no_more() -> None:
    async def scenario(server: Server) -> None:
        names = Names(server)
        asking = []
        for number in range(UNDER_WAY_MAX):
            with on_behalf_of(f"lender{number % 20}"):
                asking.append(asyncio.create_task(names.resolve(f"slow{number}.example")))
        await asyncio.sleep(SOON_S)
        with pytest.raises(TooManyNames):
            await names.resolve("one-more.example")
        server.speaks.set()
        await asyncio.gather(*asking)
        assert (await names.resolve("one-more.example"))[0]["host"] == ADDRESS

    asyncio.run(scenario(Server()))


def test_a_lender_whose_names_are_silent_keeps_nobody_else_from_looking_theirs_up() -> None:
    async def scenario(server: Server) -> None:
        names = Names(server)
        with on_behalf_of("silent"):
            asking = [
                asyncio.create_task(names.resolve(f"slow{number}.example"))
                for number in range(OF_LENDER_MAX)
            ]
            await asyncio.sleep(SOON_S)
            with pytest.raises(TooManyNames):
                await names.resolve("one-more.example")
        with on_behalf_of("other"):
            asking.append(asyncio.create_task(names.resolve("one-more.example")))
        await asyncio.sleep(SOON_S)
        server.speaks.set()
        assert (await asking[-1])[0]["host"] == ADDRESS
        await asyncio.gather(*asking)

    asyncio.run(scenario(Server()))


def test_a_name_can_be_looked_up_after_there_was_no_thread_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def scenario(server: Server) -> None:
        names = Names(server)
        with monkeypatch.context() as short:
            short.setattr(threading.Thread, "start", refuse)
            with pytest.raises(TooManyNames):
                await names.resolve("hooks.example")
        server.speaks.set()
        assert (await names.resolve("hooks.example"))[0]["host"] == ADDRESS

    asyncio.run(scenario(Server()))


STOPS = """
import asyncio, time
from alama.webhooks.sender import Names

async def stop() -> None:
    names = Names(lambda name: time.sleep(60), timeout_s=0.05)
    await asyncio.gather(names.resolve("slow.example"), return_exceptions=True)
    await names.close()

asyncio.run(stop())
"""


def test_a_process_ends_though_a_name_server_is_silent() -> None:
    subprocess.run([sys.executable, "-c", STOPS], check=True, timeout=120)
