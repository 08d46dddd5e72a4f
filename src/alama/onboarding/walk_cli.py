"""`alama onboard walk`: all steps from a loan history to a live key, as far as they go today."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from alama.core import model as models
from alama.core.errors import FileProblem
from alama.core.product import PRODUCT
from alama.lenders.installation import Installation, installation
from alama.onboarding import arguments
from alama.onboarding.arguments import EXIT_FAILED, Question, ask_person, asker, settle
from alama.onboarding.store import Stores
from alama.onboarding.terminal import (
    read_and_keep,
    say_standing,
    show_candidate,
    show_judged,
    show_kept,
    sign,
    stand_of,
    train_in_sight,
    write_pack,
)
from alama.platform.book import Book, Mode
from alama.platform.errors import InvalidName
from alama.platform.terminal import terminal
from alama.training.history.report import Enough

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from alama.core.model import Model
    from alama.onboarding.records import Candidate, HistoryRecord
    from alama.platform.terminal.command import Subparsers


DESCRIPTION: Final = """\
Walk a lender through all six steps, from its loan history to a live key.

Each run goes on at the first step that is not done, asks at a terminal for what nobody has said,
and ends by showing where the lender stands. It never approves by itself: that takes --approve
with a name and a reason, from somebody who has read the pack. `alama onboard LENDER` is short for
it. Exits with 1 where a gate failed or the history cannot carry a model."""

EXAMPLES: Final = """\
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


def register(actions: Subparsers) -> None:
    parser = actions.add_parser(
        "walk",
        help="all steps, as far as they go today",
        description=DESCRIPTION,
        epilog=EXAMPLES,
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
    parser.set_defaults(run=run, extra="train", fewer_because=None)


def run(args: argparse.Namespace) -> int:
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
    candidate = _candidate(opened, args, history)
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


def _candidate(opened: Installation, args: argparse.Namespace, history: HistoryRecord) -> Candidate:
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
    if (conflict := _conflict(args, models.stored(document, candidate.model_id))) is not None:
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
    return arguments.inputs_given(args) | {"--seed": args.seed is not None}


def _answers(opened: Installation, candidate: Candidate) -> bool:
    """Say whether a candidate is the model that answers already."""
    deployed = opened.registry.deployed(Book(candidate.lender, Mode.LIVE))
    return deployed is not None and deployed[0] == candidate.model_id
