"""`alama webhooks`: where the events of a lender are sent, and the secrets that sign for it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from alama.platform.errors import InvalidName
from alama.platform.terminal import terminal
from alama.platform.terminal import terminal as words
from alama.platform.terminal.tables import facts
from alama.platform.terminal.terminal import add_yes, confirm
from alama.webhooks import events_cli, tables
from alama.webhooks.arguments import (
    UseCases,
    add_book,
    add_description,
    add_endpoint,
    add_kinds,
    book_of,
    kinds_of,
    of,
    use_cases,
    warn_if_overdue,
    warn_if_refused,
)
from alama.webhooks.endpoints import NewEndpoint
from alama.webhooks.records import ROTATION_OVERLAP_US, Change, Endpoint

if TYPE_CHECKING:
    import argparse

    from alama.platform.terminal.command import Subparsers


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
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    added = actions.add_parser(
        "add",
        help="send events somewhere, and print the secret that signs them",
        description=ADD_DESCRIPTION,
        epilog=ADD_EXAMPLES,
    )
    add_book(added)
    added.add_argument("url", metavar="URL", help="https://...; who receives the events")
    add_kinds(added, "default: all")
    add_description(added)
    added.set_defaults(run=add)
    listed = actions.add_parser("list", help="list endpoints", description=LIST_DESCRIPTION)
    add_book(listed)
    listed.set_defaults(run=show_list)
    shown = actions.add_parser("show", help="show one endpoint", description=SHOW_DESCRIPTION)
    add_endpoint(shown)
    shown.set_defaults(run=show)
    _register_changes(actions)
    events_cli.register(actions)


def _register_changes(actions: Subparsers) -> None:
    updated = actions.add_parser("update", help="change one", description=UPDATE_DESCRIPTION)
    add_endpoint(updated)
    updated.add_argument("--url", metavar="URL", help="another address")
    add_kinds(updated, "in place of those it wants now")
    add_description(updated)
    switch = updated.add_mutually_exclusive_group()
    switch.add_argument("--enable", action="store_true", help="send events to it again")
    switch.add_argument("--disable", action="store_true", help="send nothing more to it")
    updated.set_defaults(run=update)
    removed = actions.add_parser("remove", help="forget one", description=REMOVE_DESCRIPTION)
    add_endpoint(removed)
    add_yes(removed)
    removed.set_defaults(run=remove)
    rotated = actions.add_parser(
        "rotate", help="give one a new secret", description=ROTATE_DESCRIPTION
    )
    add_endpoint(rotated)
    rotated.add_argument("--now", action="store_true", help="end the old secret at once")
    rotated.set_defaults(run=rotate)
    tested = actions.add_parser(
        "test", help="send an event to try one out", description=TEST_DESCRIPTION
    )
    add_endpoint(tested)
    tested.set_defaults(run=test)


def add(args: argparse.Namespace) -> int:
    """Add an endpoint; nothing but its secret goes to stdout."""
    new = NewEndpoint(args.url, kinds_of(args) or (), args.description or "")
    with use_cases(args) as can:
        secret, endpoint = can.endpoints.add(book_of(args), new)
    _hand_over(secret)
    wanted = ", ".join(endpoint.kinds) or "every event"
    words.remark(f"{endpoint.id}: {args.lender}, {args.mode} mode, {wanted}.")
    words.remark("The secret is shown this once; the receiver needs it.")
    words.remark(f"To try it: alama webhooks test {of(args)} {endpoint.id}")
    return 0


def show_list(args: argparse.Namespace) -> int:
    """List endpoints, the oldest first."""
    with use_cases(args) as can:
        found = can.endpoints.of(book_of(args))
        waiting = can.events.waiting(book_of(args), [one.id for one in found])
    if not found:
        words.remark(f"{args.lender} has no endpoints in {args.mode} mode.")
        return 0
    width = terminal.stdout().width
    words.say(tables.endpoints(found, waiting, can.clock(), width))
    warn_if_overdue(*waiting.values())
    warn_if_refused(can, *found)
    return 0


def show(args: argparse.Namespace) -> int:
    """Show one endpoint."""
    with use_cases(args) as can:
        _say(can, can.endpoints.find(book_of(args), args.endpoint))
    return 0


def update(args: argparse.Namespace) -> int:
    """Change an endpoint, and show what it is then."""
    enabled = True if args.enable else False if args.disable else None
    change = Change(args.url, kinds_of(args), args.description, enabled)
    if change == Change():
        raise InvalidName(
            "nothing is to be changed",
            hint="give --url, --kind, --description, --enable or --disable",
        )
    with use_cases(args) as can:
        _say(can, can.endpoints.change(book_of(args), args.endpoint, change))
    return 0


def remove(args: argparse.Namespace) -> int:
    """Remove an endpoint, having asked once more."""
    with use_cases(args) as can:
        endpoint = can.endpoints.find(book_of(args), args.endpoint)
        if not args.yes:
            _say(can, endpoint)
            confirm(_CONFIRMATION, "What waits for it is not sent any more")
        can.endpoints.remove(book_of(args), endpoint.id)
    words.say(f"{endpoint.id} is removed.")
    return 0


def rotate(args: argparse.Namespace) -> int:
    """Make the next secret; nothing but the secret goes to stdout."""
    with use_cases(args) as can:
        overlap_us = 0 if args.now else ROTATION_OVERLAP_US
        secret, endpoint = can.endpoints.rotate(book_of(args), args.endpoint, overlap_us)
    _hand_over(secret)
    until_us = endpoint.secrets.previous_until_us
    ends = "has ended" if until_us is None else f"signs too until {words.minute(until_us)} UTC"
    words.remark(f"It is shown this once. The old secret {ends}.")
    return 0


def test(args: argparse.Namespace) -> int:
    """Send an event to one endpoint."""
    with use_cases(args) as can:
        sent = can.endpoints.test(book_of(args), args.endpoint)
        endpoint = can.endpoints.find(book_of(args), args.endpoint)
    words.say(f"{sent.id} is on its way.")
    warn_if_refused(can, endpoint)
    words.remark(f"What came of it: alama webhooks attempts {of(args)} {args.endpoint}")
    return 0


def _say(can: UseCases, endpoint: Endpoint) -> None:
    waiting = can.events.waiting(endpoint.book, [endpoint.id]).get(endpoint.id)
    words.say(facts(tables.endpoint_facts(endpoint, waiting, can.clock())))
    warn_if_overdue(waiting)
    warn_if_refused(can, endpoint)


def _hand_over(secret: str) -> None:
    """Give the secret to whoever reads stdout; the words about it go to whoever looks on."""
    sys.stdout.write(f"{secret}\n")
    sys.stdout.flush()
