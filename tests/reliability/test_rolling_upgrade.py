"""Two hosts go from one version to the next under load; who asks again is answered in the end.

The versions to come are this one with more migrations, in folders of their own.
"""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import alama
from alama.platform.database import tables
from tests.databases import Postgres
from tests.later_versions import Next, make_version, numbered
from tests.reliability.client import Client
from tests.reliability.two_hosts import LoadOnTwo
from tests.reliability.verdict import assert_kept, assert_readable
from tests.server import ALAMA, Server

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="kills whole groups of processes"),
    pytest.mark.xdist_group("kills"),
]

CONNECTIONS = 4
ANSWERS = 10
ANSWERS_S_MAX = 120.0
COMMAND_S_MAX = 180.0
MISTAKE = 2
LONGEST_S_MAX = 30.0
"""Of a request with all its repetitions: a step may keep it for 3 s, and a start takes some."""

THIS, NEXT, AFTER_NEXT = tables.HEAD, numbered(1), numbered(2)
EXPAND = Next(
    NEXT,
    THIS,
    'op.add_column("scores", sa.Column("channel", sa.String(20)))\n'
    '    op.create_table("channels", sa.Column("name", sa.String(20), primary_key=True))',
)
CONTRACT = Next(AFTER_NEXT, NEXT, 'op.drop_column("scores", "channel")')

log = logging.getLogger(__name__)


class Versions(NamedTuple):
    """The PYTHONPATH of each."""

    this: str
    next: str
    after_next: str


@pytest.fixture
def versions(tmp_path: Path) -> Versions:
    return Versions(
        str(Path(alama.__file__).parents[1]),
        str(make_version(tmp_path / "next", "98.0", EXPAND)),
        str(make_version(tmp_path / "after next", "99.0", EXPAND, CONTRACT)),
    )


@pytest.fixture
def url(postgres: Postgres) -> Iterator[str]:
    with postgres.fresh() as url:
        yield url


def host(url: str, home: Path, version: str) -> Server:
    return Server(url, home, ALAMA_PEPPER="p" * 32, ALAMA_RATE_LIMIT="1000000", PYTHONPATH=version)


def restart(server: Server, version: str) -> None:
    assert server.stop() == 0
    server.environment["PYTHONPATH"] = version
    server.start()


def upgrading(server: Server, version: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*ALAMA, "db", "upgrade"],
        env=server.environment | {"PYTHONPATH": version},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_rolling_upgrade_fails_no_request_that_is_sent_again(
    url: str, tmp_path: Path, versions: Versions
) -> None:
    with (
        host(url, tmp_path / "left", versions.this) as left,
        host(url, tmp_path / "right", versions.this) as right,
    ):
        key = left.key()
        load = LoadOnTwo([left.url, right.url], key, CONNECTIONS)

        def go_on(what: str) -> None:
            load.wait_for_answers(ANSWERS, ANSWERS_S_MAX)
            log.info("%s; %d answers, slowest %.2f s", what, load.answered, load.slowest_s)

        with load.running():
            go_on("two hosts of this version serve")
            assert_one_of_several_upgrades(left, versions.next)
            go_on("the next version has migrated, this one serves")
            restart(left, versions.this)
            go_on("this version has started again on the schema of the next")
            restart(left, versions.next)
            go_on("one host has been replaced")
            assert_refused_while_this_version_is_connected(right, versions.after_next)
            restart(right, versions.next)
            go_on("both hosts have been replaced")
            after = upgrading(right, versions.after_next)
            said = after.communicate(timeout=COMMAND_S_MAX)
            assert after.returncode == 0, said
            go_on("what this version used has been taken away")
        assert set(load.statuses) <= {200, 503}, load.statuses
        log.info(
            "%d requests, none failed; %d connections lost, %s, the longest took %.2f s with all "
            "its repetitions",
            *(len(load.sent), load.lost, dict(load.statuses), load.longest_s),
        )
        assert load.longest_s < LONGEST_S_MAX
        assert_kept(load, url)
        for one in (left, right):
            with Client(one.url, key) as client:
                assert_readable(load, client)
            assert "Traceback" not in one.output()
        left.alama("audit", "verify")


def assert_one_of_several_upgrades(server: Server, version: str) -> None:
    """Two machines run the same command before they start; one of them does it."""
    commands = [upgrading(server, version) for _ in range(2)]
    said = [command.communicate(timeout=COMMAND_S_MAX) for command in commands]
    assert [command.returncode for command in commands] == [0, 0], said
    done = f"The database stood at schema {THIS}; now it stands at schema {NEXT}.\n"
    found = f"The database stands at schema {NEXT} already: nothing to do.\n"
    assert sorted(out for out, _ in said) == [found, done]


def assert_refused_while_this_version_is_connected(server: Server, version: str) -> None:
    command = upgrading(server, version)
    out, err = command.communicate(timeout=COMMAND_S_MAX)
    assert command.returncode == MISTAKE, (out, err)
    assert f"{alama.__version__} with schema {THIS} from 127.0.0.1" in err
    assert "98.0" not in err
