"""`alama webhooks`: where events are sent, what came of it, and the secrets that sign."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias

from alama.core.errors import AlamaError
from alama.lenders.installation import existing_installation
from alama.platform import ids, settings
from alama.platform.addresses import InvalidUrl
from alama.platform.book import Book, Mode
from alama.platform.errors import InvalidName
from alama.platform.events import PREFIX, Event, EventKind
from alama.platform.terminal import terminal
from alama.platform.terminal.command import Subparsers, moment_us, whole
from alama.platform.terminal.tables import GAP, Lines, Stacked, cut, facts
from alama.platform.terminal.terminal import add_yes, confirm
from alama.webhooks import records as webhooks_records
from alama.webhooks.endpoints import Endpoints, NewEndpoint
from alama.webhooks.endpoints_api import attempt_line
from alama.webhooks.events import Events
from alama.webhooks.records import (
    ADDRESS_REFUSED,
    ATTEMPT_PREFIX,
    COUNTED_MAX,
    KEPT_US,
    RESENT_COUNTED_MAX,
    ROTATION_OVERLAP_US,
    Attempt,
    Change,
    Endpoint,
    EndpointDisabled,
    UnknownEndpoint,
    UnknownEvent,
    Waiting,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rich.table import Table

    from alama.platform.clock import Clock

    Shown: TypeAlias = Table | Stacked


DESCRIPTION: Final = """\
Tell other systems what happens in a lender's book: each event is signed and sent to every endpoint
that wants it, until it has arrived. A lender's own programs can do the same at
/v1/webhook_endpoints. docs/webhooks.md says what is sent, and how a receiver verifies it."""

ADD_DESCRIPTION: Final = """\
Add an endpoint and print its secret, alone, on standard output; the words about it go to standard
error. It is shown this once: the receiver needs it to verify what it gets."""

ADD_EXAMPLES: Final = """\
examples:
  # every event of the live book
  alama webhooks add umoja-sacco https://los.example.com/alama --mode live

  # scores alone, and the secret into a variable of the shell
  SECRET=$(alama webhooks add demo https://example.com/hook --mode test --kind score.created)"""

EXAMPLES: Final = """\
examples:
  # where the events of the lender demo are sent, and what waits for each
  alama webhooks list demo --mode test

  # send one an event to try it out, and see what came of it
  alama webhooks test demo we_0123456789abcdef0123456789ab --mode test
  alama webhooks attempts demo we_0123456789abcdef0123456789ab --mode test

  # events that it has missed, again
  alama webhooks resend demo --mode test --to we_0123456789abcdef0123456789ab \\
    --since 2026-11-15T06:00"""

LIST_DESCRIPTION: Final = """\
List the endpoints of a lender in a mode, oldest first: what each one wants and is for, whether it
is sent anything, and how many events wait for it. Times are UTC."""

SHOW_DESCRIPTION: Final = """\
Show one endpoint: what it wants, whether it is sent anything, what waits for it and when the next
attempt is. The secret is not shown again."""

UPDATE_DESCRIPTION: Final = """\
Change what is given, and leave the rest as it is; the secret stays. An endpoint that was disabled,
by somebody, by its own 410 or because nothing arrived for five days, is sent events again after
--enable; `alama webhooks resend` sends those that it missed."""

REMOVE_DESCRIPTION: Final = """\
Remove an endpoint and its secrets. What waits for it is not sent any more; what is being sent at
this moment may still arrive. What was tried there can no longer be read, and is dropped when it is
30 days old. It asks once more; in a script, where nobody can be asked, add --yes."""

ROTATE_DESCRIPTION: Final = """\
Give an endpoint a new secret and print it, alone, on standard output. The old one signs too for 24
hours, so that the receiver can change over in between; --now ends it at once. Another rotation
within that time replaces the new one: the old one, which receivers have, goes on to its end."""

TEST_DESCRIPTION: Final = """\
Send an event of the kind webhook.test to one endpoint, whatever kinds it wants. `alama webhooks
attempts` shows what came of it."""

_CONFIRMATION: Final = "remove"


def register(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    register_actions(parser, HERE)


def register_actions(parser: argparse.ArgumentParser, where: Where) -> None:
    """Add every action, for webhooks that are found there."""
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    added = actions.add_parser(
        "add",
        help="send events somewhere, and print the secret that signs them",
        description=ADD_DESCRIPTION,
        epilog=where.example(ADD_EXAMPLES),
    )
    where.add_to(added)
    added.add_argument("url", metavar="URL", help="https://...; who receives the events")
    add_kinds(added, "default: all")
    add_description(added)
    added.set_defaults(run=add)
    listed = actions.add_parser("list", help="list endpoints", description=LIST_DESCRIPTION)
    where.add_to(listed)
    listed.set_defaults(run=show_list)
    shown = actions.add_parser("show", help="show one endpoint", description=SHOW_DESCRIPTION)
    add_endpoint(shown, where)
    shown.set_defaults(run=show)
    _register_changes(actions, where)
    _register_events(actions, where)


def _register_changes(actions: Subparsers, where: Where) -> None:
    updated = actions.add_parser(
        "update", help="change one", description=where.named(UPDATE_DESCRIPTION)
    )
    add_endpoint(updated, where)
    updated.add_argument("--url", metavar="URL", help="another address")
    add_kinds(updated, "in place of those it wants now")
    add_description(updated)
    switch = updated.add_mutually_exclusive_group()
    switch.add_argument("--enable", action="store_true", help="send events to it again")
    switch.add_argument("--disable", action="store_true", help="send nothing more to it")
    updated.set_defaults(run=update)
    removed = actions.add_parser("remove", help="forget one", description=REMOVE_DESCRIPTION)
    add_endpoint(removed, where)
    add_yes(removed)
    removed.set_defaults(run=remove)
    rotated = actions.add_parser(
        "rotate", help="give one a new secret", description=ROTATE_DESCRIPTION
    )
    add_endpoint(rotated, where)
    rotated.add_argument("--now", action="store_true", help="end the old secret at once")
    rotated.set_defaults(run=rotate)
    tested = actions.add_parser(
        "test", help="send an event to try one out", description=where.named(TEST_DESCRIPTION)
    )
    add_endpoint(tested, where)
    tested.set_defaults(run=test)


def add(args: argparse.Namespace) -> int:
    """Add an endpoint; nothing but its secret goes to stdout."""
    new = NewEndpoint(args.url, kinds_of(args) or (), args.description or "")
    with args.where.opened(args) as can:
        secret, endpoint = can.endpoints.add(can.book, new)
    _hand_over(secret)
    wanted = ", ".join(endpoint.kinds) or "every event"
    terminal.remark(f"{endpoint.id}: {can.book.lender}, {can.book.mode} mode, {wanted}.")
    terminal.remark("The secret is shown this once; the receiver needs it.")
    terminal.remark(f"To try it: {args.where.command(args, 'test')} {endpoint.id}")
    return 0


def show_list(args: argparse.Namespace) -> int:
    with args.where.opened(args) as can:
        found = can.endpoints.of(can.book)
        waiting = can.events.waiting(can.book, [one.id for one in found])
    if not found:
        terminal.remark(f"{can.book.lender} has no endpoints in {can.book.mode} mode.")
        return 0
    width = terminal.stdout().width
    terminal.say(endpoint_table(found, waiting, can.clock(), width))
    warn_if_overdue(*waiting.values())
    warn_if_refused(can, *found)
    return 0


def show(args: argparse.Namespace) -> int:
    with args.where.opened(args) as can:
        _say(can, can.endpoints.find(can.book, args.endpoint))
    return 0


def update(args: argparse.Namespace) -> int:
    enabled = True if args.enable else False if args.disable else None
    change = Change(args.url, kinds_of(args), args.description, enabled)
    if change == Change():
        raise InvalidName(
            "nothing is to be changed",
            hint="give --url, --kind, --description, --enable or --disable",
        )
    with args.where.opened(args) as can:
        _say(can, can.endpoints.change(can.book, args.endpoint, change))
    return 0


def remove(args: argparse.Namespace) -> int:
    with args.where.opened(args) as can:
        endpoint = can.endpoints.find(can.book, args.endpoint)
        if not args.yes:
            _say(can, endpoint)
            confirm(_CONFIRMATION, "What waits for it is not sent any more")
        can.endpoints.remove(can.book, endpoint.id)
    terminal.say(f"{endpoint.id} is removed.")
    return 0


def rotate(args: argparse.Namespace) -> int:
    """Make the next secret; nothing but the secret goes to stdout."""
    with args.where.opened(args) as can:
        overlap_us = 0 if args.now else ROTATION_OVERLAP_US
        secret, endpoint = can.endpoints.rotate(can.book, args.endpoint, overlap_us)
    _hand_over(secret)
    until_us = endpoint.secrets.previous_until_us
    ends = "has ended" if until_us is None else f"signs too until {terminal.minute(until_us)} UTC"
    terminal.remark(f"It is shown this once. The old secret {ends}.")
    return 0


def test(args: argparse.Namespace) -> int:
    with args.where.opened(args) as can:
        sent = can.endpoints.test(can.book, args.endpoint)
        endpoint = can.endpoints.find(can.book, args.endpoint)
    terminal.say(f"{sent.id} is on its way.")
    warn_if_refused(can, endpoint)
    terminal.remark(f"What came of it: {args.where.command(args, 'attempts')} {args.endpoint}")
    return 0


def _say(can: UseCases, endpoint: Endpoint) -> None:
    waiting = can.events.waiting(endpoint.book, [endpoint.id]).get(endpoint.id)
    terminal.say(facts(endpoint_facts(endpoint, waiting, can.clock())))
    warn_if_overdue(waiting)
    warn_if_refused(can, endpoint)


def _hand_over(secret: str) -> None:
    """Give the secret to whoever reads stdout; the words about it go to whoever looks on."""
    sys.stdout.write(f"{secret}\n")
    sys.stdout.flush()


ATTEMPTS_DESCRIPTION: Final = """\
List what was tried at an endpoint, newest first: the status that the receiver answered, or why it
did not, and how it began its answer. Times are UTC; attempts are kept for 30 days. With --json
each is an object in a line of its own, with all of the answer that was kept."""

EVENTS_DESCRIPTION: Final = """\
List the events of a lender in a mode, newest first, whether or not anybody was told of them. Times
are UTC; events are kept for 30 days."""

RESEND_DESCRIPTION: Final = """\
Send an event again: to each endpoint that wants its kind, or to one alone. Or send an endpoint
everything that it wants since a time, which it has missed while it was disabled, or lost. Where
that is much, the worker goes through it little by little, so that scoring does not wait for it."""

RESEND_EXAMPLES: Final = """\
examples:
  # one event, to every endpoint of the book that wants it
  alama webhooks resend demo --mode test --event evt_0123456789abcdef0123456789ab

  # everything since this morning, to one endpoint
  alama webhooks resend demo --mode test --to we_0123456789abcdef0123456789ab \\
    --since 2026-11-15T06:00"""


def _register_events(actions: Subparsers, where: Where) -> None:
    tried = actions.add_parser(
        "attempts", help="what was tried at one, newest first", description=ATTEMPTS_DESCRIPTION
    )
    add_endpoint(tried, where)
    add_page(tried, "ATTEMPT_ID")
    tried.add_argument("--json", action="store_true", help="one JSON object a line, for programs")
    tried.set_defaults(run=attempts)
    listed = actions.add_parser(
        "events", help="list what has happened", description=EVENTS_DESCRIPTION
    )
    where.add_to(listed)
    listed.add_argument("--kind", metavar="KIND", help="of one kind alone, such as score.created")
    add_page(listed, "EVENT_ID")
    listed.set_defaults(run=events)
    resent = actions.add_parser(
        "resend",
        help="send events again",
        description=RESEND_DESCRIPTION,
        epilog=where.example(RESEND_EXAMPLES),
    )
    where.add_to(resent)
    resent.add_argument("--to", metavar="ENDPOINT_ID", help="to this endpoint alone")
    what = resent.add_mutually_exclusive_group(required=True)
    what.add_argument("--event", metavar="EVENT_ID", help="this event")
    what.add_argument("--since", type=moment_us, metavar="TIME", help="all since then; with --to")
    resent.set_defaults(run=resend)


def attempts(args: argparse.Namespace) -> int:
    before = before_of(args, ATTEMPT_PREFIX, "an attempt")
    with args.where.opened(args) as can:
        endpoint = can.endpoints.find(can.book, args.endpoint)
        # One more than asked for tells whether there are more.
        found = can.endpoints.attempts(can.book, endpoint.id, before, args.limit + 1)
        waiting = can.events.waiting(can.book, [endpoint.id]).get(endpoint.id)
    shown = found[: args.limit]
    if args.json:
        _say_lines(shown)
    elif shown:
        terminal.say(attempt_table(shown, terminal.stdout().width))
    else:
        terminal.remark(f"Nothing {'older ' if before else ''}was tried at {endpoint.id}.")
    warn_if_overdue(waiting)
    if len(found) > len(shown):
        terminal.remark(f"Older ones: --before {shown[-1].id}")
    return 0


def _say_lines(shown: Sequence[Attempt]) -> None:
    """Write attempts for a program: as over HTTP, but with the exact code of an error."""
    for one in shown:
        sys.stdout.write(attempt_line(one).decode() + "\n")
    sys.stdout.flush()


def events(args: argparse.Namespace) -> int:
    kind = None if args.kind is None else kind_of(args.kind)
    before = before_of(args, PREFIX, "an event")
    with args.where.opened(args) as can:
        found = can.events.page(can.book, kind, before, args.limit + 1)
    shown = found[: args.limit]
    if not shown:
        which = " ".join(
            filter(None, ("older" if before else "", "events", f"of {kind}" if kind else ""))
        )
        terminal.remark(f"{can.book.lender} has no {which} in {can.book.mode} mode.")
        return 0
    terminal.say(event_table(shown, terminal.stdout().width))
    if len(found) > len(shown):
        terminal.remark(f"Older ones: --before {shown[-1].id}")
    return 0


def resend(args: argparse.Namespace) -> int:
    if args.since is not None and args.to is None:
        raise InvalidName("--since wants an endpoint", hint="name it with --to")
    with args.where.opened(args) as can:
        book = can.book
        if args.since is not None:
            count = can.events.resend_since(book, args.to, args.since)
            many = f"{count:,}{' or more' if count >= RESENT_COUNTED_MAX else ''}"
            are = "event is on its" if count == 1 else "events are on their"
            terminal.say(f"{many} {are} way.")
            if args.since < can.clock() - KEPT_US:
                terminal.remark("Events are kept for 30 days: those from before that are gone.")
            return 0
        if args.to is None:
            count = can.events.resend(book, args.event)
        else:
            count = can.events.resend_to(book, args.event, args.to)
    endpoints = "endpoint" if count == 1 else "endpoints"
    terminal.say(f"{args.event} is on its way to {count} {endpoints}.")
    return 0


# ------------------------------------------------------------------------ what actions share


PAGE_DEFAULT: Final = 20
PAGE_MAX: Final = 1_000
ALL_KINDS: Final = "all"


def add_book(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("lender", metavar="LENDER", help="`alama lenders list` shows them")
    modes = [mode.value for mode in Mode]
    add("--mode", required=True, choices=modes, help="of which of the lender's two books")


def add_endpoint(parser: argparse.ArgumentParser, where: Where) -> None:
    where.add_to(parser)
    listed = where.named("`alama webhooks list` shows them")
    parser.add_argument("endpoint", metavar="ENDPOINT_ID", help=listed)


def add_kinds(parser: argparse.ArgumentParser, otherwise: str) -> None:
    """Let kinds be named; `otherwise` says what holds without."""
    parser.add_argument(
        "--kind",
        action="append",
        metavar="KIND",
        help=f"such as score.created; may be repeated; or `{ALL_KINDS}` ({otherwise})",
    )


def add_description(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--description",
        type=_description,
        metavar="TEXT",
        help=f"what it is for, in a line of at most {webhooks_records.DESCRIPTION_MAX} characters",
    )


def add_page(parser: argparse.ArgumentParser, id_name: str) -> None:
    parser.add_argument(
        "--limit",
        type=whole(1, PAGE_MAX),
        default=PAGE_DEFAULT,
        metavar="N",
        help=f"how many, at most {PAGE_MAX:,} (default: %(default)s)",
    )
    parser.add_argument("--before", metavar=id_name, help="go on with those older than this one")


def book_of(args: argparse.Namespace) -> Book:
    return Book(args.lender, Mode(args.mode))


def kinds_of(args: argparse.Namespace) -> tuple[EventKind, ...] | None:
    """Give the kinds that were named; None where none were, and `all` is no kind in particular."""
    if args.kind is None:
        return None
    if ALL_KINDS not in args.kind:
        return tuple(kind_of(name) for name in args.kind)
    if set(args.kind) != {ALL_KINDS}:
        raise InvalidName(
            f"--kind {ALL_KINDS} stands alone",
            hint=f"leave it out to have only those kinds, or leave them out to have {ALL_KINDS}",
        )
    return ()


def before_of(args: argparse.Namespace, prefix: str, what: str) -> str | None:
    """Give the id to go on before, or raise `InvalidName` for what is none; None: none was named.

    Ids of a kind begin with `prefix`; `what` says which they are, for people.
    """
    if args.before is not None and not ids.is_sortable(prefix, args.before):
        raise InvalidName(
            f"--before wants the id of {what}, {prefix} and 28 digits",
            hint="the line below a page has the one to go on with",
        )
    before: str | None = args.before
    return before


def kind_of(name: str) -> EventKind:
    try:
        return EventKind(name)
    except ValueError:
        raise InvalidName(
            "there is no such kind of event", hint=f"there are {', '.join(EventKind)}"
        ) from None


def _description(text: str) -> str:
    if not webhooks_records.is_description(text):
        message = f"one line of at most {webhooks_records.DESCRIPTION_MAX} characters"
        raise argparse.ArgumentTypeError(message)
    return text


class EndpointUse(Protocol):
    """What can be done with endpoints, as `Endpoints` does it: here, or at a service elsewhere."""

    @property
    def check_url(self) -> Callable[[str], None]: ...
    def add(self, book: Book, new: NewEndpoint) -> tuple[str, Endpoint]: ...
    def of(self, book: Book) -> Sequence[Endpoint]: ...
    def find(self, book: Book, endpoint_id: str) -> Endpoint: ...
    def change(self, book: Book, endpoint_id: str, change: Change) -> Endpoint: ...
    def remove(self, book: Book, endpoint_id: str) -> None: ...
    def rotate(self, book: Book, endpoint_id: str, overlap_us: int) -> tuple[str, Endpoint]: ...
    def test(self, book: Book, endpoint_id: str) -> Event: ...
    def attempts(
        self, book: Book, endpoint_id: str, before: str | None, limit: int
    ) -> Sequence[Attempt]: ...


class EventUse(Protocol):
    """What can be done with events, as `Events` does it."""

    def page(
        self, book: Book, kind: EventKind | None, before: str | None, limit: int
    ) -> Sequence[Event]: ...
    def resend(self, book: Book, event_id: str) -> int: ...
    def resend_to(self, book: Book, event_id: str, endpoint_id: str) -> int: ...
    def resend_since(self, book: Book, endpoint_id: str, since_us: int) -> int: ...
    def waiting(self, book: Book, endpoint_ids: Sequence[str]) -> Mapping[str, Waiting]: ...


class UseCases(NamedTuple):
    """What can be done with the webhooks of a book."""

    book: Book
    endpoints: EndpointUse
    events: EventUse
    clock: Clock


class Where(NamedTuple):
    """Where the webhooks of a command are: how it is told, and how they are reached."""

    name: str
    """Of the command, before its action."""
    add_book: Callable[[argparse.ArgumentParser], None]
    opened: Callable[[argparse.Namespace], AbstractContextManager[UseCases]]
    of: Callable[[argparse.Namespace], str]
    """Gives whose webhooks a command speaks of, as the next one is told it."""

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        """Let an action be told whose webhooks are meant."""
        self.add_book(parser)
        parser.set_defaults(where=self)

    def command(self, args: argparse.Namespace, action: str) -> str:
        """Give what is typed next, but for the id."""
        return " ".join(filter(None, (self.name, action, self.of(args))))

    def named(self, text: str) -> str:
        """Give a text with the command by its name here."""
        return text.replace("`alama webhooks", f"`{self.name}")

    def example(self, examples: str) -> str | None:
        """Give examples where they hold: they name a lender of this installation."""
        return examples if self is HERE else None


@contextmanager
def use_cases(args: argparse.Namespace) -> Iterator[UseCases]:
    """Open the installation for a command on one lender, or raise `UnknownLender`."""
    reach = settings.read(os.environ).webhook_reach
    with existing_installation() as opened:
        opened.registry.lender(args.lender)
        endpoints, events = Endpoints.at(opened, reach), Events.at(opened)
        can = UseCases(book_of(args), endpoints, events, opened.clock)
        try:
            yield can
        except UnknownEndpoint as error:
            found = _where_else(args, lambda book: can.endpoints.find(book, _endpoint_id(args)))
            error.hint = found or f"`alama webhooks list {of(args)}` shows them"
            raise
        except UnknownEvent as error:
            found = _where_else(args, lambda book: events.find(book, args.event))
            error.hint = found or error.hint
            raise
        except EndpointDisabled as error:
            error.hint = f"alama webhooks update {of(args)} {_endpoint_id(args)} --enable"
            raise


def of(args: argparse.Namespace) -> str:
    """Give the book of a command as the next one is told it."""
    return f"{args.lender} --mode {args.mode}"


HERE: Final = Where("alama webhooks", add_book, use_cases, of)
"""In the database that the settings of this machine name."""


def warn_if_overdue(*waiting: Waiting | None) -> None:
    """Say that nobody seems to send, and who would, if something should have been sent by now."""
    if any(one is not None and one.is_overdue for one in waiting):
        terminal.warn(
            "events have been due for more than a minute: no worker seems to run. `alama serve` "
            "has one beside it; where ALAMA_DELIVERY=alone, run `alama worker`"
        )


def warn_if_refused(can: UseCases, *endpoints: Endpoint) -> None:
    """Say of each enabled endpoint whose URL the settings refuse by now why, and what to do."""
    for one in endpoints:
        if one.disabled_us is not None:
            continue
        try:
            can.endpoints.check_url(one.url)
        except InvalidUrl as error:
            hint = "" if error.hint is None else f"; {error.hint}"
            terminal.warn(
                f"with the settings here nothing may be sent to {one.id}: {error}{hint}. What is "
                "for it waits, for as long as events are kept"
            )


def _endpoint_id(args: argparse.Namespace) -> str:
    """Give the endpoint that a command names: `resend` does it by an option."""
    named: str = args.to if "to" in args else args.endpoint
    return named


def _where_else(args: argparse.Namespace, find: Callable[[Book], object]) -> str | None:
    """Say that the other book of the lender has what was not found, if it does."""
    (other,) = (mode for mode in Mode if mode.value != args.mode)
    with suppress(AlamaError):
        find(Book(args.lender, other))
        return f"it is of the lender's {other.value} book: --mode {other.value}"
    return None


# ------------------------------------------------------------------------ tables


_ANSWER_WIDTH_MIN: Final = 24
"""An answer that has less room than this beside an attempt stands below it."""

_NO_ANSWER: Final = "no answer"
_SECOND_MS: Final = 1_000


def endpoint_table(
    found: Sequence[Endpoint], waiting: Mapping[str, Waiting], now_us: int, width: int
) -> Shown:
    """Lay out endpoints in the order given; `width` is that of the terminal."""
    states = [_state(one) for one in found]
    waits = [_waits(waiting.get(one.id), now_us) for one in found]
    beside = Lines(
        ("endpoint", "url", "kinds", "state", "waiting", "description"),
        [
            (one.id, one.url, _kinds(one), state, ", ".join(wait), one.description)
            for one, state, wait in zip(found, states, waits, strict=True)
        ],
    ).without_empty()
    if beside.width <= width:
        return beside.table()
    rows = [
        # What is next goes without saying: there is no room to say it.
        (one.id, state, ", ".join(each.removeprefix("next ") for each in wait))
        for one, state, wait in zip(found, states, waits, strict=True)
    ]
    below = [(one.url, " ".join(one.kinds) or "all kinds", one.description) for one in found]
    return Stacked(Lines(("endpoint", "state", "waiting"), rows), below)


def endpoint_facts(one: Endpoint, waiting: Waiting | None, now_us: int) -> list[tuple[str, str]]:
    """Tell all about an endpoint but its secrets."""
    until_us = one.secrets.previous_until_us
    rows = [
        ("endpoint", one.id),
        ("of", f"{one.book.lender}, {one.book.mode.value} mode"),
        ("url", one.url),
        ("kinds", _kinds(one)),
        ("description", one.description or "none"),
        ("created", f"{terminal.minute(one.created_us)} UTC"),
        ("state", _state_in_words(one)),
        ("waiting", _waits_in_words(waiting, now_us)),
    ]
    if until_us is not None and now_us < until_us:
        rows.append(("old secret", f"signs too until {terminal.minute(until_us)} UTC"))
    return rows


def attempt_table(found: Sequence[Attempt], width: int) -> Shown:
    """Lay out attempts in the order given; `width` is that of the terminal."""
    heads = ("at (UTC)", "event", "try", "result", "took")
    answers = [" ".join(one.answer.split()) for one in found]
    lines = Lines(heads, [_attempt(one, _result(one)) for one in found], (2, 4))
    if not any(answers) and lines.width <= width:
        return lines.table()
    room = width - lines.width - GAP
    if any(answers) and room >= min(_ANSWER_WIDTH_MIN, max(map(len, answers))):
        rows = [
            (*row, cut(answer, room).plain) for row, answer in zip(lines.rows, answers, strict=True)
        ]
        return Lines((*heads, "answer"), rows, lines.right).table()
    if lines.width <= width:
        return Stacked(lines, [(answer,) for answer in answers])
    rows = [_attempt(one, _NO_ANSWER if one.status is None else str(one.status)) for one in found]
    # Whoever gave no answer has said nothing either.
    below = [(one.error or answer,) for one, answer in zip(found, answers, strict=True)]
    return Stacked(Lines(heads, rows, lines.right), below)


def _attempt(one: Attempt, result: str) -> tuple[str, ...]:
    return terminal.second(one.started_us), one.event_id, str(one.number), result, _took(one)


def event_table(found: Sequence[Event], width: int) -> Shown:
    """Lay out events in the order given; `width` is that of the terminal."""
    rows = [(one.id, terminal.second(one.created_us), one.kind) for one in found]
    subjects = [(one.subject_id,) for one in found]
    heads = ("event", "at (UTC)", "kind")
    of = [(*row, *subject) for row, subject in zip(rows, subjects, strict=True)]
    beside = Lines((*heads, "of"), of)
    return beside.table() if beside.width <= width else Stacked(Lines(heads, rows), subjects)


def _kinds(one: Endpoint) -> str:
    return " ".join(one.kinds) or "all"


def _state(one: Endpoint) -> str:
    if one.disabled_us is not None:
        return f"disabled ({one.disabled_reason})"
    if one.failing_since_us is not None:
        return f"failing since {terminal.day(one.failing_since_us)}"
    return "active"


def _state_in_words(one: Endpoint) -> str:
    if one.disabled_us is not None:
        return f"disabled since {terminal.minute(one.disabled_us)} UTC ({one.disabled_reason})"
    if one.failing_since_us is not None:
        return f"failing since {terminal.minute(one.failing_since_us)} UTC"
    return "active"


def _waits(waiting: Waiting | None, now_us: int) -> tuple[str, ...]:
    if waiting is None:
        return ("nothing",)
    count = f"{waiting.count:,}{'+' if waiting.count >= COUNTED_MAX else ''}"
    if waiting.is_overdue:
        return count, "overdue"
    if waiting.next_us is None:
        return count, "on the way"
    if waiting.next_us <= now_us:
        return count, "due now"
    return count, f"next in {terminal.span(waiting.next_us - now_us)}"


def _waits_in_words(waiting: Waiting | None, now_us: int) -> str:
    if waiting is None:
        return "nothing"
    count, when = _waits(waiting, now_us)
    return f"{count} {'event' if waiting.count == 1 else 'events'}, {when}"


def _result(one: Attempt) -> str:
    return (one.error or "") if one.status is None else str(one.status)


def _took(one: Attempt) -> str:
    if one.error == ADDRESS_REFUSED:
        return ""  # lenders are not told: it would say which names there are
    if one.took_ms < _SECOND_MS:
        return f"{one.took_ms} ms"
    return f"{one.took_ms / _SECOND_MS:.1f} s"
