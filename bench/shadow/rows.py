"""What a challenger costs scoring: one service on each database, a lender with one and one without.

As for webhooks (`bench.webhooks.rows`), one service does everything, in many short rounds, and what
is shown is the mean of the ratios round by round. More is scored in a round than a worker asks a
challenger about, so in each of its rounds it works all the time that it allows itself.
"""

from __future__ import annotations

import os
import time
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from statistics import geometric_mean
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from alama.core import model
from alama.lenders import installation, keys
from alama.monitoring.challengers import Challengers, Challenges
from alama.monitoring.shadowing import SETTLED_US
from alama.platform import clock, settings
from alama.platform.book import Book, Mode
from alama.platform.files.packaged import builtin
from bench import page
from bench.serve import wrk
from bench.serve.figures import middle, order
from bench.serve.subjects import POSTGRES, alama_on_postgres, home, postgres_address
from bench.webhooks.rows import beside, figure
from bench.webhooks.subjects import KNOWN_S, Worker, serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from alama.lenders.installation import Installation
    from bench.page import Document
    from bench.progress import Bar
    from bench.serve.ground import Ground
    from bench.serve.server import Server

SQLITE: Final = "SQLite"
POSTGRESQL: Final = "PostgreSQL"
NOBODY: Final = "nobody"
CHALLENGER: Final = "a challenger"
CROWDED: Final = "a challenger, and there is no other core for the worker"
ROWS: Final = (NOBODY, CHALLENGER, CROWDED)
CONNECTIONS: Final = 16
WARM_UP_S: Final = 5
"""Of scores enough that none of the first rounds runs out of them."""
START_S: Final = 6
AROUND_S: Final = 0.3
OLD_ENOUGH_S: Final = SETTLED_US / 1_000_000

Rates = dict[str, list[float | None]]


class Stage(NamedTuple):
    """Where the rows of one database are measured."""

    here: Ground
    worker: Worker
    installed: Installation
    challenged: Book


def measure(here: Ground, rounds: int, seconds: int, bar: Bar) -> dict[str, Any]:
    """Measure each row on each database in each round of so many seconds."""
    around_s = START_S + 2 * WARM_UP_S + KNOWN_S + OLD_ENOUGH_S
    in_turn_s = len(ROWS) * rounds * (seconds + AROUND_S)
    found = {}
    for name, opened in ((SQLITE, _on_sqlite), (POSTGRESQL, _on_postgres)):
        bar.start(f"{name}: one service, two lenders in turn", around_s + in_turn_s)
        with (
            opened(here) as (server, worker, variables),
            closing(installation.open_installation(settings.read(variables))) as installed,
        ):
            stage, clients = _prepared(here, server, worker, installed)
            _warm_up(stage, clients, bar)
            bar.advance(around_s)
            found[name] = _in_turn(stage, clients, rounds, seconds, bar)
    return {"databases": found}


def _warm_up(stage: Stage, clients: dict[str, Server], bar: Bar) -> None:
    for name in (NOBODY, CHALLENGER):
        bar.at(f"warming up: {name}")
        if wrk.run(stage.here, clients[name], CONNECTIONS, WARM_UP_S).rate is None:
            raise clients[name].failed("gave errors while it warmed up")
    bar.at("until scores are old enough")
    time.sleep(OLD_ENOUGH_S)
    stage.worker.start()
    while not _answered(stage):
        time.sleep(0.1)


# ------------------------------------------------------------------------------- the stage


@contextmanager
def _on_sqlite(here: Ground) -> Iterator[tuple[Server, Worker, dict[str, str]]]:
    with serving(here, "shadowed") as (server, worker):
        yield server, worker, {"ALAMA_HOME": str(home(here, "shadowed"))}


@contextmanager
def _on_postgres(here: Ground) -> Iterator[tuple[Server, Worker, dict[str, str]]]:
    alone = replace(here, variables={**here.variables, "ALAMA_DELIVERY": "alone"})
    with alama_on_postgres(alone) as server:
        place = {"ALAMA_DATABASE": postgres_address(here)}
        worker = Worker(
            replace(alone, variables={**alone.variables, **place}), home(here, POSTGRES)
        )
        try:
            yield server, worker, {**place, "ALAMA_HOME": str(home(here, POSTGRES))}
        finally:
            worker.kill()


def _prepared(
    here: Ground, server: Server, worker: Worker, installed: Installation
) -> tuple[Stage, dict[str, Server]]:
    """Add a lender without a challenger and one with; give the service by row, with their keys."""
    books = [Book(name, Mode.TEST) for name in ("row-alone", "row-challenged")]
    issued = []
    for book in books:
        keys.add_lender(installed.registry, clock.wall_us, book.lender, book.lender, "KES")
        key, _ = keys.issue(installed.registry, installed.clock, installed.pepper, book)
        issued.append(replace(server, key=key))
    challenger = model.seal(msgspec.structs.replace(builtin(), name="challenger"))
    document = model.encode(challenger)
    Challenges.at(installed).begin(books[1], document, "bench", "to see what it costs")
    clients = {NOBODY: issued[0], CHALLENGER: issued[1], CROWDED: issued[1]}
    return Stage(here, worker, installed, books[1]), clients


def _answered(stage: Stage) -> int:
    challengers = Challengers(stage.installed.database, stage.installed.log)
    return challengers.of(stage.challenged)[0].scored


def _in_turn(
    stage: Stage, clients: dict[str, Server], rounds: int, seconds: int, bar: Bar
) -> dict[str, Rates]:
    rates: Rates = {name: [] for name in ROWS}
    answers: Rates = {name: [] for name in ROWS}
    for number in range(rounds):
        for name in order(ROWS, number):
            bar.at(f"round {number + 1} of {rounds}: {name}")
            with _worker_of(stage, name):
                before = _answered(stage)
                rate = wrk.run(stage.here, clients[name], CONNECTIONS, seconds).rate
                answers[name].append(round((_answered(stage) - before) / seconds, 1))
            rates[name].append(None if rate is None else round(rate, 1))
            bar.advance(seconds + AROUND_S)
    return {"rates": rates, "answers": answers}


def _worker_of(stage: Stage, name: str) -> AbstractContextManager[None]:
    """Have the worker be for a round what the row says."""
    changed: Callable[[Stage], AbstractContextManager[None]] | None
    changed = {NOBODY: _at_rest, CROWDED: _crowded}.get(name)
    return nullcontext() if changed is None else changed(stage)


@contextmanager
def _at_rest(stage: Stage) -> Iterator[None]:
    # While nobody else can be writing: stopped in a transaction it would hold up all scores.
    with stage.installed.database.writing():
        stage.worker.rest()
    yield
    stage.worker.work()


@contextmanager
def _crowded(stage: Stage) -> Iterator[None]:
    core = stage.here.server_core
    if core is None:  # there is one for all, or none can be chosen
        yield
        return
    stage.worker.keep_to({core})
    yield
    stage.worker.keep_to(os.sched_getaffinity(0))


# ------------------------------------------------------------------------------- in words


def kept(ours: Sequence[float | None], nobody: Sequence[float | None]) -> float | None:
    """Give the mean of the ratios round by round, as it is shown; a void run voids its round."""
    pairs = zip(ours, nobody, strict=True)
    ratios = [a / b for a, b in pairs if a is not None and b is not None]
    return geometric_mean(ratios) if ratios else None


def shown(document: Document) -> str:
    """Give the table, and a sentence on how it was measured."""
    head = [
        *("database", "each score also shown to", f"scores/s at {CONNECTIONS}", "beside nobody"),
        "answers/s meanwhile",
    ]
    rows = [
        [
            database,
            name,
            figure(middle(found["rates"][name])),
            "" if name == NOBODY else beside(found["rates"][name], found["rates"][NOBODY]),
            "" if name == NOBODY else figure(middle(found["answers"][name])),
        ]
        for database, found in document["databases"].items()
        for name in ROWS
    ]
    size: dict[str, Any] = document["size"]
    return f"{page.table(head, rows)}\n\n{size['rounds']} rounds of {size['seconds']} s."
