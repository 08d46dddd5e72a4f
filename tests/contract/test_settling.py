"""Many that are settled at once hold up nobody else for long: see `Outbox.settle`."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from sqlalchemy import Connection

from alama.lenders import keys
from alama.platform.acts import ActLog
from alama.platform.database.database import Database
from alama.webhooks import outbox
from alama.webhooks.records import DisabledReason, Endpoint, Settled
from tests.entries import DEMO, NOON_US
from tests.stores import registry_in
from tests.webhooked import Hooks, an_event, delivered, failed


def test_many_are_noted_in_several_transactions(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys.add_lender(registry_in(database), lambda: NOON_US, "demo", "demo", "KES")
    hooks, at_once = Hooks(database), []

    def settle(
        connection: Connection, log: ActLog, worker: str, settled: Sequence[Settled]
    ) -> list[Endpoint]:
        at_once.append(len(settled))
        return settling_in_fact(connection, log, worker, settled)

    settling_in_fact = outbox.settle_some
    monkeypatch.setattr(outbox, "SETTLED_AT_ONCE", 2)
    monkeypatch.setattr(outbox, "settle_some", settle)
    gone, endpoint = hooks.add(), hooks.add()
    hooks.dispatched(an_event(), an_event(), an_event())
    due = hooks.claim()
    arrived = [delivered(one, NOON_US) for one in due if one.endpoint.id == endpoint.id]
    ended = [
        failed(one, NOON_US, disable=DisabledReason.GONE)
        for one in due
        if one.endpoint.id == gone.id
    ]
    disabled = hooks.outbox.settle("one", [*ended[:2], *arrived])
    assert at_once == [2, 2, 1]
    assert [one.id for one in disabled] == [gone.id]
    assert len(hooks.endpoints.attempts(DEMO, gone.id, None, 10)) == 2
    assert len(hooks.endpoints.attempts(DEMO, endpoint.id, None, 10)) == 3
    assert hooks.outbox.backlog().deliveries == 0
