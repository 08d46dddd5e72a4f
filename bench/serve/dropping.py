"""Alama's own application with a part left out: what that part costs.

Keys, limits, decoding, scoring, explaining, the record, the reply and the log are all as they are
in `alama serve`. On a ledger that keeps nothing the commit is left out, and with it sealing and the
audit; where nobody is remembered, the memory of borrowers alone. Nothing in the product can be set
to run like this.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from unittest.mock import patch

from alama.app import serving
from alama.app.watching import watching
from alama.lenders import installation
from alama.platform import settings
from alama.scoring import scoring
from alama.scoring.store import Scores

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from alama.scoring.records import Entry, Question


class DroppingLedger:
    """Acknowledges every entry at once; see `alama.scoring.group_commit.LivingLedger`."""

    failing = False

    def start(self) -> None:
        """There is nothing to start."""

    async def close(self) -> None:
        """There is nothing to keep."""

    async def append(self, _entry: Entry | Question) -> None:
        """Drop the entry and say that it is kept."""


def remembering_nobody() -> ASGIApp:
    """Make the application of one process that treats every applicant as one of the sandbox."""
    patch.object(scoring, "is_fixture", lambda *_: True).start()
    return serving.service()


def create_app() -> ASGIApp:
    """Make the application of one process, as the environment says, but for the ledger."""
    chosen = settings.read(os.environ)
    installed = installation.open_installation(chosen)
    watch = watching(chosen.log, chosen.metrics_port)
    return serving.assemble(chosen, installed, Scores.at(installed), DroppingLedger(), watch)
