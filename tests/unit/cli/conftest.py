"""What tests of several commands share."""

from collections.abc import Iterator

import pytest

from tests.databases import Postgres


@pytest.fixture
def postgres_url(postgres: Postgres) -> Iterator[str]:
    """The URL of a new PostgreSQL database, without tables."""
    with postgres.fresh() as url:
        yield url
