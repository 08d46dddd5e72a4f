"""What every test shares: how hard Hypothesis looks, and real databases.

`HYPOTHESIS_PROFILE=explore make test` looks where the repeatable run does not.
"""

import gc
import logging
import os
import sys
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path

import pytest
from alembic import command
from hypothesis import HealthCheck, settings

from alama.core import model
from alama.platform.files import packaged
from alama.platform.terminal.terminal import usable_cores
from alama.scoring import explain_cli, explaining
from tests.databases import Postgres, sqlite_url
from tests.migrated import Repeated
from tests.patient import SEARCH_S
from tests.tries import PROFILE

# The same examples at every run, whatever the machine: a red build is red for everyone.
settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
# Some of the same examples, for `make test`: `make test-long` shows each property all of them.
settings.register_profile("brief", settings.get_profile("ci"), max_examples=30)
# Few of the same examples: to see at once what is broken, not to prove what is not.
settings.register_profile("quick", settings.get_profile("ci"), max_examples=10)
# New examples at every run, and many of them.
settings.register_profile("explore", deadline=None, max_examples=2_000)

# Every process that a test starts imports the package: compiled once, not at every start. Nor are
# the tests themselves compiled by every worker of every run.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

settings.load_profile(PROFILE)

# Until every test is known nothing is let go, so that looking for it takes time alone.
gc.disable()


def pytest_runtest_teardown() -> None:
    """Undo what a command says for its process: how to start others, where warnings go."""
    os.environ.pop("PYTHONSAFEPATH", None)
    logging.captureWarnings(capture=False)


def pytest_collection_finish() -> None:
    """What was collected stays to the end: what looks for garbage need not look there again."""
    gc.enable()
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One worker more than there are cores: a third of the time of a test is spent waiting.

    But no more than four: a test that trains is hungry for memory.
    """
    return min(4, usable_cores() + 1)


@pytest.hookimpl(tryfirst=True)  # before the groups and the lanes are read
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of one file that share a fixture run in one worker, so that it is made once.

    What comes to the same on both databases has PostgreSQL, which takes longer, in the long lane.
    """
    for item in items:
        if item.get_closest_marker("alike") is not None and _kind(item) == "postgresql":
            item.add_marker(pytest.mark.long)
        if item.get_closest_marker("xdist_group") is None and _shares(item):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


def _kind(item: pytest.Item) -> object:
    """The kind of database that a test runs on; None where it has no choice of them."""
    chosen = getattr(getattr(item, "callspec", None), "params", {})
    return chosen.get("database_url", chosen.get("address"))


def _shares(item: pytest.Item) -> bool:
    """Whether a test asks for a fixture that is made once for its file."""
    info = getattr(item, "_fixtureinfo", None)
    made = {} if info is None else info.name2fixturedefs
    return any(one[-1].scope == "module" for one in made.values() if one)


@pytest.fixture(scope="session", autouse=True)
def migrations() -> Iterator[Repeated]:
    """Make new databases as the migrations do, without their taking as long each time."""
    repeated = Repeated(command.upgrade)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "upgrade", repeated)
        yield repeated


@pytest.fixture(scope="session", autouse=True)
def packaged_once() -> Iterator[None]:
    """Read each file of the package once: a service does so at its start, a test at each request.

    What is read is frozen; the same text gives the same.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in ("read_language", "read_jurisdiction"):
            patch.setattr(packaged, name, cache(getattr(packaged, name)))
        patch.setattr(model, "decode", lru_cache(maxsize=16)(model.decode))
        yield


@pytest.fixture(scope="session", autouse=True)
def unhurried() -> Iterator[None]:
    """Give searches for ways the time they need: what they find is to depend on no machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explaining, "BUDGET_S", SEARCH_S)
        patch.setattr(explain_cli, "SEARCH_S", SEARCH_S)
        yield


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server: one for each pytest worker, started by the first test that asks."""
    with Postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a database without tables; a test that asks for it runs once on each kind."""
    if request.param == "sqlite":
        yield sqlite_url(tmp_path)
    else:
        with request.getfixturevalue("postgres").fresh() as url:
            yield url
