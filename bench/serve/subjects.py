"""Who is measured, and how each is started."""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bench.environment import ROOT
from bench.serve import postgres
from bench.serve.ground import NotMeasurable
from bench.serve.server import started

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from bench.serve.ground import Ground
    from bench.serve.server import Server

ALAMA: Final = "alama"
EARLIER: Final = "alama, earlier"
APPLICANTS: Final = "alama, applicants"
KNOWN_APPLICANTS: Final = "alama, known applicants"
NO_MEMORY: Final = "alama, no memory"
POSTGRES: Final = "alama, PostgreSQL"
_UVICORN: Final = (
    *("-m", "uvicorn", "--factory", "--port", "{port}", "--loop", "uvloop", "--http", "httptools"),
    *("--ws", "none", "--no-proxy-headers", "--no-server-header", "--no-access-log"),
    *("--log-level", "warning"),
)
"""Everybody's server is set up as Alama sets up its own."""

_NO_LIMIT: Final = "1000000"
"""Requests a second for one key: the benchmark has one, and the limit is not its subject."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One line of the table."""

    title: str
    opened: Callable[[Ground], AbstractContextManager[Server]]


@contextmanager
def _fastapi(ground: Ground, name: str, forest: str, explainer: str) -> Iterator[Server]:
    command = [str(ground.peers), "-W", "ignore", *_UVICORN]
    command.append("bench.serve.peers.fastapi_app:create_app")
    variables = {**ground.variables, **_forest(ground, forest, explainer)}
    with _started(ground, name, ground.for_server(command), variables) as server:
        yield server


@contextmanager
def _bentoml(ground: Ground) -> Iterator[Server]:
    command = [str(ground.peers), "-W", "ignore", "-m", "bentoml", "serve"]
    command += ["bench.serve.peers.bentoml_app:Scorer", "--working-dir", str(ROOT)]
    command += ["--host", "127.0.0.1", "--port", "{port}"]
    variables = {
        **ground.variables,
        **_forest(ground, "full", "public"),
        "BENTOML_DO_NOT_TRACK": "True",
        "BENTOML_HOME": str(ground.folder / "bentoml"),
    }
    line = ground.for_server(command)
    with _started(ground, "bentoml", line, variables, health="/livez") as server:
        yield server


def _forest(ground: Ground, forest: str, explainer: str) -> dict[str, str]:
    """Name what bench.serve.peers.forest is to serve."""
    return {
        "BENCH_FORESTS_FILE": str(ground.forests),
        "BENCH_FOREST": forest,
        "BENCH_EXPLAINER": explainer,
    }


@contextmanager
def _ceiling(ground: Ground) -> Iterator[Server]:
    command = ground.for_server([ground.python, *_UVICORN, "bench.serve.ceiling:create_app"])
    with _started(ground, "ceiling", command, ground.variables) as server:
        yield server


@contextmanager
def _dropping(ground: Ground) -> Iterator[Server]:
    """Start Alama's own app with a store that keeps nothing: what storing costs."""
    variables = {**ground.variables, **_place(ground, "alama, dropping")}
    key = _issued_key(ground, variables)
    command = ground.for_server([ground.python, *_UVICORN, "bench.serve.dropping:create_app"])
    with _started(ground, "alama, dropping", command, variables, key=key) as server:
        yield server


@contextmanager
def _no_memory(ground: Ground) -> Iterator[Server]:
    """Start Alama's own app, which remembers none of those who come back."""
    variables = {**ground.variables, **_place(ground, NO_MEMORY)}
    key = _issued_key(ground, variables)
    line = [ground.python, *_UVICORN, "bench.serve.dropping:remembering_nobody"]
    command, bodies = ground.for_server(line), ground.known_applicants
    with _started(ground, NO_MEMORY, command, variables, bodies=bodies, key=key) as server:
        yield server


@contextmanager
def alama(ground: Ground, name: str = ALAMA, workers: int = 1) -> Iterator[Server]:
    """Start Alama on a database file of its own; several workers may use every core."""
    with _alama(ground, name, ground.variables, ground.bodies, workers) as server:
        yield server


@contextmanager
def _applicants(ground: Ground, name: str, bodies: Path) -> Iterator[Server]:
    """Start Alama for applications that each name an applicant."""
    with _alama(ground, name, ground.variables, bodies) as server:
        yield server


@contextmanager
def _earlier(ground: Ground) -> Iterator[Server]:
    """Start Alama as it was, in the environment of today."""
    search = os.pathsep.join([str(ground.earlier), str(ROOT)])
    variables = {**ground.variables, "PYTHONPATH": search}
    with _alama(ground, EARLIER, variables, ground.bodies) as server:
        yield server


@contextmanager
def _alama(
    ground: Ground, name: str, variables: dict[str, str], bodies: Path, workers: int = 1
) -> Iterator[Server]:
    variables = {**variables, **_place(ground, name)}
    key = _issued_key(ground, variables)
    command = serve_command(ground, workers)
    line = ground.for_server(command) if workers == 1 else command
    with _started(ground, name, line, variables, bodies=bodies, key=key) as server:
        yield server


@contextmanager
def alama_on_postgres(ground: Ground) -> Iterator[Server]:
    """Start a PostgreSQL and Alama on it."""
    folder = home(ground, POSTGRES)
    with postgres.database(folder, ground.client_core) as address:
        variables = {**ground.variables, **_place(ground, POSTGRES), "ALAMA_DATABASE": address}
        (folder / "address").write_text(address)
        _alama_says(ground, variables, "db", "upgrade")
        new = ("--name", "Demo lender", "--currency", "KES")
        _alama_says(ground, variables, "lenders", "add", "demo", *new)
        key = _issued_key(ground, variables)
        line = ground.for_server(serve_command(ground, 1))
        with _started(ground, POSTGRES, line, variables, key=key) as server:
            yield server


def postgres_address(ground: Ground) -> str:
    """Tell where the PostgreSQL that Alama stands on listens."""
    return (home(ground, POSTGRES) / "address").read_text()


def serve_command(ground: Ground, workers: int) -> list[str]:
    """Give the command that an operator types."""
    return [ground.python, "-m", "alama", "serve", "--port", "{port}", "--workers", str(workers)]


def home(ground: Ground, name: str) -> Path:
    """Give the folder of one Alama."""
    folder = ground.folder / name.replace(", ", "-").replace(" ", "-")
    folder.mkdir(exist_ok=True)
    return folder


def _place(ground: Ground, name: str) -> dict[str, str]:
    return {"ALAMA_HOME": str(home(ground, name)), "ALAMA_RATE_LIMIT": _NO_LIMIT}


def _issued_key(ground: Ground, variables: dict[str, str]) -> str:
    wanted = ("keys", "issue", "--lender", "demo", "--mode", "test")
    return _alama_says(ground, variables, *wanted)


def _alama_says(ground: Ground, variables: dict[str, str], *arguments: str) -> str:
    """Run a command of Alama's and give what it prints."""
    command = [ground.python, "-m", "alama", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env=variables, check=False, capture_output=True, text=True
    )
    if done.returncode:
        raise NotMeasurable(f"`alama {' '.join(arguments)}` failed:\n{done.stderr.strip()}")
    return done.stdout.strip()


def _started(
    ground: Ground,
    name: str,
    command: list[str],
    variables: dict[str, str],
    *,
    bodies: Path | None = None,
    health: str = "/v1/health",
    key: str = "none",
) -> AbstractContextManager[Server]:
    log = ground.folder / f"{name}.log"
    asked = bodies or ground.bodies
    return started(name, command, variables, bodies=asked, log=log, health=health, key=key)


SUBJECTS: Final[dict[str, Subject]] = {
    "fastapi": Subject(
        "FastAPI + LightGBM + shap", lambda g: _fastapi(g, "fastapi", "full", "public")
    ),
    "fastapi, tuned": Subject(
        "the same, shap's quickest path", lambda g: _fastapi(g, "fastapi, tuned", "full", "paths")
    ),
    "fastapi, light": Subject(
        "the same, and the light forest", lambda g: _fastapi(g, "fastapi, light", "light", "paths")
    ),
    "bentoml": Subject("BentoML + LightGBM + shap", _bentoml),
    "ceiling": Subject("the ceiling: empty Starlette + msgspec", _ceiling),
    "alama, dropping": Subject("Alama, a store that drops everything", _dropping),
    ALAMA: Subject("**Alama**, SQLite, each score durable", alama),
    EARLIER: Subject("Alama as it was, SQLite, each score durable", _earlier),
    KNOWN_APPLICANTS: Subject(
        "Alama, SQLite, applicants named who come back",
        lambda g: _applicants(g, KNOWN_APPLICANTS, g.known_applicants),
    ),
    NO_MEMORY: Subject("the same, and nobody is remembered", _no_memory),
    APPLICANTS: Subject(
        "Alama, SQLite, each time a new applicant named",
        lambda g: _applicants(g, APPLICANTS, g.applicants),
    ),
    POSTGRES: Subject("**Alama**, PostgreSQL, each score durable", alama_on_postgres),
    "alama, 2 workers": Subject(
        "Alama, SQLite, 2 workers on both cores", lambda g: alama(g, "alama, 2 workers", 2)
    ),
}
"""In the order of the table. The peers and the ceiling check no key and store nothing."""

PEERS: Final = frozenset({"fastapi", "fastapi, tuned", "fastapi, light", "bentoml"})
"""Those that stand in an environment of their own."""
