"""`alama keys`: issue, list, rotate and revoke the keys that callers send."""

from __future__ import annotations

import sys
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.lenders import installation as wiring
from alama.lenders import keys as lenders_keys
from alama.lenders.installation import Installation, existing_installation, installation
from alama.lenders.keys import Successor, is_open
from alama.onboarding.approval import LiveKeys
from alama.onboarding.commands import naming_commands
from alama.platform import book as keys
from alama.platform.book import GIVEN_BY_NAME, USUAL_SCOPES, Book, Mode, Scope
from alama.platform.errors import InvalidName
from alama.platform.terminal import terminal
from alama.platform.terminal.tables import ONE_LINE_WIDTH, plain_table, stacked

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from rich.table import Table

    from alama.lenders.records import Key


DESCRIPTION: Final = """\
Issue, list, rotate and revoke the API keys of lenders. A key opens the book of one lender in one
mode: a test key is answered by the built-in model, a live key by the lender's own, once one has
been approved. Only a hash of a key is kept, so it is shown once, when it is made."""

SCOPES: Final[Mapping[Scope, str]] = {
    Scope.WRITE: "give scores and explain them",
    Scope.READ: "read stored scores and their receipts",
    Scope.OUTCOMES_WRITE: "say what became of loans",
    Scope.LOANS_WRITE: "tell what was lent and what came back",
    Scope.REVIEWS_WRITE: "say what an officer decided on a score",
    Scope.MONITORING_READ: "read how the book goes",
    Scope.WEBHOOKS_WRITE: "add, change, test and remove endpoints; send again",
    Scope.WEBHOOKS_READ: "read endpoints, attempts and events",
    Scope.PILOT_WRITE: "terms, histories, training, signatures, roll backs",
    Scope.PILOT_READ: "see how far an onboarding has come, and its reports",
    Scope.APPLICANTS_WRITE: "erase what is held on an applicant",
    Scope.APPLICANTS_READ: "give out what is held on an applicant",
    Scope.LISTS_WRITE: "block and watch applicants",
    Scope.LISTS_READ: "read the block list and the watch list",
    Scope.KEYS_ROTATE: "follow the key by a new one",
}

_SCOPES_TOLD: Final = "scopes:\n" + "\n".join(
    f"  {scope:<17}{told}" for scope, told in SCOPES.items()
)

ISSUE_DESCRIPTION: Final = """\
Make a key and print it, alone, on standard output; the words about it go to
standard error. It is shown this once: put it straight to where it is used."""

ISSUE_EXAMPLES: Final = """\
examples:
  # the first key, for trying things out
  alama keys issue --lender demo --mode test

  # into a variable of the shell
  KEY=$(alama keys issue --lender demo --mode test)

  # a key that can read scores but give none, for 90 days
  alama keys issue --lender demo --mode test --scope scores:read --days 90

  # a live key before there is a model: every decision is left to a person
  alama keys issue --lender demo --mode live --shadow --by "W. Mutua\""""

LIST_DESCRIPTION: Final = """\
List the keys of this installation, oldest first: the id that commands take, the last four
characters of the key, whose it is and what it may do, when it was last used, and whether it still
works. Days are UTC. The keys themselves are not kept, so they cannot be shown."""

ROTATE_DESCRIPTION: Final = """\
Make a key like another, print it, alone, on standard output, and let the old one end after an
overlap, in which both work. The new key has the lender, the mode and the scopes of the old one,
and the same length of life unless --days says otherwise."""

REVOKE_DESCRIPTION: Final = """\
End a key for good. Every process of the service refuses it within a second. Revoking a key again
changes nothing."""

_OVERLAP_HOURS: Final = 24


def register(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.epilog = _SCOPES_TOLD
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    issued = actions.add_parser(
        "issue",
        help="make a key and print it, once",
        description=ISSUE_DESCRIPTION,
        epilog=f"{_SCOPES_TOLD}\n\n{ISSUE_EXAMPLES}",
    )
    add = issued.add_argument
    add("--lender", required=True, metavar="ID", help="whose key; `alama lenders list` shows them")
    add("--mode", required=True, choices=[mode.value for mode in Mode], help="which model answers")
    add(
        "--scope",
        action="append",
        metavar="SCOPE",
        help="what it may do, of the scopes below; may be repeated (default: all but "
        f"{', '.join(GIVEN_BY_NAME)})",
    )
    add("--days", type=int, metavar="N", help="until it expires (default: never)")
    add(
        "--shadow",
        action="store_true",
        help="live, though no model is approved yet: each application is scored by the built-in "
        "model and left to a person, until one is",
    )
    add("--by", metavar="NAME", help="who begins the shadow (default: the login name)")
    issued.set_defaults(run=issue)

    listed = actions.add_parser(
        "list", help="every key, and what has become of it", description=LIST_DESCRIPTION
    )
    listed.add_argument("--lender", metavar="ID", help="of one lender alone")
    listed.set_defaults(run=show)

    rotated = actions.add_parser(
        "rotate", help="replace a key, with an overlap", description=ROTATE_DESCRIPTION
    )
    add = rotated.add_argument
    add("key", metavar="KEY_ID", help="the id of a key, not the key itself")
    add(
        "--overlap-hours",
        type=int,
        default=_OVERLAP_HOURS,
        metavar="N",
        help="how long the old key still works (default: %(default)s; 0 ends it at once)",
    )
    add("--days", type=int, metavar="N", help="until the new key expires")
    rotated.set_defaults(run=rotate)

    revoked = actions.add_parser(
        "revoke", help="end a key for good, at once", description=REVOKE_DESCRIPTION
    )
    revoked.add_argument("key", metavar="KEY_ID", help="the id of a key, not the key itself")
    revoked.set_defaults(run=revoke)


def issue(args: argparse.Namespace) -> int:
    """Make a key; nothing but the key goes to stdout."""
    book = Book(args.lender, Mode(args.mode))
    _require_shadow_of_live(args, book)
    with installation() as opened:
        text, key = _issue(opened, book, args)
        in_shadow = not is_open(opened.registry, book)
    _hand_over(text, key)
    if in_shadow:
        terminal.remark(
            f"{book.lender} has no model of its own yet: every decision is REVIEW, by the rule "
            "`shadow`, until one is approved."
        )
    return 0


def _require_shadow_of_live(args: argparse.Namespace, book: Book) -> None:
    if args.shadow and book.mode is not Mode.LIVE:
        raise InvalidName(
            "a test key needs no shadow: the built-in model answers it",
            hint="leave --shadow out, or say --mode live",
        )


def _issue(opened: Installation, book: Book, args: argparse.Namespace) -> tuple[str, Key]:
    scopes = _scopes(args.scope) if args.scope else keys.USUAL_SCOPES
    if book.mode is Mode.TEST:
        return lenders_keys.issue(
            opened.registry, opened.clock, opened.pepper, book, scopes, args.days
        )
    with naming_commands(opened, book.lender):
        if args.shadow:
            by = args.by or wiring.operator()
            return LiveKeys.at(opened).issue_shadow(book.lender, by, scopes, args.days)
        return LiveKeys.at(opened).issue(book.lender, scopes, args.days)


def show(args: argparse.Namespace) -> int:
    with existing_installation() as opened:
        if args.lender is not None:
            opened.registry.lender(args.lender)
        found = opened.registry.keys(args.lender)
    if not found:
        terminal.remark("There are no keys yet; `alama keys issue` makes one.")
        return 0
    terminal.say(listing(found, opened.clock.trusted(), terminal.stdout().width))
    return 0


def rotate(args: argparse.Namespace) -> int:
    """Make the next key; nothing but the key goes to stdout."""
    with existing_installation() as opened:
        asked = Successor(args.overlap_hours, args.days)
        text, new = lenders_keys.rotate(
            opened.registry, opened.clock, opened.pepper, args.key, asked
        )
        old = opened.registry.key(args.key)
    _hand_over(text, new)
    assert old.expires_us is not None
    terminal.remark(
        f"It replaces {old.id}, which works until {terminal.minute(old.expires_us)} UTC."
    )
    return 0


def revoke(args: argparse.Namespace) -> int:
    with existing_installation() as opened:
        key = lenders_keys.revoke(opened.registry, opened.clock, args.key)
    if key.revoked_us is None:
        terminal.say(f"{key.id} is revoked: every process refuses it within a second.")
    else:
        terminal.say(f"{key.id} was revoked at {terminal.minute(key.revoked_us)} UTC already.")
    return 0


def _scopes(names: list[str]) -> tuple[Scope, ...]:
    try:
        return tuple(Scope(name) for name in names)
    except ValueError:
        raise InvalidName(
            "there is no such scope", hint=f"a key can have {', '.join(Scope)}"
        ) from None


def _hand_over(text: str, key: Key) -> None:
    """Give the key to whoever reads stdout, and the words about it to whoever looks on."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
    ends = "never expires" if key.expires_us is None else f"expires {terminal.day(key.expires_us)}"
    terminal.remark(f"{key.id}: {key.lender}, {key.mode} mode, {', '.join(key.scopes)}, {ends}.")
    terminal.remark("It is shown this once: only a hash of it is kept.")


# -------------------------------------------------------------------------------- the table of keys


_SOON_US: Final = 7 * 86_400 * 1_000_000


class _Row(NamedTuple):
    """The cells of one key, in groups: a narrow terminal stacks each group in one column."""

    names: tuple[str, ...]
    book: tuple[str, ...]
    scopes: tuple[str, ...]
    times: tuple[str, ...]
    state: tuple[str, ...]


_HEADS: Final = _Row(
    ("key", "ends"), ("lender", "mode"), ("scopes",), ("created", "last used"), ("state",)
)


def listing(keys: Sequence[Key], now_us: int, width: int) -> Table:
    """Lay out keys in the order given; `width` is that of the terminal."""
    rows = [_row(key, now_us) for key in keys]
    return _wide(rows) if width >= ONE_LINE_WIDTH else _narrow(rows)


def _wide(rows: Sequence[_Row]) -> Table:
    table = plain_table(*chain.from_iterable(_HEADS))
    for row in rows:
        scopes, state = " ".join(row.scopes), " ".join(row.state)
        table.add_row(*row.names, *row.book, scopes, *row.times, state)
    return table


def _narrow(rows: Sequence[_Row]) -> Table:
    # A second line in every head, so that all of them begin on the first.
    table = plain_table(*("\n".join((*heads, "")[:2]) for heads in _HEADS))
    for row in rows:
        table.add_row(*(stacked(*cells) for cells in row))
    return table


def _row(key: Key, now_us: int) -> _Row:
    used = (
        "never" if key.last_used_us is None else f"{terminal.span(now_us - key.last_used_us)} ago"
    )
    return _Row(
        (key.id, key.hint),
        (key.lender, key.mode),
        _short_scopes(key),
        (terminal.day(key.created_us), used),
        _state(key, now_us),
    )


def _short_scopes(key: Key) -> tuple[str, ...]:
    """Say what a key may do, a line for each thing it may do something with.

    What keys have where nobody names scopes is one word: seven in every line hide what is not so.
    """
    has_usual = set(key.scopes).issuperset(USUAL_SCOPES)
    acts: dict[str, list[str]] = {}
    for scope in key.scopes:
        if has_usual and scope in USUAL_SCOPES:
            continue
        thing, _, act = scope.partition(":")
        acts.setdefault(thing, []).append(act)
    told = tuple(f"{thing}:{','.join(done)}" for thing, done in acts.items())
    return ("usual", *told) if has_usual else told


def _state(key: Key, now_us: int) -> tuple[str, ...]:
    if key.revoked_us is not None:
        return "revoked", terminal.day(key.revoked_us)
    if key.expires_us is None:
        return ("active",)
    if key.expired(now_us):
        return "expired", terminal.day(key.expires_us)
    if key.expires_us - now_us < _SOON_US:
        return "expires in", terminal.span(key.expires_us - now_us)
    return "active to", terminal.day(key.expires_us)
