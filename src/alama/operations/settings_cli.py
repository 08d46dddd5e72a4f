"""`alama settings`: everything that can be set, and what is in force here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from sqlalchemy.util import immutabledict

from alama.platform import settings
from alama.platform.database.database import parse_address
from alama.platform.errors import StoreUnfit
from alama.platform.settings import Described, InvalidSetting, Settings, described, read
from alama.platform.terminal import terminal

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from pathlib import Path

    from rich.console import RenderableType


DESCRIPTION: Final = """\
List every setting: the environment variable, the value in force, the default,
the meaning. An asterisk marks what comes from the environment. Secrets are not
shown, and the address of the database is shown without its password, unless it
is in a file: then that is named. Exits with
2 where the environment holds a setting that does not exist or cannot be."""

_SET: Final = "*"
_NOT_VALID: Final = "not valid"
_GAP: Final = 2


def register(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.set_defaults(run=run)


def run(_: argparse.Namespace) -> int:
    """Print the settings first, so that whoever has one wrong sees what it may be."""
    terminal.say(_listing(os.environ))
    settings.read(os.environ)
    return 0


def _listing(environment: Mapping[str, str]) -> Group:
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
    grid = Table.grid(padding=(0, _GAP, 0, 0), expand=True, pad_edge=False)
    grid.add_column(width=max(len(setting.variable) for setting in settings), style=style)
    grid.add_column(ratio=1, overflow="fold")
    grid.add_column(width=max(len(setting.default) for setting in settings), style="dim")
    grid.add_row(name, value, default)
    return grid


def _in_force(setting: Described, environment: Mapping[str, str]) -> str:
    """Give the value that Alama goes by, as far as it may be seen."""
    known = {one.variable for one in described()}
    chosen = {
        name: environment[name]
        for name in {setting.variable, "ALAMA_HOME", f"{setting.variable}_FILE"}
        if environment.get(name) and name in known
    }
    try:
        settings = read(chosen)
    except InvalidSetting:
        return _NOT_VALID
    return _shown(setting, settings)


def _shown(setting: Described, settings: Settings) -> str:
    value = getattr(settings, setting.field)
    if value is None:
        return _by_default(setting.field, settings)
    if setting.field == "database":
        return _without_password(settings.database_address)
    return "set" if setting.secret else str(value)


def _by_default(field: str, settings: Settings) -> str:  # noqa: PLR0911  one for each
    """Show what stands for a setting that is not set."""
    match field:
        case "database" if settings.database_file is not None:
            return "in its file"
        case "database":
            return _without_password(settings.database_address)
        case "pepper":
            return _made(settings.pepper_path)
        case "pepper_file":
            return str(settings.pepper_path)
        case "master_key":
            return _made(settings.master_key_path)
        case "master_key_file":
            return str(settings.master_key_path)
    return "none"


def _made(file: Path) -> str:
    """Say what has become of a file that the first start makes where no secret is set."""
    try:
        made = file.exists()
    except OSError:  # somebody else's folder, as a rule
        return "cannot be seen"
    return "in its file" if made else "not made yet"


def _without_password(address: str) -> str:
    """Show where a database is; of the parameters the host alone: others can hold a password."""
    try:
        url = parse_address(address)
    except StoreUnfit:
        return _NOT_VALID
    plain = url._replace(
        drivername=url.get_backend_name(), password=url.password or None, query=immutabledict()
    )
    hosts = "&".join(f"host={host}" for host in url.normalized_query.get("host", ()))
    return plain.render_as_string(hide_password=True) + (f"?{hosts}" if hosts else "")
