"""`alama doctor`: look at the whole installation, and say what to do about what is wrong."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from alama import wiring
from alama.cli import doctor_screen, terminal
from alama.core.errors import AlamaError
from alama.service.checkup import Mark
from alama.wiring import doctor
from alama.wiring.doctor.findings import GROUPS
from alama.wiring.doctor.of_front import front_at

if TYPE_CHECKING:
    import argparse


DESCRIPTION: Final = """\
Look at the whole installation: its settings, whether it runs, its database, the clock, the disk,
secrets and keys, the models, webhooks and the way out to their receivers; and, with --url, at what
callers meet in front of it: the certificate, TLS, and what is open that should not be.

Run it as the user who runs the service, with the same environment. Nothing is changed, nothing is
sent to a receiver, and no secret is shown. A group of checks that is well is one line; whatever is
not says what to do. What cannot be looked at because something else is broken is not checked.

Exits with 0 if nothing is broken, and with 1 otherwise; with --strict also with 1 if there is
something to look at."""

EXAMPLES: Final = """\
examples:
  # after an installation, an upgrade, or a night that went badly
  alama doctor

  # and what callers meet, with a certificate from an authority of your own
  alama doctor --url https://scores.example.org --ca authority.pem

  # for a program that watches, and warns of what is to be looked at, too
  alama doctor --json --strict"""


def register(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    add = parser.add_argument
    add("--url", metavar="URL", help="the address that callers use, https://...")
    add(
        "--ca",
        type=Path,
        metavar="FILE",
        help="authorities that callers trust, in PEM (default: those of this system)",
    )
    add("--all", action="store_true", help="show each check, those that are well too")
    add("--strict", action="store_true", help="exit with 1 for what is to be looked at, too")
    add("--json", action="store_true", help="print the findings as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Look, print, and say by the exit code whether anything is broken, or to be looked at."""
    if args.ca is not None and args.url is None:
        raise AlamaError("--ca is for --url", hint="name the address that callers use, too")
    front = front_at(args.url, args.ca) if args.url is not None else None
    with terminal.progress("Looking", len(GROUPS), unit="groups of checks", vanishing=True) as bar:

        def begun(title: str) -> None:
            bar.advance()
            bar.note(title)

        findings = doctor.examine(os.environ, wiring.wall_us, front, begun)
        bar.note("")
    if args.json:
        doctor_screen.print_json(findings, wiring.wall_us())
    else:
        doctor_screen.show(findings, every=args.all)
    wrong = {Mark.BROKEN, Mark.LOOK} if args.strict else {Mark.BROKEN}
    return int(any(finding.mark in wrong for finding in findings))
