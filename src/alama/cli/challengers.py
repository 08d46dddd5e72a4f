"""`alama models challenge` and `compare`: a second model beside the one that decides."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from alama.cli import comparison_tables, terminal, words
from alama.cli.installed import existing_installation
from alama.cli.onboard import named_candidate
from alama.core.model import encode
from alama.files.models import read_model
from alama.files.promise import promised
from alama.service.book import Book, Mode
from alama.service.errors import StoreUnfit
from alama.wiring import challenging

if TYPE_CHECKING:
    from alama.cli.command import Subparsers
    from alama.wiring import Installation

_YEAR_MIN: Final = 1970

CHALLENGE_DESCRIPTION: Final = """\
Let a second model score what a lender is sent, without deciding anything: a worker asks it about
every score half a minute after it was given, under the policy that decided, and keeps what it would
have said. No reply is another or later for it. A candidate may be one whose gates have failed. Each
of a lender's two books has one challenger at a time; what it has said stays when it is ended."""

CHALLENGE_EXAMPLES: Final = """\
examples:
  alama models challenge umoja --candidate can_0123 --by "W. Mutua" --reason "retrained on May"

  # in test mode, by a model file, also on what was scored since May
  alama models challenge demo --mode test --model model.json --from 2026-05-01 \\
    --by "W. Mutua" --reason "to try it"

  alama models challenge umoja --end --by "W. Mutua" --reason "it is not better"
"""

COMPARE_DESCRIPTION: Final = """\
Hold the challenger of a lender against the model that decides, on the scores that both have given:
what each would decide, and where loans are known and due (`alama outcomes load`), how well each
ranks them, whether chance explains the difference, whether what each predicted came true, and what
became of those on whom the two would decide otherwise. --json writes it for programs; - is the
standard output."""

COMPARE_EXAMPLES: Final = """\
examples:
  alama models compare umoja
  alama models compare demo --mode test --json -"""


def register(actions: Subparsers) -> None:
    """Add both to the actions of `alama models`."""
    parser = actions.add_parser(
        "challenge",
        help="let a second model score what a lender is sent, without deciding",
        description=CHALLENGE_DESCRIPTION,
        epilog=CHALLENGE_EXAMPLES,
    )
    _add_book(parser)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--candidate", metavar="ID", help="`alama onboard status` lists them")
    what.add_argument("--model", type=Path, metavar="MODEL", help="a model file")
    what.add_argument("--end", action="store_true", help="ask the challenger no more")
    parser.add_argument(
        "--from",
        dest="first_day",
        type=_day,
        metavar="DATE",
        help="ask about what is stored from this day on as well, UTC (default: from now on)",
    )
    parser.add_argument("--by", required=True, metavar="NAME", help="who begins or ends it")
    parser.add_argument("--reason", required=True, metavar="TEXT", help="why: the audit keeps it")
    parser.set_defaults(run=challenge)
    compared = actions.add_parser(
        "compare",
        help="hold the challenger against the model that decides",
        description=COMPARE_DESCRIPTION,
        epilog=COMPARE_EXAMPLES,
    )
    _add_book(compared)
    compared.add_argument("--json", type=Path, metavar="FILE", help="for programs; - prints it")
    compared.set_defaults(run=compare)


def _add_book(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("lender", metavar="LENDER", help="`alama lenders list` shows them")
    parser.add_argument(
        "--mode",
        choices=[mode.value for mode in Mode],
        default=Mode.LIVE.value,
        help="default: %(default)s",
    )


def _day(text: str) -> int:
    """Give the beginning of a day, UTC, in microseconds."""
    try:
        day = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        message = f"{text!r} is not a date such as 2026-11-30"
        raise argparse.ArgumentTypeError(message) from None
    if day.year < _YEAR_MIN:
        message = f"{text!r} is before {_YEAR_MIN}: no score is so old"
        raise argparse.ArgumentTypeError(message)
    return int(day.timestamp()) * 1_000_000


def challenge(args: argparse.Namespace) -> int:
    """Begin or end a challenge."""
    book = Book(args.lender, Mode(args.mode))
    with existing_installation() as opened:
        challenges = challenging.challenges(opened)
        if args.end:
            ended = challenges.end(book, args.by, args.reason)
            words.say(f"{ended.model_id} is asked no more; it has answered {ended.scored:,} times.")
        else:
            _require_shadow(opened)
            document = _document(opened, args)
            begun = challenges.begin(book, document, args.by, args.reason, args.first_day)
            words.say(f"{begun.model_id} scores what {book.lender} is sent in {book.mode} mode.")
    words.remark(f"What it says: alama models compare {book.lender} --mode {book.mode}")
    return 0


def _require_shadow(opened: Installation) -> None:
    if not challenging.can_shadow(opened):
        raise StoreUnfit(
            "this SQLite is not safe for a second process on one file, and a challenger needs one",
            hint="use PostgreSQL, or a newer SQLite",
        )


def _document(opened: Installation, args: argparse.Namespace) -> bytes:
    if args.model is not None:
        return encode(read_model(args.model))
    candidate = named_candidate(opened, args.lender, args.candidate)
    return opened.onboarding.candidates.document(args.lender, candidate.id)


def compare(args: argparse.Namespace) -> int:
    """Compare, and show or write it."""
    with existing_installation() as opened:
        found = challenging.comparing(opened).compare(Book(args.lender, Mode(args.mode)))
    if args.json is None:
        comparison_tables.show(found, terminal.stdout())
        return 0
    document = msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n"
    if str(args.json) == "-":
        terminal.stdout().out(document.decode(), end="", highlight=False)
    else:
        with promised(args.json) as output:
            output.write(document)
    return 0
