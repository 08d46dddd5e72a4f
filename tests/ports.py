"""Ports for the servers that tests start."""

import random
import socket

HOST = "127.0.0.1"

# Below the ports that systems hand to outgoing connections, of which a load test opens thousands:
# none of those can take the port between our look at it and the moment its server binds it.
PORTS = range(20_000, 32_000)


def free_port() -> int:
    """A port of this machine on which nothing listens."""
    for port in random.SystemRandom().sample(PORTS, k=100):
        with socket.socket() as probe:
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return port
    raise OSError(f"100 ports of {HOST} were tried and every one is taken")
