from __future__ import annotations

import socket
from urllib.parse import urlsplit

from tests.ports import HOST
from tests.receivers import Receivers

WITHIN_S = 60.0
STALLED = b"POST /stall HTTP/1.1\r\nwebhook-id: evt_1\r\ncontent-length: 0\r\n\r\n"


def test_whoever_is_still_connected_at_the_end_is_hung_up_on() -> None:
    with socket.socket() as waiting:
        waiting.settimeout(WITHIN_S)
        with Receivers() as receivers:
            waiting.connect((HOST, urlsplit(receivers.url).port))
            waiting.sendall(STALLED)
            assert receivers.wait_for(lambda: "evt_1" in receivers.seen["/stall"], WITHIN_S)
        assert waiting.recv(1) == b""
