"""Where the servers stand: their folder, their environments, and who may use which core."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Final

from alama.training.population.people import PopulationOptions, batches
from alama.training.population.truth import Loans
from bench.environment import ROOT, SCRATCH, peers_python, settings, snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

BODIES: Final = 200
RETURNING: Final = 4_000
"""Applicants who come back, in turn: more than a process remembers from one time to the next."""

NOBODY_YET: Final = "nobody-yet-0"
"""In a body: clients put a new applicant in its place, with as many characters, each time."""

_BODIES_SEED: Final = 31
_BODIES_FROM_ROWS: Final = 2_000


class NotMeasurable(Exception):
    """The machine lacks something; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What every subject and every client needs to start."""

    folder: Path
    variables: dict[str, str]
    peers: Path
    forests: Path
    bodies: Path
    applicants: Path
    known_applicants: Path
    earlier: Path
    server_core: int | None
    client_core: int | None

    @property
    def python(self) -> str:
        """Give the Python of Alama's own environment."""
        return sys.executable

    def for_server(self, command: Sequence[str]) -> list[str]:
        """Put a command on the servers' core."""
        return pinned(command, self.server_core)

    def for_client(self, command: Sequence[str]) -> list[str]:
        """Put a command on the clients' core."""
        return pinned(command, self.client_core)


def pinned(command: Sequence[str], core: int | None) -> list[str]:
    """Give the command bound to one core, as it is where cores cannot be chosen."""
    return [*command] if core is None else ["taskset", "--cpu-list", str(core), *command]


@contextmanager
def opened(forest_rows: int | None = None, earlier: str | None = None) -> Iterator[Ground]:
    """Lay everything ready that the servers and clients share, and clean up behind them.

    `forest_rows` are those that peers train on: None where none is measured. `earlier` is a
    revision of Alama that is measured beside this one.
    The folder lies on the disk of the checkout: a store in memory would be no store.
    """
    require_wrk()
    with _laid(Path(sys.executable) if forest_rows is None else peers_python()) as ground:
        if earlier is not None:
            check_out(earlier, ground.earlier)
        if forest_rows is not None:
            prepare = ["-W", "ignore", "-m", "bench.serve.peers.prepare"]
            command = [str(ground.peers), *prepare, str(forest_rows), str(ground.forests)]
            subprocess.run(command, cwd=ROOT, env=ground.variables, check=True)
        yield ground


def require_wrk() -> None:
    """Raise `NotMeasurable` where there is no load generator."""
    if shutil.which("wrk") is None:
        raise NotMeasurable("wrk, the load generator, is not installed: `apt-get install wrk`")


@contextmanager
def _laid(peers: Path) -> Iterator[Ground]:
    SCRATCH.mkdir(parents=True, exist_ok=True)
    with snapshot() as source, tempfile.TemporaryDirectory(prefix="serve-", dir=SCRATCH) as folder:
        server_core, client_core = _cores()
        ground = Ground(
            folder=Path(folder),
            variables=_variables(source),
            peers=peers,
            forests=Path(folder) / "forests.json",
            bodies=Path(folder) / "bodies.jsonl",
            applicants=Path(folder) / "applicants.jsonl",
            known_applicants=Path(folder) / "known-applicants.jsonl",
            earlier=Path(folder) / "earlier",
            server_core=server_core,
            client_core=client_core,
        )
        write_bodies(ground.bodies)
        write_bodies(ground.applicants, lambda _: {"applicant_ref": NOBODY_YET})
        write_bodies(ground.known_applicants, _returning, RETURNING)
        yield ground


def _nothing(_: int) -> dict[str, str]:
    return {}


def _returning(number: int) -> dict[str, str]:
    return {"applicant_ref": f"person-{number}"}


def write_bodies(
    path: Path, more: Callable[[int], dict[str, str]] = _nothing, lines: int = BODIES
) -> None:
    """Write applications of the synthetic population with all fields, a JSON object a line.

    `more` gives what else the application of this number has; beyond so many people they say the
    same again.
    """
    names = [field.name for field in fields(Loans)]
    people = PopulationOptions(rows=_BODIES_FROM_ROWS, seed=_BODIES_SEED)
    rows = [row for batch in batches(people) for row in batch.select(names).to_pylist()]
    complete = [row for row in rows if None not in row.values()][:BODIES]
    said = [{**complete[number % BODIES], **more(number)} for number in range(lines)]
    path.write_text("".join(json.dumps(one) + "\n" for one in said), "utf-8")


def check_out(revision: str, folder: Path) -> None:
    """Lay the sources of a revision into a folder, or say that it is not known here."""
    folder.mkdir()
    if shutil.which("git") is None:
        raise NotMeasurable("git, which has Alama as it was, is not here: `--earlier none`")
    command = ["git", "archive", "--format=tar", f"{revision}:src"]
    archive = subprocess.run(command, cwd=ROOT, check=False, capture_output=True)
    if archive.returncode:
        raise NotMeasurable(
            f"git does not know {revision} here (`--earlier none` leaves it out): "
            f"{archive.stderr.decode().strip()}"
        )
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as sources:
        sources.extractall(folder, filter="data")


def _variables(source: Path) -> dict[str, str]:
    """Give the variables of a server; settings of an Alama elsewhere must not reach ours."""
    return {n: value for n, value in settings(source).items() if not n.startswith("ALAMA_")}


def _cores() -> tuple[int | None, int | None]:
    """Choose a core for the server and one for the client, none where that is not possible."""
    if shutil.which("taskset") is None or not hasattr(os, "sched_getaffinity"):
        return None, None
    mine = sorted(os.sched_getaffinity(0))
    return (mine[0], mine[-1]) if len(mine) > 1 else (None, None)
