"""`alama logout`: forget a key that `alama login` keeps."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from alama.app.remote.commands import book_of
from alama.app.remote.logins import Logins, Wish, address
from alama.platform.book import Mode
from alama.platform.errors import InvalidName
from alama.platform.terminal import terminal

if TYPE_CHECKING:
    import argparse

DESCRIPTION: Final = """\
Forget the key that is kept for a service: those of both modes, or of one. Without URL the only
service that one is kept for is meant. The key itself stays good: whoever runs the service revokes
it."""


def register(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    add = parser.add_argument
    add("url", nargs="?", metavar="URL", help="of the service; `alama login` lists them")
    add("--mode", choices=[mode.value for mode in Mode], help="the key of this mode alone")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    kept = Logins.of(os.environ)
    wish = Wish(
        None if args.url is None else address(args.url, plain_http=True),
        None if args.mode is None else Mode(args.mode),
    )
    found = [one for one in kept.read() if wish.fits(one)]
    if not found:
        raise InvalidName("no such key is kept", hint="`alama login` lists those that are")
    if len({one.url for one in found}) > 1:
        raise InvalidName(
            "keys are kept for several services", hint="name one; `alama login` lists them"
        )
    kept.forget(found)
    for one in found:
        terminal.say(f"{one.url}: {book_of(one)}: forgotten")
    return 0
