"""`alama models recalibrate`: a model moved to the level of its recent loans, to be signed."""

from __future__ import annotations

from contextlib import ExitStack
from os import urandom
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from alama.core import model
from alama.core.errors import FileProblem
from alama.lenders import installation
from alama.lenders.installation import Installation, existing_installation
from alama.monitoring.page import recalibration_page
from alama.monitoring.recalibration import Asked, NothingToSign, Recalibrations
from alama.onboarding.terminal import Judged, Wording, show_gates
from alama.platform import ids
from alama.platform.book import Book, Mode
from alama.platform.files.promise import promised
from alama.platform.terminal import terminal
from alama.platform.terminal.command import Subparsers, whole

if TYPE_CHECKING:
    import argparse

    from alama.core.monitoring.recalibration import Pack, Recalibration
    from alama.onboarding.records import Candidate


DESCRIPTION: Final = """\
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

EXAMPLES: Final = """\
examples:
  alama models recalibrate umoja --by "W. Mutua" --pack recalibration.html
  alama onboard approve umoja --by "W. Mutua" --reason "level of the harvest, read on 16 November"

  # the built-in model on synthetic outcomes
  alama outcomes simulate demo --people 20000 --worse 1.5
  alama models recalibrate demo --mode test --out moved.json"""


TRIED: Final = "Tried in test mode, where nobody signs for a model: it answers nothing"


def register(actions: Subparsers) -> None:
    parser = actions.add_parser(
        "recalibrate",
        help="move a model to the level of its recent loans",
        description=DESCRIPTION,
        epilog=EXAMPLES,
    )
    add = parser.add_argument
    add("lender", metavar="LENDER", help="`alama lenders list` shows them")
    add("--by", metavar="NAME", help="who makes it (default: the login name)")
    add(
        "--mode",
        choices=[mode.value for mode in Mode],
        default=Mode.LIVE.value,
        help="default: %(default)s",
    )
    add(
        "--since-days",
        type=whole(1, 3_650),
        default=365,
        metavar="N",
        help="take loans scored in the last N days, 3,650 at most (default: %(default)s)",
    )
    add("--out", type=Path, metavar="FILE", help="also write the new model, a JSON file")
    add("--pack", type=Path, metavar="PAGE", help="also write its pack, an HTML page")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Move, judge, show, and keep what passed."""
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
        _show(made.pack, mode)
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


def _show(pack: Pack, mode: Mode) -> None:
    """Print what moves, in a sentence, and the gates."""
    terminal.say(
        f"{pack.from_name}: of {pack.loans:,} mature loans scored since {pack.since}, "
        f"{pack.observed:.2%} defaulted and {pack.predicted:.2%} was predicted.\n"
        f"Every score moves by {pack.points:+.1f} points ({pack.shift:+.3f} log-odds of default, "
        f"give or take {1.96 * pack.shift_error:.3f})."
    )
    shown = msgspec.convert(pack, Judged, from_attributes=True)
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
