"""`alama lenders`: who uses this installation, and the currency they lend in."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from alama.cli.command import Subparsers

DESCRIPTION: Final = """\
Add and list the lenders of this installation. Keys, scores, models and policies belong to a
lender, and nothing of one lender can be seen by another."""

ADD_DESCRIPTION: Final = """\
Add a lender. All its money is in one currency. It can score in test mode at
once, with a test key. Live mode, where a model trained on the lender's own
history answers, is not in this version."""

LIST_DESCRIPTION: Final = """\
List the lenders of this installation, oldest first: the id that commands take, the name, the
currency, and whether live keys are answered. Live mode is not in this version."""

ADD_EXAMPLES: Final = """\
examples:
  alama lenders add umoja-sacco --name "Umoja SACCO" --currency KES
  alama keys issue --lender umoja-sacco --mode test"""


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser("lenders", help="add and list lenders", description=DESCRIPTION)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    added = actions.add_parser(
        "add",
        help="add a lender",
        description=ADD_DESCRIPTION,
        epilog=ADD_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    arg = added.add_argument
    arg("lender", metavar="ID", help="a short word for commands and logs: umoja-sacco")
    arg("--name", required=True, help="the name for people")
    arg(
        "--currency",
        required=True,
        type=str.upper,
        metavar="CODE",
        help="that it lends in, ISO 4217: KES",
    )
    added.set_defaults(run=add)
    listed = actions.add_parser(
        "list", help="every lender, oldest first", description=LIST_DESCRIPTION
    )
    listed.set_defaults(run=show)


def add(args: argparse.Namespace) -> int:
    """Add a lender and say what comes next."""
    from alama import wiring  # noqa: PLC0415  not for the front door
    from alama.cli import words  # noqa: PLC0415
    from alama.cli.installed import installation  # noqa: PLC0415
    from alama.service import lenders  # noqa: PLC0415

    with installation() as opened:
        lender = lenders.add(opened.registry, wiring.now_us, args.lender, args.name, args.currency)
    words.say(f"{lender.id}: {lender.name}, lends in {lender.currency}.")
    words.remark(f"Next: alama keys issue --lender {lender.id} --mode test")
    return 0


def show(_: argparse.Namespace) -> int:
    """List lenders, the oldest first, and whether they can score live."""
    from alama.cli import words  # noqa: PLC0415  not for the front door
    from alama.cli.installed import existing_installation  # noqa: PLC0415
    from alama.cli.tables import plain_table  # noqa: PLC0415
    from alama.service.book import Book, Mode  # noqa: PLC0415

    table = plain_table("lender", "name", "currency", "added", "live mode")
    with existing_installation() as opened:
        for lender in opened.registry.lenders():
            live = opened.registry.deployed(Book(lender.id, Mode.LIVE))
            table.add_row(
                lender.id,
                lender.name,
                lender.currency,
                words.day(lender.created_us),
                "not yet" if live is None else "open",
            )
    if not table.row_count:
        words.remark("There are no lenders yet; `alama lenders add` adds one.")
        return 0
    words.say(table)
    return 0
