"""What the README tells a newcomer to type works as it stands there, and answers what it shows."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.coarse import coarse_path
from tests.databases import Postgres, sqlite_url
from tests.server import Server
from tests.vaults import MASTER_KEY

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def block_with(text: str) -> str:
    """The indented block in which a text stands, without its indent."""
    blocks: list[str] = re.findall(r"(?:^    .*\n|^\n(?=    ))+", README, re.MULTILINE)
    found = next(block for block in blocks if text in block)
    return "\n".join(line[4:] for line in found.strip("\n").splitlines())


def commands(block: str) -> list[list[str]]:
    return [
        shlex.split(line.partition("  #")[0])
        for line in block.splitlines()
        if line.startswith("alama ")
    ]


def run(command: list[str], folder: Path, **environment: str) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    finished = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, f"{command}: {finished.stderr}"
    assert "Traceback" not in finished.stderr
    return finished.stdout


@pytest.mark.long
@pytest.mark.xdist_group("readme")
def test_the_commands_that_train_and_score_work_in_their_order(tmp_path: Path) -> None:
    # On a quarter of the rows, and coarsely: the steps are the same, and nobody reads the model.
    block = block_with("alama train").replace("--rows 8000", "--rows 2000")
    assert "--rows 2000" in block
    for command in commands(block):
        run(command, tmp_path, PYTHONPATH=coarse_path(os.environ))
    assert {"loans.parquet", "model.json", "report.html", "scores.parquet"} <= {
        entry.name for entry in tmp_path.iterdir()
    }


def test_the_first_score_is_the_one_that_the_readme_shows(tmp_path: Path) -> None:
    with Server(sqlite_url(tmp_path), tmp_path) as server:
        request = block_with("curl -s").replace("http://127.0.0.1:8000", server.url)
        answer = run(["sh", "-c", request], tmp_path, KEY=server.key())
        for command in commands(block_with("alama scores list")):
            server.alama(*command[1:])
    reply = json.loads(answer)
    shown = dict(re.findall(r'"(\w+)": ("\w+"|[\d.]+),', block_with('"score": ')))
    assert len(shown) == 8
    del shown["feature"]
    assert {name: json.loads(value) for name, value in shown.items()} == {
        name: reply[name] for name in shown
    }
    first = json.loads(re.findall(r'({"feature".*?}), \.\.\.', README)[0])
    assert reply["shap_values"][0] == first


@pytest.mark.long
def test_the_way_to_postgresql_works(tmp_path: Path, postgres: Postgres) -> None:
    block = block_with("export ALAMA_DATABASE")
    *prepare, serve = commands(block)
    with postgres.fresh() as url:
        home = {"ALAMA_DATABASE": url, "ALAMA_HOME": str(tmp_path), "ALAMA_MASTER_KEY": MASTER_KEY}
        for command in prepare:
            run(command, tmp_path, **home)
        assert serve[:2] == ["alama", "serve"]
        with Server(url, tmp_path, workers=int(serve[-1])) as server:
            answer = httpx.get(f"{server.url}/v1/health", timeout=60)
    assert answer.status_code == httpx.codes.OK
