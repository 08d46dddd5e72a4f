"""The service on each database, in one process and in two; all tests of it share the four.

`make test` has the one that most can go wrong with, the other three are for `make test-long`. What
starts a service of its own, as `test_serving.py` does, runs on SQLite in both.
"""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.databases import Postgres, sqlite_url
from tests.e2e.service import Service
from tests.proxy import Proxy

MARK = "Zq7marked"
"""Part of every value that a test sends in order to see where it comes out again."""


@pytest.fixture(
    scope="session",
    params=[
        pytest.param(
            (kind, workers), marks=[pytest.mark.xdist_group(f"service-{kind}"), *lane], id=name
        )
        for kind, workers, name, lane in [
            ("sqlite", 1, "sqlite-1-worker", [pytest.mark.long]),
            ("sqlite", 2, "sqlite-2-workers", [pytest.mark.long]),
            ("postgresql", 1, "postgresql-1-worker", [pytest.mark.long]),
            ("postgresql", 2, "postgresql-2-workers", []),
        ]
    ],
)
def service(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    kind, workers = request.param
    home = tmp_path_factory.mktemp("service")
    with ExitStack() as stack:
        url, proxy = sqlite_url(home), None
        if kind == "postgresql":
            postgres: Postgres = request.getfixturevalue("postgres")
            url = stack.enter_context(postgres.fresh())
            proxy = stack.enter_context(Proxy(postgres.host, postgres.port))
        service = Service(url, home, workers, proxy)
        yield stack.enter_context(service.running())
        # Whatever the tests have sent: no value of it was logged, and nothing of ours broke.
        service.server.stop()
        log = service.server.output()
        assert '"event":"worker_started"' in log
        assert MARK not in log
        assert '"event":"defect"' not in log
