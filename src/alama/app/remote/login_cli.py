"""`alama login`: keep a key for a service elsewhere, or list those that are kept."""

from __future__ import annotations

import getpass
import os
import sys
from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from alama.app.remote.client import Call, Client, Refused
from alama.app.remote.commands import book_of
from alama.app.remote.logins import InvalidAddress, Login, Logins, address
from alama.lenders import keys
from alama.platform.book import Mode
from alama.platform.errors import InvalidName
from alama.platform.terminal import terminal
from alama.platform.terminal.tables import Lines

if TYPE_CHECKING:
    import argparse

    from alama.platform.terminal.command import Parser

DESCRIPTION: Final = """\
Keep a key for a service elsewhere, so that `alama remote` can ask it. Without URL, list the
services that a key is kept for.

The key is asked for and not shown as it is typed, or read from standard input. It is never an
argument: those are kept by shells and seen by everybody on the machine. It is tried out with one
harmless request, then kept in a file that nobody else can read, logins.json in the folder alama
below XDG_CONFIG_HOME or ~/.config. One key is kept for each address and mode, so a test key and a
live key can stand side by side."""

EXAMPLES: Final = """\
examples:
  # asks for the key
  alama login https://scores.example.org

  # in a script: the key comes from whatever keeps secrets there
  print-secret alama-key | alama login https://scores.example.org"""

_MODE_PREFIX: Final = {f"alama_{mode.value}_": mode for mode in Mode}
_MAY_NOT_SAY: Final = "scope_missing"


class Told(msgspec.Struct, frozen=True):
    """What a report says of the book that a key opens."""

    lender: Annotated[str, msgspec.Meta(pattern=r"^[!-~]{1,64}\Z")]
    currency: Annotated[str, msgspec.Meta(pattern=r"^[A-Z]{3}\Z")]


def register(parser: Parser) -> None:
    parser.description = DESCRIPTION
    parser.about_unknown = "only URL is an argument: the key is asked for, or comes by a pipe"
    parser.epilog = EXAMPLES
    parser.add_argument("url", nargs="?", metavar="URL", help="of the service, before /v1")
    parser.add_argument(
        "--plain-http",
        action="store_true",
        help="allow http:// to another machine, where everybody on the way can read the key",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    kept = Logins.of(os.environ)
    if args.url is None:
        _say_kept(kept)
        return 0
    url = address(args.url, plain_http=args.plain_http)
    before = kept.read()  # what is wrong with the file is said before anything is typed
    key = _key(url)
    login = _tried(url, key)
    kept.keep(login)
    again = any((one.url, one.mode) == (url, login.mode) for one in before)
    terminal.say(f"{url}: {book_of(login)}")
    if login.lender is None:
        terminal.remark("The key may not read monitoring, so its lender is not told.")
    terminal.remark(f"{'The key before is replaced' if again else 'The key is kept'}: {kept.path}")
    terminal.remark("Try next: alama remote scores list")
    return 0


def _say_kept(kept: Logins) -> None:
    found = kept.read()
    if not found:
        terminal.remark("No key is kept. To keep one: alama login URL")
        return
    rows = [(one.url, one.lender or "", one.mode.value, one.key[-4:]) for one in found]
    table = Lines(("service", "lender", "mode", "key ends in"), rows).without_empty()
    terminal.say(table.table())


def _key(url: str) -> str:
    """Read the key from where nobody looks on."""
    if sys.stdin.isatty():
        text = getpass.getpass(f"key for {url} (not shown): ", sys.stderr)
    else:
        text = sys.stdin.readline()
    key = text.strip()
    if not key:
        raise InvalidName("no key was given", hint="type it, or pipe it in")
    keys.check(key)
    return key


def _tried(url: str, key: str) -> Login:
    """Ask for what any key may: whether it is good, and of whom; `Refused` where it is not."""
    mode = next(mode for prefix, mode in _MODE_PREFIX.items() if key.startswith(prefix))
    client = Client(url, key)
    try:
        told = client.ask(Call("GET", "/v1/monitoring", {"days": "1"}), Told)
    except Refused as error:
        if error.code == _MAY_NOT_SAY:
            return Login(url, mode, key, None, None)
        if error.code is None:
            raise InvalidAddress(str(error), hint=error.hint) from error
        raise
    return Login(url, mode, key, told.lender, told.currency)
