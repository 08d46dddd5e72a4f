"""`alama doctor`: the screen, the data and the exit code; and the page that names every check."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from alama import __version__
from alama.app.cli import EXIT_MISTAKE, main
from alama.operations.doctor import examine
from alama.operations.doctor.findings import CHECKS, GROUPS
from alama.operations.findings import Mark, ok
from alama.platform.database import database
from alama.platform.terminal import terminal
from tests.certificates import Authority
from tests.ports import free_port
from tests.unit.operations.fronts import NAME, Said, Standing
from tests.unit.operations.patients import copied, install

PAGE = Path(__file__).parents[3] / "docs" / "operating" / "doctor.md"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("template") / "home"
    install(home)
    return home


@pytest.fixture(autouse=True)
def home(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith(("ALAMA_", "OTEL_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ALAMA_PORT", str(free_port()))  # where no service of somebody else's is
    monkeypatch.setenv("COLUMNS", "100")
    return copied(template, tmp_path / "home")


def test_an_installation_that_is_well_exits_with_0_and_shows_every_group(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["doctor"]) == 0
    out, err = capsys.readouterr()
    lines = [line.rstrip() for line in out.splitlines()]
    for line, title in zip(lines, GROUPS.values(), strict=False):
        assert re.match(rf"[✓!–] {{2}}{title} {{2,}}\S", line)  # noqa: RUF001  a dash
    assert "✓  Disk              2 checks" in lines
    assert lines[-1].startswith("nothing is broken, ")
    assert lines[-1].endswith("--all shows each check")
    assert err == ""  # nobody watches


def test_what_is_broken_exits_with_1_and_says_what_to_do(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "pepper").chmod(0o644)
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "✗  Secrets and keys  1 broken\n" in re.sub(" +\n", "\n", out)
    closing = " ".join(out.partition("\n\n")[2].split())
    assert closing.startswith("✗ Secrets and keys: files its mode lets everyone read ")
    assert f"→ `chmod 600 {home / 'pepper'}`" in closing
    assert closing.index("✗ ") < closing.index("! ")
    assert out.splitlines()[-1].startswith("1 broken, ")  # and not once more as the pepper


def test_who_is_strict_gets_1_for_what_is_to_be_looked_at(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ALAMA_STOP_TIMEOUT", "90")
    for options in ([], ["--json"]):
        assert main(["doctor", *options]) == 0
        assert main(["doctor", "--strict", *options]) == 1
    assert "nothing is broken" in capsys.readouterr().out


def test_who_is_strict_gets_0_where_all_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examine, "examine", lambda *_: [ok(check, "well") for check in CHECKS])
    assert main(["doctor", "--strict"]) == 0


def test_every_check_is_shown_to_who_asks_for_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--all"]) == 0
    out = capsys.readouterr().out
    assert [line for line in out.splitlines() if line in GROUPS.values()] == list(GROUPS.values())
    assert re.search(r"  ✓  schema +\d{4}, the one of this version", out)
    assert re.search(r"  –  metrics +no port is open for them; ALAMA_METRICS_PORT", out)  # noqa: RUF001
    assert "--all" not in out


def test_what_was_not_checked_for_one_reason_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path / "nowhere"))
    assert main(["doctor", "--all"]) == 1
    out = capsys.readouterr().out
    assert out.count("the database cannot be asked") < 8
    assert "latency, schema, writable" in out


def test_data_has_a_finding_for_each_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["version"] == __version__
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", told["looked_at"])
    assert [one["check"] for one in told["findings"]] == list(CHECKS)
    assert {one["mark"] for one in told["findings"]} <= {mark.value for mark in Mark}
    assert sum(told["summary"].values()) == len(CHECKS)
    assert told["summary"]["broken"] == 0


def test_no_secret_is_shown_whatever_is_broken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ALAMA_DATABASE", "postgresql://alama:s3cret@127.0.0.1:1/alama")
    monkeypatch.setenv("ALAMA_PEPPER", "s3cret")
    monkeypatch.setenv("ALAMA_MASTER_KEY", "s3cret")
    monkeypatch.setenv("ALAMA_PORT", "s3cret")
    for options in (["doctor"], ["doctor", "--json"]):
        assert main(options) == 1
        out, err = capsys.readouterr()
        assert "s3cret" not in out + err


def test_what_stands_in_front_is_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    authority = Authority(tmp_path)
    health = json.dumps({"status": "ok", "version": __version__}).encode()
    with Standing({"/v1/health": Said(200, health)}, authority.server(NAME)) as standing:
        url = f"https://{NAME}:{standing.port}"
        main(["doctor", "--json", "--url", url, "--ca", str(authority.file)])
    found = {one["check"]: one for one in json.loads(capsys.readouterr().out)["findings"]}
    assert found["front.certificate"]["mark"] == "ok"
    assert found["front.health"]["mark"] == "ok"
    assert found["clock.front"]["mark"] == "ok"


@pytest.mark.parametrize(
    "options",
    [
        ["--url", "http://scores.example"],
        ["--url", "https://a..b"],
        ["--url", "https://scores.example", "--ca", __file__],
        ["--ca", "authority.pem"],
    ],
)
def test_a_question_that_cannot_be_asked_is_a_mistake(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", *options]) == EXIT_MISTAKE
    assert "hint: " in capsys.readouterr().err


def test_a_terminal_that_knows_no_other_letters_gets_ascii(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    console = terminal.stdout()
    monkeypatch.setattr(type(console), "encoding", property(lambda _: "ascii"))
    for options in (["doctor"], ["doctor", "--all"]):
        assert main(options) == 0
        assert capsys.readouterr().out.isascii()


def test_the_page_names_every_check_in_its_group_and_in_order() -> None:
    text = PAGE.read_text("utf-8").partition("## What is checked")[2]
    assert re.findall(r"^\| `([a-z_]+\.[a-z_]+)` \|", text, re.MULTILINE) == list(CHECKS)
    assert re.findall(r"^### (.+)$", text, re.MULTILINE) == list(GROUPS.values())
    sections = dict(zip(GROUPS, text.split("\n### ")[1:], strict=True))
    for check in CHECKS:
        assert f"`{check}`" in sections[check.partition(".")[0]]


def test_the_page_says_how_many_connections_a_process_may_open() -> None:
    each = database.CONNECTIONS + database.CONNECTIONS_MORE + 1
    assert f"{each} for each worker" in PAGE.read_text("utf-8")


def test_the_page_names_every_mark() -> None:
    text = PAGE.read_text("utf-8")
    for mark in Mark:
        assert f"| `{mark.value}` |" in text
