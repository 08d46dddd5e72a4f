"""What a caller sees of a service whose database is in trouble."""

from __future__ import annotations

from tests.reliability.client import Client, Reply
from tests.reliability.load import OK, UNAVAILABLE, Load
from tests.reliability.processes import wait_until


def wait_until_unhealthy(client: Client, within_s: float) -> None:
    """Wait until /v1/health says that nothing can be scored, and why."""
    report = _wait_for_health(client, UNAVAILABLE, within_s)
    assert report.json["status"] == "unavailable"
    assert report.json["reason"]
    assert int(report.headers["Retry-After"]) >= 1


def wait_until_healthy(client: Client, within_s: float) -> None:
    _wait_for_health(client, OK, within_s)


def _wait_for_health(client: Client, status: int, within_s: float) -> Reply:
    reports = []

    def reported() -> bool:
        # Being in trouble is no reason to be restarted: the process itself is alive all the time.
        assert client.get("/livez").status == OK
        client.reconnect()  # the worker that was refused no score may have room for a few bytes
        reports.append(client.get("/v1/health"))
        return reports[-1].status == status

    wait_until(reported, within_s, f"reporting {status}")
    return reports[-1]


def wait_until_all_are_refused(load: Load, within_s: float, in_a_row: int = 20) -> None:
    """Wait until so many requests in a row get no score.

    Not at once: what fits into the last free page of a full disk may still be kept.
    """
    seen = (load.answered, load.statuses[UNAVAILABLE])

    def only_refused() -> bool:
        nonlocal seen
        answered, refused = load.answered, load.statuses[UNAVAILABLE]
        if answered != seen[0]:
            seen = (answered, refused)
        return refused - seen[1] >= in_a_row

    wait_until(only_refused, within_s, "refused")
