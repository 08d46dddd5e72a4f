"""`alama policy simulate`: what a policy would have decided, before it decides anything."""

from __future__ import annotations

import difflib
import gc
import sys
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.text import Text

from alama.core import model as models
from alama.core import own_fields
from alama.core.application import visible
from alama.core.errors import FileProblem, InvalidPolicy
from alama.core.lending import draft, policy_text
from alama.core.lending.policy import SEVERITY, Decision, Policy, changes
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.lending.simulation import Case, Simulation, offer_changes, simulate, told
from alama.core.model import Model, ReadyModel
from alama.core.own_fields import reading
from alama.lenders.installation import Installation, existing_installation, installation_at_hand
from alama.lenders.own_fields import own_fields_ever
from alama.platform import clock
from alama.platform.book import Book, Mode
from alama.platform.days import DAY_US
from alama.platform.errors import InvalidName
from alama.platform.extras import how_to_install
from alama.platform.files import sheets
from alama.platform.files.packaged import model_at
from alama.platform.files.promise import promised
from alama.platform.files.texts import is_file, is_namesake, read_bytes, read_policy, titled
from alama.platform.pages import numbers
from alama.platform.terminal import terminal
from alama.platform.terminal.command import Subparsers, add_mode, whole
from alama.platform.terminal.tables import LOWERS, RAISES, mention_rest, plain_table
from alama.policies import policies
from alama.policies.earned import sentences, tables
from alama.policies.page import policy_page
from alama.policies.switches import as_csv
from alama.scoring.replay import StoredCases
from alama.scoring.store import Scores

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from rich.table import Table

    from alama.batch.deciding import TableCases
    from alama.core.lending.earnings import Sum
    from alama.platform.files.sheets import Sheet
    from alama.platform.terminal.terminal import Progress


DESCRIPTION: Final = """\
Decide applications by two policies and say what changes: how many are
approved, declined or left to a person, how much is lent, what it is expected
to lose and at what price, which rules objected, and which applications change
decision or offer; the page of --output also tells it by tier, region and
device. What the approved would earn is told too, by tier, term and month, and
what each cut-off would earn; as it came, where it is known what became of the
loans. Nothing is stored, and nobody's decision changes.

The applications are those that the service has scored (--on scores, the
newest first) or those of a file (--on FILE: CSV or Parquet, one row an
application, one column a field under either of its names; a column request_id
or applicant_ref says what each is known by). Money in a file is in the
policy's currency. What became of loans is known of scores with an outcome,
and of a file with a column default (1 or 0); with disbursed_amount and
repaid_amount it is known what defaults lost, with propensity (the chance with
which a loan was given) how many each stands for, with applied_on the month.

The old policy is the one that answers for the lender now, unless --against
names another: a file, the first digits of an id, or the word default. Model
and policy of a machine without an installation are those that come with
Alama.

Amounts speak of what is approved at once. Pauses and daily bounds are left
out: they depend on the day. A field that a policy forbids is taken as not
sent."""

EXAMPLES: Final = """\
examples:
  # what would my draft have made of the latest applications?
  alama policy simulate policy.toml --on scores --lender demo --mode test

  # of loans in a file, with a page to send around and a table of who is met
  alama policy simulate policy.toml --on loans.parquet --output page.html --switched met.csv

  # with every figure of money, for a spreadsheet
  alama policy simulate policy.toml --on loans.parquet --tables money.xlsx

  # one draft against another, on no more than 5,000 applications
  alama policy simulate new.toml --against old.toml --on loans.csv --limit 5000"""

SCORES: Final = "scores"
_SCORES_LIMIT: Final = 100_000
"""Of those that were scored; of a file all are taken, unless fewer are asked for."""

_LIMIT_MAX: Final = 10_000_000
_TOLD_EVERY: Final = 250
_GARBAGE_THRESHOLD: Final = 200_000
"""New objects before the collector looks at them; 700 by default."""


def register(actions: Subparsers) -> None:
    parser = actions.add_parser(
        "simulate",
        help="what would it change, and for whom?",
        description=DESCRIPTION,
        epilog=EXAMPLES,
    )
    add = parser.add_argument
    add("policy", type=Path, metavar="FILE", help="the new policy; - reads standard input")
    add(
        "--on",
        required=True,
        metavar="scores|FILE",
        help="the applications: those that were scored, or .csv, .csv.gz, .parquet",
    )
    add("--lender", default="demo", metavar="ID", help="default: %(default)s")
    add_mode(parser, Mode.TEST)
    add("--against", metavar="FILE|ID", help="the old policy (default: the one that answers now)")
    add("--model", type=Path, metavar="MODEL", help="a model file (default: the one that answers)")
    add(
        "--fields",
        type=Path,
        metavar="FILE",
        help="the lender's own, where the file or a rule has them (default: those declared here)",
    )
    add("--output", type=Path, metavar="PAGE", help="the whole comparison, an HTML page")
    add(
        "--switched",
        type=Path,
        metavar="FILE",
        help="all whose decision, limit, term or price changes, as CSV; text that a spreadsheet "
        "would take for a formula gets a ' in front",
    )
    add(
        "--tables",
        type=Path,
        metavar="FILE",
        help="the figures of money by tier, term and month, of swaps and cut-offs: .xlsx, or .csv "
        "with all in one; text that a spreadsheet would take for a formula gets a ' in front",
    )
    add(
        "--limit",
        type=whole(1, _LIMIT_MAX),
        metavar="N",
        help=f"applications at most (default: {_SCORES_LIMIT:,} scores, or the whole file)",
    )
    parser.set_defaults(run=run)


class _Question(NamedTuple):
    """What is compared, on what."""

    model: Model
    old: Policy
    new: Policy
    cases: StoredCases | TableCases
    limit: int
    described: Callable[[int], str]


def run(args: argparse.Namespace) -> int:
    """Simulate, show a summary, and write what was asked for."""
    with ExitStack() as held:
        # Places are held first: a long run must not fail at its last line.
        page = held.enter_context(promised(args.output)) if args.output else None
        table = held.enter_context(promised(args.switched)) if args.switched else None
        money = held.enter_context(promised(args.tables)) if args.tables else None
        write = _writer(args.tables) if args.tables else None
        simulation, described = _simulated(args)
        if page is not None:
            made_on = terminal.day(clock.wall_us())
            page.write(policy_page(simulation, described, made_on).encode())
        if table is not None:
            changed = chain(simulation.switches, simulation.reoffered)
            table.write(as_csv(changed).encode())
        if money is not None and write is not None:
            money.write(write(tables(simulation)))
    _show_summary(simulation, described)
    if args.output:
        terminal.remark(f"{args.output}: the whole comparison")
    else:
        terminal.remark("By tier, region and device, from decision to decision: --output PAGE")
    if args.tables:
        terminal.remark(f"{args.tables}: the figures of money")
    if args.switched:
        terminal.remark(
            f"{args.switched}: the {len(simulation.switches):,} that change decision, then the "
            f"{len(simulation.reoffered):,} that keep it with another offer"
        )
    return 0


def _writer(path: Path) -> Callable[[Sequence[Sheet]], bytes]:
    """Give what writes tables to a file of this name; raises where nothing does."""
    match path.suffix.lower():
        case ".csv":
            return lambda found: sheets.as_csv(found).encode()
        case ".xlsx":
            try:
                import openpyxl  # noqa: F401, PLC0415  it takes a while to load, and may be missing
            except ModuleNotFoundError:
                raise FileProblem(
                    f"cannot write {path}: openpyxl is not installed",
                    hint=f"{how_to_install('batch')}; or name a file that ends in .csv",
                ) from None
            return sheets.as_xlsx
        case _:
            raise FileProblem(
                f"cannot write tables to {path}", hint="name a file that ends in .xlsx or .csv"
            )


def _simulated(args: argparse.Namespace) -> tuple[Simulation, str]:
    with _installed(args) as opened:
        question = _question(args, opened)
        model = ReadyModel(question.model, question.new.currency)
        old, new = ReadyPolicy(question.old, model), ReadyPolicy(question.new, model)
        if is_namesake(question.old, question.new):
            terminal.warn(f"both are called {titled(question.new)}; give the new one its own")
        known = question.cases.total
        total = None if known is None else min(known, question.limit)
        with terminal.progress("Simulating", total, unit="applications") as progress:
            cases = _watched(question.cases.first(question.limit), progress)
            with _collecting_seldom():
                simulation = simulate(model, old, new, cases)
    for remark in question.cases.remarks():
        terminal.warn(remark)
    if not simulation.count:
        raise InvalidName(
            f"{args.lender} has no scores in {args.mode} mode to simulate on",
            hint="name another --lender or --mode, or simulate on a file: --on loans.parquet",
        )
    return simulation, question.described(simulation.count)


# ----------------------------------------------------------------------------- what is compared


@contextmanager
def _installed(args: argparse.Namespace) -> Iterator[Installation | None]:
    """Open the installation if its scores or its policy are asked for; a file may do without."""
    named = args.against not in {None, policies.DEFAULT} and not is_file(args.against)
    if args.on == SCORES or named:
        with existing_installation() as opened:
            yield opened
    else:
        with installation_at_hand() as at_hand:
            yield at_hand


def _question(args: argparse.Namespace, opened: Installation | None) -> _Question:
    book = Book(args.lender, Mode(args.mode))
    if opened is not None:
        opened.registry.lender(book.lender)
    model = _model(args, opened, book)
    new = read_policy(args.policy, model)
    old = _old_policy(args, opened, book, model, new)
    if old.currency != new.currency:
        raise InvalidPolicy(
            f"the new policy lends in {new.currency}, the old one in {old.currency}",
            hint=f"name a policy or a lender in {new.currency}: --against FILE, or --lender ID",
        )
    if args.on == SCORES:
        assert opened is not None
        mature = opened.clock() // DAY_US - model.outcome.days_past_due + 1
        cases = StoredCases(Scores.at(opened), opened.vault, book, model.catalogue, mature)
        latest = f"the latest that {book.lender} has asked about in {book.mode} mode"
        limit = _SCORES_LIMIT if args.limit is None else args.limit
        return _Question(model, old, new, cases, limit, lambda _: latest)
    from alama.batch.deciding import TableCases  # noqa: PLC0415  Arrow takes a while to load
    from alama.platform.files.reader import open_table  # noqa: PLC0415

    _refuse_near_scores(args.on)
    rows = TableCases(model.catalogue, open_table(Path(args.on)))
    limit = sys.maxsize if args.limit is None else args.limit
    return _Question(model, old, new, rows, limit, rows.described)


def _refuse_near_scores(given: str) -> None:
    """Raise where the word `scores` is meant, and no file."""
    meant = difflib.get_close_matches(given.casefold(), [SCORES])
    if meant and not Path(given).exists():
        raise FileProblem(f"{given} does not exist", hint=f"did you mean --on {SCORES}?")


def _model(args: argparse.Namespace, opened: Installation | None, book: Book) -> Model:
    """Give the model that is named, or that answers in the book, or the built-in one."""
    deployed = None if opened is None else opened.registry.deployed(book)
    if opened is None or args.model is not None or deployed is None or deployed[0] is None:
        model = model_at(args.model)
    else:
        model = models.stored(opened.registry.model(deployed[0]), deployed[0])
    if args.fields is not None:
        own = own_fields.read(read_bytes(args.fields, own_fields.SIZE_MAX))
    elif opened is not None:
        own = own_fields_ever(opened.registry, book.lender)
    else:
        return model
    return reading(model, own) if own.fields else model


def _old_policy(
    args: argparse.Namespace,
    opened: Installation | None,
    book: Book,
    model: Model,
    new: Policy,
) -> Policy:
    if args.against == policies.DEFAULT or (args.against is None and opened is None):
        return draft.default_policy(new.currency)
    if args.against is None:
        assert opened is not None
        return policy_text.read(policies.text_in_force(opened.registry, book), model.catalogue)
    if is_file(args.against):
        return read_policy(Path(args.against), model)
    assert opened is not None
    text = policies.text_of(opened.registry, book, args.against)
    return policy_text.read(text, model.catalogue)


# ----------------------------------------------------------------------------------- under way


@contextmanager
def _collecting_seldom() -> Iterator[None]:
    """Make the rounds of the garbage collector rare: deciding leaves no cycles behind.

    Looking for them every 700 objects would take an eighth of the time.
    """
    usual = gc.get_threshold()
    gc.set_threshold(_GARBAGE_THRESHOLD, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def _watched(cases: Iterator[Case], progress: Progress) -> Iterator[Case]:
    """Pass cases on and count them, a few at a time: a bar costs more than a case."""
    passed = 0
    for case in cases:
        yield case
        passed += 1
        if passed == _TOLD_EVERY:
            progress.advance(passed)
            passed = 0
    progress.advance(passed)


# -------------------------------------------------------------------------------------- the summary


SWITCHES_MAX: Final = 20
_CHANGES_MAX: Final = 12
_RULES_MAX: Final = 12
_ID_LENGTH: Final = len("sha256:") + 12
_NOTHING: Final = "-"


def _show_summary(simulation: Simulation, described: str) -> None:
    """Print the totals, the rules and the first that change decision; the page has the rest."""
    old, new = simulation.old.policy, simulation.new.policy
    terminal.say(f"old  {_named(old)}")
    terminal.say(f"new  {_named(new)}")
    terminal.say(f"on   {_applications(simulation.count)}: {described}")
    terminal.section("What the new policy changes", _changes(simulation))
    terminal.section("In total", _totals(simulation))
    terminal.section("What it earns", _earnings(simulation))
    if simulation.old.rules or simulation.new.rules:
        terminal.section("Rules that objected", _rules(simulation))
    count = len(simulation.switches)
    if count:
        shown = f", the first {SWITCHES_MAX} of {count:,}" if count > SWITCHES_MAX else ""
        terminal.section(f"Applications that change decision{shown}", _switches(simulation))
    terminal.say(f"\n{_sentence(simulation)}")
    for said in sentences(simulation):
        terminal.say(_typed(said))


def _named(policy: Policy) -> str:
    return f"{policy.name}, version {policy.version}, {policy.id[:_ID_LENGTH]}"


def _sentence(simulation: Simulation) -> str:
    was = _percent(simulation.old.total.share(Decision.APPROVED))
    would = _percent(simulation.new.total.share(Decision.APPROVED))
    count = len(simulation.switches)
    offers = offer_changes(simulation.reoffered)
    decided = (
        f"The new policy would approve {would} instead of {was}, and decide "
        f"{_applications(count)} otherwise."
        if count
        else f"The new policy would decide every application alike, and approve {would}."
    )
    if offers.changed:
        verb = "keeps its" if offers.changed == 1 else "keep their"
        ways = told(offers, "{:,}".format)
        return f"{decided}\n{offers.changed:,} {verb} decision and would get another offer: {ways}."
    return decided if count else f"{decided} Every offer stays as it is."


def _applications(count: int) -> str:
    return f"{count:,} application" if count == 1 else f"{count:,} applications"


def _changes(simulation: Simulation) -> Table:
    table = plain_table("key", "old", "new")
    found = changes(simulation.old.whole, simulation.new.whole)
    for change in found[:_CHANGES_MAX]:
        table.add_row(Text(change.key), Text(change.old or _NOTHING), Text(change.new or _NOTHING))
    mention_rest(table, len(found), _CHANGES_MAX)
    if not found:
        table.add_row(Text("nothing", style="dim"))
    return table


def _totals(simulation: Simulation) -> Table:
    old, new, currency = simulation.old.total, simulation.new.total, simulation.new.policy.currency
    table = _numbers_table("", "old", "new", "change")
    for decision, name in (
        (Decision.APPROVED, "approved"),
        (Decision.REVIEW, "left to a person"),
        (Decision.DECLINED, "declined"),
    ):
        was, would = old.share(decision), new.share(decision)
        table.add_row(name, _percent(was), _percent(would), _points(was, would))
    _add_money(table, f"limits, {currency}", old.volume, new.volume)
    _add_money(table, f"average limit, {currency}", old.limit_mean, new.limit_mean)
    _add_money(table, f"expected loss, {currency}", old.expected_loss, new.expected_loss)
    table.add_row(
        "expected loss, of the limits",
        _percent(old.loss_share, 2),
        _percent(new.loss_share, 2),
        _points(old.loss_share, new.loss_share, 2),
    )
    was, would = _hundredth(old.apr_mean), _hundredth(new.apr_mean)
    table.add_row("average APR", _percent(was), _percent(would), _points(was, would))
    table.add_row("average term, days", _whole(old.term_mean), _whole(new.term_mean), "")
    return table


def _earnings(simulation: Simulation) -> Table:
    """Show how charges become profit; as it came too, where some of it is known."""
    old, new = simulation.old.earned, simulation.new.earned
    table = _numbers_table(f"{simulation.new.policy.currency}", "old", "new", "change")
    for name, part in _PARTS_OF_PROFIT:
        _add_money(table, name, getattr(old, part), getattr(new, part))
    table.add_row("  95% within", _between(old.expected()), _between(new.expected()), "")
    if old.known or new.known:
        table.add_section()
        table.add_row("loans of known outcome", f"{old.known:,}", f"{new.known:,}", "")
        for name, was, would in (
            ("of these, defaulted", old.bad_rate, new.bad_rate),
            ("of these, predicted", old.predicted_rate, new.predicted_rate),
            ("lost of what was due", old.loss_given_default, new.loss_given_default),
            ("assumed of the same", old.loss_assumed, new.loss_assumed),
        ):
            if not (was is None and would is None):
                table.add_row(name, _percent(was), _percent(would), _points(was, would))
        _add_money(table, "profit expected of them", old.seen_profit, new.seen_profit)
        _add_money(table, "profit as it came", old.real_profit, new.real_profit)
        table.add_row("  95% within", _between(old.realised()), _between(new.realised()), "")
    return table


_PARTS_OF_PROFIT: Final = (
    ("charges, fees included", "income"),
    ("- funding", "funding"),
    ("- running cost", "cost"),
    ("- tax", "tax"),
    ("- expected loss", "loss"),
    ("= expected profit", "profit"),
)


def _typed(said: str) -> str:
    """Give a sentence of the page in the signs of a terminal."""
    plain = said.replace(numbers.NARROW_SPACE, "").replace(numbers.NO_BREAK, " ")
    return plain.replace(numbers.MINUS, "-")


def _between(found: Sum) -> str:
    low, high = found.interval
    return f"{low:,.0f} to {high:,.0f}"


def _add_money(table: Table, name: str, was: float | None, would: float | None) -> None:
    grown = 0.0 if not was or would is None else round((would - was) / abs(was), 3)
    table.add_row(name, _whole(was), _whole(would), f"{grown:+.1%}" if grown else "")


def _rules(simulation: Simulation) -> Table:
    old, new = simulation.old.rules, simulation.new.rules
    codes = sorted({*old, *new}, key=lambda code: (-max(old[code], new[code]), code))
    table = _numbers_table("rule", "old", "new", "change")
    for code in codes[:_RULES_MAX]:
        change = new[code] - old[code]
        table.add_row(
            Text(code), f"{old[code]:,}", f"{new[code]:,}", f"{change:+,}" if change else ""
        )
    mention_rest(table, len(codes), _RULES_MAX)
    return table


def _style(was: Decision, would: Decision) -> str:
    if was is would:
        return "dim"
    return RAISES if SEVERITY[would] < SEVERITY[was] else LOWERS


def _switches(simulation: Simulation) -> Table:
    table = plain_table("application", "score", "old", "new", "limit", "rules that objected")
    for place in (1, 4):
        table.columns[place].justify = "right"
    for reference, old, new in simulation.switches[:SWITCHES_MAX]:
        table.add_row(
            Text(visible(reference)),
            _pair(str(old.score), str(new.score)),
            Text(old.decision),
            Text(new.decision, _style(old.decision, new.decision)),
            _pair(f"{old.limit:,}", f"{new.limit:,}"),
            Text(_pair(", ".join(old.rules) or "none", ", ".join(new.rules) or "none")),
        )
    return table


# ------------------------------------------------------------------------------------- writing


def _numbers_table(first: str, *heads: str) -> Table:
    table = plain_table(first, *heads)
    for column in table.columns[1:]:
        column.justify = "right"
        column.no_wrap = True
    return table


def _pair(was: str, would: str) -> str:
    return was if was == would else f"{was} > {would}"


def _percent(share: float | None, decimals: int = 1) -> str:
    return _NOTHING if share is None else f"{share:.{decimals}%}"


def _points(was: float | None, would: float | None, decimals: int = 1) -> str:
    """Give the difference of two shares as they are shown, in points of a percent."""
    if was is None or would is None:
        return ""
    change = round(100.0 * would, decimals) - round(100.0 * was, decimals)
    return f"{change:+.{decimals}f}" if round(change, decimals) else ""


def _hundredth(percent: float | None) -> float | None:
    return None if percent is None else percent / 100.0


def _whole(value: float | None) -> str:
    return _NOTHING if value is None else f"{value:,.0f}"
