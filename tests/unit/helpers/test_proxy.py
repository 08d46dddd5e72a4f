"""The proxy fails as networks do: refused, reset and silent, and then works again."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from socketserver import StreamRequestHandler, ThreadingTCPServer

import psycopg
import pytest

from tests.databases import Postgres, through
from tests.ports import free_port
from tests.proxy import Proxy

SILENCE_S = 0.2


class Echo(StreamRequestHandler):
    def handle(self) -> None:
        for line in self.rfile:
            self.wfile.write(line)


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    """A proxy before a server that sends back every line."""
    with ThreadingTCPServer(("127.0.0.1", 0), Echo) as server:
        host, port = server.socket.getsockname()
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            with Proxy(host, port) as proxy:
                yield proxy
        finally:
            server.shutdown()
            thread.join()


def connect(proxy: Proxy) -> socket.socket:
    return socket.create_connection((proxy.host, proxy.port), timeout=60)


def echo(connection: socket.socket, line: bytes) -> bytes:
    connection.sendall(line)
    return receive(connection, len(line))


def receive(connection: socket.socket, length: int) -> bytes:
    received = b""
    while len(received) < length and (chunk := connection.recv(length - len(received))):
        received += chunk
    return received


def has_ended(connection: socket.socket) -> bool:
    """Whether the other side is gone: in order, or by a reset where it had not read everything."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_bytes_pass_unchanged_both_ways(proxy: Proxy) -> None:
    long_line = b"x" * 1_000_000 + b"\n"
    with connect(proxy) as one, connect(proxy) as other:
        assert echo(one, b"first\n") == b"first\n"
        writing = threading.Thread(target=other.sendall, args=(long_line,))
        writing.start()
        assert receive(other, len(long_line)) == long_line
        writing.join()


def test_a_cut_ends_open_connections_and_refuses_new_ones(proxy: Proxy) -> None:
    with connect(proxy) as connection:
        assert echo(connection, b"before\n") == b"before\n"
        proxy.cut()
        assert has_ended(connection)
    with pytest.raises(ConnectionRefusedError):
        connect(proxy)


def test_a_cut_proxy_serves_the_same_port_when_mended(proxy: Proxy) -> None:
    port = proxy.port
    for _ in range(3):
        proxy.cut()
        proxy.cut()
        proxy.mend()
        with connect(proxy) as connection:
            assert echo(connection, b"again\n") == b"again\n"
    assert proxy.port == port


def test_a_stall_holds_back_and_loses_nothing(proxy: Proxy) -> None:
    with connect(proxy) as old:
        assert echo(old, b"before\n") == b"before\n"
        proxy.stall()
        with connect(proxy) as new:
            for connection in (old, new):
                connection.sendall(b"held\n")
                connection.settimeout(SILENCE_S)
                with pytest.raises(TimeoutError):
                    connection.recv(1)
                connection.settimeout(60)
            proxy.mend()
            assert [receive(connection, 5) for connection in (old, new)] == [b"held\n"] * 2


def test_a_stalled_connection_can_be_cut(proxy: Proxy) -> None:
    with connect(proxy) as connection:
        proxy.stall()
        connection.sendall(b"lost\n")
        proxy.cut()
        assert has_ended(connection)


def test_the_end_of_a_stall_leaves_no_thread_behind() -> None:
    before = set(threading.enumerate())
    with Proxy("127.0.0.1", free_port()) as proxy:
        with connect(proxy) as connection:
            assert has_ended(connection)  # nothing listens behind the proxy
        proxy.stall()
    assert set(threading.enumerate()) <= before


def test_a_database_session_is_lost_by_a_cut_and_another_one_works_after_it(
    postgres: Postgres,
) -> None:
    with postgres.fresh() as url, Proxy(postgres.host, postgres.port) as proxy:
        weak_url = through(url, proxy.port)
        with psycopg.connect(weak_url) as connection:
            connection.execute("SELECT 1")
            proxy.cut()
            with pytest.raises(psycopg.OperationalError):
                connection.execute("SELECT 1")
        proxy.mend()
        with psycopg.connect(weak_url) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
