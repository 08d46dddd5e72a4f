"""`alama score`: score a whole file, and decide on it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from alama.core import memory
from alama.core.errors import InvalidPolicy
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import Model, ReadyModel
from alama.platform.files.packaged import model_at
from alama.platform.files.texts import named, read_policy
from alama.platform.terminal import terminal

if TYPE_CHECKING:
    from alama.batch.deciding import TableDeciding
    from alama.batch.scoring import Options, Scoring
    from alama.platform.files.table import Table

DESCRIPTION: Final = """\
Score every application in a file, in order, in bounded memory.

FILE is CSV or Parquet, one row an application, one column a field under either of its names;
empty means not given, and so do NA, null, ? and the like where a number should be (with a
warning). Columns that the model does not name are ignored, fields that the file lacks are not
given; both are named on stderr. Each row gets
`score` (300 to 850) and `default_probability`; with --contributions also `base_score` and
`points_<field>`, which add up to the score before rounding and are empty for a field that the
row's scorecard does not read. A row that gives the core fields alone is scored by the compact
scorecard, as the service would.

With --policy each row also gets `tier`, `decision`, `recommended_limit`,
`recommended_term_days`, `recommended_apr` and `rules` (the codes of what objected, with ; between
them): what POST /v1/score would answer under this policy. A row that asks for no loan is taken to
ask for the policy's standard loan, and scored so. Pauses and daily bounds are left out: they
depend on the day.

In CSV, text that a spreadsheet would take for a formula gets a ' in front, in the first row too:
it, or a line of it, begins with =, +, -, @ or their likes, perhaps after blanks, and is no number.
Parquet keeps it as it is.

A missing required field, a value out of range or one in a field that the policy forbids stops the
run, names the rows, and leaves nothing behind."""

EXAMPLES: Final = """\
examples:
  # the scores alone, by the built-in model
  alama score loans.parquet --out scores.parquet

  # your model, with the points of each field, beside the number of the loan
  alama score loans.csv --model model.json --contributions --keep loan_id --out scores.csv

  # money in the file is in Ugandan shillings
  alama score kampala.csv --currency UGX --out scores.csv

  # whom would my policy lend to, how much, and what speaks against the others?
  alama score loans.csv --policy policy.toml --keep loan_id --out decisions.csv"""


def register(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    add = parser.add_argument
    add("file", type=Path, metavar="FILE", help="ends in .csv, .csv.gz or .parquet")
    add("--out", type=Path, required=True, metavar="FILE", help="ends in .csv or .parquet")
    add("--model", type=Path, metavar="MODEL", help="a model file (default: the built-in model)")
    add(
        "--policy",
        type=Path,
        metavar="POLICY",
        help="a policy file that decides on each row; - reads standard input",
    )
    add("--contributions", action="store_true", help="add the points that each field gave")
    add(
        "--currency",
        type=str.upper,
        metavar="CODE",
        help="of money in the file (default: the policy's, or else the model's)",
    )
    add(
        "--keep",
        type=_names,
        default=(),
        metavar="A,B",
        help="columns of FILE to copy in front of the scores",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Score the file, decide on it where a policy is named, and say what came of it."""
    # Here, not above: Arrow takes longer to load than most commands take to run.
    from alama.batch.scoring import Options, TableScoring  # noqa: PLC0415
    from alama.platform.files.reader import open_table  # noqa: PLC0415

    model = model_at(args.model)
    source = open_table(args.file)
    options = Options(args.contributions, args.currency, args.keep)
    if args.policy is None:
        told = [_write(TableScoring(model, source, options), args.out)]
    else:
        deciding = _deciding(args.policy, model, source, options)
        told = [_write(deciding, args.out), _decisions(deciding)]
    for line in told:
        terminal.stdout().print(line, markup=False, soft_wrap=True)
    return 0


def _deciding(path: Path, model: Model, source: Table, options: Options) -> TableDeciding:
    """Lay the policy in a file out over the columns of the source."""
    from alama.batch.deciding import TableDeciding  # noqa: PLC0415  see `run`

    policy = read_policy(path, model)
    if options.currency not in {None, policy.currency}:
        raise InvalidPolicy(
            f"{named(path)} lends in {policy.currency}, but --currency says {options.currency}",
            hint="leave --currency out: money in the file is in the currency of the policy",
        )
    return TableDeciding(ReadyPolicy(policy, ReadyModel(model, policy.currency)), source, options)


def _write(scoring: Scoring, out: Path) -> str:
    """Write the result under the eyes of the user, and give the line that sums it up."""
    from alama.batch.scoring import score_table  # noqa: PLC0415  see `run`

    for line in _differences(scoring):
        terminal.stderr().print(line, markup=False, soft_wrap=True)
    source = scoring.source
    with terminal.progress("Scoring", source.total, unit=source.unit) as progress:
        tally = score_table(scoring, out, progress.advance)
        if source.rows is None:
            progress.note(f"{tally.rows:,} rows")
    if scoring.markers:
        counted = ", ".join(f"{name} ({count:,})" for name, count in scoring.markers.items())
        terminal.warn(f"values such as NA, null or ? were read as missing: {counted}")
    return (
        f"{out}: {tally.rows:,} rows, mean score {tally.mean_score:.0f}, "
        f"mean default probability {tally.mean_probability:.2%}"
    )


def _decisions(deciding: TableDeciding) -> str:
    """Sum up what was decided: the share of each decision, and what is lent."""
    figures, policy = deciding.figures, deciding.policy.policy
    shares = ", ".join(
        f"{decision.lower()} {count / figures.count:.1%}"
        for decision, count in figures.decisions.items()
    )
    lent = f"volume {policy.currency} {figures.volume:,}"
    if figures.loss_share is not None:
        lent += f", of which {figures.loss_share:.1%} are expected to be lost"
    return f"{policy.name}, version {policy.version}: {shares}; {lent}"


def _differences(scoring: Scoring) -> list[str]:
    """Say where the columns of the file and the fields of the model part ways."""
    lines = []
    if scoring.ignored:
        told = (
            f"{name} (did you mean {scoring.meant[name]}?)" if name in scoring.meant else name
            for name in scoring.ignored
        )
        lines.append(f"Columns that the model does not name, ignored: {', '.join(told)}")
    unsaid = [name for name in scoring.absent if name not in memory.NAMES]
    if unsaid:
        absent = ", ".join(unsaid)
        lines.append(f"Fields of the model that the file lacks, taken as not given: {absent}")
    unknown = [name for name in scoring.absent if name in memory.NAMES]
    if unknown:
        absent = ", ".join(unknown)
        lines.append(
            f"What a book remembers is not known of a file, taken as not given: {absent}. "
            "Scores of borrowers who are remembered differ"
        )
    return lines


def _names(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        message = "names no column"
        raise argparse.ArgumentTypeError(message)
    return names
