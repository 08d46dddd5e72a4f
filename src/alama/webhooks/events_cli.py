"""`alama webhooks attempts`, `events` and `resend`: what was sent, what came of it, and again."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from alama.platform.errors import InvalidName
from alama.platform.events import PREFIX
from alama.platform.terminal import terminal
from alama.platform.terminal import terminal as words
from alama.webhooks import tables
from alama.webhooks.api import attempt_line
from alama.webhooks.arguments import (
    add_book,
    add_endpoint,
    add_page,
    before_of,
    book_of,
    kind_of,
    moment_us,
    use_cases,
    warn_if_overdue,
)
from alama.webhooks.records import ATTEMPT_PREFIX, KEPT_US, RESENT_COUNTED_MAX, Attempt

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from alama.platform.terminal.command import Subparsers


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


def register(actions: Subparsers) -> None:
    tried = actions.add_parser(
        "attempts", help="what was tried at one, newest first", description=ATTEMPTS_DESCRIPTION
    )
    add_endpoint(tried)
    add_page(tried, "ATTEMPT_ID")
    tried.add_argument("--json", action="store_true", help="one JSON object a line, for programs")
    tried.set_defaults(run=attempts)
    listed = actions.add_parser(
        "events", help="list what has happened", description=EVENTS_DESCRIPTION
    )
    add_book(listed)
    listed.add_argument("--kind", metavar="KIND", help="of one kind alone, such as score.created")
    add_page(listed, "EVENT_ID")
    listed.set_defaults(run=events)
    resent = actions.add_parser(
        "resend",
        help="send events again",
        description=RESEND_DESCRIPTION,
        epilog=RESEND_EXAMPLES,
    )
    add_book(resent)
    resent.add_argument("--to", metavar="ENDPOINT_ID", help="to this endpoint alone")
    what = resent.add_mutually_exclusive_group(required=True)
    what.add_argument("--event", metavar="EVENT_ID", help="this event")
    what.add_argument("--since", type=moment_us, metavar="TIME", help="all since then; with --to")
    resent.set_defaults(run=resend)


def attempts(args: argparse.Namespace) -> int:
    """List attempts, and say how to go on where there are more."""
    before = before_of(args, ATTEMPT_PREFIX, "an attempt")
    with use_cases(args) as can:
        endpoint = can.endpoints.find(book_of(args), args.endpoint)
        # One more than asked for tells whether there are more.
        found = can.endpoints.attempts(book_of(args), endpoint.id, before, args.limit + 1)
        waiting = can.events.waiting(book_of(args), [endpoint.id]).get(endpoint.id)
    shown = found[: args.limit]
    if args.json:
        _say_lines(shown)
    elif shown:
        words.say(tables.attempts(shown, terminal.stdout().width))
    else:
        words.remark(f"Nothing {'older ' if before else ''}was tried at {endpoint.id}.")
    warn_if_overdue(waiting)
    if len(found) > len(shown):
        words.remark(f"Older ones: --before {shown[-1].id}")
    return 0


def _say_lines(shown: Sequence[Attempt]) -> None:
    """Write attempts for a program: as over HTTP, but with the exact code of an error."""
    for one in shown:
        sys.stdout.write(attempt_line(one).decode() + "\n")
    sys.stdout.flush()


def events(args: argparse.Namespace) -> int:
    """List events, and say how to go on where there are more."""
    kind = None if args.kind is None else kind_of(args.kind)
    before = before_of(args, PREFIX, "an event")
    with use_cases(args) as can:
        found = can.events.page(book_of(args), kind, before, args.limit + 1)
    shown = found[: args.limit]
    if not shown:
        which = " ".join(
            filter(None, ("older" if before else "", "events", f"of {kind}" if kind else ""))
        )
        words.remark(f"{args.lender} has no {which} in {args.mode} mode.")
        return 0
    words.say(tables.events(shown, terminal.stdout().width))
    if len(found) > len(shown):
        words.remark(f"Older ones: --before {shown[-1].id}")
    return 0


def resend(args: argparse.Namespace) -> int:
    """Send one event, or all since a time, again."""
    if args.since is not None and args.to is None:
        raise InvalidName("--since wants an endpoint", hint="name it with --to")
    book = book_of(args)
    with use_cases(args) as can:
        if args.since is not None:
            count = can.events.resend_since(book, args.to, args.since)
            many = f"{count:,}{' or more' if count >= RESENT_COUNTED_MAX else ''}"
            are = "event is on its" if count == 1 else "events are on their"
            words.say(f"{many} {are} way.")
            if args.since < can.clock() - KEPT_US:
                words.remark("Events are kept for 30 days: those from before that are gone.")
            return 0
        if args.to is None:
            count = can.events.resend(book, args.event)
        else:
            count = can.events.resend_to(book, args.event, args.to)
    endpoints = "endpoint" if count == 1 else "endpoints"
    words.say(f"{args.event} is on its way to {count} {endpoints}.")
    return 0
