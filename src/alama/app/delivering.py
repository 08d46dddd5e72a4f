"""The worker, put together: it sends webhooks, asks challengers, and has jobs done.

Jobs only where the libraries for them are.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Final

from alama.monitoring.challengers import Challengers
from alama.monitoring.shadowing import Shadowing, ShadowWorker, can_shadow
from alama.onboarding.job_supervisor import JobAlarm, JobSupervisor, can_train
from alama.onboarding.store import Stores
from alama.platform import ids
from alama.platform.clock import follow, wall_us
from alama.platform.database.database import safe_for_several
from alama.platform.extras import how_to_install
from alama.platform.ids import RandomPool
from alama.webhooks.courier import Courier
from alama.webhooks.outbox import Outbox
from alama.webhooks.sender import SEND_TIMEOUT_S, Sender
from alama.webhooks.worker import Chores, Pace, Worker

if TYPE_CHECKING:
    from collections.abc import Callable

    from alama.lenders.installation import Installation
    from alama.platform.settings import Settings
    from alama.webhooks.telemetry import DeliveryWatch


def shadow(installed: Installation, watch: DeliveryWatch) -> ShadowWorker:
    challengers = Challengers(installed.database, installed.log)
    return ShadowWorker(
        Shadowing(challengers, installed.registry, installed.vault, installed.clock), watch
    )


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
    begun: Callable[[Callable[[], None]], None],
    pace: Pace | None = None,
) -> None:
    """Work in the loop of now, until what `begun` is given is called there."""
    if installed.database.checkpoints is not None:
        installed.database.write_backoff.pause_turns = PAUSE_TURNS
        installed.database.checkpoints.tell = watch.log.fail
    outbox = Outbox.at(installed)
    chosen = pace or Pace(drain_s=min(SEND_TIMEOUT_S, max(settings.stop_timeout - PUT_AWAY_S, 1)))
    sender = Sender(settings.webhook_reach, installed.clock, timeout_s=chosen.send_timeout_s)
    courier = Courier(sender, installed.vault, installed.clock)
    name = f"worker_{os.urandom(8).hex()}"
    chance = RandomPool(ids.RANDOM_BYTES).draw
    worker = Worker(name, outbox, courier, watch, installed.clock, chance, chosen)
    beside = [
        asyncio.create_task(Chores(outbox, watch, installed.clock).run()),
        asyncio.create_task(follow(installed.clock, wall_us, watch)),
        asyncio.create_task(job_supervisor(installed, watch).run()),
    ]
    if can_shadow(installed):
        beside.append(asyncio.create_task(shadow(installed, watch).run()))

    def stop() -> None:
        # At once: a job is given back while deliveries get their time.
        for task in beside:
            task.cancel()
        worker.stop()

    begun(stop)
    watch.started(installed.database.engine.dialect.name)
    try:
        await worker.run()
    finally:
        for task in beside:
            if not task.cancelling():  # a second time would end the wait for what it gives back
                task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        await sender.close()
    watch.stopped()


UNSAFE: Final = (
    "jobs wait, for this SQLite is not safe for a second process on one file",
    "use PostgreSQL, or take their steps with `alama onboard` while the service is stopped",
)
UNABLE: Final = (
    "jobs wait, for the training libraries are not installed here",
    f"{how_to_install('train')}. Or run `alama worker` where they are",
)
"""Why no job is done here, and what to do."""


def job_supervisor(installed: Installation, watch: DeliveryWatch) -> JobSupervisor | JobAlarm:
    """Give who looks for jobs: has them done, or says why they are not done here."""
    jobs = Stores.at(installed).jobs
    if not safe_for_several(installed.database):
        return JobAlarm(jobs, installed.clock.trusted, watch, *UNSAFE)
    if not can_train():
        return JobAlarm(jobs, installed.clock.trusted, watch, *UNABLE)
    return JobSupervisor(jobs, installed.clock.trusted, watch)
