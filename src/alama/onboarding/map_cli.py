"""How the files of a lender are read: shown, asked about, previewed, kept, removed."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from rich.text import Text

from alama.core.errors import FileProblem
from alama.lenders import installation
from alama.lenders.installation import existing_installation
from alama.lenders.mappings import Files, KeptMapping, Mappings
from alama.lenders.own_fields import learnable
from alama.onboarding.arguments import ask_person, asker, yes_or_no
from alama.platform.errors import InvalidName
from alama.platform.files.asis.inspection import CHOICES, Inspected, Mapping, Question, inspect
from alama.platform.files.cells import as_csv
from alama.platform.files.promise import promised_in_private
from alama.platform.terminal import terminal
from alama.platform.terminal.tables import facts, plain_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from alama.lenders.installation import Installation
    from alama.onboarding.arguments import Question as Ask
    from alama.platform.files.asis.likeness import Target

MAP_DESCRIPTION: Final = """\
Say how a file of loans is read that did not come as Alama writes one: an export of a spreadsheet or
of a loan system, as text in any encoding with any separator, or as an Excel workbook (.xlsx).

What can be told from the file is told. What it leaves open is asked, never guessed: whether
03/04/2026 is in March or in April, whether 1,234 is more than a thousand. Columns are found by
their names in English, Swahili and French, and shown with twenty rows as they stand and as they
are read. What you say is kept for the lender, version after version, and used for the files to
come: names of columns and answers, and no value. Without FILE what is kept is shown."""

MAP_EXAMPLES: Final = """\
examples:
  # look at a file; at a terminal it asks for what the file leaves open
  alama onboard map umoja loans.xlsx

  # answer beforehand, and keep it without being asked
  alama onboard map umoja loans.csv --dates day-first --column amount=Principal --yes

  # what is kept, and away with it
  alama onboard map umoja
  alama onboard map umoja --remove"""

_ROUNDS_MAX: Final = 12
_CELL_WIDTH: Final = 24
_TAB: Final = "tab"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what can be said of a file, and what becomes of what is kept."""
    add = parser.add_argument
    add("file", type=Path, nargs="?", metavar="FILE", help="text with separators, or .xlsx")
    add(
        "--column",
        dest="columns",
        type=_pair,
        action="append",
        default=[],
        metavar="NAME=COLUMN",
        help="read what Alama calls NAME from this column; NAME= reads it from none",
    )
    for name in ("dates", "decimal", "serial", "dash", "hidden", "encoding"):
        told = f"{_HELP[name]}: {', '.join(CHOICES[name])}"
        add(f"--{name}", choices=CHOICES[name], metavar="HOW", help=told)
    add("--delimiter", type=_delimiter, metavar="SIGN", help="what stands between values, or tab")
    add("--sheet", metavar="NAME", help="the sheet that holds the table")
    add(
        "--preview",
        type=Path,
        metavar="OUT.csv",
        help="write the twenty rows, as they stand and as they are read, with every column",
    )
    add("--yes", action="store_true", help="keep what was said without being asked")
    add("--remove", action="store_true", help="forget what is kept: files are read as they come")
    add("--by", metavar="NAME", help="who says so (default: the login name)")


_HELP: Final = {
    "dates": "how days such as 03/04/2026 are written, where no day of a column tells",
    "decimal": "the decimal mark, where 1,234 could be either",
    "serial": "from which year a spreadsheet counts days (Excel: 1900)",
    "dash": "what a dash means among amounts",
    "hidden": "whether rows that are hidden in the sheet are read",
    "encoding": "how letters with accents are written, where the file does not tell",
}


def map_histories(args: argparse.Namespace) -> int:
    from alama.training.history.names import targets_of  # noqa: PLC0415  few commands need it

    with existing_installation() as opened:
        opened.registry.lender(args.lender)
        targets = targets_of(learnable(opened.registry, args.lender))
    return map_files(args, Files.HISTORIES, targets, f"alama onboard history {args.lender}")


def map_files(
    args: argparse.Namespace, files: Files, targets: Sequence[Target], following: str
) -> int:
    """Show, ask, preview and keep how files of a kind are read, as `add_arguments` says."""
    with existing_installation() as opened:
        opened.registry.lender(args.lender)
        mappings, by = Mappings.at(opened, Mapping), args.by or installation.operator()
        if args.remove:
            removed = mappings.remove(args.lender, files, by)
            terminal.say(f"Version {removed.version} is removed: {files} are read as they come.")
            return 0
        kept = mappings.find(args.lender, files)
        if args.file is None:
            _show_kept(kept)
            return 0
        _require_known(args.columns, targets)
        mapping = _said(Mapping() if kept is None else kept.mapping, args)
        return _map(opened, args, files, targets, mapping, following)


def _map(
    opened: Installation,
    args: argparse.Namespace,
    files: Files,
    targets: Sequence[Target],
    mapping: Mapping,
    following: str,
) -> int:
    found, mapping = _inspected(args.file, targets, mapping)
    currency = opened.registry.lender(args.lender).currency
    if found.money and currency not in found.money:
        raise FileProblem(
            f"{args.file}: its amounts are in {' or '.join(found.money)}, and the lender lends in "
            f"{currency}",
            hint=f"bring all amounts into {currency}, and take the other currency out of the cells",
        )
    show(found)
    if args.preview is not None:
        _write_preview(args.preview, found)
    said = dict(mapping.columns) | {name: found.mapped[name] for name in found.likened}
    mapping = msgspec.structs.replace(mapping, columns=dict(sorted(said.items())))
    if mapping == Mapping():
        terminal.remark(f"\nNothing has to be said of it. Next: {following} {args.file}")
        return 0
    if not args.yes and not _confirmed(asker()):
        terminal.remark("Nothing is kept.")
        return 1
    by = args.by or installation.operator()
    kept = Mappings.at(opened, Mapping).keep(args.lender, files, mapping, by)
    terminal.remark(
        f"\nKept for {args.lender}, version {kept.version}. Next: {following} {args.file}"
    )
    return 0


def _confirmed(ask: Ask) -> bool:
    if ask is not ask_person:
        raise InvalidName("nobody has said that this is right", hint="look at it, then say --yes")
    return ask("Is it read right, and shall the files to come be read so", "--yes", yes_or_no)


def _inspected(
    path: Path, targets: Sequence[Target], mapping: Mapping
) -> tuple[Inspected, Mapping]:
    """Look at a file until nothing is left to ask."""
    ask = asker()
    found = _look(path, targets, mapping)
    for _ in range(_ROUNDS_MAX):
        if not found.questions:
            break
        if ask is not ask_person:
            raise _not_known(found.questions)
        _show_told(found)
        for question in found.questions:
            mapping = _answered(mapping, question, ask)
        found = _look(path, targets, mapping)
    return found, mapping


def _look(path: Path, targets: Sequence[Target], mapping: Mapping) -> Inspected:
    with terminal.share(f"Looking at {path.name}") as watch:
        return inspect(path, targets, mapping, lambda share: watch("", share, ""))


def _not_known(questions: Sequence[Question]) -> InvalidName:
    """Name all that is open at once, where nobody can be asked."""
    listed = "".join(f"\n  {_capital(question)}" for question in questions)
    said = "; ".join(_option(question) for question in questions)
    return InvalidName(f"this is not known yet:{listed}", hint=f"say {said}")


def _answered(mapping: Mapping, question: Question, ask: Ask) -> Mapping:
    asked = f"{_capital(question)}\n  ({', '.join(question.answers[:12])})"
    answer = ask(asked, _option(question), _one_of(question.answers))
    if question.about == "columns":
        assert question.column is not None
        columns = dict(mapping.columns) | {question.column: answer}
        return msgspec.structs.replace(mapping, columns=columns)
    return msgspec.structs.replace(mapping, **{question.about: answer})


def _capital(question: Question) -> str:
    return question.words[0].upper() + question.words[1:]


def _option(question: Question) -> str:
    if question.about == "columns":
        return f"--column {question.column}=COLUMN, one of: {', '.join(question.answers[:12])}"
    return f"--{question.about} {' or '.join(question.answers)}"


def _one_of(answers: Sequence[str]) -> Callable[[str], str]:
    def read(text: str) -> str:
        for answer in answers:
            if text.strip().casefold() == answer.casefold():
                return answer
        raise InvalidName("that is none of the answers", hint=", ".join(answers[:12]))

    return read


def _said(mapping: Mapping, args: argparse.Namespace) -> Mapping:
    """Give what was kept, with what is said now in its place."""
    said = {
        name: value for name in (*CHOICES, "sheet") if (value := getattr(args, name)) is not None
    }
    columns = dict(mapping.columns) | dict(args.columns)
    return msgspec.structs.replace(mapping, columns=columns, **said)


def _require_known(said: Sequence[tuple[str, str]], targets: Sequence[Target]) -> None:
    """Refuse a column for what nobody reads; to leave out what nobody reads does no harm."""
    known = [target.name for target in targets]
    for name, column in said:
        if column and name not in known:
            raise InvalidName(
                f"{name} is no column that is read", hint=f"one of {', '.join(known)}"
            )


def _pair(text: str) -> tuple[str, str]:
    name, equals, column = text.partition("=")
    if not name.strip() or not equals:
        message = f"{text!r} is not of the form NAME=COLUMN, such as amount=Principal"
        raise argparse.ArgumentTypeError(message)
    return name.strip(), column.strip()


def _delimiter(text: str) -> str:
    sign = "\t" if text.casefold() in {_TAB, "\\t"} else text
    if sign not in CHOICES["delimiter"]:
        message = f"{text!r} is none of , ; | and tab"
        raise argparse.ArgumentTypeError(message)
    return sign


# ----------------------------------------------------------------------------------- showing


def show(found: Inspected) -> None:
    """Print what was detected, where each column comes from, and the first rows."""
    _show_told(found)
    assert found.reading is not None
    table = plain_table("Alama reads", "from the column", "as")
    same = []
    for column in found.reading.columns:
        if column.name == column.source and column.name in found.mapped:
            same.append(column.name)
        elif column.name in found.mapped:
            mark = " (by likeness)" if column.name in found.likened else ""
            table.add_row(Text(column.name), Text(column.source + mark), column.way.holds.value)
    if table.row_count:
        terminal.section("Where each column comes from", table)
    if same:
        terminal.say(Text(f"\nNamed as Alama names them: {', '.join(same)}."))
    if found.unmapped:
        terminal.remark(f"\nNo name for: {', '.join(found.unmapped)}. They are set aside.")
    _show_rows(found)


def _show_told(found: Inspected) -> None:
    rows = f"{found.rows:,} row{'' if found.rows == 1 else 's'}"
    terminal.say(Text(f"\n{rows}. What was found in the file:", "bold"))
    for line in found.told or ("nothing that has to be said",):
        terminal.say(Text(f"- {line}"))


def _show_rows(found: Inspected) -> None:
    """Print the first rows, with the columns that are not read as they are written."""
    assert found.reading is not None
    both = zip(_before(found), found.after, strict=True)
    pairs = [list(zip(*rows, strict=True)) for rows in both]
    if not pairs:
        return
    places = range(len(pairs[0]))
    changed = [p for p in places if any(row[p][0] != row[p][1] for row in pairs)]
    width = max(1, (terminal.stdout().width - 5) // (_CELL_WIDTH + 2))
    shown = (changed or list(places))[:width]
    names = [found.reading.columns[place].name for place in shown]
    table = plain_table("row", *names)
    table.columns[0].justify = "right"
    for number, row in enumerate(pairs, 1):
        table.add_row(str(number), *(_cell(*row[place]) for place in shown))
    terminal.section("The first rows, as they stand and as they are read", table)
    rest = len(changed) - len(shown)
    if rest > 0:
        terminal.remark(f"{rest} more columns are read anew: --preview OUT.csv writes all of them")


def _before(found: Inspected) -> list[list[str]]:
    assert found.reading is not None
    return [[row[column.place] for column in found.reading.columns] for row in found.before]


def _cell(before: str, after: str) -> Text:
    if before == after:
        return Text(before)
    return Text.assemble((before or "(empty)", "dim"), " \N{RIGHTWARDS ARROW} ", after or "(empty)")


def _write_preview(path: Path, found: Inspected) -> None:
    assert found.reading is not None
    columns = [
        name
        for column in found.reading.columns
        for name in (f"{column.source} (as it stands)", f"{column.name} (as it is read)")
    ]
    rows = [
        dict(zip(columns, [c for pair in zip(b, a, strict=True) for c in pair], strict=True))
        for b, a in zip(_before(found), found.after, strict=True)
    ]
    with promised_in_private(path) as output:
        output.write(as_csv(columns, rows).encode())
    terminal.remark(f"wrote {path}: it holds what your applicants said")


def _show_kept(kept: KeptMapping[Mapping] | None) -> None:
    if kept is None:
        terminal.say("Nothing is kept: files are read as they come.")
        return
    when = terminal.minute(kept.kept_us)
    terminal.say(Text(f"Version {kept.version}, kept at {when} UTC by {kept.kept_by}", "bold"))
    answers = {
        name: value
        for name in (*CHOICES, "sheet")
        if (value := getattr(kept.mapping, name)) is not None
    }
    columns = {name: source or "(none)" for name, source in kept.mapping.columns.items()}
    terminal.say(facts([*columns.items(), *answers.items()]))
