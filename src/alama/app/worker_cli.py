"""`alama worker`: send webhooks, and do jobs."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import closing, nullcontext
from typing import TYPE_CHECKING, Final

from alama.app.watching import BROKE, BROKE_HINT, watching_deliveries
from alama.core.errors import AlamaError
from alama.lenders.installation import existing_installation
from alama.platform import settings as platform_settings
from alama.platform.database import database
from alama.platform.errors import StoreUnfit
from alama.platform.telemetry import tracing

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from alama.platform.settings import Settings
    from alama.webhooks.telemetry import DeliveryWatch


DESCRIPTION: Final = """\
Send the events of all lenders to their webhook endpoints, until Ctrl-C or SIGTERM, show scores to
challengers (`alama models challenge`), and where the training libraries are installed (the extra
train) do what lenders ask for over HTTP: read loan histories and train models on them, in a process
behind all others.

`alama serve` runs one by itself. Where ALAMA_DELIVERY=alone it does not, and this command is run
beside it or elsewhere; several may run at once. Each event is sent until it has arrived, for about
three days. A stop waits for what is under way, for ALAMA_STOP_TIMEOUT seconds at most, and gives
the rest to the next worker; a job goes back at once. The log goes to standard error, as that of
`alama serve` does."""

EXAMPLES: Final = """\
examples:
  # webhooks by a process of their own
  ALAMA_DELIVERY=alone alama serve
  alama worker"""

NICENESS: Final = 19
"""Of a worker beside a service: scoring comes first."""

EXIT_FAILED: Final = 1

BROKE_ALONE_HINT: Final = "start it again, nothing is lost; please report this line"


def register(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    parser.add_argument(
        "--beside-service",
        action="store_true",
        help="as `alama serve` starts it: behind scoring, and until its standard input ends",
    )
    parser.add_argument(
        "--jobs",
        action="store_true",
        help="as a worker starts it: do a job that waits, then end",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    settings = platform_settings.read(os.environ)
    tracing.check(os.environ)
    if args.jobs:
        from alama.onboarding.worker_jobs import do_jobs  # noqa: PLC0415  rich is not for a service

        return do_jobs(settings)
    return _beside_service(settings) if args.beside_service else _alone(settings)


def _beside_service(settings: Settings) -> int:
    """Send behind scoring; whatever ends it is a line of the log: whoever started it tries on."""
    os.nice(NICENESS)
    watch = watching_deliveries(settings.log, settings.metrics_port)
    try:
        _send(settings, watch, _stop_with_service)
    except AlamaError as error:
        watch.log.fail("deliveries_failed", message=str(error), hint=error.hint)
        return EXIT_FAILED
    except Exception as error:  # noqa: BLE001  a traceback is no line, and repeats what was sent
        watch.log.fail("deliveries_failed", error, message=BROKE, hint=BROKE_HINT)
        return EXIT_FAILED
    return 0


def _alone(settings: Settings) -> int:
    with _metrics(settings):
        watch = watching_deliveries(settings.log, settings.metrics_port)
        try:
            _send(settings, watch, _stop_by_signals)
        except (AlamaError, ModuleNotFoundError):
            raise  # the front door has words for these, and for whoever sits at the terminal
        except Exception as error:  # noqa: BLE001  as above
            watch.log.fail("deliveries_failed", error, message=BROKE, hint=BROKE_ALONE_HINT)
            return EXIT_FAILED
    return 0


def _send(
    settings: Settings, watch: DeliveryWatch, begun: Callable[[Callable[[], None]], None]
) -> None:
    from alama.app.delivering import deliver  # noqa: PLC0415  a job is done without aiohttp

    with existing_installation() as installed:
        installed.vault.signer()  # told here that keys are missing, rather than at each event
        if not database.safe_for_several(installed.database):
            raise StoreUnfit(
                "this SQLite is not safe for a second process on one file",
                hint="leave ALAMA_DELIVERY at inside, or use PostgreSQL",
            )
        asyncio.run(deliver(settings, installed, watch, begun))


def _metrics(settings: Settings) -> AbstractContextManager[object]:
    if not settings.metrics_port:
        return nullcontext()
    from alama.platform.telemetry import metrics  # noqa: PLC0415  not loaded where nobody asks for it

    return closing(metrics.expose_process(settings.host, settings.metrics_port))


def _stop_by_signals(stop: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    for asked in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(asked, stop)


def _stop_with_service(stop: Callable[[], None]) -> None:
    """Stop when the service says so, or is gone: nobody else holds the other end of the input."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop)
    # Ctrl-C reaches every process of a terminal, and the service is the one to say what follows.
    loop.add_signal_handler(signal.SIGINT, int)
    stdin = sys.stdin.fileno()

    def gone() -> None:
        loop.remove_reader(stdin)  # it stays readable for ever
        stop()

    loop.add_reader(stdin, gone)
