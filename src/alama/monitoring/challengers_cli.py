"""`alama models challenge` and `compare`: a second model beside the one that decides."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from rich.text import Text

from alama.core.model import encode
from alama.lenders.installation import Installation, existing_installation
from alama.monitoring import comparing, shadowing
from alama.monitoring.comparing import UNKNOWN
from alama.onboarding.cli import named_candidate
from alama.onboarding.store import Stores
from alama.platform.book import Book, Mode
from alama.platform.errors import StoreUnfit
from alama.platform.files.packaged import read_model
from alama.platform.files.promise import promised
from alama.platform.terminal import terminal
from alama.platform.terminal import terminal as words
from alama.platform.terminal.tables import facts, plain_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console
    from rich.table import Table

    from alama.monitoring.records import Area, Comparison, Crossed, Judged, Rate, Realised
    from alama.platform.terminal.command import Subparsers


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
        challenges = comparing.challenges(opened)
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
    if not shadowing.can_shadow(opened):
        raise StoreUnfit(
            "this SQLite is not safe for a second process on one file, and a challenger needs one",
            hint="use PostgreSQL, or a newer SQLite",
        )


def _document(opened: Installation, args: argparse.Namespace) -> bytes:
    if args.model is not None:
        return encode(read_model(args.model))
    candidate = named_candidate(opened, args.lender, args.candidate)
    return Stores.at(opened).candidates.document(args.lender, candidate.id)


def compare(args: argparse.Namespace) -> int:
    """Compare, and show or write it."""
    with existing_installation() as opened:
        found = comparing.comparing(opened).compare(Book(args.lender, Mode(args.mode)))
    if args.json is None:
        _show_comparison(found, terminal.stdout())
        return 0
    document = msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n"
    if str(args.json) == "-":
        terminal.stdout().out(document.decode(), end="", highlight=False)
    else:
        with promised(args.json) as output:
            output.write(document)
    return 0


# ------------------------------------------------------------------------------------------- tables


_ID_LENGTH: Final = len("sha256:") + 12
_DECISIONS: Final = ("APPROVED", "REVIEW", "DECLINED")
_NOTHING: Final = "-"


def _show_comparison(found: Comparison, console: Console) -> None:
    """Print the verdict, who is compared, what both would decide, and what became of it."""
    console.print(Text(f"{_verdict(found)}\n", style="bold"))
    console.print(facts(_who(found)), markup=False)
    if found.count:
        _section(console, "Decisions, champion (rows) and challenger (columns)", _decisions(found))
        _section(console, "Tiers, champion (rows) and challenger (columns)", _tiers(found))
    if found.realised is not None:
        _section(console, "Loans that are known and due", _both(found.realised))
        _section(console, "Default rates by tier", _rates(found.realised))
        _section(console, "Default rates by what both would decide", _swaps(found.realised))
    for note in found.notes:
        if note != UNKNOWN:  # the verdict has said so
            _line(console, f"\n{note}")


def _who(found: Comparison) -> Iterable[tuple[str, str]]:
    yield "champion", _named(found.champion, found.champion_name)
    yield "challenger", _named(found.challenger, found.challenger_name)
    ended = "" if found.ended_at is None else f", ended {_minute(found.ended_at)}"
    yield "begun", f"{_minute(found.begun_at)}{ended}"
    if found.scores_from is not None:
        yield "on scores from", f"{found.scores_from}"
    yield "scores of both", _progress(found)
    if found.champion_probability is not None and found.challenger_probability is not None:
        champion = _percent(found.champion_probability)
        challenger = _percent(found.challenger_probability)
        yield "mean probability of default", f"{champion} champion, {challenger} challenger"


def _named(model_id: str | None, name: str | None) -> str:
    return "none yet" if model_id is None else f"{name}, {model_id[:_ID_LENGTH]}"


def _minute(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _progress(found: Comparison) -> str:
    if not found.waiting:
        return f"{found.count:,}"
    uncounted = "more than " if found.waiting == found.waiting_max else ""
    return f"{found.count:,} of {uncounted}{found.count + found.waiting:,}, still reading"


def _decisions(found: Comparison) -> Table:
    return _crossed(found.decisions, _DECISIONS, found.count)


def _tiers(found: Comparison) -> Table:
    names = sorted({name for one in found.tiers for name in (one.champion, one.challenger)})
    return _crossed(found.tiers, names, found.count)


def _crossed(counts: Sequence[Crossed], names: Sequence[str], total: int) -> Table:
    by_pair = {(one.champion, one.challenger): one.count for one in counts}
    table = _numbers("", *names, "all", "share")
    for row in names:
        found = [by_pair.get((row, column), 0) for column in names]
        share = _percent(sum(found) / total)
        table.add_row(row, *(f"{count:,}" for count in found), f"{sum(found):,}", share)
    sums = [sum(by_pair.get((row, column), 0) for row in names) for column in names]
    table.add_row("all", *(f"{count:,}" for count in sums), f"{total:,}", "")
    table.add_row("share", *(_percent(count / total) for count in sums), "", "")
    return table


def _both(realised: Realised) -> Table:
    table = _numbers("", "champion", "challenger")
    champion, challenger = realised.champion, realised.challenger
    table.add_row("loans", f"{realised.count:,}", f"{realised.count:,}")
    table.add_row("AUC", _area(champion.auc), _area(challenger.auc))
    table.add_row(
        "predicted", _percent(champion.rate.predicted), _percent(challenger.rate.predicted)
    )
    table.add_row("realised", _realised(champion.rate), _realised(challenger.rate))
    return table


def _rates(realised: Realised) -> Table:
    table = _numbers("model", "tier", "loans", "predicted", "realised")
    sides: tuple[tuple[str, Judged], ...] = (
        ("champion", realised.champion),
        ("challenger", realised.challenger),
    )
    for name, judged in sides:
        for one in judged.tiers:
            rate = one.rate
            table.add_row(
                name, one.tier, f"{rate.count:,}", _percent(rate.predicted), _realised(rate)
            )
    return table


def _swaps(realised: Realised) -> Table:
    table = _numbers("champion", "challenger", "loans", "both predicted", "realised")
    for swap in realised.swaps:
        predicted = f"{_percent(swap.rate.predicted)}, {_percent(swap.challenger_predicted)}"
        count = f"{swap.rate.count:,}"
        table.add_row(swap.champion, swap.challenger, count, predicted, _realised(swap.rate))
    return table


def _verdict(found: Comparison) -> str:
    if not found.count:
        return "Nothing to compare yet: the challenger has answered nothing."
    if found.realised is None:
        return (
            "Which of the two is better, nobody can tell yet: no loan of theirs is known and due."
        )
    return _sentence(found.realised.difference)


def _sentence(difference: Area | None) -> str:
    if difference is None:
        return "All known loans ended alike, so nobody can tell which of the two is better."
    told = f"{difference.value:+.4f} of AUC ({difference.low:+.4f} to {difference.high:+.4f})"
    if difference.low > 0:
        return f"The challenger ranks known loans better: {told}."
    if difference.high < 0:
        return f"The challenger ranks known loans worse: {told}."
    return f"Which of the two ranks known loans better, nobody can tell yet: {told}."


def _area(area: Area | None) -> str:
    return _NOTHING if area is None else f"{area.value:.3f} ({area.low:.3f} to {area.high:.3f})"


def _realised(rate: Rate) -> str:
    return f"{_percent(rate.realised)} ({_percent(rate.low)} to {_percent(rate.high)})"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _numbers(first: str, *others: str) -> Table:
    table = plain_table(first, *others)
    for column in table.columns[1:]:
        column.justify = "right"
    return table


def _section(console: Console, title: str, table: Table) -> None:
    console.print()
    console.print(Text(title, style="bold"))
    console.print(table)


def _line(console: Console, text: str) -> None:
    console.print(text, markup=False, soft_wrap=True)  # a command in it can be pasted
