"""`alama lenders`: who uses this installation, the currency they lend in, and the pause."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.batch.listing import number
from alama.core.errors import InvalidPolicy
from alama.core.lending import policy_text
from alama.core.lending.policy import Per
from alama.core.lending.ready_policy import caps_of, exploration_of
from alama.lenders import keys
from alama.lenders.installation import Installation, existing_installation, installation
from alama.lenders.keys import is_open
from alama.platform.book import Book, Mode
from alama.platform.terminal import terminal
from alama.platform.terminal.command import add_mode
from alama.platform.terminal.tables import plain_table
from alama.policies import policies
from alama.policies.policies import text_in_force
from alama.scoring.holds import HOUR_US, SoFar, caps_of_day, filled, first_hour, total
from alama.scoring.store import Scores

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from alama.core.lending.policy import Policy
    from alama.lenders.records import Pause
    from alama.lenders.store import Registry
    from alama.scoring.holds import Counts, Filling


DESCRIPTION: Final = """\
Add, list and pause the lenders of this installation. Keys, scores, models and policies belong to a
lender, and nothing of one lender can be seen by another."""

ADD_DESCRIPTION: Final = """\
Add a lender. All its money is in one currency. It can score in test mode at
once, with a test key. Live mode, where a model trained on the lender's own
history answers, begins with `alama onboard LENDER`."""

LIST_DESCRIPTION: Final = """\
List the lenders of this installation, oldest first: the id that commands take, the name, the
currency, whether live keys are answered (shadow: without a model of its own, by REVIEW alone),
which modes are paused, since when and why, and where the day stands if the policy bounds it."""

PAUSE_DESCRIPTION: Final = """\
Leave every decision of a lender to a person, within a second, in every
process: each reply says REVIEW, and `paused` among its rules. Scores are
given and kept as before. It is the switch for a day on which something is
wrong. Without --mode it is the live decisions that are paused."""

PAUSE_EXAMPLES: Final = """\
examples:
  alama lenders pause umoja-sacco --reason "payments are down, incident 31"
  alama lenders resume umoja-sacco"""

RESUME_DESCRIPTION: Final = """\
End the pause of a lender: its policy decides again, within a second, in every process."""

ADD_EXAMPLES: Final = """\
examples:
  alama lenders add umoja-sacco --name "Umoja SACCO" --currency KES
  alama keys issue --lender umoja-sacco --mode test"""


def register(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    added = actions.add_parser(
        "add",
        help="add a lender",
        description=ADD_DESCRIPTION,
        epilog=ADD_EXAMPLES,
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
    paused = actions.add_parser(
        "pause",
        help="leave every decision to a person",
        description=PAUSE_DESCRIPTION,
        epilog=PAUSE_EXAMPLES,
    )
    _add_book(paused)
    paused.add_argument("--reason", required=True, metavar="TEXT", help="why, for those who ask")
    paused.set_defaults(run=pause)
    resumed = actions.add_parser(
        "resume", help="let the policy decide again", description=RESUME_DESCRIPTION
    )
    _add_book(resumed)
    resumed.set_defaults(run=resume)


def _add_book(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("lender", metavar="ID", help="`alama lenders list` shows them")
    add_mode(parser, Mode.LIVE)


def add(args: argparse.Namespace) -> int:
    with installation() as opened:
        lender = keys.add_lender(
            opened.registry, opened.clock, args.lender, args.name, args.currency
        )
    terminal.say(f"{lender.id}: {lender.name}, lends in {lender.currency}.")
    terminal.remark(f"Next: alama keys issue --lender {lender.id} --mode test")
    return 0


def show(_: argparse.Namespace) -> int:
    """List lenders, the oldest first, and whether they can score live."""
    table = plain_table("lender", "name", "currency", "added", "live mode", "paused")
    pauses: list[tuple[Book, Pause]] = []
    days: list[str] = []
    with existing_installation() as opened:
        for lender in opened.registry.lenders():
            found = dict(_pauses(opened.registry, lender.id))
            pauses += [(Book(lender.id, mode), pause) for mode, pause in found.items()]
            days += _days(opened, lender.id)
            table.add_row(
                lender.id,
                lender.name,
                lender.currency,
                terminal.day(lender.created_us),
                _live_mode(opened.registry, lender.id),
                ", ".join(found),
            )
    if not table.row_count:
        terminal.remark("There are no lenders yet; `alama lenders add` adds one.")
        return 0
    terminal.say(table)
    for book, standing in pauses:
        since = terminal.minute(standing.since_us)
        terminal.say(f"\n{_paused(book)} since {since} UTC: {standing.reason}")
    for said in days:
        terminal.say(f"\n{said}")
    return 0


def _live_mode(registry: Registry, lender_id: str) -> str:
    """Say what answers live keys of a lender: its own model, a shadow, or nothing yet."""
    book = Book(lender_id, Mode.LIVE)
    if is_open(registry, book):
        return "open"
    return "shadow" if registry.in_shadow(book) else "not yet"


def _days(opened: Installation, lender_id: str) -> Iterator[str]:
    """Say where the day of a lender stands, in each mode in which its policy bounds it."""
    for mode in Mode:
        book = Book(lender_id, mode)
        try:
            policy = policy_text.unjudged(text_in_force(opened.registry, book))
        except InvalidPolicy as error:  # whoever looks for a pause must still see the list
            yield f"{lender_id} in {mode} mode has a policy that cannot be read: {error}"
            continue
        now_us = opened.clock()
        approved = SoFar().of(Scores.at(opened).approved, book, policy, now_us)
        for per in (Per.DAY, Per.MONTH):
            since = _hour(first_hour(now_us, policy.daily.utc_offset_hours, per))
            for said in _used(policy, per, approved):
                yield f"{lender_id} in {mode} mode, {_WHILE[per]} since {since}: {said}"


_WHILE: Final = {Per.DAY: "today", Per.MONTH: "this month"}


def _used(policy: Policy, per: Per, approved: Mapping[Per, Counts]) -> Iterator[str]:
    """Say how much of each bound of a policy is used."""
    currency = policy.currency
    of_day = [one for one in filled(caps_of_day(policy.daily), approved) if one.cap.per is per]
    if of_day:
        said = ", ".join(_parts(one, currency) for one in of_day)
        held = any(one.reached() for one in of_day)
        yield f"{said}; every decision is REVIEW until the next day" if held else said
    for one in filled(caps_of(policy), approved):
        if one.cap.per is per:
            said = f"{one.cap.name}: {_parts(one, currency)}"
            yield f"{said}; beyond it the decision is {one.cap.decision}" if one.reached() else said
    explores = exploration_of(policy)
    if explores is not None and per is Per.DAY:
        explored = total(approved.get(per, {})).explored
        yield f"{number(explored)} of {number(explores.daily_max)} approved by lot"


def _parts(filling: Filling, currency: str) -> str:
    said = []
    for (used, most), (money, what) in zip(filling.bounds(), _OF, strict=True):
        if most is not None:
            said.append(f"{f'{currency} ' if money else ''}{used:,.0f} of {number(most)} {what}")
    return ", ".join(said)


_OF: Final = ((False, "loans"), (True, "approved"), (True, "expected to be lost"))


def _hour(since_1970: int) -> str:
    return f"{terminal.minute(since_1970 * HOUR_US)} UTC"


def _pauses(registry: Registry, lender_id: str) -> Iterator[tuple[Mode, Pause]]:
    for mode in Mode:
        standing = registry.pause_of(Book(lender_id, mode))
        if standing is not None:
            yield mode, standing


def pause(args: argparse.Namespace) -> int:
    """Leave every decision of a book to a person."""
    book = Book(args.lender, Mode(args.mode))
    with existing_installation() as opened:
        standing = opened.registry.pause_of(book)
        is_answered = is_open(opened.registry, book) or opened.registry.in_shadow(book)
        policies.pause(opened.registry, opened.clock, book, args.reason)
    if standing is not None:
        since = terminal.minute(standing.since_us)
        terminal.say(f"{book.lender} was paused in {book.mode} mode at {since} UTC already.")
        terminal.remark(f"The reason that stands: {standing.reason}")
        return 0
    if is_answered:
        terminal.say(f"{_paused(book)}: every decision is REVIEW within a second.")
    else:
        terminal.say(f"{_paused(book)}: every decision will be REVIEW once that mode is open.")
        terminal.remark(
            "It is not open yet, and test decisions go on: to pause those, add --mode test"
        )
    terminal.remark(f"To end it: alama lenders resume {book.lender} --mode {book.mode}")
    return 0


def _paused(book: Book) -> str:
    return f"{book.lender} is paused in {book.mode} mode"


def resume(args: argparse.Namespace) -> int:
    """Let the policy of a book decide again."""
    book = Book(args.lender, Mode(args.mode))
    with existing_installation() as opened:
        opened.registry.lender(book.lender)
        ended = opened.registry.resume(book)
        still = dict(_pauses(opened.registry, book.lender))
    if ended is None:
        terminal.say(f"{book.lender} was not paused in {book.mode} mode.")
        for mode in still:
            terminal.remark(f"{_paused(Book(book.lender, mode))}: add --mode {mode} to end that.")
        return 0
    lasted = terminal.span(opened.clock() - ended.since_us)
    terminal.say(f"{book.lender} decides again in {book.mode} mode; it was paused for {lasted}.")
    return 0
