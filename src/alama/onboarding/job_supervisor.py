"""Beside deliveries: has a process do the jobs that wait, or says that none can be done.

A process of its own, behind everything else on the machine: it takes all of a core and much memory
for minutes, and may be killed for that. What it leaves in clear is removed here, however it ended;
and what both have left, if they were killed together, when the next one begins to look.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import signal
import stat
import sys
import tempfile
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from alama.onboarding.jobs import JOB_S_MAX, Jobs
from alama.platform.errors import StoreUnavailable

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Iterator

    from alama.lenders.installation import Installation
    from alama.platform.clock import Clock


LIBRARIES: Final = ("clarabel", "interpret", "joblib", "pyarrow", "scipy", "sklearn")
"""What the extra `train` brings."""

JOB_PAUSE_TURNS: Final = 0.1
"""Of the time, in which the process holds a file that scores are to be written into."""


def can_train() -> bool:
    """Say whether the training libraries are installed; none of them is loaded."""
    return all(find_spec(name) is not None for name in LIBRARIES)


def give_way(installed: Installation) -> None:
    """Have a process that writes much leave scores their turn, where they go into one file."""
    if installed.database.embedded:
        installed.database.write_backoff.pause_turns = JOB_PAUSE_TURNS


# Not from the folder that it happens to be started in.
COMMAND: Final = (sys.executable, "-P", "-m", "alama", "worker", "--jobs")

LOOK_EVERY_S: Final = 1.0

PAUSE_S: Final = 10.0
"""After a process that has failed, before the next one is started."""

PROCESS_S_MAX: Final = JOB_S_MAX + 120.0
"""From its start to its end: its own clock ends a job, and this one a process that has none."""

STOP_S: Final = 5.0
"""For a process that is told to stop: to give its job back takes one transaction."""


class SupervisorWatch(Protocol):
    """Whom the supervisor tells what goes wrong."""

    def jobs_failed(self, exit_code: int | None, error: Exception | None = None) -> None: ...


class JobSupervisor:
    """Looks until cancelled. Lives in one event loop."""

    def __init__(
        self,
        jobs: Jobs,
        clock: Clock,
        watch: SupervisorWatch,
        command: tuple[str, ...] = COMMAND,
        look_every_s: float = LOOK_EVERY_S,
        seconds_max: float = PROCESS_S_MAX,
    ) -> None:
        self._jobs = jobs
        self._clock = clock
        self._watch = watch
        self._command = command
        self._look_every_s = look_every_s
        self._seconds_max = seconds_max

    async def run(self) -> None:
        """Look, and have done what is found, until cancelled."""
        with suppress(OSError):  # of a folder for temporary files; whoever needs one says so
            await asyncio.to_thread(sweep_job_dirs)
        while True:
            went_well = True
            try:
                if await asyncio.to_thread(lambda: self._jobs.is_any_free(self._clock())):
                    went_well = await self._have_done()
            except StoreUnavailable:
                pass  # whoever delivers has told of it
            except Exception as error:  # noqa: BLE001  whatever it was, another time it may go well
                self._watch.jobs_failed(None, error)
                went_well = False
            await asyncio.sleep(self._look_every_s if went_well else PAUSE_S)

    async def _have_done(self) -> bool:
        """Start a process and wait for its end; False where it ended badly."""
        # Whatever it writes to disk is below here, also what the training libraries do.
        with job_dir() as job:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,  # by its end it notices that this one is gone
                env=os.environ | {"TMPDIR": str(job.folder)},
                pass_fds=(job.lock,),  # held by it too: it may outlive this one for a moment
                start_new_session=True,  # so that what it starts ends with it
            )
            try:
                code = await self._ended(process)
            except asyncio.CancelledError:
                await _stopped(process)
                raise
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        if code != 0:
            self._watch.jobs_failed(code)
        return code == 0

    async def _ended(self, process: Process) -> int:
        """Wait for the end of a process, and bring it about where it does not come."""
        try:
            async with asyncio.timeout(self._seconds_max):
                return await process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                process.kill()
            return await process.wait()


async def _stopped(process: Process) -> None:
    with suppress(ProcessLookupError):
        process.terminate()
    with suppress(TimeoutError):
        async with asyncio.timeout(STOP_S):
            await process.wait()


ALARM_EVERY_S: Final = 60.0


class AlarmWatch(SupervisorWatch, Protocol):
    """Whom the alarm tells that jobs wait."""

    def jobs_wait(self, why: str, hint: str) -> None: ...


class JobAlarm:
    """Looks until cancelled. Lives in one event loop.

    Elsewhere there may be a worker that does jobs: one is told of when two looks have found some,
    and then not again until a look finds none.
    """

    def __init__(
        self,
        jobs: Jobs,
        clock: Clock,
        watch: AlarmWatch,
        why: str,
        hint: str,
        look_every_s: float = ALARM_EVERY_S,
    ) -> None:
        self._jobs = jobs
        self._clock = clock
        self._watch = watch
        self._why = why
        self._hint = hint
        self._look_every_s = look_every_s

    async def run(self) -> None:
        """Look, and tell what is found, until cancelled."""
        found = 0
        while True:
            try:
                waits = await asyncio.to_thread(lambda: self._jobs.is_any_free(self._clock()))
                found = found + 1 if waits else 0
                if found == 2:  # noqa: PLR2004  the second look in a row
                    self._watch.jobs_wait(self._why, self._hint)
            except StoreUnavailable:
                pass  # whoever delivers has told of it
            except Exception as error:  # noqa: BLE001  whatever it was, another time it may go well
                self._watch.jobs_failed(None, error)
            await asyncio.sleep(self._look_every_s)


JOB_DIR_PREFIX: Final = "alama-jobs-"
LOCK: Final = ".lock"


class JobDir(NamedTuple):
    """A folder for what a job writes to disk, where histories lie in clear for a moment.

    It is removed by whoever made it. One whose processes were all killed at once is removed by the
    next worker: every process that uses it inherits the open file of its lock, and no dead one
    holds that.
    """

    folder: Path
    lock: int


@contextmanager
def job_dir() -> Iterator[JobDir]:
    """Make a folder that is gone in the end, with all that is in it."""
    made = _make()
    try:
        yield made
    finally:
        shutil.rmtree(made.folder, ignore_errors=True)
        os.close(made.lock)


def sweep_job_dirs() -> None:
    """Remove what was left by processes of this user that are no more."""
    for folder in Path(tempfile.gettempdir()).glob(f"{JOB_DIR_PREFIX}*"):
        with suppress(OSError):  # somebody uses it, or it is gone already
            _remove_unless_held(folder)


def _make() -> JobDir:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=JOB_DIR_PREFIX))
        # Until it is locked, whoever sweeps may take it for what is left of others.
        with suppress(BlockingIOError, FileNotFoundError):
            lock = _locked(folder, fcntl.LOCK_SH)
            if (folder / LOCK).exists():
                return JobDir(folder, lock)
            os.close(lock)


def _remove_unless_held(folder: Path) -> None:
    seen = folder.lstat()
    # Where everybody can write, others may have put there what only looks like ours.
    if not stat.S_ISDIR(seen.st_mode) or seen.st_uid != os.getuid():
        return
    lock = _locked(folder, fcntl.LOCK_EX)
    try:
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)


def _locked(folder: Path, how: int) -> int:
    """Open the lock of a folder and hold it, or raise `OSError`."""
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, how | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise
    return lock
