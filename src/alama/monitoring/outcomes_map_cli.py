"""Files of outcomes as they come: which columns they have, and how they are read."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from alama.lenders.mappings import Files, Mappings
from alama.onboarding.map_cli import add_arguments, map_files
from alama.onboarding.records import Unmapped
from alama.platform.files.asis.inspection import Mapping
from alama.platform.files.asis.likeness import Holds, Target

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from pathlib import Path

    from alama.lenders.installation import Installation
    from alama.platform.terminal.command import Subparsers


TARGETS: Final = (
    Target(
        "request_id",
        Holds.ID,
        required=True,
        always=True,
        also=("request", "request number", "score id", "alama id", "numero de demande"),
        maybe=("id", "reference", "ref"),
    ),
    Target(
        "outcome",
        Holds.WORD,
        required=True,
        always=True,
        also=("loan outcome", "resultat", "matokeo"),
        maybe=("status", "loan status", "state", "statut", "hali"),
    ),
    Target(
        "date",
        Holds.DAY,
        required=True,
        always=True,
        also=("outcome date", "date of outcome", "tarehe"),
        maybe=("status date", "closed on", "close date", "date de fin"),
    ),
    Target(
        "disbursed_amount",
        Holds.NUMBER,
        also=("amount disbursed", "principal", "montant decaisse", "kiasi kilichotolewa"),
        maybe=("amount", "loan amount", "montant", "kiasi"),
        money=True,
    ),
    Target(
        "repaid_amount",
        Holds.NUMBER,
        also=("amount repaid", "total repaid", "montant rembourse", "kiasi kilicholipwa"),
        maybe=("paid", "amount paid"),
        money=True,
    ),
    Target("corrects", Holds.WORD),
    Target("defaulted_on", Holds.DAY, also=("default date", "date of default")),
)
"""The columns of a file of outcomes."""

MAP_DESCRIPTION: Final = """\
Say how a file of outcomes is read that did not come as Alama writes one. What can be told from the
file is told, what it leaves open is asked; twenty rows are shown as they stand and as they are
read. What you say is kept for the lender, and used by `alama outcomes load`: names of columns and
answers, and no value. Without FILE what is kept is shown."""

MAP_EXAMPLES: Final = """\
examples:
  alama outcomes map umoja repayments.xlsx
  alama outcomes map umoja repayments.csv --column outcome=Status --dates day-first --yes
  alama outcomes map umoja --remove"""


def register_map(actions: Subparsers) -> None:
    parser = actions.add_parser(
        "map",
        help="how files of outcomes are read that come",
        description=MAP_DESCRIPTION,
        epilog=MAP_EXAMPLES,
    )
    parser.add_argument("lender", metavar="LENDER", help="whose files they are")
    add_arguments(parser)
    parser.set_defaults(run=map_outcomes, extra="batch")


def map_outcomes(args: argparse.Namespace) -> int:
    return map_files(args, Files.OUTCOMES, TARGETS, f"alama outcomes load --lender {args.lender}")


@contextmanager
def as_it_comes(opened: Installation, lender: str, path: Path) -> Iterator[Path]:
    """Give a table of outcomes as it is loaded; `Unmapped` where somebody has to say more."""
    from alama.onboarding.incoming import require_currency  # noqa: PLC0415  it loads Arrow
    from alama.platform.files.asis.incoming import look, written_anew  # noqa: PLC0415  as above

    kept = Mappings.at(opened, Mapping).find(lender, Files.OUTCOMES)
    found = look(path, TARGETS, Mapping() if kept is None else kept.mapping)
    if found is None:
        yield path
        return
    require_currency(path, found, opened.registry.lender(lender).currency)
    asked = [question.words for question in found.questions]
    asked += [f"{name} is read from {found.mapped[name]}?" for name in found.likened]
    if asked:
        raise Unmapped(
            "\n  ".join((f"{path} can be read in more than one way:", *asked)),
            hint=f"alama outcomes map {lender} {path}",
        )
    with written_anew(path, found.reading, TARGETS) as anew:
        yield anew
