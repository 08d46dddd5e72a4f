"""The walk of docs/onboarding.md: every command works, and says what the page shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from alama.app.cli import build_parser
from tests.databases import sqlite_url
from tests.e2e.cores import one_core
from tests.e2e.walks import Walk
from tests.server import Server

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "onboarding.md").read_text("utf-8")
README = (ROOT / "README.md").read_text("utf-8")

UNSTABLE = ((re.compile(r"history of \d{4}-\d\d-\d\d"), "history of DAY"),)


@pytest.mark.xdist_group("onboarding")
def test_the_walk_to_a_live_key_goes_as_the_page_says(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    walk = Walk(PAGE, UNSTABLE)
    assert len(walk.steps) == 12
    with one_core(), Server(sqlite_url(home), home) as server:
        walk.go(tmp_path, server.environment, server.url)
    for name in ("history.html", "pack.html"):
        assert (tmp_path / name).read_text("utf-8").startswith("<!DOCTYPE html>")


def test_every_command_in_the_text_can_be_typed() -> None:
    text = " ".join(PAGE.split())
    found = set(re.findall(r"`(alama \w+ \w+[^`]* [^`]+)`", text))
    assert any("models rollback" in command for command in found)
    for command in found:
        build_parser().parse_args(shlex.split(command)[1:])


def test_every_action_that_the_text_names_is_there() -> None:
    for command in set(re.findall(r"`(alama \w+ \w+)`", " ".join(PAGE.split()))):
        with pytest.raises(SystemExit) as left:
            build_parser().parse_args([*command.split()[1:], "--help"])
        assert left.value.code == 0, command


def test_the_short_way_of_the_readme_can_be_typed() -> None:
    _, _, section = README.partition("## A model of the lender's own\n")
    typed = re.findall(r"^    (alama .*?)(?:  +#.*)?$", section.partition("\n## ")[0], re.MULTILINE)
    assert len(typed) == 4
    for command in typed:
        build_parser().parse_args(shlex.split(command)[1:])
