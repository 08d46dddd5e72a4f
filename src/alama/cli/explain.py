"""`alama explain`: score one application and show where each point comes from."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from alama.core.errors import FileProblem, InvalidApplication, InvalidPolicy, MalformedDocument

if TYPE_CHECKING:
    from alama.cli.command import Subparsers
    from alama.core.application import Application
    from alama.core.catalogue import Catalogue
    from alama.core.lending.ready_policy import ReadyPolicy
    from alama.core.model import ReadyModel

DESCRIPTION: Final = """\
Score one application and draw where each point comes from.

FILE is a JSON object of fields, under either of their names; `-` reads it from standard
input; without FILE a sample application is scored. The drawing starts at the base score, which
the population has on average; each field then adds or takes exactly its points, the largest
first, and the last one ends at the score. Decision and offer are those of the default policy."""

EXAMPLES: Final = """\
examples:
  # the sample application, by the built-in model
  alama explain

  # four fields are enough
  echo '{"mobile_money_months": 14, "monthly_inflow": 18000, "stability_score": 0.6,
         "airtime_regularity": 0.8}' | alama explain -

  # your model, and money in Ugandan shillings
  alama explain application.json --model model.json --currency UGX"""

_SIZE_MAX: Final = 64 * 1024
"""Bytes of an application, as the service has it."""


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "explain",
        help="score one application and show where each point comes from",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("file", nargs="?", type=Path, metavar="FILE", help="a JSON object, - for standard input")
    add("--model", type=Path, metavar="MODEL", help="a model file (default: the built-in model)")
    add(
        "--currency",
        type=str.upper,
        metavar="CODE",
        help="of money in the application (default: the model's)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Assess the application and draw the answer."""
    from alama.cli import terminal, waterfall  # noqa: PLC0415  rich is not for the front door
    from alama.core.assess import assess, explain_score  # noqa: PLC0415
    from alama.core.model import ReadyModel  # noqa: PLC0415
    from alama.files.models import model_at, sample_application  # noqa: PLC0415
    from alama.files.texts import named, read_bytes  # noqa: PLC0415

    document = sample_application() if args.file is None else read_bytes(args.file, _SIZE_MAX)
    ready = ReadyModel(model_at(args.model), args.currency)
    source = "the sample application" if args.file is None else named(args.file)
    application = _application(ready.catalogue, document, source)
    policy = _default_policy(ready)
    said = assess(ready, policy, application) if policy else explain_score(ready, application)
    console = terminal.stdout()
    console.print(waterfall.drawing(ready, policy, said, console), soft_wrap=True)
    return 0


def _default_policy(ready: ReadyModel) -> ReadyPolicy | None:
    """Give the default policy, where one can be had for the model's currency, fields and terms."""
    from alama.core.lending.draft import default_policy  # noqa: PLC0415  see `run`
    from alama.core.lending.ready_policy import ReadyPolicy  # noqa: PLC0415

    if ready.currency is None:
        return None
    try:
        return ReadyPolicy(default_policy(ready.currency), ready)
    except InvalidPolicy:
        return None


def _application(catalogue: Catalogue, document: bytes, named: str) -> Application:
    from alama.core.intake import Intake  # noqa: PLC0415  see `run`

    try:
        return Intake(catalogue).read(document)
    except MalformedDocument as error:
        hint = 'an application looks like {"mm_months": 14, ...}'
        raise FileProblem(f"{named} {error.fault}", hint=hint) from error
    except InvalidApplication as error:
        listed = [f"{problem.pointer[1:]} {problem.detail}" for problem in error.problems]
        if error.count > len(listed):
            listed.append(f"and {error.count - len(listed)} more")
        listing = "".join(f"\n  {line}" for line in listed)
        raise FileProblem(f"{named} is not a valid application:{listing}") from error
