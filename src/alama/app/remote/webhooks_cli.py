"""`alama remote webhooks`: the actions of `alama webhooks`, done over HTTP."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import msgspec

from alama.app.remote.answers import microseconds
from alama.app.remote.client import Call, Client, Refused
from alama.app.remote.commands import add_where, connected, in_doubt
from alama.platform import clock, ids
from alama.platform.book import Book
from alama.platform.days import moment
from alama.platform.events import PREFIX, Event, EventKind
from alama.webhooks.cli import UseCases, Where, register_actions
from alama.webhooks.endpoints import NewEndpoint, require_endpoint_id
from alama.webhooks.endpoints_api import (
    AttemptPage,
    RotatedSecret,
    TestSent,
    WebhookEndpoint,
    WebhookEndpointCreated,
    WebhookEndpointList,
)
from alama.webhooks.events_api import EventPage, EventResent, EventsResent
from alama.webhooks.records import (
    Attempt,
    Change,
    Endpoint,
    Secrets,
    UnknownEvent,
    Waiting,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from alama.platform.terminal.command import Subparsers
    from alama.webhooks import events_api

DESCRIPTION: Final = """\
Have a service elsewhere tell other systems what happens in the book of the key, see what came of
it, and send events again. docs/webhooks.md says what is sent, and how a receiver verifies it."""

_ENDPOINTS: Final = "/v1/webhook_endpoints"
_EVENTS: Final = "/v1/events"
_GONE: Final = "unknown_webhook_endpoint"
_MAY_BE_THERE: Final = (
    "It may be there, with a secret that nobody has: `alama remote webhooks list` shows it, "
    "`remove` takes it away."
)


def register(nouns: Subparsers) -> None:
    """Add the noun with every action of the local one."""
    parser = nouns.add_parser(
        "webhooks", help="where events are sent, and what came of it", description=DESCRIPTION
    )
    register_actions(parser, Where("alama remote webhooks", add_where, _opened, _of))


@contextmanager
def _opened(args: argparse.Namespace) -> Iterator[UseCases]:
    with connected(args) as session:
        login, client = session
        book = Book(login.lender or "the lender", login.mode)
        yield UseCases(book, Endpoints(client), Events(client), clock.wall_us)


def _of(args: argparse.Namespace) -> str:
    at = None if args.at is None else f"--at {args.at}"
    mode = None if args.mode is None else f"--mode {args.mode}"
    return " ".join(filter(None, (at, mode)))


class Endpoints:
    """What `webhooks.endpoints.Endpoints` does, at a service elsewhere."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @property
    def check_url(self) -> Callable[[str], None]:
        return lambda _url: None  # the service says what it refuses

    def add(self, book: Book, new: NewEndpoint) -> tuple[str, Endpoint]:
        body = {"url": new.url, "kinds": new.kinds, "description": new.description}
        call = _post(_ENDPOINTS, body)._replace(repeatable=False)
        with in_doubt(_MAY_BE_THERE):
            made = self._client.ask(call, WebhookEndpointCreated)
        return made.secret, _endpoint(book, made)

    def of(self, book: Book) -> Sequence[Endpoint]:
        return [_endpoint(book, one) for one in _listed(self._client)]

    def find(self, book: Book, endpoint_id: str) -> Endpoint:
        return _endpoint(book, self._client.ask(Call("GET", _path(endpoint_id)), WebhookEndpoint))

    def change(self, book: Book, endpoint_id: str, change: Change) -> Endpoint:
        said = {name: told for name, told in change._asdict().items() if told is not None}
        call = Call("PATCH", _path(endpoint_id), body=msgspec.json.encode(said))
        return _endpoint(book, self._client.ask(call, WebhookEndpoint))

    def remove(self, _book: Book, endpoint_id: str) -> None:
        try:
            self._client.fetch(Call("DELETE", _path(endpoint_id)))
        except Refused as error:
            if not (error.code == _GONE and error.may_be_done):  # by what was sent before
                raise

    def rotate(self, book: Book, endpoint_id: str, overlap_us: int) -> tuple[str, Endpoint]:
        # Found first: once there is a new secret, nothing may keep it from being handed over.
        endpoint = self.find(book, endpoint_id)
        call = _post(f"{_path(endpoint_id)}/rotate_secret", {"expire_previous": overlap_us == 0})
        made = self._client.ask(call, RotatedSecret)
        ends = made.previous_expires_at
        until_us = None if ends is None else microseconds(ends)
        secrets = endpoint.secrets._replace(previous_until_us=until_us)
        return made.secret, msgspec.structs.replace(endpoint, secrets=secrets)

    def test(self, book: Book, endpoint_id: str) -> Event:
        sent = self._client.ask(_post(f"{_path(endpoint_id)}/test", {}), TestSent)
        kind, now_us = EventKind.TEST.value, clock.wall_us()
        return Event(sent.event, book.lender, book.mode, kind, endpoint_id, now_us, b"")

    def attempts(
        self, book: Book, endpoint_id: str, before: str | None, limit: int
    ) -> Sequence[Attempt]:
        path = f"{_path(endpoint_id)}/attempts"
        pages = self._client.pages(path, AttemptPage, {}, before, limit)
        return [
            Attempt(
                one.id,
                book.lender,
                book.mode,
                endpoint_id,
                one.event,
                one.number,
                microseconds(one.started_at),
                one.took_ms or 0,
                one.status,
                one.error,
                one.answer,
            )
            for page in pages
            for one in page.data
        ]


class Events:
    """What `webhooks.events.Events` does, at a service elsewhere."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def page(
        self, book: Book, kind: EventKind | None, before: str | None, limit: int
    ) -> Sequence[Event]:
        query = {} if kind is None else {"kind": kind.value}
        pages = self._client.pages(_EVENTS, EventPage, query, before, limit)
        return [_event(book, one) for page in pages for one in page.data]

    def resend(self, _book: Book, event_id: str) -> int:
        return self._resent(event_id, {})

    def resend_to(self, _book: Book, event_id: str, endpoint_id: str) -> int:
        return self._resent(event_id, {"endpoint_id": require_endpoint_id(endpoint_id)})

    def resend_since(self, _book: Book, endpoint_id: str, since_us: int) -> int:
        call = _post(f"{_path(endpoint_id)}/resend", {"since": moment(since_us)})
        return self._client.ask(call, EventsResent).events

    def waiting(self, _book: Book, endpoint_ids: Sequence[str]) -> Mapping[str, Waiting]:
        return {
            one.id: _waiting(one)
            for one in _listed(self._client)
            if one.id in endpoint_ids and one.pending.count
        }

    def _resent(self, event_id: str, body: Mapping[str, object]) -> int:
        if not ids.is_sortable(PREFIX, event_id):
            raise UnknownEvent
        return self._client.ask(_post(f"{_EVENTS}/{event_id}/resend", body), EventResent).deliveries


def _post(path: str, body: Mapping[str, object]) -> Call:
    return Call("POST", path, body=msgspec.json.encode(body))


def _listed(client: Client) -> Sequence[WebhookEndpoint]:
    return client.ask(Call("GET", _ENDPOINTS), WebhookEndpointList).data


def _path(endpoint_id: str) -> str:
    return f"{_ENDPOINTS}/{require_endpoint_id(endpoint_id)}"


def _endpoint(book: Book, told: WebhookEndpoint) -> Endpoint:
    return Endpoint(
        id=told.id,
        book=book,
        url=told.url,
        kinds=tuple(told.kinds),
        description=told.description,
        created_us=microseconds(told.created_at),
        secrets=Secrets("", b""),
        failing_since_us=None if told.failing_since is None else microseconds(told.failing_since),
        disabled_us=None if told.disabled_at is None else microseconds(told.disabled_at),
        disabled_reason=told.disabled_reason,
    )


def _waiting(told: WebhookEndpoint) -> Waiting:
    due = told.pending.next_attempt_at
    # Whether a worker runs is not on the wire, and not the lender's to mend.
    return Waiting(told.pending.count, None if due is None else microseconds(due), is_overdue=False)


def _event(book: Book, told: events_api.Event) -> Event:
    at_us = microseconds(told.created_at)
    return Event(told.id, book.lender, book.mode, told.kind, told.subject, at_us, b"")
