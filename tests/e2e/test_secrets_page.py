"""docs/operating/secrets.md: what can be replaced with nothing but Alama is, as the page says.

The rest of the page needs root, PostgreSQL and nginx: `make walk` does all of it.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from pathlib import Path

import pytest

from tests.databases import sqlite_url
from tests.guide.guide import OPERATING, Shell, Where, blocks, missing
from tests.server import Server

pytestmark = pytest.mark.long

PAGE = (OPERATING / "secrets.md").read_text("utf-8")
HERE = (
    "API keys",
    "Webhook secrets",
    "The key of a lender",
    "The key of an applicant",
    "The key that signs the audit",
    "The master key",
)
RESTART = "service alama restart\n"

# As /usr/local/bin/alama does it on a server.
PROGRAM = """\
alama() {{ ( set -a; . {folder}/alama.env; exec {python} -m alama "$@" ) }}
alama lenders add umoja --name "Umoja Sacco" --currency KES
KEY=$(alama keys issue --lender umoja --mode test)
curl -sf -o {folder}/first.json {url}/v1/score \\
  -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\
  -d '{{"applicant_ref": "customer-7", "mobile_money_months": 26, "monthly_inflow": 23800,
       "stability_score": 0.58, "airtime_regularity": 0.71}}'
"""


class Host:
    """The server of the page, in a folder: its service, its settings, and one shell."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / "alama.env"
        for name in ("pepper", "master-key"):
            (folder / name).write_text(secrets.token_hex(32))
            (folder / name).chmod(0o600)
        files = {
            "ALAMA_PEPPER_FILE": str(folder / "pepper"),
            "ALAMA_MASTER_KEY_FILE": str(folder / "master-key"),
        }
        self.server = Server(sqlite_url(folder), folder, 1, ALAMA_MASTER_KEY="", **files)
        given = {**files, "ALAMA_HOME": str(folder), "ALAMA_DATABASE": sqlite_url(folder)}
        self._file.write_text("".join(f"{name}={value}\n" for name, value in given.items()))
        foreign = {k: v for k, v in os.environ.items() if not k.startswith("ALAMA_")}
        self._shell = Shell(["bash", "--noprofile", "--norc"], lambda _: None, foreign)

    def close(self) -> None:
        self._shell.close()

    def type(self, commands: str) -> str:
        """Paste a block of the page; give all that was said."""
        parts = commands.split(RESTART)
        said = [self._typed(parts[0])]
        for part in parts[1:]:
            self._restart()
            said.append(self._typed(part))
        return "".join(said)

    def begin(self) -> None:
        names = {"folder": self._folder, "python": sys.executable, "url": self.server.url}
        self._shell.type(PROGRAM.format(**names))

    def _typed(self, commands: str) -> str:
        for shown in ("https://alama.internal", "http://127.0.0.1:8000"):
            commands = commands.replace(shown, self.server.url)
        return self._shell.type(commands.replace("/etc/alama", str(self._folder)))

    def _restart(self) -> None:
        assert self.server.stop() == 0
        lines = dict(line.split("=", 1) for line in self._file.read_text().splitlines())
        self.server.environment.pop("ALAMA_MASTER_KEY_OLD_FILE", None)
        self.server.environment.update(lines)
        self.server.start()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not here")
def test_what_needs_nothing_but_alama_is_replaced_as_the_page_says(tmp_path: Path) -> None:
    typed = [block for block in blocks(PAGE) if block.step in HERE]
    assert {block.step for block in typed} == set(HERE)
    typed.sort(key=lambda block: block.where is Where.LATER)
    host = Host(tmp_path)
    try:
        with host.server:
            host.begin()
            for block in typed:
                said = host.type(block.commands)
                assert missing(block.shown, said) is None, said
    finally:
        host.close()
    assert not (tmp_path / "master-key-old").exists()
