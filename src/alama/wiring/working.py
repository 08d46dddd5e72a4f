"""Jobs, put together: who looks for them, and who does them."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from alama.jobs.bystander import Bystander
from alama.jobs.foreman import Foreman
from alama.jobs.runner import Runner
from alama.storage.database import safe_for_several

if TYPE_CHECKING:
    from alama.telemetry.deliveries import DeliveryWatch
    from alama.telemetry.jobs import JobWatch
    from alama.wiring.installation import Installation

LIBRARIES: Final = ("clarabel", "interpret", "joblib", "pyarrow", "scipy", "sklearn")
"""What the extra `train` brings."""

UNSAFE: Final = (
    "jobs wait, for this SQLite is not safe for a second process on one file",
    "use PostgreSQL, or take their steps with `alama onboard` while the service is stopped",
)
UNABLE: Final = (
    "jobs wait, for the training libraries are not installed here",
    "install alama[train] here, or run `alama worker` where it is installed",
)
"""Why no job is done here, and what to do."""

PAUSE_TURNS: Final = 0.1
"""Of the time, in which the process holds a file that scores are to be written into."""


def can_train() -> bool:
    """Say whether the training libraries are installed; none of them is loaded."""
    return all(find_spec(name) is not None for name in LIBRARIES)


def overseer(installed: Installation, watch: DeliveryWatch) -> Foreman | Bystander:
    """Give who looks for jobs: has them done, or says why they are not done here."""
    jobs = installed.onboarding.jobs
    if not safe_for_several(installed.database):
        return Bystander(jobs, installed.clock.trusted, watch, *UNSAFE)
    if not can_train():
        return Bystander(jobs, installed.clock.trusted, watch, *UNABLE)
    return Foreman(jobs, installed.clock.trusted, watch)


def give_way(installed: Installation) -> None:
    """Have a process that writes much leave scores their turn, where they go into one file."""
    if installed.database.embedded:
        installed.database.courtesy.pause_turns = PAUSE_TURNS


def runner(installed: Installation, watch: JobWatch, cores: int) -> Runner:
    """Give who does jobs, in a process of its own; takes seconds, for the libraries to load.

    `cores` is how many processes may train at once.
    """
    # Not at the top: a worker that looks for jobs has no use for it.
    from alama.training.tasks import Tasks  # noqa: PLC0415

    give_way(installed)
    stores = installed.onboarding
    tasks = Tasks(stores, installed.clock, cores)
    name = f"worker_{os.urandom(8).hex()}"
    # By the time that is trusted: one started far ahead takes no job that another is doing.
    return Runner(name, stores.jobs, installed.clock.trusted, tasks.do, watch)
