"""The pages of the operator, and what they install: every command is one, every name is known."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

import alama
from alama.app.cli import build_parser
from alama.operations.doctor.check_proxy import CLOSED
from alama.operations.doctor.findings import CHECKS
from alama.platform import settings
from tests.guide.guide import (
    GUIDE,
    OPERATING,
    PAGES,
    ROOT,
    GuideFailed,
    Where,
    answer,
    blocks,
    filled_in,
    missing,
    require_sane,
)

HOST = ROOT / "deploy" / "host"
UNITS = sorted(HOST.glob("*.service"))
SITE = (HOST / "nginx-alama.conf").read_text("utf-8")
PROGRAM = "/opt/alama/current/bin/alama"

EXPOSURE_MAX = 25
"""In tenths: systemd calls up to 2.0 safe, and most services of a distribution have above 9."""

COMMAND = re.compile(r"(?:^|[\s(`])alama ((?:[a-z]+)(?:[^|&;<>()`\n]|\\\n)*)")
EXAMPLES = {
    "$KEY_ID": "key_0123456789abcdef",
    "$ENDPOINT": "we_0123456789abcdef0123456789ab",
    "$REQUEST": "req_0123456789abcdef0123456789ab",
    "ENDPOINT_ID": "we_0123456789abcdef0123456789ab",
    "LENDER": "umoja",
    "--mode MODE": "--mode test",
    "TIME": "2026-11-15T06:00",
    "HASH": "0" * 64,
    "...": "",
}
SNAKE = re.compile(r"`([a-z]+(?:_[a-z]+)+)`")
CHECK = re.compile(r"`([a-z]+\.[a-z_]+)`")


def commands(page: str) -> list[str]:
    """Every command of ours that a page has typed, or tells of."""
    return [found.replace("\\\n", " ").strip() for found in COMMAND.findall(page)]


def parses(command: str) -> bool:
    """Whether our parser takes a command, or its name where a page only tells of it."""
    if re.fullmatch(r"[a-z ]+", command):
        command += " --help"
    for shown, example in EXAMPLES.items():
        command = command.replace(shown, example)
    try:
        build_parser().parse_args(shlex.split(command, comments=True))
    except SystemExit as ended:
        return ended.code == 0
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_a_page_is_one(page: Path) -> None:
    found = {command for command in commands(page.read_text("utf-8")) if " " in command}
    assert len(found) > 5
    assert [command for command in sorted(found) if not parses(command)] == []


def test_a_command_that_is_none_would_be_noticed() -> None:
    (found,) = commands("run `alama db upgarde` now")
    assert not parses(found)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_of_a_page_can_be_pasted(page: Path) -> None:
    found = list(blocks(page.read_text("utf-8")))
    assert len(found) == page.read_text("utf-8").count("```sh\n") > 2
    for block in found:
        command = ["bash", "-n", "-c", block.commands]
        checked = subprocess.run(command, capture_output=True, check=False, text=True)
        assert checked.stderr == "", block.commands


def test_the_guide_installs_this_version_and_upgrades_to_a_later_one() -> None:
    page = GUIDE.read_text("utf-8")
    (version,) = re.findall(r"^VERSION=(\S+)$", page, re.MULTILINE)
    (later,) = re.findall(r"^NEXT=(\S+)$", page, re.MULTILINE)
    assert version == alama.__version__
    assert numbers(later) > numbers(version)
    assert [block.where for block in blocks(page)].count(Where.ELSEWHERE) == 2


def numbers(version: str) -> list[int]:
    return [int(number) for number in version.split(".")]


def test_the_guide_links_every_page_beside_it() -> None:
    page = GUIDE.read_text("utf-8")
    others = {path.name for path in OPERATING.glob("*.md")} - {GUIDE.name}
    assert [name for name in sorted(others) if f"]({name})" not in page] == []


def test_the_page_on_failures_names_only_what_there_is() -> None:
    page = (OPERATING / "failures.md").read_text("utf-8")
    told = [
        (ROOT / "docs" / name).read_text("utf-8")
        for name in ("logs-and-metrics.md", "generated/codes.md")
    ]
    known = "\n".join(told)
    ours = {"exit_code", "default_transaction_read_only", "synchronous_standby_names"}
    named = set(SNAKE.findall(page)) - ours
    assert len(named) > 10
    assert [name for name in sorted(named) if f"`{name}`" not in known] == []
    checks = {name for name in CHECK.findall(page) if not name.startswith("alama.")}
    assert len(checks) > 8
    assert checks <= set(CHECKS)


@pytest.mark.parametrize(
    ("shown", "said", "lacking"),
    [
        ("a\n", "a\n", None),
        ("...\nb\n", "a\nb\nc\n", None),
        ('{"status":"ok",...\n', '{"status":"ok","version":"1"}\n', None),
        ("b\na\n", "a\nb\n", "a"),
        ("a\n", "ab\n", "a"),
        ("", "anything\n", None),
    ],
)
def test_what_one_should_see_is_compared_in_its_order(
    shown: str, said: str, lacking: str | None
) -> None:
    assert missing(shown, said) == lacking


@pytest.mark.parametrize(
    "said", ["bash: line 3: pgrep: command not found\n", "Traceback (most recent call last):\n"]
)
def test_nothing_that_a_page_leaves_out_is_an_error_of_the_shell(said: str) -> None:
    with pytest.raises(GuideFailed):
        require_sane(f"well\n{said}well\n")
    assert require_sane("well\n") == "well\n"


def test_a_block_says_whom_and_when_it_is_for() -> None:
    lines = [
        "# on the new server",
        "# on the new server, with systemd",
        "# on the new server, without systemd",
        "# days later",
        "echo",
    ]
    page = "".join(f"```sh\n{line}\n```\n\n" for line in lines)
    assert [block.where for block in blocks(page)] == [
        Where.NEW,
        Where.NEW_SYSTEMD,
        Where.NEW,
        Where.LATER,
        Where.SERVER,
    ]


def test_what_is_for_a_person_to_fill_in_is_filled_in_and_nothing_else() -> None:
    assert filled_in("KEY_ID=key_...\necho").startswith("KEY_ID=$(alama keys list ")
    assert filled_in("NAME=alama.internal\n") == "NAME=alama.internal\n"
    with pytest.raises(KeyError):
        filled_in("NOBODY_KNOWS=...")
    assert answer("alama vault rotate applicant --mode test") == "customer-7"
    assert answer("alama vault status") == ""


def test_what_cannot_be_undone_is_for_days_later() -> None:
    """A page that is pasted whole loses nothing: neither the old database nor the old key."""
    found = [block for page in PAGES for block in blocks(page.read_text("utf-8"))]
    for words in (
        "dropdb alama_before",
        "rm /etc/alama/master-key-old",
        "rm -r ~/test-authority",
    ):
        (block,) = (block for block in found if words in block.commands)
        assert block.where is Where.LATER


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_key_stands_in_the_command_line_of_another_program(page: Path) -> None:
    assert "Bearer $KEY" not in page.read_text("utf-8").replace(
        '<<<"Authorization: Bearer $KEY"', ""
    )


def test_nightly_backups_are_the_only_ones_that_are_removed() -> None:
    lines = [
        line
        for name in ("alama-backup.service", "alama.cron")
        for line in (HOST / name).read_text("utf-8").splitlines()
        if "-delete" in line
    ]
    swept = [folder for line in lines for folder in re.findall(r"find (\S+)", line)]
    assert swept == 4 * ["/var/backups/alama/nightly"]


def test_the_environment_file_has_settings_that_there_are() -> None:
    lines = (HOST / "alama.env").read_text("utf-8").splitlines()
    given = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    read = settings.read(given)
    assert read.database_file == "/etc/alama/database"
    assert f"server {read.host}:{read.port};" in SITE


@pytest.mark.parametrize("script", ["alama", "alama.init"])
def test_the_scripts_are_executable_and_can_be_read_by_a_plain_shell(script: str) -> None:
    assert (HOST / script).stat().st_mode & 0o111
    subprocess.run(["sh", "-n", str(HOST / script)], check=True)  # noqa: S607


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_takes_a_unit_and_finds_it_closed(unit: Path, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not here")
    # It looks for the program, which is not installed here.
    here = tmp_path / unit.name
    here.write_text(unit.read_text("utf-8").replace(PROGRAM, "/bin/true"), "utf-8")
    judge = ["systemd-analyze", "verify", "--man=no", str(here)]
    judged = subprocess.run(judge, capture_output=True, check=False, text=True)
    assert (judged.returncode, judged.stderr) == (0, "")
    options = ["--offline=true", f"--threshold={EXPOSURE_MAX}", "--no-pager"]
    closed = ["systemd-analyze", "security", *options, str(here)]
    subprocess.run(closed, check=True, capture_output=True)


def test_nginx_lets_nobody_see_what_is_for_operators_and_old_tls_is_not_spoken() -> None:
    for path in CLOSED:
        assert re.search(rf"location = {path} +{{ return 404; }}", SITE)
    assert re.findall(r"ssl_protocols +(.+);", SITE) == ["TLSv1.2 TLSv1.3"]
    assert "Strict-Transport-Security" in SITE


def test_nginx_takes_whatever_the_service_takes_and_keeps_none_of_it() -> None:
    assert "location = /v1/onboarding/histories {" in SITE
    assert "client_max_body_size 65m;" in SITE  # a loan history has 64 MiB at most
    assert "proxy_request_buffering off;" in SITE
    assert re.search(r"client_body_buffer_size +1m;", SITE)
    assert re.search(r"client_max_body_size +1m;", SITE)
