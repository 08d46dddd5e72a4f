"""The installation, opened for a command of `alama webhooks`; what goes wrong there ends in a hint.

The use cases speak to callers over HTTP too, who are told less. Whoever is at the machine may know
where a thing is, and which command comes next.
"""

from __future__ import annotations

import argparse
import os
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.core.errors import AlamaError
from alama.lenders.installation import existing_installation
from alama.platform import ids, settings
from alama.platform.addresses import InvalidUrl
from alama.platform.book import Book, Mode
from alama.platform.errors import InvalidName
from alama.platform.events import EventKind
from alama.platform.terminal import terminal
from alama.webhooks import records as descriptions
from alama.webhooks.endpoints import Endpoints
from alama.webhooks.events import Events
from alama.webhooks.records import (
    Endpoint,
    EndpointDisabled,
    UnknownEndpoint,
    UnknownEvent,
    Waiting,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from alama.platform.clock import Clock


PAGE_DEFAULT: Final = 20
PAGE_MAX: Final = 1_000
ALL_KINDS: Final = "all"

_US: Final = 1_000_000


def add_book(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("lender", metavar="LENDER", help="`alama lenders list` shows them")
    modes = [mode.value for mode in Mode]
    add("--mode", required=True, choices=modes, help="of which of the lender's two books")


def add_endpoint(parser: argparse.ArgumentParser) -> None:
    add_book(parser)
    parser.add_argument("endpoint", metavar="ENDPOINT_ID", help="`alama webhooks list` shows them")


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
        help=f"what it is for, in a line of at most {descriptions.DESCRIPTION_MAX} characters",
    )


def add_page(parser: argparse.ArgumentParser, id_name: str) -> None:
    parser.add_argument(
        "--limit",
        type=_count,
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


def moment_us(text: str) -> int:
    """Read a day or a time, UTC unless it says otherwise, as microseconds since 1970."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        message = f"{text} is no time; write it as 2026-11-15 or 2026-11-15T10:30"
        raise argparse.ArgumentTypeError(message) from None
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return round(aware.timestamp() * _US)


def _description(text: str) -> str:
    if not descriptions.is_description(text):
        message = f"one line of at most {descriptions.DESCRIPTION_MAX} characters"
        raise argparse.ArgumentTypeError(message)
    return text


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= PAGE_MAX:
        raise argparse.ArgumentTypeError(f"from 1 to {PAGE_MAX:,}")
    return int(text)


class UseCases(NamedTuple):
    """What can be done with the webhooks of an installation."""

    endpoints: Endpoints
    events: Events
    clock: Clock


@contextmanager
def use_cases(args: argparse.Namespace) -> Iterator[UseCases]:
    """Open the installation for a command on one lender, or raise `UnknownLender`."""
    reach = settings.read(os.environ).webhook_reach
    with existing_installation() as opened:
        opened.registry.lender(args.lender)
        can = UseCases(Endpoints.at(opened, reach), Events.at(opened), opened.clock)
        try:
            yield can
        except UnknownEndpoint as error:
            found = _where_else(args, lambda book: can.endpoints.find(book, _endpoint_id(args)))
            error.hint = found or f"`alama webhooks list {of(args)}` shows them"
            raise
        except UnknownEvent as error:
            found = _where_else(args, lambda book: can.events.find(book, args.event))
            error.hint = found or error.hint
            raise
        except EndpointDisabled as error:
            error.hint = f"alama webhooks update {of(args)} {_endpoint_id(args)} --enable"
            raise


def of(args: argparse.Namespace) -> str:
    """Give the book of a command as the next one is told it."""
    return f"{args.lender} --mode {args.mode}"


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
