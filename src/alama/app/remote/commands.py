"""What commands share that ask a service elsewhere: which key is meant, and what is said of it."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.app.remote.client import Client, Failed, Refused
from alama.app.remote.logins import Login, Logins, Wish, address
from alama.platform.book import Mode
from alama.platform.errors import InvalidName
from alama.platform.terminal import terminal

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

_KEY_PROBLEMS: Final = frozenset({"key_missing", "key_refused", "key_expired"})
_HINTS: Final[Mapping[str, str | None]] = {
    "invalid_application": "mend these fields; nothing was scored and nothing stored",
    "invalid_parameter": None,
    "invalid_request": "mend what these name; nothing was kept",
    "webhook_endpoint_disabled": "alama remote webhooks update ENDPOINT_ID --enable",
}
"""What is said here in other words than to the program of a caller."""


class Session(NamedTuple):
    """A service, and the key that it is asked with."""

    login: Login
    client: Client


def add_where(parser: argparse.ArgumentParser) -> None:
    """Let a command be told which of the kept keys is meant."""
    add = parser.add_argument
    add("--at", metavar="URL", help="of the service, where keys of several are kept")
    modes = [mode.value for mode in Mode]
    add("--mode", choices=modes, help="of the key, where those of both are kept")


@contextmanager
def connected(args: argparse.Namespace) -> Iterator[Session]:
    """Find the key that is meant, say whose it is, and tell what to do where it is refused."""
    login = _login(args)
    terminal.remark(f"{login.url}: {book_of(login)}")
    try:
        yield Session(login, Client(login.url, login.key))
    except Refused as error:
        if error.code in _KEY_PROBLEMS:
            error.hint = f"{error.hint} Then: alama login {login.url}"
        elif error.code is not None:
            error.hint = _HINTS.get(error.code, error.hint)
        raise


@contextmanager
def in_doubt(told: str) -> Iterator[None]:
    """Tell what to do where nobody knows whether it was done, also to whoever breaks it off."""
    try:
        yield
    except (Failed, KeyboardInterrupt) as error:
        if isinstance(error, KeyboardInterrupt) or error.may_be_done:
            terminal.remark(told)
        raise


def _login(args: argparse.Namespace) -> Login:
    wish = Wish(
        None if args.at is None else address(args.at, plain_http=True),
        None if args.mode is None else Mode(args.mode),
    )
    kept = Logins.of(os.environ).read()
    found = [one for one in kept if wish.fits(one)]
    if not found:
        there = "such key is" if kept else "key is"
        shown = "`alama login` lists those that are" if kept else "alama login URL"
        raise InvalidName(f"no {there} kept", hint=shown)
    if len(found) > 1:
        choices = "".join(f"\n  --at {one.url} --mode {one.mode}" for one in found)
        raise InvalidName(f"several keys are kept; say which is meant:{choices}")
    return found[0]


def book_of(login: Login) -> str:
    """Name whose book a key opens, as far as that is known."""
    return f"{login.lender or 'a lender'}, {login.mode} mode"
