"""What a caller sees of a service whose database is in trouble."""

from __future__ import annotations

from tests.reliability.client import Client
from tests.reliability.load import OK, UNAVAILABLE, Load
from tests.reliability.processes import wait_until


def wait_until_unhealthy(client: Client, within_s: float) -> float:
    """Wait until /v1/health says that nothing can be scored, and why; give the seconds."""
    seconds = wait_until(lambda: health(client) == UNAVAILABLE, within_s, "unhealthy")
    report = client.get("/v1/health")
    assert report.json["status"] == "unavailable"
    assert report.json["reason"]
    assert int(report.headers["Retry-After"]) >= 1
    return seconds


def wait_until_healthy(client: Client, within_s: float) -> float:
    return wait_until(lambda: health(client) == OK, within_s, "healthy")


def health(client: Client) -> int:
    # Being in trouble is no reason to be restarted: the process itself is alive.
    assert client.get("/livez").status == OK
    return client.get("/v1/health").status


def wait_until_all_are_refused(load: Load, within_s: float, in_a_row: int = 20) -> float:
    """Wait until so many requests in a row get no score; give the seconds.

    Not at once: what fits into the last free page of a full disk may still be kept.
    """
    seen = (load.answered, load.statuses[UNAVAILABLE])

    def only_refused() -> bool:
        nonlocal seen
        answered, refused = load.answered, load.statuses[UNAVAILABLE]
        if answered != seen[0]:
            seen = (answered, refused)
        return refused - seen[1] >= in_a_row

    return wait_until(only_refused, within_s, "refused")
