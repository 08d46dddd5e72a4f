"""`alama clock`: what time it is, by whom, and a person's word that it is right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.lenders.installation import Installation, existing_installation
from alama.platform import clock
from alama.platform.clock_store import SqlSeen
from alama.platform.terminal import terminal
from alama.platform.terminal.tables import facts
from alama.platform.terminal.terminal import add_yes, confirm
from alama.protection.retention import Retention

if TYPE_CHECKING:
    import argparse

    from alama.platform.clock import Leap


DESCRIPTION: Final = """\
Show the time that scores and acts are stamped with, and what it was held against. On PostgreSQL it
is the time of the database, else that of this machine. A time that does not fit what was seen
before is a leap: nothing is deleted and nothing expires by it until the clock is right again, or
`alama clock accept` says that it is. The exit code is 1 while a leap stands."""

ACCEPT_DESCRIPTION: Final = """\
Say that the time is right as it is now: what is due by it is deleted and expires. Look at `alama
clock` before. It shows what becomes due by it, and asks. The audit notes it. Processes that run
take it up within seconds, if their own time is the same."""

_CONFIRMATION: Final = "accept"

_EXIT_LEAP: Final = 1


def register(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.set_defaults(run=show)
    actions = parser.add_subparsers(title="actions", metavar="ACTION")
    accepted = actions.add_parser(
        "accept", help="say that the time is right", description=ACCEPT_DESCRIPTION
    )
    accepted.add_argument(
        "--by", metavar="NAME", help="who says so, for the audit (default: who is logged in)"
    )
    add_yes(accepted)
    accepted.set_defaults(run=accept)


def show(_: argparse.Namespace) -> int:
    """Show every time there is, and whether they fit."""
    with existing_installation() as opened:
        now_us, trusted_us, leap = opened.clock(), opened.clock.trusted(), opened.clock.leap
        source = "this machine" if opened.database.embedded else "the database"
        signed_us = SqlSeen(opened.database).signed_us()
        rows = [
            (f"time of {source}", terminal.second(opened.clock.source_us())),
            ("stamps", terminal.second(now_us)),
            ("deletes and expires", terminal.second(trusted_us)),
            ("newest act", "none" if signed_us is None else terminal.second(signed_us)),
        ]
    if not opened.database.embedded:
        rows.insert(1, ("time of this machine", terminal.second(clock.wall_us())))
    terminal.say(facts(rows))
    if leap is None:
        terminal.say("\nThe time is trusted. Times are UTC.")
        return 0
    terminal.say(f"\nThe clock has leapt: it is {_worded(leap)}. Times are UTC.")
    terminal.remark(
        "Set the clock of its machine. If the time is right as it is: alama clock accept."
    )
    return _EXIT_LEAP


def accept(args: argparse.Namespace) -> int:
    with existing_installation() as opened:
        leap = opened.clock.leap
        _say_due(opened)
        if not args.yes:
            confirm(_CONFIRMATION, "What is deleted by a wrong time cannot be brought back")
        before_us, at_us = opened.clock.accept()
        SqlSeen(opened.database).accept(opened.log, before_us, at_us, args.by)
    terminal.say(f"It is {terminal.second(at_us)}, UTC: what is due goes by this time again.")
    if leap is not None:
        terminal.remark(f"Until now it was {_worded(leap)}.")
    return 0


def _say_due(opened: Installation) -> None:
    """Say what is due by the time of the source and was not by the one that is trusted."""
    source_us, trusted_us = opened.clock.source_us(), opened.clock.trusted()
    terminal.say(f"By {terminal.second(source_us)}, UTC:")
    for plan in Retention.at(opened, lambda: source_us).due():
        book = plan.book
        terminal.say(f"  {plan.scores:,} of the scores of {book.lender}, {book.mode} mode, are due")
    issued = opened.registry.keys()
    keys = [key for key in issued if key.revoked_us is None]
    ended = [key for key in keys if key.expired(source_us) and not key.expired(trusted_us)]
    terminal.say(f"  {len(ended):,} of {len(keys):,} API keys expire")


def _worded(leap: Leap) -> str:
    side = "ahead of" if leap.ahead_us > 0 else "behind"
    return f"{terminal.span(abs(leap.ahead_us))} {side} the last time seen"
