"""deploy/host, run: what the command of the host hands over, and whom nginx makes wait."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.guide.guide import ROOT
from tests.ports import free_port

HOST = ROOT / "deploy" / "host"

# As the programs of these names on a server, whoever runs the test.
ID = "echo $AS_USER\n"
RUNUSER = 'shift 3; [ "$1" != test ] || exit $CANNOT_ENTER; exec "$@"\n'
LOGNAME = "exit 1\n"
PROGRAM = "env | grep -E '^(ALAMA_|LOGNAME)' | sort; pwd; exit ${CODE:-0}\n"


class Installed:
    """The command of a host, with its settings and its program in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name, does in (
            ("id", ID),
            ("runuser", RUNUSER),
            ("logname", LOGNAME),
            ("alama", PROGRAM),
        ):
            (folder / name).write_text(f"#!/bin/sh\n{does}", "utf-8")
            (folder / name).chmod(0o755)
        shutil.copy(HOST / "alama.env", folder / "alama.env")
        script = (HOST / "alama").read_text("utf-8")
        script = script.replace("/etc/alama/alama.env", str(folder / "alama.env"))
        script = script.replace("/opt/alama/current/bin/alama", str(folder / "alama"))
        (folder / "command").write_text(script, "utf-8")

    def run(self, user: str = "root", **given: str) -> subprocess.CompletedProcess[str]:
        path = f"{self._folder}:{os.environ['PATH']}"
        environment = {
            "PATH": path,
            "AS_USER": user,
            "CANNOT_ENTER": "0",
            "LOGNAME": "root",
            **given,
        }
        return subprocess.run(
            ["sh", str(self._folder / "command"), "db", "check"],  # noqa: S607
            cwd=self._folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def installed(tmp_path: Path) -> Installed:
    return Installed(tmp_path)


def test_a_command_has_the_settings_of_the_service(installed: Installed) -> None:
    for user in ("root", "alama"):
        said = installed.run(user).stdout.splitlines()
        assert "ALAMA_DATABASE_FILE=/etc/alama/database" in said
        assert "ALAMA_WORKERS=2" in said


def test_what_is_given_for_one_command_comes_before_the_file_of_the_settings(
    installed: Installed,
) -> None:
    said = installed.run(ALAMA_DATABASE="sqlite:////var/tmp/a b/alama.db", ALAMA_WORKERS="1").stdout
    assert "ALAMA_DATABASE=sqlite:////var/tmp/a b/alama.db\n" in said
    assert "ALAMA_DATABASE_FILE" not in said
    assert "ALAMA_PEPPER_FILE=/etc/alama/pepper\n" in said
    assert "ALAMA_WORKERS=1\n" in said
    said = installed.run(ALAMA_DATABASE_FILE="/etc/alama/other").stdout
    assert "ALAMA_DATABASE_FILE=/etc/alama/other\n" in said


def test_the_person_is_handed_over_and_not_the_user_that_all_share(installed: Installed) -> None:
    assert "LOGNAME=wanjiru\n" in installed.run(SUDO_USER="wanjiru").stdout
    assert "LOGNAME=root\n" in installed.run().stdout


def test_whoever_is_not_root_is_told_to_be(installed: Installed) -> None:
    ended = installed.run("wanjiru")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "alama: run it as root: sudo alama ...\n"


def test_from_a_folder_that_the_user_may_not_enter_it_runs_all_the_same(
    installed: Installed, tmp_path: Path
) -> None:
    ended = installed.run(CANNOT_ENTER="1")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.endswith("\n/\n")
    refused = installed.run(CANNOT_ENTER="1", CODE="2")
    assert refused.returncode == 2
    assert (
        f"may not enter {tmp_path}, so this ran in /: give files by their whole names"
        in refused.stderr
    )
    assert installed.run(CANNOT_ENTER="1", CODE="1").returncode == 1


@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not here")
def test_nginx_answers_429_to_an_address_that_sends_too_much(tmp_path: Path) -> None:
    port = free_port()
    site = (HOST / "nginx-alama.conf").read_text("utf-8")
    assert "rate=1000r/s" in site
    assert "burst=2000 nodelay;" in site
    # Without TLS and what belongs to it, and so slow that a few requests are too many.
    site = site.replace("rate=1000r/s", "rate=1r/m").replace("burst=2000", "burst=4")
    site = re.sub(r"server \{\s+listen 80;.*?\n\}\n", "", site, flags=re.DOTALL)
    site = re.sub(r"^\s+(ssl_|listen \[).*\n", "", site, flags=re.MULTILINE)
    site = site.replace("listen 443 ssl;", f"listen 127.0.0.1:{port};")
    site = site.replace("server 127.0.0.1:8000;", f"server 127.0.0.1:{free_port()};")
    site = site.replace("/var/log/nginx", str(tmp_path))
    temporary = "".join(
        f"{kind}_temp_path {tmp_path}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    alone = f"daemon off;\nmaster_process off;\npid {tmp_path}/pid;\nevents {{}}\n"
    whole = f"{alone}http {{\n{temporary}{site}}}\n"
    (tmp_path / "nginx.conf").write_text(whole, "utf-8")
    command = ["nginx", "-c", str(tmp_path / "nginx.conf"), "-e", str(tmp_path / "error.log")]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as nginx:
        try:
            codes = [status(port) for _ in range(12)]
        finally:
            nginx.terminate()
    # Alama is not there: 502 is what has passed.
    assert codes[:5] == [502] * 5
    assert codes.count(429) >= 5
    assert "limiting" not in (tmp_path / "alama-error.log").read_text("utf-8")


def status(port: int) -> int:
    for _ in range(1_200):
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            connection.request("GET", "/v1/scores?after=somebody")
            return connection.getresponse().status
        except ConnectionRefusedError:
            time.sleep(0.05)
        finally:
            connection.close()
    raise AssertionError("nginx does not answer")


def test_no_unit_and_no_container_leaves_memory_behind() -> None:
    host = Path(__file__).parents[3] / "deploy" / "host"
    units = sorted(host.glob("*.service"))
    assert len(units) == 3
    for unit in units:
        assert "\nLimitCORE=0\n" in unit.read_text("utf-8"), unit.name
    compose = (host.parent / "compose.yaml").read_text("utf-8")
    assert "\n  ulimits: {core: 0}\n" in compose


def test_the_service_and_the_worker_may_take_all_of_their_memory_side_by_side() -> None:
    units = [HOST / "alama.service", HOST / "alama-worker.service"]
    shares = [
        int(share)
        for unit in units
        for share in re.findall(r"^MemoryMax=(\d+)%$", unit.read_text("utf-8"), re.MULTILINE)
    ]
    assert len(shares) == len(units)
    assert sum(shares) <= 85
