"""The worker that sends webhooks, put together."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Final

from alama.service import ids
from alama.service.chance import Chance
from alama.webhooks.chores import Chores
from alama.webhooks.courier import Courier
from alama.webhooks.sender import PATIENCE_S, Sender
from alama.webhooks.worker import Pace, Worker
from alama.wiring.installation import Installation, now_us

if TYPE_CHECKING:
    from collections.abc import Callable

    from alama.settings import Settings
    from alama.telemetry.deliveries import DeliveryWatch


PAUSE_TURNS: Final = 100.0
"""How many times as long as it had a file that scores are to be written into a worker leaves it
alone, if it had to wait for somebody: where scores are written two fifths of the time, that leaves
the worker a fortieth, and where they are written a hundredth of the time, a half."""

PUT_AWAY_S: Final = 1
"""Of the time for a stop, what a worker keeps for giving back what it has not sent."""


async def deliver(
    settings: Settings,
    installed: Installation,
    watch: DeliveryWatch,
    begun: Callable[[Worker], None],
    pace: Pace | None = None,
) -> None:
    """Send webhooks in the loop of now, until the worker that `begun` is given is stopped."""
    if installed.database.embedded:
        installed.database.courtesy.pause_turns = PAUSE_TURNS
    outbox = installed.outbox
    chosen = pace or Pace(drain_s=min(PATIENCE_S, max(settings.stop_timeout - PUT_AWAY_S, 1)))
    sender = Sender(settings.webhook_reach, now_us, patience_s=chosen.patience_s)
    courier = Courier(sender, installed.vault, now_us)
    name = f"worker_{os.urandom(8).hex()}"
    chance = Chance(ids.RANDOM_BYTES).draw
    worker = Worker(name, outbox, courier, watch, now_us, chance, chosen)
    begun(worker)
    watch.started(installed.database.engine.dialect.name)
    chores = asyncio.create_task(Chores(outbox, watch, now_us).run())
    try:
        await worker.run()
    finally:
        chores.cancel()
        await sender.close()
    watch.stopped()
