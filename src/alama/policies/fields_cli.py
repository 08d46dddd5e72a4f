"""`alama fields`: declare, check and put in force the fields that a lender adds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from alama.batch.listing import number
from alama.core import own_fields
from alama.core.application import visible, visible_lines
from alama.core.catalogue import Direction, Use
from alama.core.errors import InvalidFields
from alama.lenders.installation import existing_installation
from alama.lenders.records import Signed
from alama.platform.files.packaged import builtin
from alama.platform.files.texts import is_file, named, read_bytes, told_of, write_new_text
from alama.platform.terminal import terminal
from alama.platform.terminal.tables import plain_table
from alama.policies import own_fields as use_cases
from alama.policies.cli import fault_table, short_id

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from rich.table import Table

    from alama.core.catalogue import Field
    from alama.core.own_fields import OwnFields
    from alama.platform.terminal.command import Subparsers


DESCRIPTION: Final = """\
A lender's own fields: what it knows of an applicant beside the product's fields, such as the score
of a bureau. Declare them in a text, check it, put it in force: from then on they may be sent, rules
may read them, and the next model learns from them. docs/own-fields.md goes the whole way."""

INIT_DESCRIPTION: Final = """\
Write a catalogue to start from: three fields with every key that there is."""

CHECK_DESCRIPTION: Final = """\
Say whether a catalogue is sound, and everything that is wrong with it, line by line. Exits with 2
where it is not."""

ACTIVATE_DESCRIPTION: Final = """\
Let a lender send these fields, in both modes: every process knows them within a second. It is
refused where a model or a rule that answers reads a field that would be gone, or another. Give a
file, or go back to a catalogue that was in force before by the first digits of its id. One without
any field takes all back."""

ACTIVATE_EXAMPLES: Final = """\
examples:
  alama fields activate 3f9a1c0d --lender demo --by "W. Mutua"
  alama fields activate fields.toml --lender demo --by "W. Mutua" --note "bureau contract"
"""

SHOW_DESCRIPTION: Final = """\
Print the catalogue that is in force, as it was written, or another that was. Redirected into a file
it can be changed and activated again."""

HISTORY_DESCRIPTION: Final = """\
List the catalogues of a lender, newest first: since when, which, who put it in force and why. Times
are UTC."""

NOT_SOUND: Final = 2
"""The exit code of a check that finds faults: that of every mistake that a person can put right."""

DRAFT: Final = """\
schema = "alama.fields/1"
name = "our fields"
version = "1"

# One table a field. docs/own-fields.md says what each key does.

[[fields]]
name = "bureau_score"
type = "integer"                # integer, number or word
unit = "points"
minimum = 200                   # or: above = 0, where the least is never reached
maximum = 900
direction = "safer"             # with more of it: safer, riskier, or free to be either
use = "model"                   # the model may learn from it; "rules": rules alone read it
source = "the credit bureau, asked on the day of application"
meaning = "score of the credit bureau"

[fields.labels]                 # what applicants read it called
en = "your score at the credit bureau"
sw = "alama zako katika ofisi ya taarifa za mikopo"
fr = "votre score au bureau de crédit"

[fields.change]                 # how an applicant can change it; leave out where they cannot
way = "up"                      # up, down or either
within_days = 180
by_at_most = 60

[[fields]]
name = "earlier_loans"
type = "integer"
unit = "loans"
minimum = 0
maximum = 500
direction = "safer"
source = "our own ledger: loans repaid before the day of application"

[fields.labels]
en = "the loans that you have repaid to us"
sw = "mikopo uliyotulipa"
fr = "les prêts que vous nous avez remboursés"

[[fields]]
name = "branch"
type = "word"
source = "the branch that took the application"

[fields.labels]
en = "the branch where you applied"
sw = "tawi ulikoombea mkopo"
fr = "votre agence"
"""


def register(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    drafted = actions.add_parser(
        "init", help="write a catalogue to start from", description=INIT_DESCRIPTION
    )
    drafted.add_argument(
        "--out", type=Path, metavar="FILE", help="where to (default: standard output)"
    )
    drafted.set_defaults(run=init)
    checked = actions.add_parser(
        "check", help="is it sound, and what is wrong with it?", description=CHECK_DESCRIPTION
    )
    checked.add_argument("file", type=Path, metavar="FILE", help="- reads standard input")
    checked.set_defaults(run=check)
    _register_activate(actions)
    shown = actions.add_parser("show", help="print what is in force", description=SHOW_DESCRIPTION)
    _add_lender(shown)
    shown.add_argument("--id", metavar="ID", help="the first digits of another that was")
    shown.set_defaults(run=show)
    listed = actions.add_parser(
        "history", help="which was in force, since when", description=HISTORY_DESCRIPTION
    )
    _add_lender(listed)
    listed.set_defaults(run=history)


def _register_activate(actions: Subparsers) -> None:
    activated = actions.add_parser(
        "activate",
        help="let a lender send these fields, or go back",
        description=ACTIVATE_DESCRIPTION,
        epilog=ACTIVATE_EXAMPLES,
    )
    activated.add_argument("file", metavar="FILE|ID", help="a file, - for standard input, or an id")
    _add_lender(activated)
    activated.add_argument("--by", required=True, metavar="NAME", help="who signs it off")
    activated.add_argument("--note", metavar="TEXT", help="why, for the history")
    activated.set_defaults(run=activate)


def _add_lender(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--lender", default="demo", metavar="ID", help="default: %(default)s")


def init(args: argparse.Namespace) -> int:
    """Write a draft; without --out nothing but the draft goes to stdout."""
    if args.out is None:
        sys.stdout.write(DRAFT)
        return 0
    write_new_text(args.out, DRAFT)
    terminal.say(f"{args.out}: a catalogue of three fields.")
    terminal.remark(f"Next: change what is yours, then alama fields check {args.out}")
    return 0


def check(args: argparse.Namespace) -> int:
    """Say what is wrong with a catalogue, or what it declares."""
    text = read_bytes(args.file, own_fields.SIZE_MAX)
    try:
        own = own_fields.read(text)
    except InvalidFields as error:
        if not error.faults:
            raise
        terminal.say(f"{named(args.file)} is not sound:\n")
        terminal.say(fault_table(error.faults))
        if error.hint:
            terminal.remark(f"hint: {error.hint}")
        return NOT_SOUND
    terminal.say(f"{named(args.file)} is sound.\n")
    terminal.say(f"{own.name}, version {own.version}\n{own.id}\n")
    terminal.say(field_table(own))
    return 0


def activate(args: argparse.Namespace) -> int:
    with existing_installation() as opened:
        registry, lender = opened.registry, args.lender
        before = registry.fields_in_force(lender)
        if is_file(args.file):
            text = read_bytes(Path(args.file), own_fields.SIZE_MAX)
        else:
            text = use_cases.text_of(registry, lender, args.file)
        signed = Signed(opened.clock(), args.by, args.note)
        with told_of(Path(args.file)):
            own = use_cases.activate(registry, lender, text, signed, builtin)
    terminal.say(f"{_titled(own)} is in force for {lender}, in every process within a second.")
    if before is not None and before != own.id:
        terminal.remark(f"Before it was {short_id(before)}.")
    return 0


def show(args: argparse.Namespace) -> int:
    """Print a catalogue: as it was written, but a terminal takes no orders from it."""
    with existing_installation() as opened:
        registry, lender = opened.registry, args.lender
        registry.lender(lender)
        fields_id = args.id or registry.fields_in_force(lender)
        if fields_id is None:
            terminal.remark(f"{lender} has declared no fields of its own.")
            return 0
        written = use_cases.text_of(registry, lender, fields_id).decode()
    sys.stdout.write(visible_lines(written) if sys.stdout.isatty() else written)
    return 0


def history(args: argparse.Namespace) -> int:
    table = plain_table("since (UTC)", "id", "by", "note")
    for column in table.columns[:2]:
        column.no_wrap = True
    with existing_installation() as opened:
        opened.registry.lender(args.lender)
        for step in reversed(opened.registry.field_activations(args.lender)):
            table.add_row(
                terminal.minute(step.signed.at_us),
                short_id(step.fields_id),
                visible(step.signed.by or ""),
                visible(step.signed.note or ""),
            )
    if not table.row_count:
        terminal.remark(f"{args.lender} has declared no fields of its own.")
        return 0
    terminal.say(table)
    return 0


def _titled(own: OwnFields) -> str:
    return f"{own.name}, version {own.version} ({short_id(own.id)})"


def field_table(own: OwnFields) -> Table:
    """List what is declared: what a value must be, who reads it, which way risk goes."""
    table = plain_table("field", "values", "read by", "with more of it", "an applicant can")
    for field in own.fields:
        read_by = "rules" if field.use is Use.POLICY else "model, rules"
        table.add_row(
            field.name,
            " ".join(_values(field)),
            read_by,
            "" if field.direction is Direction.FREE else field.direction.value.split()[0],
            "not change it" if field.change is None else f"move it {field.change.way.value}",
        )
    return table


def _values(field: Field) -> Iterator[str]:
    if not field.numeric:
        yield "words"
        return
    low = field.minimum if field.above is None else field.above
    assert low is not None  # or it would not be sound
    assert field.maximum is not None
    yield "above" if field.above is not None else "from"
    yield f"{number(low)} to {number(field.maximum)}"
    yield "of money" if field.money else field.unit
