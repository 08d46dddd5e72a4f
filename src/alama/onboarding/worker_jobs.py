"""`alama worker --jobs`: the process that a worker starts to do a job.

It ends with the job, when it is told to, or when whoever started it is gone.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from alama.core.errors import AlamaError
from alama.lenders.installation import Installation, existing_installation
from alama.onboarding import job_supervisor
from alama.onboarding.job_runner import (
    JobWatch,
    Runner,
    Stopped,
    bound_process,
    memory_for_a_job,
    watching_jobs,
)
from alama.onboarding.job_supervisor import give_way
from alama.onboarding.store import Stores
from alama.platform.settings import PREFIX, Settings
from alama.platform.terminal.terminal import usable_cores

if TYPE_CHECKING:
    from collections.abc import Iterator


def job_runner(installed: Installation, watch: JobWatch, cores: int) -> Runner:
    """Give who does jobs, in a process of its own; takes seconds, for the libraries to load.

    `cores` is how many processes may train at once.
    """
    # Not at the top: a worker that looks for jobs has no use for it.
    from alama.onboarding.tasks import Tasks  # noqa: PLC0415

    give_way(installed)
    stores = Stores.at(installed)
    tasks = Tasks(stores, installed.clock, cores)
    name = f"worker_{os.urandom(8).hex()}"
    # By the time that is trusted: one started far ahead takes no job that another is doing.
    return Runner(name, stores.jobs, installed.clock.trusted, tasks.do, watch)


NICENESS: Final = 19
"""Scoring and deliveries come first."""

EXIT_FAILED: Final = 1
_STDIN: Final = 0

BROKE: Final = "the process that does jobs broke"
BROKE_HINT: Final = "another takes its place; please report this line"


def do_jobs(settings: Settings) -> int:
    """Do a job that waits, if there is one; whatever ends it is a line of the log."""
    os.nice(NICENESS)
    cores = usable_cores()
    bound_process(memory_for_a_job(), cores)
    parent = os.getppid()
    watch = watching_jobs(settings.log)
    try:
        with _room(), existing_installation() as installed:
            if installed.database.checkpoints is not None:
                installed.database.checkpoints.tell = watch.log.fail
            installed.vault.signer()  # told here that keys are missing, before a job is claimed
            _forget_settings()
            # The libraries take seconds to load.

            runner = job_runner(installed, watch, cores)
            _stop_when_asked(runner)
            runner.run()
    except Stopped:
        watch.log.flush()
        _end_with_all_that_was_started(parent)
    except AlamaError as error:
        watch.log.fail("jobs_failed", message=str(error), hint=error.hint)
        return EXIT_FAILED
    except Exception as error:  # noqa: BLE001  a traceback is no line, and repeats what was read
        watch.log.fail("jobs_failed", error, message=BROKE, hint=BROKE_HINT)
        return EXIT_FAILED
    return 0


def _forget_settings() -> None:
    """Take the settings, once they are read, from what the training libraries start.

    One of them is the master key.
    """
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        del os.environ[name]


@contextmanager
def _room() -> Iterator[None]:
    """Have all that is written to disk gone in the end: histories lie there in clear for a moment.

    It lies in the folder that was made for this process, not in one within: the training libraries
    put sockets there, whose paths must be short (104 bytes on macOS). That folder is removed here
    too, for whoever made it may be gone.
    """
    given = Path(tempfile.gettempdir())
    with ExitStack() as stack:
        if given.name.startswith(job_supervisor.JOB_DIR_PREFIX):
            stack.callback(shutil.rmtree, given, ignore_errors=True)
        else:
            given = stack.enter_context(job_supervisor.job_dir()).folder
        tempfile.tempdir = os.environ["TMPDIR"] = str(given)
        yield


def _stop_when_asked(runner: Runner) -> None:
    for asked in (signal.SIGTERM, signal.SIGINT):
        signal.signal(asked, lambda *_: runner.stop())

    def stop_at_the_end_of_input() -> None:
        # Not `sys.stdin`, whose lock would be held: processes that are forked meanwhile close it.
        with suppress(OSError):
            while os.read(_STDIN, 1):
                pass
        runner.stop()

    threading.Thread(target=stop_at_the_end_of_input, name="input", daemon=True).start()


def _end_with_all_that_was_started(parent: int) -> None:
    """End at once: the thread of the job cannot be stopped, nor the processes it has started.

    Whoever started this one ends those, or is gone.
    """
    if os.getppid() != parent and os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(0)
