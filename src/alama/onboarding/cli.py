"""`alama onboard`: from a loan history to a live key, in one walk or step by step."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from alama.core import model as models
from alama.core.errors import FileProblem
from alama.core.product import PRODUCT
from alama.lenders import installation as wiring
from alama.lenders.installation import Installation, existing_installation, installation
from alama.onboarding import arguments
from alama.onboarding.arguments import EXIT_FAILED, Question, ask_person, asker, settle
from alama.onboarding.commands import command_for, named_candidate, words_for
from alama.onboarding.histories import forget_history
from alama.onboarding.map_cli import MAP_DESCRIPTION, MAP_EXAMPLES, map_histories
from alama.onboarding.map_cli import add_arguments as add_mapping
from alama.onboarding.records import Candidate, HistoryRecord, StepMissing, UnknownHistory, short
from alama.onboarding.store import Stores
from alama.onboarding.terminal import (
    read_and_keep,
    say_standing,
    show_candidate,
    show_judged,
    show_kept,
    show_standing,
    sign,
    stand_of,
    train_in_sight,
    upcoming,
    write_pack,
)
from alama.platform.book import Book, Mode
from alama.platform.errors import InvalidName
from alama.platform.terminal import terminal
from alama.platform.terminal.terminal import add_yes, confirm, say_journal
from alama.training.history.report import Enough

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from alama.core.model import Model
    from alama.platform.terminal.command import Subparsers


DESCRIPTION: Final = """\
Take a lender from its loan history to a live key. Six steps:

  1 lender     name, currency, whose law, what a default is, who approves
  2 history    a file of past loans, checked row by row, then sealed
  3 train      a model of its own, judged on its last loans
  4 validate   the gates that every model has to pass, and the validation pack
  5 approve    a person signs, or two, with a reason
  6 key        alama keys issue --mode live

`alama onboard LENDER` walks through all of them, as far as they go today; each is also an action
of its own. What is done is kept, and written to the audit with who and when, so that a walk can be
left and taken up again by anybody. docs/onboarding.md is the whole walk."""

EXAMPLES: Final = """\
examples:
  # walk: at a terminal it asks for what nobody has said
  alama onboard umoja

  # step by step
  alama onboard terms umoja --name "Umoja SACCO" --currency KES --jurisdiction KE --four-eyes
  alama onboard history umoja loans.csv --report history.html
  alama onboard train umoja
  alama onboard validate umoja --pack pack.html
  alama onboard approve umoja --by "W. Mutua" --reason "read the pack, discussed on 14 November"
  alama keys issue --lender umoja --mode live"""

STATUS_DESCRIPTION: Final = """\
Show where a lender stands: each step, whether it is done, by whom and when, the candidates that
were made by their ids, and the command of the step that comes next. Changes nothing."""

TERMS_DESCRIPTION: Final = """\
Agree with a lender what a default is, whose law holds, and how many people approve a model. A
lender that is new is added first, by its name and currency. What is not said stays as it was.
To make two eyes of four takes a --reason: one person alone then puts a model in force. After
another definition of default the history has to be handed in again; after other gates a
model has to be trained again: `alama onboard status` says so."""

TERMS_EXAMPLES: Final = """\
examples:
  # a new lender in Kenya, where two people sign
  alama onboard terms umoja --name "Umoja SACCO" --currency KES --jurisdiction KE --four-eyes

  # a default is 90 days past due, and a model has to rank better than usual
  alama onboard terms umoja --days-past-due 90 --gate auc_low_min=0.65"""

HISTORY_DESCRIPTION: Final = """\
Hand in the past loans of a lender: CSV, Excel workbook or Parquet, one row an application, the
fields of a request under either spelling, and borrower_id (opaque), applied_on, disbursed_on
(empty: no loan came of it), due_on, observed_on and largest_days_past_due; amount, term_days and
restructured where they are known. docs/onboarding.md says what each means. A file as it comes from
a spreadsheet is read where it can be read in one way only; what it leaves open, `alama onboard map`
asks.

Every row is checked. Rows that break a rule or repeat others are left out and counted; loans too
young to judge are set aside, never counted as good. A column that gives the outcome away is named:
where it is a field of a request, say --exclude NAME, or --keep NAME and give up approval. Then the
file is sealed under the key of the lender. Without FILE the report of the newest one is shown."""

HISTORY_EXAMPLES: Final = """\
examples:
  # read, check and seal; the report as a page beside the tables here
  alama onboard history umoja loans.csv --report history.html

  # avg_balance was filled in after the outcome; look at fairness by gender, too
  alama onboard history umoja loans.csv --exclude avg_balance --group gender

  # what was found in the newest file
  alama onboard history umoja"""

TRAIN_DESCRIPTION: Final = """\
Train a model on the newest history of a lender and judge it on its last loans, those of borrowers
whom it never met. Takes some minutes and the training extra. The model and its validation pack are
kept as a candidate; nothing answers by it before it is approved. Exits with 1 where a gate failed.

What the model may learn from stays as the history was read, but for what is said here: --exclude
takes fields out, --keep leaves one in that gives the outcome away, and blocks approval. The region
is no input unless asked for; then the pack shows what it buys and what it does to groups.

The last loans judge, and teach nothing. With --refit a model that has passed every gate is fitted
once more, on every loan: that one is the candidate, and the pack shows both."""

TRAIN_EXAMPLES: Final = """\
examples:
  alama onboard train umoja
  alama onboard train umoja --region --seed 1
  alama onboard train umoja --exclude avg_balance
  alama onboard train umoja --refit"""

VALIDATE_DESCRIPTION: Final = """\
Show the gates of the newest candidate: what was measured, what is asked for, and why one blocks
approval. --pack writes the whole validation pack as one page to read and to file, --json the same
for programs, --model the model itself. Exits with 1 where a gate failed."""

VALIDATE_EXAMPLES: Final = """\
examples:
  alama onboard validate umoja --pack pack.html
  alama onboard validate umoja --json pack.json --model model.json"""

APPROVE_DESCRIPTION: Final = """\
Sign for the newest candidate: a person, by name, with a reason. Where four eyes are agreed a second
person has to sign, too. With the last signature the model answers every live request, in every
process, within a second. A candidate that failed a gate cannot be signed by anybody. To go back:
alama models rollback."""

APPROVE_EXAMPLES: Final = """\
examples:
  alama onboard approve umoja --by "W. Mutua" --reason "read the pack, discussed on 14 November"
  alama onboard approve umoja --by "J. Otieno" --reason "limits of the pack accepted\""""

FORGET_DESCRIPTION: Final = """\
Erase the file of a loan history for good. Its report and the models that were trained on it stay:
neither holds what a borrower said. Backups keep a copy until they are gone themselves."""

_WHICH_CANDIDATE: Final = "which (default: the newest that was trained on the newest history)"


def register(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    _register_walk(actions)
    status = _action(actions, "status", "where a lender stands", STATUS_DESCRIPTION)
    status.set_defaults(run=show_status)
    agreed = _action(actions, "terms", "agree terms", TERMS_DESCRIPTION, TERMS_EXAMPLES)
    arguments.add_terms(agreed)
    agreed.add_argument(
        "--reason",
        dest="fewer_because",
        metavar="TEXT",
        help="why one person approves where two had to: the audit keeps it",
    )
    arguments.add_by(agreed)
    agreed.set_defaults(run=set_terms)
    mapped = _action(actions, "map", "how files are read that come", MAP_DESCRIPTION, MAP_EXAMPLES)
    add_mapping(mapped)
    mapped.set_defaults(run=map_histories, extra="train")
    _register_history(actions)
    _register_model_steps(actions)
    forgotten = _action(actions, "forget", "erase the file of a history", FORGET_DESCRIPTION)
    forgotten.add_argument("--history", metavar="ID", help="which (default: the newest)")
    arguments.add_by(forgotten)
    add_yes(forgotten)
    forgotten.set_defaults(run=forget)


def _action(
    actions: Subparsers, name: str, summary: str, description: str, examples: str | None = None
) -> argparse.ArgumentParser:
    parser = actions.add_parser(
        name,
        help=summary,
        description=description,
        epilog=examples,
    )
    arguments.add_lender(parser)
    return parser


def _register_history(actions: Subparsers) -> None:
    summary = "hand in past loans, and see what is wrong with them"
    parser = _action(actions, "history", summary, HISTORY_DESCRIPTION, HISTORY_EXAMPLES)
    add = parser.add_argument
    add(
        "file",
        type=Path,
        nargs="?",
        metavar="FILE",
        help="CSV, .csv.gz, .xlsx or .parquet",
    )
    add("--report", type=Path, metavar="PAGE", help="the report as an HTML page")
    add("--json", type=Path, metavar="FILE", help="the report for programs")
    arguments.add_reading(parser)
    arguments.add_by(parser)
    parser.set_defaults(run=hand_in, extra="train")


def _register_model_steps(actions: Subparsers) -> None:
    trained = _action(
        actions, "train", "train and judge a model", TRAIN_DESCRIPTION, TRAIN_EXAMPLES
    )
    arguments.add_training(trained)
    arguments.add_inputs(trained)
    arguments.add_by(trained)
    trained.set_defaults(run=train, extra="train")
    judged = _action(
        actions, "validate", "the gates, and the validation pack", VALIDATE_DESCRIPTION,
        VALIDATE_EXAMPLES,
    )  # fmt: skip
    judged.add_argument("--pack", type=Path, metavar="PAGE", help="the pack as an HTML page")
    judged.add_argument("--json", type=Path, metavar="FILE", help="the pack for programs")
    judged.add_argument("--model", type=Path, metavar="FILE", help="the model, a JSON file")
    judged.add_argument("--candidate", metavar="ID", help=_WHICH_CANDIDATE)
    judged.set_defaults(run=validate)
    signed = _action(actions, "approve", "sign for a model", APPROVE_DESCRIPTION, APPROVE_EXAMPLES)
    signed.add_argument("--by", required=True, metavar="NAME", help="who signs")
    signed.add_argument("--reason", required=True, metavar="TEXT", help="why: the audit keeps it")
    signed.add_argument("--candidate", metavar="ID", help=_WHICH_CANDIDATE)
    signed.set_defaults(run=approve)


# ----------------------------------------------------------------------------------- commands


def show_status(args: argparse.Namespace) -> int:
    with existing_installation() as opened:
        stand, lender = stand_of(opened, args.lender), opened.registry.lender(args.lender)
        show_standing(stand, lender, Stores.at(opened).candidates.of(lender.id))
    return 0


def set_terms(args: argparse.Namespace) -> int:
    with installation() as opened:
        settled = settle(opened, args, asker())
        if not settled.changed:
            terminal.remark("These are its terms already.")
        say_standing(opened, args.lender)
    return 0


def hand_in(args: argparse.Namespace) -> int:
    """Read a file, show what is wrong with it, and seal it; or show what was found before."""
    with existing_installation() as opened:
        if args.file is None:
            _refuse_reading(args)
            report = show_kept(opened, args.lender, args.report, args.json)
        else:
            report = read_and_keep(opened, args, args.file, args.report, args.json)
            _say_next(opened, args.lender)
    return EXIT_FAILED if report.enough == "nothing" else 0


def _refuse_reading(args: argparse.Namespace) -> None:
    """Refuse what says how a file is read: there is none to read."""
    given = arguments.inputs_given(args) | {"--group": bool(args.groups)}
    hint = f"name the file: alama onboard history {args.lender} FILE"
    arguments.refuse_unused(given, "the report of a file that was read before is shown", hint)


def train(args: argparse.Namespace) -> int:
    with existing_installation() as opened:
        candidate = train_in_sight(opened, args)
        show_candidate(opened, candidate)
        _say_next(opened, args.lender)
    return 0 if candidate.passed else EXIT_FAILED


def validate(args: argparse.Namespace) -> int:
    with existing_installation() as opened:
        candidate = _candidate(opened, args.lender, args.candidate)
        show_candidate(opened, candidate)
        write_pack(opened, candidate, page=args.pack, document=args.json, model=args.model)
    return 0 if candidate.passed else EXIT_FAILED


def approve(args: argparse.Namespace) -> int:
    with existing_installation() as opened:
        found = _candidate(opened, args.lender, args.candidate)
        sign(opened, found.lender, found.id, args.by, args.reason)
        _say_next(opened, args.lender)
    return 0


def forget(args: argparse.Namespace) -> int:
    with existing_installation() as opened:
        opened.registry.lender(args.lender)
        histories = Stores.at(opened).histories
        newest = next(iter(histories.of(args.lender)), None)
        history_id = args.history or (newest.id if newest else None)
        if history_id is None:
            raise UnknownHistory
        histories.find(args.lender, history_id)
        if not args.yes:
            confirm(args.lender, f"The file of {history_id} will be erased for good")
        by = args.by or wiring.operator()
        forgotten = forget_history(histories, opened.clock, args.lender, history_id, by)
    done = "is erased" if forgotten.is_news else "was erased before"
    terminal.say(f"The file of {history_id} {done}; its report stays.")
    say_journal(forgotten.journal_emptied)
    return 0


# ----------------------------------------------------------------------------------- shared


def _candidate(opened: Installation, lender: str, candidate_id: str | None) -> Candidate:
    """Give the candidate that is named, else the newest, or raise what has to be done first."""
    if candidate_id is not None:
        return named_candidate(opened, lender, candidate_id)
    opened.registry.lender(lender)
    stand = stand_of(opened, lender)
    if stand.candidate is None:
        missing = stand.next
        assert missing is not None  # without a candidate a step is open
        words = f"the step {missing.step} is missing: {words_for(lender, missing)}"
        raise StepMissing(words, hint=command_for(lender, missing))
    return stand.candidate


def _say_next(opened: Installation, lender: str) -> None:
    stand = stand_of(opened, lender)
    coming = upcoming(stand)
    if coming is not None:
        between = " " if len(coming.commands) == 1 else "\n  "
        terminal.remark(between.join((f"\nNext, {coming.what}:", *coming.commands)))
    if stand.live is not None and (stand.newer or stand.candidate is None):
        terminal.remark(f"Until a newer model is approved, {short(stand.live)} goes on answering.")


WALK_DESCRIPTION: Final = """\
Walk a lender through all six steps, from its loan history to a live key.

Each run goes on at the first step that is not done, asks at a terminal for what nobody has said,
and ends by showing where the lender stands. It never approves by itself: that takes --approve
with a name and a reason, from somebody who has read the pack. `alama onboard LENDER` is short for
it. Exits with 1 where a gate failed or the history cannot carry a model."""

WALK_EXAMPLES: Final = """\
examples:
  # at a terminal: it asks for the rest
  alama onboard umoja

  # all at once, as far as a person is not needed; then read pack.html
  alama onboard umoja --name "Umoja SACCO" --currency KES --jurisdiction KE --four-eyes \\
      --file loans.csv --group gender --pack pack.html

  # go on where it stopped: the two who have read the pack sign
  alama onboard umoja --approve --by "W. Mutua" --reason "read the pack on 14 November"
  alama onboard umoja --approve --by "J. Otieno" --reason "limits of the pack accepted"

  # people who do not exist, to try it with
  alama population --rows 20_000 --seed 3 --history --out loans.csv
  alama onboard demo --file loans.csv --pack pack.html"""


def _register_walk(actions: Subparsers) -> None:
    parser = actions.add_parser(
        "walk",
        help="all steps, as far as they go today",
        description=WALK_DESCRIPTION,
        epilog=WALK_EXAMPLES,
    )
    arguments.add_lender(parser)
    add = parser.add_argument
    add("--file", type=Path, metavar="FILE", help="past loans: .csv, .csv.gz or .parquet")
    add("--report", type=Path, metavar="PAGE", help="what was found in the file, an HTML page")
    add("--pack", type=Path, metavar="PAGE", help="the validation pack, an HTML page")
    add("--approve", action="store_true", help="sign for the model; needs --by and --reason")
    add("--by", metavar="NAME", help="who does it (default, but to approve: the login name)")
    add("--reason", metavar="TEXT", help="why the model is approved: the audit keeps it")
    arguments.add_training(parser)
    arguments.add_terms(parser)
    arguments.add_reading(parser)
    # Its --reason is that of a signature: `alama onboard terms` makes two eyes of four.
    parser.set_defaults(run=walk, extra="train", fewer_because=None)


def walk(args: argparse.Namespace) -> int:
    """Do what can be done, and show where the lender stands."""
    _require_signature(args)
    ask = asker()
    with installation() as opened:
        passed = _walk(opened, args, ask)
        say_standing(opened, args.lender)
    return 0 if passed else EXIT_FAILED


def _walk(opened: Installation, args: argparse.Namespace, ask: Question) -> bool:
    """Go on as far as it goes; False where what was found stands in the way of a model."""
    settle(opened, args, ask)
    history = _history(opened, args, ask)
    if history is None or history.enough is Enough.NOTHING:
        if args.approve:
            terminal.remark("Nothing was signed: there is no model to approve yet.")
        # Without a file there is nothing wrong yet: where it stands is shown.
        return history is None and not args.approve
    candidate = _trained(opened, args, history)
    signs = args.approve and not _answers(opened, candidate)
    (show_judged if signs else show_candidate)(opened, candidate)
    if args.pack is not None:
        write_pack(opened, candidate, page=args.pack)
    if signs:
        terminal.say("")
        sign(opened, candidate.lender, candidate.id, args.by, args.reason)
    return candidate.passed


def _require_signature(args: argparse.Namespace) -> None:
    """Refuse at once what would be found out only after the training."""
    if args.approve and not (args.by and args.reason):
        raise InvalidName(
            "a model is approved by a person, by name and with a reason",
            hint='add --by "W. Mutua" --reason "read the pack, discussed on 14 November"',
        )
    if args.reason is not None and not args.approve:
        raise InvalidName(
            "--reason says why a model is approved, and nobody approves it here",
            hint="add --approve if that is meant",
        )


def _history(opened: Installation, args: argparse.Namespace, ask: Question) -> HistoryRecord | None:
    """Give the history to go on with: the one that is kept, or a file that is named or asked for.

    None where no file was named and nobody is there to ask.
    """
    kept = stand_of(opened, args.lender).history
    path: Path | None = args.file
    if path is None and kept is None and ask is ask_person:
        path = ask("The file of its past loans, .csv or .parquet", "--file", _existing)
    if path is None:
        given = {"--group": bool(args.groups)}
        if kept is None:  # nor is anything trained
            given |= _said_of_training(args)
        arguments.refuse_unused(given, "no file is read", hint="name one: --file FILE")
    if path is not None and not (kept is not None and _is_kept(opened, args, kept, path)):
        read_and_keep(opened, args, path, args.report)
    elif kept is not None and args.report is not None:
        show_kept(opened, args.lender, args.report)
    return stand_of(opened, args.lender).history


def _is_kept(
    opened: Installation, args: argparse.Namespace, kept: HistoryRecord, path: Path
) -> bool:
    from alama.onboarding import offline  # noqa: PLC0415  the training libraries take seconds to load

    return offline.is_kept(opened, kept, path, arguments.options_from(args))


def _existing(text: str) -> Path:
    path = Path(text).expanduser()
    if not path.is_file():
        raise FileProblem(f"there is no file {path}")
    return path


def _trained(opened: Installation, args: argparse.Namespace, history: HistoryRecord) -> Candidate:
    """Give the candidate of this history by the terms of now, training it where there is none."""
    stand = stand_of(opened, args.lender)
    found, pilot = stand.candidate, stand.pilot
    assert pilot is not None  # the terms were settled before
    if found is None or (found.history_id, found.limits) != (history.id, pilot.gates):
        return train_in_sight(opened, args)
    if given := [option for option, is_given in _said_of_training(args).items() if is_given]:
        _stand_by(opened, args, found, given)
    return found


def _stand_by(
    opened: Installation, args: argparse.Namespace, candidate: Candidate, given: Sequence[str]
) -> None:
    """Say that options for a training change nothing now; `InvalidName` where they contradict it.

    Whoever goes on by the same line, with more at its end, means the model that the line has made.
    """
    anew = f"alama onboard train {args.lender}, with the same options"
    document = Stores.at(opened).candidates.document(candidate.lender, candidate.id)
    model = models.stored(document, candidate.model_id)
    conflict = _conflict(args, model)
    if args.refit and candidate.passed and model.lineage.refit_of is None:
        conflict = "it is no refit"
    if conflict is not None:
        raise InvalidName(
            f"a model was trained before, and {conflict}: candidate {candidate.id}",
            hint=f"for another one: {anew}",
        )
    terminal.remark(
        f"{' and '.join(given)}: for training alone, and candidate {candidate.id} stands. "
        f"To train anew: {anew}.\n"
    )


def _conflict(args: argparse.Namespace, model: Model) -> str | None:
    """Say where a model is not what the options for a training ask for, if anywhere."""
    fields = {feature.field for card in model.cards for feature in card.features}
    for name in (*args.exclude, *args.keep, *(["region"] if args.region else [])):
        # Either spelling will do.
        field = PRODUCT.field(name).name if name in PRODUCT.position else name
        if (field in fields) is (name in args.exclude):
            return f"it reads {name}" if field in fields else f"it does not read {name}"
    return None


def _said_of_training(args: argparse.Namespace) -> dict[str, bool]:
    """Say which options were given that decide what a model becomes."""
    return arguments.inputs_given(args) | {"--seed": args.seed is not None, "--refit": args.refit}


def _answers(opened: Installation, candidate: Candidate) -> bool:
    """Say whether a candidate is the model that answers already."""
    deployed = opened.registry.deployed(Book(candidate.lender, Mode.LIVE))
    return deployed is not None and deployed[0] == candidate.model_id
