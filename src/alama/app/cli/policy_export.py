"""`alama policy export`: the policy that a score names, as a file for whoever replays it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from alama.app.cli.installed import existing_installation
from alama.app.cli.policy_file import titled
from alama.core.lending import policy_text
from alama.platform.files.promise import promised
from alama.platform.terminal import terminal

if TYPE_CHECKING:
    import argparse

    from alama.platform.terminal.command import Subparsers


DESCRIPTION: Final = """\
Write a policy that any score of this installation names to a file, as it was kept: whoever has
the receipt of the score replays it with this file and its model. The id is that of the receipt,
of `alama scores show` or of `alama policy history`, whole."""


def register(actions: Subparsers) -> None:
    """Add the action to those of `alama policy`."""
    exported = actions.add_parser(
        "export", help="the policy that a score names, as a file", description=DESCRIPTION
    )
    exported.add_argument("id", metavar="ID", help="sha256: and 64 digits")
    exported.add_argument("--out", type=Path, required=True, metavar="FILE", help="a TOML file")
    exported.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the text of a policy, having seen that it is the one of that id."""
    with existing_installation() as opened:
        text = opened.registry.policy(args.id)
    policy = policy_text.decode(text, args.id)
    with promised(args.out) as output:
        output.write(text)
    terminal.remark(f"{args.out}: {titled(policy)}.")
    return 0
