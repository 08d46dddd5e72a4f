"""`alama scores`: read the scores given, review them, and prove they would be given again."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

import msgspec

from alama.batch.listing import number
from alama.core.application import visible
from alama.lenders.installation import Installation, existing_installation
from alama.monitoring import review_cli, tally_cli
from alama.monitoring.review_cli import request_id_from, unknown
from alama.monitoring.reviews import Reviews
from alama.platform.book import Book, Mode
from alama.platform.terminal import terminal
from alama.platform.terminal import terminal as words
from alama.platform.terminal.tables import facts, plain_table
from alama.scoring import replay as replaying
from alama.scoring import waterfall
from alama.scoring.records import ScoreRow, ScoreSummary, Sealed, StoredScore, UnknownScore
from alama.scoring.replay import Difference, Record, recall
from alama.scoring.store import Scores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table


DESCRIPTION: Final = """\
Read the scores that the service has given and kept, count them, say what a person decided on one,
and replay one: an auditor's proof that the same application, model and policy still give the same
answer, to the last digit."""

LIST_DESCRIPTION: Final = """\
List the scores of one lender in one mode, newest first: those of the lender demo in test mode
unless others are named. A wide terminal shows the offers too. Times are UTC.

--waiting lists those alone that wait for a person: they say REVIEW, nobody has reviewed them yet,
and their applicants were not erased. `alama scores review` says what was decided."""

SHOW_DESCRIPTION: Final = """\
Show one score as it was given: to whom, by which model and policy, what was sent, and where each
point came from; then what became of it: what a person decided, and how the loan went. Nothing is
calculated again."""

REPLAY_DESCRIPTION: Final = """\
Assess a stored application again, by the stored model and policy that its record names, and hold
every number of the result against the record. Exits with 0 where all are identical, and with 1
and a table of what differs where they are not."""

_LIMIT: Final = 20
_LIMIT_MAX: Final = 1_000
_OFFER_WIDTH: Final = 108
"""From this width on a line has room for the offer."""

_EXIT_DIFFERENT: Final = 1


def register(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    listed = actions.add_parser(
        "list",
        help="the latest scores of a lender, or those that wait for a person",
        description=LIST_DESCRIPTION,
    )
    add = listed.add_argument
    add("--lender", default="demo", metavar="ID", help="default: %(default)s")
    add(
        "--mode",
        choices=[mode.value for mode in Mode],
        default=Mode.TEST.value,
        help="default: %(default)s",
    )
    add(
        "--limit",
        type=_count,
        default=_LIMIT,
        metavar="N",
        help=f"how many, at most {_LIMIT_MAX} (default: %(default)s)",
    )
    add("--before", metavar="REQUEST_ID", help="go on with those older than this one")
    add("--waiting", action="store_true", help="only those that a person has to decide on yet")
    listed.set_defaults(run=show_list)
    tally_cli.register(actions)
    review_cli.register(actions)
    for name, run, summary, description in (
        ("show", show, "one score, and where its points came from", SHOW_DESCRIPTION),
        ("replay", replay, "give a score again and compare", REPLAY_DESCRIPTION),
    ):
        action = actions.add_parser(name, help=summary, description=description)
        action.add_argument("request_id", metavar="REQUEST_ID", help="of any lender and mode")
        action.set_defaults(run=run)


def show_list(args: argparse.Namespace) -> int:
    """List scores, and say how to go on where there are more."""
    before = None if args.before is None else request_id_from(args.before)
    with existing_installation() as opened:
        lender = opened.registry.lender(args.lender)
        # One more than asked for tells whether there are more.
        pages = Scores.at(opened).waiting if args.waiting else Scores.at(opened).page
        found = pages(Book(lender.id, Mode(args.mode)), before, args.limit + 1)
    shown = found[: args.limit]
    wait = "that wait for a person" if args.waiting else ""
    if not shown:
        said = ("no", "older" if before else "", "scores", wait, "in", args.mode, "mode.")
        words.remark(f"{lender.id} has {' '.join(filter(None, said))}")
        return 0
    words.remark(f"{lender.id}, {args.mode} mode{wait and ', scores ' + wait}:")
    _say_list(shown, lender.currency)
    if len(found) > len(shown):
        again = "--waiting " if args.waiting else ""
        words.remark(f"Older ones: {again}--before {shown[-1].request_id}")
    return 0


def show(args: argparse.Namespace) -> int:
    """Show a record: the facts about it, then the answer that was given."""
    with existing_installation() as opened:
        record = recall(opened.registry, opened.vault, find_score(opened, args.request_id))
        sequel = Reviews.at(opened).sequel(record.row.book, record.row.request_id)
    words.say(record.row.request_id)
    words.say(facts([*_facts(record.row, record.sealed), *review_cli.facts_of(sequel)]))
    console = terminal.stdout()
    said = record.sealed.assessment
    console.print(waterfall.drawing(record.model, record.policy, said, console), soft_wrap=True)
    return 0


def replay(args: argparse.Namespace) -> int:
    """Give a score again and compare."""
    with existing_installation() as opened:
        record = replaying.recall(
            opened.registry, opened.vault, find_score(opened, args.request_id)
        )
    differences = replaying.replay(record)
    if not differences:
        words.say(_identical(record))
        return 0
    words.say(f"{record.row.request_id} differs:\n")
    words.say(difference_table("stored", differences))
    return _EXIT_DIFFERENT


def difference_table(source: str, differences: Sequence[Difference]) -> Table:
    """Give what a replay has found: by its part, what the source says, and what came out."""
    table = plain_table("part", source, "replayed")
    for different in differences:
        table.add_row(different.part, _shown(different.stored), _shown(different.replayed))
    return table


def _say_list(scores: Sequence[ScoreSummary], currency: str) -> None:
    roomy = terminal.stdout().width >= _OFFER_WIDTH
    offer = ("limit", "term", "APR") if roomy else ()
    table = plain_table("request", "given (UTC)", "score", "default", "decision", *offer)
    for column in table.columns:
        column.no_wrap = True
    for place in (3, *range(5, 5 + len(offer))):
        table.columns[place].justify = "right"
    for score in scores:
        cells = [
            score.request_id,
            words.minute(score.created_us),
            f"{score.score} {score.tier}",
            f"{score.default_probability:.2%}",
            score.decision,
        ]
        if roomy and score.recommended_limit:
            cells += [
                f"{currency} {number(score.recommended_limit)}",
                f"{score.recommended_term_days} d",
                f"{score.recommended_apr:.2f}%",
            ]
        table.add_row(*cells)
    words.say(table)


def _facts(row: ScoreRow, sealed: Sealed) -> list[tuple[str, str]]:
    """Tell what the drawing does not: who asked, when, and what no model reads."""
    drawn = {contribution.feature for contribution in sealed.assessment.contributions}
    sent = msgspec.json.decode(sealed.application, type=dict[str, object])
    also = [visible(f"{name} {value}") for name, value in sent.items() if name not in drawn]
    rows = [
        ("given", f"{words.second(row.created_us)} UTC, in {row.processing_ms} ms"),
        ("to", f"{row.lender}, {row.mode} mode, {row.key_id}"),
        ("model", row.model_id),
        ("policy", row.policy_id),
    ]
    return [*rows, ("also", ", ".join(also))] if also else rows


def _identical(record: Record) -> str:
    row = record.row
    return (
        f"{row.request_id} is identical: score {row.score}, tier {row.tier}, {row.decision}\n"
        f"model  {row.model_id}\n"
        f"policy {row.policy_id}"
    )


def find_score(opened: Installation, request_id: str) -> StoredScore:
    """Find a score in whichever book it is, or raise `InvalidName` for whoever typed its id."""
    try:
        return replaying.find(opened.registry, Scores.at(opened), request_id_from(request_id))
    except UnknownScore:
        raise unknown(f"no lender has a score {request_id}") from None


def _shown(value: object) -> str:
    if isinstance(value, list | tuple):
        return visible(", ".join(map(str, value))) or "none"
    return "none" if value is None else visible(str(value))


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= _LIMIT_MAX):
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 to {_LIMIT_MAX}")
    return int(text)
