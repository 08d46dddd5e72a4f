"""`alama applicants`: export, hold or erase what is held on one applicant."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from alama.lenders.installation import existing_installation
from alama.platform.book import Book, Mode
from alama.platform.errors import InvalidName
from alama.platform.files.promise import promised_in_private
from alama.platform.terminal import terminal
from alama.platform.terminal.tables import plain_table
from alama.platform.terminal.terminal import add_yes, ask, confirm, say_journal
from alama.protection import applicants
from alama.protection.applicants import Applicants, Erasure, Held, UnderHold, UnknownHold
from alama.protection.retention import Period, Retention

if TYPE_CHECKING:
    import argparse


DESCRIPTION: Final = """\
Answer an applicant who asks what is held on them, or asks to be forgotten; and keep what a court
asks for. An applicant is found by what the lender sent as applicant_ref. It is asked for, so that
it need not stay in the history of a shell; in a script, pipe it in. It is not kept in clear, and
no log has it: the audit names the key of the applicant instead."""

EXPORT_DESCRIPTION: Final = """\
Write everything that is held on one applicant as one JSON document: each
application as it was sent, each decision with every number behind it, what an
officer decided on it, what became of the loan, and legal holds. The audit
notes that it was done."""

ERASE_DESCRIPTION: Final = """\
Erase one applicant, for good: the key that opens what was sent is destroyed,
and nobody can read it any more, with the master key or without. Refused while
a legal hold stands. What stays are decisions that name nobody, which the law
may ask a lender to keep, and the day's statistics. The audit notes it."""

ERASE_EXAMPLES: Final = """\
examples:
  # asks for the reference, and once more before it is done
  alama applicants erase --lender umoja-sacco --mode live --by "W. Mutua"

  # from a script
  echo "$REF" | alama applicants erase --lender umoja-sacco --mode live --yes"""

HOLD_DESCRIPTION: Final = """\
Place a legal hold on an applicant: until it is released, nothing of theirs is erased, or deleted
because its time is over. Several may stand. The reason is kept in clear, for good: it names the
case, not the applicant."""

RELEASE_DESCRIPTION: Final = """\
End a legal hold, by its number. What was kept because of it may be erased from then on, and is
deleted when its time is over."""

HOLDS_DESCRIPTION: Final = """\
List the legal holds that stand, oldest first. Applicants are named by the ids of their keys, as
in the audit. Times are UTC."""

_CONFIRMATION: Final = "erase"


def register(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    exported = actions.add_parser(
        "export", help="all that is held on one, as JSON", description=EXPORT_DESCRIPTION
    )
    add_applicant(exported)
    exported.add_argument(
        "--out", type=Path, metavar="FILE", help="where to (default: standard output)"
    )
    exported.set_defaults(run=export)
    erased = actions.add_parser(
        "erase",
        help="make what one has sent unreadable, for good",
        description=ERASE_DESCRIPTION,
        epilog=ERASE_EXAMPLES,
    )
    add_applicant(erased)
    add_yes(erased)
    erased.set_defaults(run=erase)
    held = actions.add_parser(
        "hold", help="keep what is held on one, whatever comes", description=HOLD_DESCRIPTION
    )
    add_applicant(held)
    held.add_argument("--reason", required=True, metavar="TEXT", help="the case, not the applicant")
    held.set_defaults(run=hold)
    released = actions.add_parser("release", help="end a hold", description=RELEASE_DESCRIPTION)
    released.add_argument("number", type=int, metavar="NUMBER", help="as `holds` lists it")
    add_by(released)
    released.set_defaults(run=release)
    listed = actions.add_parser("holds", help="those that stand", description=HOLDS_DESCRIPTION)
    listed.set_defaults(run=show_holds)


def add_applicant(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--lender", required=True, metavar="ID", help="`alama lenders list` shows them")
    add("--mode", required=True, choices=[mode.value for mode in Mode], help="in which it was sent")
    add("--ref", metavar="REF", help="the applicant_ref (default: asked for)")
    add_by(parser)


def add_by(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--by", metavar="NAME", help="who says so, for the audit (default: who is logged in)"
    )


def export(args: argparse.Namespace) -> int:
    """Write the document; without --out nothing but the document goes to stdout."""
    with existing_installation() as opened:
        book = _book(args)
        opened.registry.lender(book.lender)
        reference = reference_from(args)
        if args.out is None:
            exported = Applicants.at(opened).export(book, reference, args.by)
            sys.stdout.write(applicants.encode(exported).decode())
            return 0
        if args.out.exists():
            raise InvalidName(
                f"{args.out} is there already", hint="remove it, or name another file"
            )
        with promised_in_private(args.out) as output:
            exported = Applicants.at(opened).export(book, reference, args.by)
            output.write(applicants.encode(exported))
    terminal.say(f"{args.out}: {_scores(len(exported.scores))}, readable by you alone.")
    terminal.remark("It holds what the applicant sent: pass it on safely, then remove it.")
    return 0


def erase(args: argparse.Namespace) -> int:
    """Erase an applicant, having asked once more, and say what stays and why."""
    with existing_installation() as opened:
        book = _book(args)
        opened.registry.lender(book.lender)
        reference = reference_from(args)
        if not args.yes:
            _say_found(Applicants.at(opened).look_up(book, reference))
            confirm(_CONFIRMATION, "This cannot be undone")
        try:
            erasure = Applicants.at(opened).erase(book, reference, args.by)
        except UnderHold as error:
            releases = (f"alama applicants release {hold.number}" for hold in error.holds)
            error.hint = f"once the case is over: {' and '.join(releases)}"
            raise
        period = Retention.at(opened).period(book)
    _say_erased(erasure, period)
    return 0


def hold(args: argparse.Namespace) -> int:
    with existing_installation() as opened:
        book = _book(args)
        opened.registry.lender(book.lender)
        placed = Applicants.at(opened).hold(book, reference_from(args), args.reason, args.by)
    terminal.say(f"Hold {placed.number} stands on {placed.key_id}: {placed.reason}")
    terminal.remark(f"To end it: alama applicants release {placed.number}")
    return 0


def release(args: argparse.Namespace) -> int:
    with existing_installation() as opened:
        try:
            ended = Applicants.at(opened).release(args.number, args.by)
        except UnknownHold as error:
            error.hint = "`alama applicants holds` lists them"
            raise
        others = [one for one in Applicants.at(opened).holds() if one.key_id == ended.key_id]
    lasted = terminal.span(opened.clock() - ended.placed_us)
    terminal.say(f"Hold {ended.number} on {ended.key_id} is released; it stood for {lasted}.")
    for other in others:
        terminal.remark(f"Hold {other.number} still stands on the same applicant: {other.reason}")
    return 0


def show_holds(_: argparse.Namespace) -> int:
    with existing_installation() as opened:
        standing = Applicants.at(opened).holds()
    if not standing:
        terminal.remark("No legal hold stands.")
        return 0
    table = plain_table("hold", "lender", "mode", "applicant", "placed (UTC)", "reason")
    table.columns[0].justify = "right"
    table.columns[3].no_wrap = True  # an id in two pieces cannot be copied
    for one in standing:
        table.add_row(
            str(one.number),
            one.book.lender,
            one.book.mode.value,
            one.key_id,
            terminal.minute(one.placed_us),
            one.reason,
        )
    terminal.say(table)
    return 0


def _book(args: argparse.Namespace) -> Book:
    return Book(args.lender, Mode(args.mode))


def reference_from(args: argparse.Namespace) -> str:
    """Give the reference that was named, or ask for it; a pipe is asked without a word."""
    return str(args.ref) if args.ref is not None else ask("applicant_ref: ")


def _say_found(held: Held) -> None:
    """Say on stderr whom the reference leads to, before it is asked whether they are meant."""
    terminal.remark(
        f"Found {held.key_id}, known since {terminal.day(held.since_us)}: "
        f"{_scores(len(held.scores))}."
    )
    for hold in held.holds:
        if hold.released_us is None:
            terminal.remark(f"Hold {hold.number} stands on this applicant: {hold.reason}")


def _say_erased(erasure: Erasure, period: Period) -> None:
    replies = f" and {_counted(erasure.replies, 'reply', 'replies')}" if erasure.replies else ""
    terminal.say(f"Erased: {_scores(erasure.scores)}{replies}, under {erasure.key_id}.")
    terminal.say(
        "What the applicant sent, and what was concluded from it, cannot be read any more.\n"
    )
    terminal.say("What stays: the decisions (score, tier, limit, term, price), which name nobody.")
    law = period.law
    if law is None:
        terminal.say(f"Nothing that Alama knows of asks for them: {period.reason}.")
        terminal.remark(
            f"To delete those too, in time: alama retention run {period.book.lender} --days N"
        )
    else:
        terminal.say(f"{law.place} asks for records to be kept for {law.days:,} days. {law.rule}")
        terminal.say(f"({law.source})")
        terminal.remark("After that they are deleted: alama retention show")
    terminal.remark("Backups still hold the key: docs/data-protection.md says what to do.")
    say_journal(erasure.journal_emptied)


def _scores(count: int) -> str:
    return _counted(count, "score", "scores")


def _counted(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"
