"""`alama retention`: for how long scores are kept, and deleting those whose time is over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.lenders.installation import existing_installation
from alama.platform.errors import ClockLeapt, InvalidName
from alama.platform.terminal import terminal
from alama.platform.terminal.tables import plain_table
from alama.platform.terminal.terminal import add_yes, confirm, say_journal
from alama.protection.retention import LawUnknown, NoPeriod, Plan, Retention

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence


DESCRIPTION: Final = """\
Scores are kept for as long as the law asks for, and then they go. How long that is follows from
the jurisdictions that a lender's policies name; where several answered, the strictest law counts.
The days are counted from when the loan of a score would have been due. The service does it by
itself, a little every day. Where more than 100 scores and more than a twentieth of a book are due
at once, none of them goes until a person says `run`."""

SHOW_DESCRIPTION: Final = """\
Say for each lender and mode for how long scores are kept, by which law, and how many of them would
go today. Where no law is known nothing is deleted unless `alama retention run --days` says so."""

RUN_DESCRIPTION: Final = """\
Delete the scores whose time is over, with what became of them, and with the keys of applicants of
whom nothing is left; those under a legal hold stay. Daily statistics stay too: they are nobody's
data. The audit notes what goes, so that no score is missing without a reason. It can be
interrupted, and run again. While a leap of the clock stands it is refused: see `alama clock`.
With --days it deletes what no law says when to delete: it wants a lender, and asks once more."""

_CONFIRMATION: Final = "delete"


def register(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    shown = actions.add_parser(
        "show", help="for how long scores are kept", description=SHOW_DESCRIPTION
    )
    shown.set_defaults(run=show)
    ran = actions.add_parser("run", help="delete what is due", description=RUN_DESCRIPTION)
    add = ran.add_argument
    add("lender", nargs="?", metavar="LENDER", help="of one lender alone (default: of all)")
    add(
        "--days",
        type=int,
        metavar="N",
        help="longer than the law asks for, or where none does; 4 at least, as a retry may ask for "
        "the reply of three days ago; with a LENDER",
    )
    add("--dry-run", action="store_true", help="say what would go, and delete nothing")
    add("--by", metavar="NAME", help="who says so, for the audit (default: who is logged in)")
    add_yes(ran)
    ran.set_defaults(run=run)


def show(_: argparse.Namespace) -> int:
    table = plain_table("lender", "mode", "kept for", "due now", "by itself", "because")
    for place in (2, 3):
        table.columns[place].justify = "right"
    with existing_installation() as opened:
        retention = Retention.at(opened)
        for book in retention.books():
            law, reason = retention.period(book)[1:3]
            kept, due, alone, because = "ever", "", "", reason
            if law is not None:
                because = f"{law.place}: {law.source}"
                try:
                    plan = retention.plan(book)
                except LawUnknown as error:
                    because = error.reason
                else:
                    kept, due = f"{plan.days:,} days", f"{plan.scores:,}"
                    alone = _by_itself(retention, plan)
            table.add_row(book.lender, book.mode.value, kept, due, alone, because)
    terminal.say(table)
    return 0


def _by_itself(retention: Retention, plan: Plan) -> str:
    """Say whether what is due goes by itself."""
    if not (plan.scores or plan.borrowers):
        return ""
    return "yes" if retention.is_usual(plan) else "no: wants `run`"


def run(args: argparse.Namespace) -> int:
    if args.days is not None and args.lender is None:
        raise InvalidName("--days wants a lender", hint="alama retention run LENDER --days N")
    with existing_installation() as opened:
        if opened.clock.leap is not None:
            raise ClockLeapt("nothing was deleted")
        plans = list(_plans(Retention.at(opened), args.lender, args.days))
        due = [plan for plan in plans if plan.scores or plan.borrowers]
        if args.dry_run:
            _say_plans(due)
        elif due:
            if args.days is not None and not args.yes:
                _say_plans(due)
                confirm(_CONFIRMATION, "What is deleted cannot be brought back")
            _delete(Retention.at(opened), due, args.by)
    if plans and not due:
        terminal.say("Nothing is due.")
    return 0


def _plans(retention: Retention, lender: str | None, days: int | None) -> Iterator[Plan]:
    """Plan for each book; one that has no period is left out, and said."""
    for book in retention.books(lender):
        try:
            yield retention.plan(book, days)
        except (NoPeriod, LawUnknown) as error:
            if days is not None:
                raise
            terminal.remark(f"{book.lender}, {book.mode} mode, is left alone: {error.reason}.")


def _say_plans(due: Sequence[Plan]) -> None:
    if not due:
        return
    table = plain_table("lender", "mode", "kept for", "due before", "would go")
    for place in (2, 4):
        table.columns[place].justify = "right"
    for plan in due:
        table.add_row(
            plan.book.lender,
            plan.book.mode.value,
            f"{plan.days:,} days",
            terminal.day(plan.before_us),
            f"{plan.scores:,}",
        )
    terminal.say(table)


def _delete(retention: Retention, due: Sequence[Plan], by: str | None) -> None:
    for plan in due:
        book, gone = plan.book, 0
        with terminal.progress(f"deleting of {book.lender}", plan.scores, unit="scores") as bar:
            for batch in retention.carry_out(plan, by):
                gone += batch
                bar.advance(batch)
        scores = "score" if gone == 1 else "scores"
        terminal.say(
            f"{book.lender}, {book.mode} mode: {gone:,} {scores} deleted, whose loans "
            f"were due before {terminal.day(plan.before_us)}, {plan.days:,} days ago."
        )
    say_journal(retention.finish())
