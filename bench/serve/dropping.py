"""Alama's own application on a ledger that keeps nothing: what storing durably costs.

Keys, limits, decoding, scoring, explaining, the record, the reply and the log are all as they are
in `alama serve`; only the commit is left out, and with it sealing and the audit. Nothing in the
product can be set to run like this.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from alama import settings, wiring
from alama.telemetry.watch import watching
from alama.wiring.serving import assemble

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from alama.service.records import Entry


class DroppingLedger:
    """Acknowledges every entry at once; see `alama.service.ports.LivingLedger`."""

    failing = False

    def start(self) -> None:
        """There is nothing to start."""

    async def close(self) -> None:
        """There is nothing to keep."""

    async def append(self, _entry: Entry) -> None:
        """Drop the entry and say that it is kept."""


def create_app() -> ASGIApp:
    """Make the application of one process, as the environment says, but for the ledger."""
    chosen = settings.read(os.environ)
    installed = wiring.open_installation(chosen)
    watch = watching(chosen.log, chosen.metrics_port)
    return assemble(chosen, installed, DroppingLedger(), watch)
