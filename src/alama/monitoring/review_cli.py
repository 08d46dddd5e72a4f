"""`alama scores review`: say what a person decided on a score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.batch.listing import number
from alama.core.application import visible
from alama.lenders.installation import existing_installation
from alama.monitoring.reviews import Reviews
from alama.platform import ids
from alama.platform.book import Book, Mode
from alama.platform.days import date_of
from alama.platform.errors import InvalidName
from alama.platform.terminal import terminal
from alama.platform.terminal.tables import facts
from alama.scoring.records import UnknownScore
from alama.scoring.sequels import RULINGS, Judgement, Outcome, Review, ReviewReason, Sequel

if TYPE_CHECKING:
    import argparse

    from alama.platform.terminal.command import Subparsers


DESCRIPTION: Final = """\
Say what a person decided on a score: the end of REVIEW, or a decision of the
service confirmed or overridden. The first review of a score stands. The audit
names who decided; the note is sealed with what the applicant sent. The same is
done over HTTP at POST /v1/scores/{request_id}/review."""

EXAMPLES: Final = """\
examples:
  alama scores review req_... --lender umoja-sacco --mode live \\
    --decision APPROVED --reason income_verified --by "W. Mutua" \\
    --note "payslips of three months seen\""""


def register(actions: Subparsers) -> None:
    parser = actions.add_parser(
        "review",
        help="say what a person decided on a score",
        description=DESCRIPTION,
        epilog=EXAMPLES,
    )
    add = parser.add_argument
    add("request_id", metavar="REQUEST_ID", help="of the score")
    add("--lender", required=True, metavar="ID", help="`alama lenders list` shows them")
    add("--mode", required=True, choices=[mode.value for mode in Mode], help="of the score")
    add("--decision", required=True, choices=RULINGS, help="what the person decided")
    add(
        "--reason",
        required=True,
        choices=[reason.value for reason in ReviewReason],
        metavar="REASON",
        help=f"what weighed most: {', '.join(ReviewReason)}",
    )
    add("--by", required=True, metavar="NAME", help="who decided, for the audit")
    add("--note", default="", metavar="TEXT", help="in their own words (default: none)")
    parser.set_defaults(run=review)


def review(args: argparse.Namespace) -> int:
    """Keep a review, and say what stands."""
    request_id = request_id_from(args.request_id)
    said = Judgement(args.decision, ReviewReason(args.reason), args.by, args.note)
    with existing_installation() as opened:
        book = Book(opened.registry.lender(args.lender).id, Mode(args.mode))
        try:
            reviewed = Reviews.at(opened).review(book, request_id, said)
        except UnknownScore:
            whose = f"{book.lender} has no score {request_id} in {book.mode} mode"
            raise unknown(whose) from None
    terminal.say(request_id)
    terminal.say(facts(facts_of(Sequel(reviewed.review, None))))
    if not reviewed.is_new:
        terminal.remark("The same was said before; nothing has changed.")
    return 0


def facts_of(sequel: Sequel) -> list[tuple[str, str]]:
    """Give what became of a score, as far as it is known, as lines of its facts."""
    rows = []
    if sequel.review is not None:
        rows.append(("review", _decided(sequel.review)))
        if sequel.review.note:
            rows.append(("note", _noted(sequel.review)))
    if sequel.outcome is not None:
        rows.append(("outcome", _went(sequel.outcome)))
    return rows


def _decided(review: Review) -> str:
    which = f", which overrides {review.given_decision}" if review.overrides else ""
    reason = review.reason.value.replace("_", " ")
    when = f"{terminal.minute(review.reviewed_us)} UTC"
    return f"{review.decision}{which}: {reason}, by {visible(review.person)}, {when}"


def _noted(review: Review) -> str:
    return visible(" ".join(review.note.split()))


def _went(outcome: Outcome) -> str:
    said = [f"{outcome.state.value.replace('_', ' ')} on {date_of(outcome.happened_on)}"]
    if outcome.defaulted_on is not None and outcome.defaulted_on != outcome.happened_on:
        said.append(f"a default since {date_of(outcome.defaulted_on)}")
    if outcome.disbursed_amount is not None:
        said.append(f"{number(outcome.disbursed_amount)} lent")
    if outcome.repaid_amount is not None:
        said.append(f"{number(outcome.repaid_amount)} repaid")
    return ", ".join(said)


# ---------------------------------------------------------------------------------------------- ids


def request_id_from(text: str) -> str:
    """Read an id, or raise `InvalidName`."""
    if not ids.is_request_id(text):
        raise InvalidName(
            "this is not a request id",
            hint="it is req_ and 28 hexadecimal digits, as in the reply to the request",
        )
    return text


def unknown(message: str) -> InvalidName:
    """Give the error for an id that nothing has, with where others are."""
    return InvalidName(message, hint="`alama scores list` shows the latest")
