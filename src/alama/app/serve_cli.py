"""`alama serve`: check that the service can run, then run it."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

from alama import __version__
from alama.app import worker_process
from alama.app.worker_process import Where
from alama.lenders import keys
from alama.lenders.installation import Installation, installation
from alama.operations.doctor import check_service
from alama.platform import settings as platform_settings
from alama.platform.book import Book, Mode
from alama.platform.database import database as databases
from alama.platform.database.sqlite import DISK_FAILED, DISK_FAILED_HINT
from alama.platform.server import processes
from alama.platform.telemetry import tracing
from alama.platform.telemetry.log import Log, gather_libraries, log_on_stderr

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from alama.platform.database.database import Database
    from alama.platform.settings import Settings


DESCRIPTION: Final = """\
Run the scoring service, until Ctrl-C or SIGTERM.

Every score is kept before it is answered: in an embedded database below ALAMA_HOME, or in
PostgreSQL where ALAMA_DATABASE names one. Everything else is set by ALAMA_ variables too, which
`alama settings` lists; the options below override three of them.

A stop refuses new connections, answers what was accepted, and takes ALAMA_STOP_TIMEOUT seconds
at most. A worker that dies is replaced. Webhooks are sent by a process beside it, which is one of
`alama worker`, unless ALAMA_DELIVERY=alone. The log goes to standard error: JSON lines, or text
where that is a terminal (ALAMA_LOG). ALAMA_METRICS_PORT opens a port for Prometheus."""

EXAMPLES: Final = """\
examples:
  # try it: prints a key and a curl that works
  alama serve --try

  # on every address of this machine, with a process for each of four cores
  alama serve --host 0.0.0.0 --workers 4

  # scores in PostgreSQL, metrics on a port of their own
  export ALAMA_DATABASE=postgresql://alama:secret@db.internal/alama
  alama db upgrade
  ALAMA_METRICS_PORT=9464 alama serve"""

OVERRIDES: Final = ("host", "port", "workers")

TRIAL_DAYS: Final = 7

# The four fields that every application has, of the sample that `alama explain` shows.
APPLICATION: Final = """\
{"mobile_money_months": 26, "monthly_inflow": 23800,
       "stability_score": 0.58, "airtime_regularity": 0.71}"""


def register(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    add = parser.add_argument
    add("--host", metavar="ADDRESS", help="address to listen on (ALAMA_HOST; default: 127.0.0.1)")
    add(
        "--port",
        type=int,
        metavar="PORT",
        help="0 takes any that is free (ALAMA_PORT; default: 8000)",
    )
    add(
        "--workers",
        type=int,
        metavar="N",
        help="processes, about one for each core (ALAMA_WORKERS; default: 1)",
    )
    add(
        "--try",
        dest="trial",
        action="store_true",
        help=f"make a test key of the lender demo for {TRIAL_DAYS} days, and show how to use it; "
        "webhooks may be sent to this machine",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Make sure that the service can run, then run it."""
    for name in OVERRIDES:
        if getattr(args, name) is not None:
            _override(name, str(getattr(args, name)))
    if args.trial:
        os.environ.setdefault("ALAMA_DEVELOPMENT", "yes")
    settings = platform_settings.read(os.environ)
    tracing.check(os.environ)
    log = log_on_stderr(settings.log)
    gather_libraries(log)
    with ExitStack() as held:
        # Opened once before anybody listens, so that what is wrong with the database is seen here.
        with installation() as installed:
            databases.check_processes(installed.database, settings.workers)
            _tell_of_disk(log, installed.database)
            kind = installed.database.engine.dialect.name
            listener = held.enter_context(closing(processes.listen(settings.host, settings.port)))
            place = worker_process.where(settings, installed.database)
            forget_worker = held.enter_context(_metrics(settings, place))
            key = _trial_key(installed) if args.trial else None

        worker = worker_process.service_worker(place, settings, log, forget_worker)

        def up() -> None:
            _announce(log, settings, kind, processes.url(listener))
            if key is not None:
                welcome(processes.url(listener), key)
            worker.start()

        config = processes.configuration(settings.workers, settings.stop_timeout)
        down = worker.ask_to_stop
        host = processes.Host(log, settings.stop_timeout, up, forget_worker, down)
        serve = processes.run_alone if settings.workers == 1 else processes.run_several
        address = check_service.Address(*listener.getsockname()[:2])
        with check_service.noted(settings.home_folder, address), closing(worker):
            code = serve(config, listener, host)
    log.note("stopped")
    return code


def _tell_of_disk(log: Log, database: Database) -> None:
    """Say what the start found where the disk of a SQLite file had failed."""
    checkpoints = database.checkpoints
    if checkpoints is None:
        return
    if checkpoints.was_restored:
        restored = "the file was restored from its journal, and every page of it is whole"
        log.note("disk_checked", message=restored)
    elif checkpoints.has_failed:
        log.fail("checkpoint_failed", None, message=DISK_FAILED, hint=DISK_FAILED_HINT)


def _override(name: str, value: str) -> None:
    """Put an option into the environment, because every worker reads its settings there."""
    chosen = {platform_settings.PREFIX + name.upper(): value}
    try:
        platform_settings.read(chosen)
    except platform_settings.InvalidSetting as error:
        raise platform_settings.InvalidSetting(f"--{name} is not valid", hint=error.hint) from None
    os.environ.update(chosen)


def _trial_key(installed: Installation) -> str:
    book = Book(keys.DEMO, Mode.TEST)
    text, _ = keys.issue(
        installed.registry, installed.clock, installed.pepper, book, days=TRIAL_DAYS
    )
    return text


@contextmanager
def _metrics(settings: Settings, deliveries: Where) -> Iterator[Callable[[int], None]]:
    """Show metrics where a port for them is set; give whom to tell that a worker is gone."""
    address = (settings.host, settings.metrics_port)
    if not settings.metrics_port:
        yield _ignore
    elif settings.workers == 1 and deliveries is not Where.PROCESS:
        from alama.platform.telemetry import metrics  # noqa: PLC0415  not loaded where nobody asks for it

        with closing(metrics.expose_process(*address)):
            yield _ignore
    else:
        with tempfile.TemporaryDirectory(prefix="alama-metrics-") as folder:
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder  # for those that are started, too
            from alama.platform.telemetry import metrics  # noqa: PLC0415  it looks for the folder as it loads

            with closing(metrics.expose_workers(folder, *address)):
                yield partial(metrics.forget_process, folder)


def _ignore(_pid: int) -> None:
    """Keep nothing of a worker that is gone."""


def _announce(log: Log, settings: Settings, database: str, address: str) -> None:
    log.note(
        "started",
        address=address,
        docs=f"{address}/docs",
        workers=settings.workers,
        database=database,
        version=__version__,
        **_metrics_address(settings),
    )


def _metrics_address(settings: Settings) -> dict[str, str]:
    if not settings.metrics_port:
        return {}
    return {"metrics": f"{processes.address(settings.host, settings.metrics_port)}/metrics"}


def welcome(address: str, key: str) -> None:
    """Print where the service is, a key to it, and a request to paste."""
    from rich.text import Text  # noqa: PLC0415  rich is not for a service

    from alama.platform.terminal import terminal  # noqa: PLC0415  it loads rich

    welcome = Text.assemble(
        ("\n  Alama is ready at ", "bold"),
        (address, "bold cyan"),
        f"\n  What it can be asked: {address}/docs\n  The guide: {address}/docs/guide\n\n",
        ("  Your test key", "bold"),
        f", for {TRIAL_DAYS} days and people who do not exist:\n\n",
        (f"  {key}\n\n", "green"),
        ("  Score one", "bold"),
        ". Paste this into another terminal:\n\n",
        (curl(address, key), "cyan"),
        "\n\n  Ctrl-C stops it. Every score is kept.\n",
    )
    terminal.stdout().print(welcome, soft_wrap=True)
    sys.stdout.flush()


def curl(address: str, key: str) -> str:
    """Give a request that a shell can run, with a reply that a person can read."""
    return f"""\
curl -s {address}/v1/score \\
  -H 'Authorization: Bearer {key}' \\
  -H 'Content-Type: application/json' \\
  -d '{APPLICATION}' \\
  | python3 -m json.tool"""
