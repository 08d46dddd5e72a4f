"""Webhooks: whom nothing reaches, what waits, whether anybody sends, and the way out."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NoReturn

from alama.lenders.keys import US_PER_DAY, US_PER_HOUR, US_PER_SECOND
from alama.operations import diagnosis
from alama.operations.doctor.findings import number, some
from alama.operations.findings import Finding, broken, look, ok, unchecked
from alama.platform.acts import ActLog
from alama.webhooks import sender
from alama.webhooks.event_store import EventStore
from alama.webhooks.outbox import Outbox
from alama.webhooks.records import Endpoint, Listed, SendError
from alama.webhooks.sender import Lookup, probe

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from alama.operations.doctor.patient import Patient
    from alama.platform.addresses import Reach
    from alama.platform.book import Book
    from alama.platform.database.database import Database


PROBES_MAX: Final = 20
"""Receivers that are probed, one for each host."""

BACKLOG_LOOK: Final = 10_000
UNSEEN_US: Final = 60 * US_PER_SECOND
"""A worker looks at each event within seconds."""

_WHY: Final = {
    SendError.TIMEOUT: "no answer in time",
    SendError.URL_REFUSED: "its URL is not allowed here",
    SendError.NAME_NOT_RESOLVED: "its name is not known",
    SendError.ADDRESS_FORBIDDEN: "its address is not allowed",
    SendError.CONNECTION_FAILED: "no connection",
    SendError.TLS_FAILED: "TLS failed",
}
_ALLOW: Final = frozenset({SendError.ADDRESS_FORBIDDEN, SendError.URL_REFUSED})


def examine(patient: Patient, lookup: Lookup = sender.system_lookup) -> Iterator[Finding]:
    """Look at what is sent, and probe those it is sent to."""
    database = patient.fit
    if database is None:
        return
    found = diagnosis.endpoints(database)
    yield judged_endpoints(found)
    yield _backlog(patient, database)
    yield _worker(patient, database, found.known)
    enabled = [endpoint for endpoint in found.known if endpoint.disabled_us is None]
    yield way_out(enabled, patient.settings.webhook_reach, lookup)


def judged_endpoints(found: Listed) -> Finding:
    """Judge whether each endpoint gets what it is to get."""
    check, show = "webhooks.endpoints", "`alama webhooks list` shows them"
    if found.unreadable:
        return broken(
            check,
            f"the rows of {some(sorted(found.unreadable))} cannot be read",
            "restore the table webhook_endpoints from a backup",
        )
    disabled = [one for one in found.known if one.disabled_us is not None]
    given_up = [one for one in disabled if one.disabled_reason != "requested"]
    failing = [
        one for one in found.known if one.failing_since_us is not None and one.disabled_us is None
    ]
    if given_up:
        return look(
            check,
            f"{number(len(given_up), 'endpoint')} given up after days of failing, or gone: "
            f"{_named(given_up)}",
            f"have its receiver mended, then enable it again; {show}",
        )
    if failing:
        return look(
            check,
            f"{number(len(failing), 'endpoint')} with nothing arriving: {_named(failing)}",
            f"ask whoever runs the receiver; {show}",
        )
    if not found.known:
        return unchecked(check, "no lender has asked to be told of anything")
    off = f", {len(disabled)} switched off" if disabled else ""
    return ok(check, f"{number(len(found.known), 'endpoint')}{off}, and none is failing")


def _backlog(patient: Patient, database: Database) -> Finding:
    check = "webhooks.backlog"
    log = ActLog(database, _nobody_signs, patient.clock, "doctor")
    backlog = Outbox(database, log).backlog()
    waiting = backlog.events + backlog.deliveries
    if waiting > BACKLOG_LOOK:
        return look(
            check,
            f"{waiting:,} are on their way",
            "see which receiver is slow: `alama webhooks list`; or start more of `alama worker`",
        )
    return ok(check, f"{number(waiting, 'delivery', 'deliveries')} on the way")


def _worker(patient: Patient, database: Database, known: Sequence[Endpoint]) -> Finding:
    check, now_us = "webhooks.worker", patient.clock()
    books: defaultdict[Book, list[str]] = defaultdict(list)
    for endpoint in known:
        if endpoint.disabled_us is None:
            books[endpoint.book].append(endpoint.id)
    overdue = [
        endpoint_id
        for book, ids in books.items()
        for endpoint_id, waiting in EventStore(database).waiting(book, ids, now_us).items()
        if waiting.is_overdue
    ]
    oldest_us = diagnosis.oldest_event_us(database)
    if overdue or (oldest_us is not None and now_us - oldest_us > UNSEEN_US and books):
        is_alone = patient.settings.delivery == "alone"
        return broken(
            check,
            "what was due a minute ago and more has not been tried: no worker seems to run",
            "start `alama worker`, with the same database and secrets"
            if is_alone
            else "is `alama serve` running? ALAMA_DELIVERY=inside has it send; see its log",
        )
    last_us = diagnosis.last_attempt_us(database)
    if last_us is None:
        return unchecked(check, "nothing was to be sent in 30 days")
    return ok(check, f"nothing is overdue; the last attempt was {_ago(now_us - last_us)} ago")


def way_out(enabled: Sequence[Endpoint], reach: Reach, lookup: Lookup) -> Finding:
    """Connect to each receiver as an event would be, through the guard, and send nothing."""
    check = "webhooks.egress"
    by_host = {_host(endpoint): endpoint for endpoint in reversed(enabled)}
    chosen = list(by_host.values())[:PROBES_MAX]
    if not chosen:
        return unchecked(check, "there is nobody to be sent anything")
    errors = asyncio.run(_probe_all(chosen, reach, lookup))
    failed = [(one, error) for one, error in zip(chosen, errors, strict=True) if error is not None]
    if not failed:
        return ok(check, f"{number(len(chosen), 'receiver')} reached; nothing was sent")
    told = [f"{one.id} of {one.book.lender}: {_WHY.get(error, error)}" for one, error in failed]
    if any(error in _ALLOW for _, error in failed):
        todo = "name its network in ALAMA_WEBHOOK_ALLOW, if it is one of yours and meant"
    elif len(failed) == len(chosen) > 1:
        todo = "let this machine out to them: its firewall, its name server"
    else:
        todo = "ask whoever runs the receiver; or is it this machine that is not let out?"
    return look(check, f"{len(failed)} of {len(chosen)} not reached: {some(told)}", todo)


async def _probe_all(
    chosen: Sequence[Endpoint], reach: Reach, lookup: Lookup
) -> Sequence[SendError | None]:
    return await asyncio.gather(*(probe(one.url, reach, lookup) for one in chosen))


def _nobody_signs() -> NoReturn:
    raise AssertionError("who only looks does nothing that is signed")


def _host(endpoint: Endpoint) -> str:
    scheme, _, rest = endpoint.url.partition("://")
    return f"{scheme}://{rest.partition('/')[0].lower()}"


def _named(endpoints: Sequence[Endpoint]) -> str:
    return some([f"{one.id} of {one.book.lender}" for one in endpoints])


def _ago(duration_us: int) -> str:
    for unit, length_us in (("d", US_PER_DAY), ("h", US_PER_HOUR), ("min", 60 * US_PER_SECOND)):
        if duration_us >= length_us:
            return f"{duration_us // length_us} {unit}"
    return f"{max(0, duration_us) // US_PER_SECOND} s"
