"""`alama` whose service looks for ways for as long as it takes, whatever the machine.

What a search finds within its budget depends on how busy the machine is; a test is about the ways.
"""

from __future__ import annotations

import sys
from pathlib import Path

SEARCH_S = 600.0


def service() -> object:
    """The application of one worker process, as `alama serve` makes it."""
    from alama.app import serving  # noqa: PLC0415
    from alama.scoring import explaining  # noqa: PLC0415

    explaining.BUDGET_S = SEARCH_S  # type: ignore[misc]
    return serving.service()


# Nothing of ours is imported at the top: a worker, which imports this file, is to tell its
# supervisor that it lives before it does more.
if __name__ == "__main__":
    from alama.app import cli
    from alama.platform.server import processes

    here = Path(__file__).parent
    # For its workers, which look for `service` there; nothing else beside this file is a library.
    sys.path[:] = [str(here.parent), *(path for path in sys.path if path != str(here))]
    processes.APPLICATION = "tests.patient:service"  # type: ignore[misc]
    sys.exit(cli.main())
