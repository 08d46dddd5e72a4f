"""`alama policy simulate`: what a policy would have decided, before it decides anything."""

from __future__ import annotations

import argparse
import difflib
import gc
import sys
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from alama import wiring
from alama.batch.switches import as_csv
from alama.cli import simulate_summary, terminal, words
from alama.cli.installed import existing_installation, installation_at_hand
from alama.cli.policy_file import is_file, is_namesake, read_policy, titled
from alama.core import model as models
from alama.core.errors import FileProblem, InvalidPolicy
from alama.core.lending import draft, policy_text
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.lending.simulation import simulate
from alama.core.model import ReadyModel
from alama.files.models import model_at
from alama.files.promise import promised
from alama.pages.policy_report import render
from alama.service import policies
from alama.service.book import Book, Mode
from alama.service.errors import InvalidName
from alama.service.stored_cases import StoredCases

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from alama.batch.cases import TableCases
    from alama.cli.command import Subparsers
    from alama.cli.terminal import Progress
    from alama.core.lending.policy import Policy
    from alama.core.lending.simulation import Case, Simulation
    from alama.core.model import Model
    from alama.wiring import Installation

DESCRIPTION: Final = """\
Decide applications by two policies and say what changes: how many are
approved, declined or left to a person, how much is lent, what it is expected
to lose and at what price, by tier, region and device, which rules objected,
and which applications change decision or offer. Nothing is stored, and nobody's
decision changes.

The applications are those that the service has scored (--on scores, the
newest first) or those of a file (--on FILE: CSV or Parquet, one row an
application, one column a field under either of its names; a column request_id
or applicant_ref says what each is known by). Money in a file is in the
policy's currency.

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
    add(
        "--mode",
        choices=[mode.value for mode in Mode],
        default=Mode.TEST.value,
        help="default: %(default)s",
    )
    add("--against", metavar="FILE|ID", help="the old policy (default: the one that answers now)")
    add("--model", type=Path, metavar="MODEL", help="a model file (default: the one that answers)")
    add("--output", type=Path, metavar="PAGE", help="the whole comparison, an HTML page")
    add(
        "--switched",
        type=Path,
        metavar="FILE",
        help="all whose decision, limit, term or price changes, as CSV; text that a spreadsheet "
        "would take for a formula gets a ' in front",
    )
    add(
        "--limit",
        type=_count,
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
        simulation, described = _simulated(args)
        if page is not None:
            made_on = words.day(wiring.wall_us())
            page.write(render(simulation, described, made_on).encode())
        if table is not None:
            changed = chain(simulation.switches, simulation.reoffered)
            table.write(as_csv(changed).encode())
    simulate_summary.show(simulation, described, terminal.stdout())
    if args.output:
        words.remark(f"{args.output}: the whole comparison")
    if args.switched:
        words.remark(
            f"{args.switched}: the {len(simulation.switches):,} that change decision, then the "
            f"{len(simulation.reoffered):,} that keep it with another offer"
        )
    return 0


def _simulated(args: argparse.Namespace) -> tuple[Simulation, str]:
    """Simulate, and say on what."""
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
        cases = StoredCases(opened.scores, opened.vault, book, model.catalogue)
        latest = f"the latest that {book.lender} has asked about in {book.mode} mode"
        limit = _SCORES_LIMIT if args.limit is None else args.limit
        return _Question(model, old, new, cases, limit, lambda _: latest)
    from alama.batch.cases import TableCases  # noqa: PLC0415  Arrow takes a while to load
    from alama.files.reader import open_table  # noqa: PLC0415

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
    if args.model is not None or opened is None or deployed is None or deployed[0] is None:
        return model_at(args.model)
    return models.stored(opened.registry.model(deployed[0]), deployed[0])


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


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= _LIMIT_MAX):
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 to {_LIMIT_MAX:,}")
    return int(text)
