"""`alama models challenge`, `compare` and `recalibrate`: models held against what came true."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from datetime import UTC, datetime
from os import urandom
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from rich.text import Text

from alama.core import model
from alama.core.errors import FileProblem
from alama.core.model import encode
from alama.lenders import installation
from alama.lenders.installation import Installation, existing_installation
from alama.monitoring import shadowing
from alama.monitoring.challengers import ChallengerThere, Challenges, NoChallenger
from alama.monitoring.commands import how_to_begin, how_to_end, naming_end
from alama.monitoring.comparing import UNKNOWN, Comparing
from alama.monitoring.page import recalibration_page
from alama.monitoring.recalibration import Asked, NothingToSign, Recalibrations
from alama.onboarding.commands import named_candidate
from alama.onboarding.store import Stores
from alama.onboarding.terminal import ShownPack, Wording, show_gates
from alama.platform import ids
from alama.platform.book import Book, Mode
from alama.platform.errors import StoreUnfit
from alama.platform.files.packaged import read_model
from alama.platform.files.promise import promised
from alama.platform.terminal import terminal
from alama.platform.terminal.command import Subparsers, add_mode, whole
from alama.platform.terminal.tables import facts, plain_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console
    from rich.table import Table

    from alama.core.monitoring.recalibration import Pack, Recalibration
    from alama.monitoring.records import Area, Comparison, Crossed, Judged, Rate, Realised
    from alama.onboarding.records import Candidate


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


def register_challengers(actions: Subparsers) -> None:
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
    add_mode(parser, Mode.LIVE)


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
    book = Book(args.lender, Mode(args.mode))
    with existing_installation() as opened:
        challenges = Challenges.at(opened)
        if args.end:
            ended = challenges.end(book, args.by, args.reason)
            terminal.say(
                f"{ended.model_id} is asked no more; it has answered {ended.scored:,} times."
            )
        else:
            _require_shadow(opened)
            document = _document(opened, args)
            try:
                begun = challenges.begin(book, document, args.by, args.reason, args.first_day)
            except ChallengerThere as error:
                error.hint = f"end that first: {how_to_end(book)}"
                raise
            terminal.say(f"{begun.model_id} scores what {book.lender} is sent in {book.mode} mode.")
    terminal.remark(f"What it says: alama models compare {book.lender} --mode {book.mode}")
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
    with existing_installation() as opened:
        book = Book(args.lender, Mode(args.mode))
        try:
            found = naming_end(Comparing.at(opened).compare(book), book)
        except NoChallenger as error:
            error.hint = how_to_begin(book)
            raise
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


RECALIBRATE_DESCRIPTION: Final = """\
Move the model that answers a lender to the level of its recent loans: every score by the same
points, so that as many defaults are predicted as there were. Tables, contributions and the order
of applicants stay as they are, so nothing is trained and it takes a second.

It counts loans that are mature (as many days after the due date as make a default) and of which
`POST /v1/outcomes` or `alama outcomes load` has told. Gates ask for enough of them, for a shift
that is no chance and not so large that the model itself must be wrong, for a sound slope, and
that the level of the earlier loans helps on the later ones. Where one fails nothing is kept.

What passes is a candidate like every other: a person reads its pack and signs it with
`alama onboard approve`, and `alama models rollback` is the way back. In test mode, where nobody
signs, --out writes the model to a file and no more; so it does where nobody could sign, because
the model is none of the lender's candidates or its terms have changed since. Exits with 1 where a
gate failed or nobody could sign."""

RECALIBRATE_EXAMPLES: Final = """\
examples:
  alama models recalibrate umoja --by "W. Mutua" --pack recalibration.html
  alama onboard approve umoja --by "W. Mutua" --reason "level of the harvest, read on 16 November"

  # the built-in model on synthetic outcomes
  alama outcomes simulate demo --people 20000 --worse 1.5
  alama models recalibrate demo --mode test --out moved.json"""


TRIED: Final = "Tried in test mode, where nobody signs for a model: it answers nothing"


def register_recalibrate(actions: Subparsers) -> None:
    parser = actions.add_parser(
        "recalibrate",
        help="move a model to the level of its recent loans",
        description=RECALIBRATE_DESCRIPTION,
        epilog=RECALIBRATE_EXAMPLES,
    )
    add = parser.add_argument
    add("lender", metavar="LENDER", help="`alama lenders list` shows them")
    add("--by", metavar="NAME", help="who makes it (default: the login name)")
    add_mode(parser, Mode.LIVE)
    add(
        "--since-days",
        type=whole(1, 3_650),
        default=365,
        metavar="N",
        help="take loans scored in the last N days, 3,650 at most (default: %(default)s)",
    )
    add("--out", type=Path, metavar="FILE", help="also write the new model, a JSON file")
    add("--pack", type=Path, metavar="PAGE", help="also write its pack, an HTML page")
    parser.set_defaults(run=recalibrate)


def recalibrate(args: argparse.Namespace) -> int:
    mode = Mode(args.mode)
    if mode is Mode.TEST and args.out is None:
        raise FileProblem(
            "in test mode nobody signs for a model, so there is nowhere to keep it",
            hint="write it to a file: --out FILE",
        )
    with ExitStack() as held:
        out = held.enter_context(promised(args.out)) if args.out else None
        page = held.enter_context(promised(args.pack)) if args.pack else None
        opened = held.enter_context(existing_installation())
        unsigned = _why_unsigned(opened, args)
        if unsigned is not None and out is None:
            raise unsigned
        made = Recalibrations.at(opened).make(Asked(Book(args.lender, mode), args.since_days))
        drawn = recalibration_page(made.pack, _why_nobody_signs(mode, unsigned)).encode()
        if out is not None:
            out.write(model.encode(made.model))
        if page is not None:
            page.write(drawn)
        _show_pack(made.pack, mode)
        if mode is Mode.TEST:
            terminal.remark(f"\n{TRIED}.")
        elif not made.pack.passed:
            terminal.remark("\nNothing was kept as a candidate.")
        elif unsigned is not None:
            terminal.remark(f"\nNothing was kept as a candidate: {unsigned}.\n{unsigned.hint}.")
        else:
            _say_candidate(_kept(opened, args, made, drawn))
    for path in (args.out, args.pack):
        if path is not None:
            terminal.remark(f"wrote {path}")
    return 0 if made.pack.passed and unsigned is None else 1


def _why_unsigned(opened: Installation, args: argparse.Namespace) -> NothingToSign | None:
    """Say why nobody could sign for what will be made: before the work, not after it."""
    if args.mode == Mode.LIVE.value:
        try:
            Recalibrations.at(opened).require_signable(args.lender)
        except NothingToSign as error:
            return error
    return None


def _why_nobody_signs(mode: Mode, unsigned: NothingToSign | None) -> str | None:
    if mode is Mode.TEST:
        return TRIED
    return None if unsigned is None else f"Nobody can sign it: {unsigned}"


def _kept(
    opened: Installation, args: argparse.Namespace, made: Recalibration, page: bytes
) -> Candidate:
    by = args.by or installation.operator()
    chance = urandom(ids.RANDOM_BYTES)
    return Recalibrations.at(opened).keep(args.lender, made, page, by, chance)


def _show_pack(pack: Pack, mode: Mode) -> None:
    terminal.say(
        f"{pack.from_name}: of {pack.loans:,} mature loans scored since {pack.since}, "
        f"{pack.observed:.2%} defaulted and {pack.predicted:.2%} was predicted.\n"
        f"Every score moves by {pack.points:+.1f} points ({pack.shift:+.3f} log-odds of default, "
        f"give or take {1.96 * pack.shift_error:.3f})."
    )
    shown = msgspec.convert(pack, ShownPack, from_attributes=True)
    wording = Wording(helps="docs/recalibrating.md")
    if mode is Mode.TEST:
        wording = wording._replace(failing="", asking="To be answered where somebody signs")
    show_gates(shown, wording)


def _say_candidate(candidate: Candidate) -> None:
    terminal.remark(f"\ncandidate {candidate.id}\nmodel {candidate.model_id}")
    terminal.remark(
        "It answers once it is signed: read its pack, then\n"
        f"  alama onboard approve {candidate.lender} --candidate {candidate.id} --by NAME "
        '--reason "..."'
    )
