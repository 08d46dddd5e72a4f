"""Clients made of the served OpenAPI document compile, and do what they promise.

Each generator makes a client, the compiler of its language judges it as strictly as it can, and a
program of ours (beside this file) calls twelve operations of the running service with it. Every
program finds the same.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from alama.app import examples
from alama.webhooks.endpoints import TEST_MESSAGE
from tests.databases import sqlite_url
from tests.server import Server

pytestmark = pytest.mark.long

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BIN = ROOT / ".venv-clients" / "bin"
TOOLS = HERE / "node_modules" / ".bin"
JAVAC = shutil.which("javac")
RUN_S_MAX = 300

needs_javac = pytest.mark.skipif(JAVAC is None, reason="no javac here: install a JDK")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("service")
    with Server(sqlite_url(home), home) as server:
        yield server


@pytest.fixture
def folder(server: Server, tmp_path: Path) -> Path:
    """Where a client is made: with the served document, and with what npm has installed."""
    assert (HERE / "node_modules" / ".installed").exists(), "not installed: `make clients`"
    answer = httpx.get(f"{server.url}/openapi.json", trust_env=False, timeout=60)
    (tmp_path / "openapi.json").write_bytes(answer.raise_for_status().content)
    (tmp_path / "node_modules").symlink_to(HERE / "node_modules")
    return tmp_path


def run(folder: Path, *command: str | Path, **environment: str) -> str:
    """What a program prints; where it fails, everything it has said."""
    # Tools of npm ask for `node` on the path.
    path = os.pathsep.join((str(BIN), os.environ["PATH"]))
    done = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env=os.environ | {"PATH": path, "NO_COLOR": "1", **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=RUN_S_MAX,
    )
    if done.returncode != 0:
        pytest.fail(f"{command}\n{done.stdout[-5000:]}\n{done.stderr[-5000:]}", pytrace=False)
    return done.stdout


def require_the_same(server: Server, key: str, found: str) -> None:
    """What every client finds when it calls the service."""
    told: dict[str, Any] = json.loads(found.splitlines()[-1])
    asked = {"expand": "base_score"}
    headers = {"Authorization": f"Bearer {key}"}
    answer = httpx.post(
        f"{server.url}/v1/score",
        json=json.loads(examples.COMPACT),
        params=asked,
        headers=headers,
        trust_env=False,
        timeout=60,
    )
    score = answer.raise_for_status().json()
    at = datetime.fromisoformat(told.pop("stored_at"))
    assert abs(at.timestamp() - told.pop("created_us") / 1e6) < 0.01
    assert told.pop("monitored") >= 1
    assert told == {
        "health": "ok",
        "score": score["score"],
        "base_score": score["base_score"],
        "offered": True,
        "replayed": True,
        "recourse": "no_recourse",
        "listed": 1,
        "outcome": "recorded",
        "enabled": True,
        "disabled_at": None,
        "event": "webhook.test",
        "told": TEST_MESSAGE,
        "refused": "invalid_application",
    }


def call_compiled(server: Server, folder: Path, program: str) -> None:
    """Compile a client in TypeScript with the program that uses it, and run that."""
    shutil.copy(HERE / "tsconfig.json", folder)
    shutil.copy(HERE / f"{program}.ts", folder)
    (folder / "package.json").write_text('{"type": "commonjs"}', "utf-8")
    run(folder, TOOLS / "tsc")
    key = server.key()
    compiled = folder / "compiled" / f"{program}.js"
    require_the_same(server, key, run(folder, BIN / "node", compiled, server.url, key, program))


# ------------------------------------------------------------------------------- generators


@needs_javac
def test_openapi_generator_for_java(server: Server, folder: Path) -> None:
    generate = (BIN / "openapi-generator-cli", "generate", "--input-spec", "openapi.json")
    # The library of the JDK itself, and Jackson, which the generator has in its own jar.
    # A builder a request: a parameter that is added one day moves no other to another place.
    options = "library=native,useJakartaEe=false,openApiNullable=false,"
    options += "useSingleRequestParameter=true"
    run(folder, *generate, "-g", "java", "-o", "client", f"--additional-properties={options}")
    (jar,) = (ROOT / ".venv-clients").glob("lib/python*/site-packages/openapi_generator_cli/*.jar")
    sources = [*(folder / "client" / "src" / "main").rglob("*.java"), *HERE.glob("*.java")]
    run(folder, str(JAVAC), "-nowarn", "-cp", jar, "-d", "compiled", *sources)
    key = server.key()
    where = os.pathsep.join(("compiled", str(jar)))
    java = Path(str(JAVAC)).resolve().with_name("java")
    require_the_same(server, key, run(folder, java, "-cp", where, "Calls", server.url, key, "java"))


def test_openapi_generator_for_typescript(server: Server, folder: Path) -> None:
    generate = (BIN / "openapi-generator-cli", "generate", "--input-spec", "openapi.json")
    run(folder, *generate, "-g", "typescript-fetch", "-o", "client")
    call_compiled(server, folder, "typescript_fetch")


def test_hey_api_with_zod(server: Server, folder: Path) -> None:
    shutil.copy(HERE / "openapi_ts.config.mjs", folder)
    run(folder, TOOLS / "openapi-ts", "--file", "openapi_ts.config.mjs")
    call_compiled(server, folder, "hey_api")


def test_orval_with_zod(server: Server, folder: Path) -> None:
    shutil.copy(HERE / "orval.config.cjs", folder)
    run(folder, TOOLS / "orval", "--config", "orval.config.cjs", SERVICE=server.url)
    call_compiled(server, folder, "orval")


def test_openapi_typescript_with_openapi_fetch(server: Server, folder: Path) -> None:
    run(folder, TOOLS / "openapi-typescript", "openapi.json", "--output", "client/schema.d.ts")
    call_compiled(server, folder, "openapi_typescript")


def test_openapi_python_client(server: Server, folder: Path) -> None:
    config = HERE / "python_client.yaml"
    generate = (BIN / "openapi-python-client", "generate", "--path", "openapi.json")
    run(folder, *generate, "--output-path", "client", "--meta", "none", "--config", config)
    shutil.copy(HERE / "python_client.py", folder)
    run(folder, BIN / "mypy", "--no-incremental", "python_client.py", "client")
    key = server.key()
    found = run(folder, BIN / "python", "python_client.py", server.url, key, "python")
    require_the_same(server, key, found)


# ----------------------------------------------------------------------------------- judges


def test_spectral_finds_nothing(folder: Path) -> None:
    rules = HERE / ".spectral.yaml"
    run(folder, TOOLS / "spectral", "lint", "--fail-severity=hint", "-r", rules, "openapi.json")


def test_redocly_finds_nothing(folder: Path) -> None:
    said = run(
        folder,
        TOOLS / "redocly",
        "lint",
        "openapi.json",
        "--extends=recommended",
        "--format=json",
        REDOCLY_TELEMETRY="off",
        REDOCLY_SUPPRESS_UPDATE_NOTICE="true",
    )
    assert json.loads(said)["problems"] == []
