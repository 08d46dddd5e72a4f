"""The installation, opened for a command of `alama webhooks`; what goes wrong there ends in a hint.

The use cases speak to callers over HTTP too, who are told less. Whoever is at the machine may know
where a thing is, and which command comes next.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from alama.app.cli.installed import existing_installation
from alama.core.errors import AlamaError
from alama.platform import settings
from alama.platform.addresses import InvalidUrl
from alama.platform.book import Book, Mode
from alama.platform.terminal import terminal
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
    import argparse
    from collections.abc import Callable, Iterator

    from alama.platform.clock import Clock


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
