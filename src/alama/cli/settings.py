"""`alama settings`: everything that can be set, and what is in force here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from rich.console import Group, RenderableType
    from rich.table import Table

    from alama.cli.command import Subparsers
    from alama.settings import Described

DESCRIPTION: Final = """\
List every setting: the environment variable, the value in force, the default,
the meaning. An asterisk marks what comes from the environment. Secrets are not
shown, and the address of the database is shown without its password. Exits with
2 where the environment holds a setting that does not exist or cannot be."""

_SET: Final = "*"
_GAP: Final = 2


def register(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "settings",
        help="every setting, and the value in force",
        description=DESCRIPTION,
    )
    parser.set_defaults(run=run)


def run(_: argparse.Namespace) -> int:
    """Print the settings first, so that whoever has one wrong sees what it may be."""
    from alama import settings  # noqa: PLC0415  not for the front door
    from alama.cli import words  # noqa: PLC0415

    words.say(_listing(os.environ))
    settings.read(os.environ)
    return 0


def _listing(environment: Mapping[str, str]) -> Group:
    from rich.console import Group  # noqa: PLC0415  see `run`
    from rich.padding import Padding  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    from alama.settings import described  # noqa: PLC0415

    settings = described()
    parts: list[RenderableType] = [_line(settings, "setting", "  in force", "default", "dim")]
    for setting in settings:
        mark = f"{_SET} " if environment.get(setting.variable) else "  "
        value = mark + _in_force(setting, environment)
        parts += [
            _line(settings, setting.variable, value, setting.default, "bold"),
            Padding(Text(setting.meaning, "dim"), (0, 0, 0, _GAP)),
        ]
    return Group(*parts, Text(f"\n{_SET} from the environment", "dim"))


def _line(
    settings: tuple[Described, ...], name: str, value: str, default: str, style: str
) -> Table:
    """Lay out one line; the columns of all lines are equally wide."""
    from rich.table import Table  # noqa: PLC0415  see `run`

    grid = Table.grid(padding=(0, _GAP, 0, 0), expand=True, pad_edge=False)
    grid.add_column(width=max(len(setting.variable) for setting in settings), style=style)
    grid.add_column(ratio=1, overflow="fold")
    grid.add_column(width=max(len(setting.default) for setting in settings), style="dim")
    grid.add_row(name, value, default)
    return grid


def _in_force(setting: Described, environment: Mapping[str, str]) -> str:
    """Give the value that Alama goes by, as far as it may be seen."""
    from alama.settings import InvalidSetting, read  # noqa: PLC0415  see `run`

    chosen = {
        name: environment[name]
        for name in {setting.variable, "ALAMA_HOME"}
        if environment.get(name)
    }
    try:
        settings = read(chosen)
    except InvalidSetting:
        return "not valid"
    if setting.field == "database":
        return _without_password(settings.database_address)
    if setting.secret:
        return "set" if setting.variable in chosen else "not set"
    return str(getattr(settings, setting.field))


def _without_password(address: str) -> str:
    """Show where a database is; parameters are left out, for they can hold a password too."""
    from sqlalchemy import exc, make_url  # noqa: PLC0415  see `run`

    try:
        return make_url(address).set(query={}).render_as_string(hide_password=True)
    except exc.ArgumentError:
        return "not valid"
