"""Each small lender against the real service, killed after every change that it makes there."""

from __future__ import annotations

import csv
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from alama.platform.book import Book, Mode
from sdk.contract.runner import SDK
from tests.databases import sqlite_url
from tests.e2e.service import Service
from tests.ports import HOST, free_port
from tests.recipes.wire import Program, Wire

RECIPES = SDK.parent / "recipes"
DECISIONS = {
    "L-1001": "APPROVED",
    "L-1002": "APPROVED",
    "L-1003": "APPROVED",
    "L-1004": "REVIEW",
    "L-1005": "DECLINED",
    "L-1006": "DECLINED",
}
LISTENS_S_MAX = 60.0
CHANGES = 2 + len(DECISIONS) + 3
"""An endpoint, which is deleted once since nobody knows its secret; the scores; the outcomes."""

pytestmark = [pytest.mark.long]

_numbers = count(1)


def rows(name: str) -> dict[str, dict[str, str]]:
    with (RECIPES / name).open(encoding="utf-8", newline="") as file:
        return {row["loan_id"]: row for row in csv.DictReader(file)}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    home = tmp_path_factory.mktemp("lenders")
    settings = {"ALAMA_DEVELOPMENT": "yes"}
    with Service(sqlite_url(home), home, 1, None, **settings).running() as running:
        yield running


def python(_: Path) -> tuple[Sequence[str | Path], Path]:
    return (sys.executable, RECIPES / "python" / "lender.py"), RECIPES / "python"


def typescript(home: Path) -> tuple[Sequence[str | Path], Path]:
    """As `npm install` leaves it, by what `make sdk` has installed."""
    sdk = SDK / "typescript"
    assert (sdk / "dist" / "index.js").exists(), "the SDK is not built: make sdk"
    for name in ("lender.ts", "package.json", "tsconfig.json"):
        shutil.copy(RECIPES / "typescript" / name, home)
    modules = home / "node_modules"
    (modules / "@alama").mkdir(parents=True)
    (modules / "@alama" / "client").symlink_to(sdk)
    for name in ("@types", "typescript", "undici-types", ".bin"):
        (modules / name).symlink_to(sdk / "node_modules" / name)
    run_compiler("node_modules/.bin/tsc", "--build", where=home)
    return ("node", "build/lender.js"), home


def run_compiler(*command: str | Path, where: Path) -> None:
    said = subprocess.run(
        command, cwd=where, capture_output=True, text=True, check=False, timeout=300
    )
    assert said.returncode == 0, said.stdout + said.stderr


def java(home: Path) -> tuple[Sequence[str | Path], Path]:
    """Compiled once: `java Lender.java`, the command of the README, does that at every start."""
    (jar,) = (SDK / "java" / "build").glob("alama-client-*.jar")
    source = RECIPES / "java" / "Lender.java"
    strict = ("--release", "17", "-Xlint:all", "-Werror")
    run_compiler("javac", *strict, "-cp", jar, "-d", home, source, where=home)
    command = ("java", "-XX:TieredStopAtLevel=1", "-cp", f"{jar}:{home}", "Lender")
    return command, RECIPES / "java"


@pytest.mark.parametrize("prepare", [python, typescript, java], ids=lambda each: each.__name__)
def test_whenever_it_is_killed_nothing_is_done_twice_and_nothing_is_lost(
    prepare: Any, service: Service, tmp_path: Path
) -> None:
    book = Book(f"recipe-{next(_numbers)}", Mode.TEST)
    service.lender(book.lender)
    key = service.key(book)
    port = free_port()
    command, where = prepare(tmp_path)
    store = tmp_path / "store"
    store.touch()
    store.chmod(0o664)  # as somebody has left it

    with Program() as program, Wire(service.server.url, program, port) as wire:
        environment = {
            "ALAMA_URL": wire.url,
            "ALAMA_KEY": key,
            "FILES": str(RECIPES),
            "STORE": str(store),
            "PORT": str(port),
            "HOOK_URL": wire.hook_url,
            "EVENTS_S_MAX": "100",  # the service waits 60 s after a second attempt that failed
            "PYTHONPATH": str(SDK / "python" / "src"),
        }
        no_wait = environment | {"EVENTS_S_MAX": "0"}

        code, said, kills = -signal.SIGKILL, "", -1
        while code == -signal.SIGKILL:
            program.start(command, where, no_wait, killing=True)
            code, said = program.ended()
            kills += 1
        assert (code, kills) == (0, CHANGES), said
        assert told(said) == {loan: (*each, "asked") for loan, each in expected().items()}
        assert "refused L-1007 stability_score" in said

        # It takes an event, and dies before the sender hears of it.
        with delivering(service):
            program.start(command, where, environment, killing=True)
            assert program.ended()[0] == -signal.SIGKILL
        program.start(("sh", "-c", documented(prepare.__name__)), where, environment)
        wait_until_it_listens(port)
        for length in (b"\xb2", b"9" * 5_000):
            with socket.create_connection((HOST, port), 10) as odd:
                odd.sendall(
                    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: " + length + b"\r\n\r\n"
                )
                assert b" 400 " in odd.recv(100)
        with socket.create_connection((HOST, port)) as idle, delivering(service):
            idle.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
            code, said = program.ended()
        assert code == 0, said
        assert told(said) == {loan: (*each, "webhook") for loan, each in expected().items()}

    assert store.stat().st_mode & 0o777 == 0o600  # it has the secret
    stored = scores(service, key)
    references = Counter(score["application"]["applicant_ref"] for score in stored)
    assert references == Counter(
        rows("applicants.csv")[loan]["applicant_ref"] for loan in DECISIONS
    )
    assert {
        score["application"]["applicant_ref"]: score["outcome"]["outcome"]
        for score in stored
        if score["outcome"]
    } == {
        rows("applicants.csv")[loan]["applicant_ref"]: row["outcome"]
        for loan, row in rows("repayments.csv").items()
    }
    (endpoint,) = service.get("/v1/webhook_endpoints", key=key).json()["data"]
    assert endpoint["url"] == wire.hook_url
    assert len(set(wire.taken)) == len(DECISIONS)
    assert set(wire.forged) == {400}


def documented(language: str) -> str:
    """The one command of the README, with the key of the environment."""
    readme = (RECIPES / language / "README.md").read_text("utf-8")
    (command,) = re.findall(r"^    ALAMA_KEY=\S+ (.*)$", readme, re.MULTILINE)
    assert command in (RECIPES / "README.md").read_text("utf-8")
    return str(command)


def expected() -> dict[str, tuple[str, str]]:
    outcomes = rows("repayments.csv")
    return {
        loan: (decision, outcomes[loan]["outcome"] if loan in outcomes else "-")
        for loan, decision in DECISIONS.items()
    }


def told(said: str) -> dict[str, tuple[str, str, str]]:
    """What it says at its end of each loan: decision, outcome, and who has confirmed it."""
    lines = [line.split() for line in said.splitlines() if line.startswith("loan ")]
    return {loan: (decision, outcome, by) for _, loan, decision, _, by, outcome in lines}


@contextmanager
def delivering(service: Service) -> Iterator[None]:
    """A worker of the service, which sends all that has been waiting for one."""
    with subprocess.Popen(
        [sys.executable, "-m", "alama", "worker"],
        env=service.server.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield
        finally:
            process.terminate()


def wait_until_it_listens(port: int) -> None:
    deadline = time.monotonic() + LISTENS_S_MAX
    while True:
        try:
            socket.create_connection((HOST, port)).close()
        except ConnectionRefusedError:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        else:
            return


def scores(service: Service, key: str) -> list[dict[str, Any]]:
    listed = service.get("/v1/scores?limit=100", key=key).json()["data"]
    return [service.get(f"/v1/scores/{s['request_id']}", key=key).json() for s in listed]
