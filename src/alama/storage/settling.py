"""What came of deliveries: written down, with what follows from it for their endpoints."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import msgspec
from sqlalchemy import bindparam, update

from alama.service.audit import endpoint_acts
from alama.service.webhooks.events import EventKind
from alama.service.webhooks.reasons import DisabledReason
from alama.service.webhooks.records import ANSWER_OF_SUCCESS_MAX, Attempt
from alama.service.webhooks.schedule import failing_too_long
from alama.storage import schema
from alama.storage.endpoints import ENDPOINTS, end_resend, endpoint_of, locked
from alama.storage.event_rows import announce
from alama.storage.prepared import Prepared
from alama.storage.upserts import insert_into

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import ColumnElement, Connection, Update

    from alama.service.webhooks.records import Endpoint, Settled
    from alama.storage.acts import ActLog

_OVER: Final[dict[str, Any]] = {
    "attempts": bindparam("number"),
    "claimed_by": None,
    "next_us": None,
}


def _mine(*more: ColumnElement[bool]) -> Update:
    """Change a delivery, if the claim on it is still this worker's."""
    table = schema.deliveries
    return update(table).where(
        table.c.endpoint_id == bindparam("to"),
        table.c.event_id == bindparam("of"),
        table.c.claimed_by == bindparam("worker"),
        *more,
    )


_TOLD: Final = ("to", "of", "worker", "number")
_DELIVERED: Final = Prepared(
    lambda _: _mine().values(_OVER | {"delivered_us": bindparam("at_us"), "failed_us": None}),
    (*_TOLD, "at_us"),
)
_AGAIN: Final = Prepared(
    lambda _: _mine(schema.deliveries.c.next_us.is_not(None)).values(
        _OVER | {"next_us": bindparam("due_us")}
    ),
    (*_TOLD, "due_us"),
)
_GIVEN_UP: Final = Prepared(
    lambda _: _mine().values(_OVER | {"failed_us": bindparam("at_us")}), (*_TOLD, "at_us")
)
_ATTEMPTS: Final = Prepared(
    # Once, though a worker that heard nothing of its commit says it again.
    lambda connection: insert_into(connection, schema.webhook_attempts).on_conflict_do_nothing(),
    Attempt._fields,
)


def settle(
    connection: Connection, log: ActLog, worker: str, settled: Sequence[Settled]
) -> list[Endpoint]:
    """Note what came of claims; see `alama.service.webhooks.ports.Outbox`."""
    concerned = {one.attempt.endpoint_id for one in settled}
    query = ENDPOINTS.where(schema.webhook_endpoints.c.id.in_(concerned))
    found = [endpoint_of(row) for row in connection.execute(locked(query))]
    # Of one that was removed meanwhile nothing is noted any more.
    at_each: dict[str, list[Settled]] = {endpoint.id: [] for endpoint in found}
    for one in settled:
        at_each.get(one.attempt.endpoint_id, []).append(one)
    noted = list(chain.from_iterable(at_each.values()))
    _write_outcomes(connection, worker, noted)
    _ATTEMPTS.run(connection, [_kept(one)._asdict() for one in noted])
    changed = [_after(endpoint, at_each[endpoint.id]) for endpoint in found]
    _write_states(connection, found, changed)
    disabled = [
        now
        for was, now in zip(found, changed, strict=True)
        if was.disabled_us is None and now.disabled_us is not None
    ]
    for endpoint in disabled:
        end_resend(connection, endpoint.id)
        _announce_end(connection, endpoint)
    for endpoint in disabled:
        log.append(connection, endpoint_acts.endpoint_disabled(endpoint))
    return disabled


def _write_outcomes(connection: Connection, worker: str, settled: Sequence[Settled]) -> None:
    """Write what came of each claim that is still this worker's.

    One that was given up while it was under way may still have arrived, but is not tried again.
    """
    for statement, chosen in (
        (_DELIVERED, [one for one in settled if one.verdict.delivered]),
        (_AGAIN, [one for one in settled if _is_due_again(one)]),
        (_GIVEN_UP, [one for one in settled if not (one.verdict.delivered or _is_due_again(one))]),
    ):
        statement.run(connection, [_outcome(one, worker) for one in chosen])


def _is_due_again(settled: Settled) -> bool:
    return not settled.verdict.delivered and settled.verdict.next_us is not None


def _outcome(settled: Settled, worker: str) -> dict[str, Any]:
    attempt = settled.attempt
    outcome: dict[str, Any] = {
        "to": attempt.endpoint_id,
        "of": attempt.event_id,
        "worker": worker,
        "number": attempt.number,
    }
    if _is_due_again(settled):
        return outcome | {"due_us": settled.verdict.next_us}
    return outcome | {"at_us": _ended_us(settled)}


def _ended_us(settled: Settled) -> int:
    return settled.attempt.started_us + 1_000 * settled.attempt.took_ms


def _kept(settled: Settled) -> Attempt:
    """Give an attempt as it is kept: what somebody says who is content is seldom read."""
    attempt = settled.attempt
    if not settled.verdict.delivered:
        return attempt
    return attempt._replace(answer=attempt.answer[:ANSWER_OF_SUCCESS_MAX])


def _after(endpoint: Endpoint, settled: Sequence[Settled]) -> Endpoint:
    """Give an endpoint as it is after attempts, some of which may be at what it was before."""
    if endpoint.disabled_us is not None:
        return endpoint
    is_now = (endpoint.url, endpoint.generation)
    at_it = [one for one in settled if (one.url, one.generation) == is_now]
    failing_us = endpoint.failing_since_us
    for one in sorted(at_it, key=_ended_us):
        if one.verdict.delivered:
            failing_us = None
        elif failing_us is None and not one.verdict.ours:
            failing_us = one.attempt.started_us
    now = msgspec.structs.replace(endpoint, failing_since_us=failing_us)
    for one in at_it:
        if one.verdict.disable is not None and _stands(one, failing_us):
            return msgspec.structs.replace(
                now, disabled_us=_ended_us(one), disabled_reason=one.verdict.disable.value
            )
    return now


def _stands(settled: Settled, failing_us: int | None) -> bool:
    """Say whether an endpoint is to be disabled still: something may have arrived meanwhile."""
    if settled.verdict.disable is not DisabledReason.FAILING:
        return True
    return failing_too_long(failing_us, _ended_us(settled))


def _write_states(
    connection: Connection, before: Iterable[Endpoint], after: Iterable[Endpoint]
) -> None:
    table = schema.webhook_endpoints
    for was, now in zip(before, after, strict=True):
        if was != now:
            connection.execute(
                update(table)
                .where(table.c.id == now.id)
                .values(
                    failing_since_us=now.failing_since_us,
                    disabled_us=now.disabled_us,
                    disabled_reason=now.disabled_reason,
                )
            )


def _announce_end(connection: Connection, endpoint: Endpoint) -> None:
    assert endpoint.disabled_us is not None
    data = {"endpoint_id": endpoint.id, "reason": endpoint.disabled_reason}
    kind = EventKind.ENDPOINT_DISABLED
    announce(connection, endpoint.book, kind, endpoint.id, data, endpoint.disabled_us)
