"""The rights that docs/operating/upgrading.md gives, as they stand there, to two roles."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url, text

from alama.lenders import installation, keys
from alama.platform import clock, settings
from alama.platform.database import database, migrate, tables
from alama.platform.errors import StoreUnavailable
from tests.databases import Postgres
from tests.later_versions import Next, become_later, numbered
from tests.vaults import MASTER_KEY

pytestmark = pytest.mark.long

PAGE = (Path(__file__).parents[2] / "docs" / "operating" / "upgrading.md").read_text("utf-8")
OWNER, SERVICE = "alama_owner", "alama"
NEXT = Next(
    numbered(1),
    tables.HEAD,
    'op.create_table("later", sa.Column("id", sa.Integer(), primary_key=True))',
)


@pytest.fixture
def url(postgres: Postgres) -> Iterator[str]:
    """A database that belongs to the role of the upgrade, beside the role of the service."""
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as administrator:
        for role in (OWNER, SERVICE):
            administrator.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'secret'".encode())
        try:
            with postgres.fresh() as url:
                name = make_url(url).database
                administrator.execute(f"ALTER DATABASE {name} OWNER TO {OWNER}".encode())
                yield url
        finally:
            for role in (OWNER, SERVICE):
                administrator.execute(f"DROP ROLE {role}".encode())


def as_role(url: str, role: str) -> str:
    address = make_url(url).set(username=role, password="secret")  # noqa: S106  of this test
    return address.render_as_string(hide_password=False)


def test_the_service_has_its_rights_on_what_is_there_and_on_what_comes(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (rights,) = re.findall(r"^```sql\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    with closing(database.connect(as_role(url, OWNER))) as owner:
        migrate.upgrade(owner)
    with closing(database.connect(as_role(url, SERVICE))) as service:
        with pytest.raises(StoreUnavailable):
            migrate.require_fit(service)
        with psycopg.connect(as_role(url, OWNER)) as connection:
            connection.execute(rights.encode())
        migrate.require_fit(service)
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    monkeypatch.setenv("ALAMA_DATABASE", as_role(url, SERVICE))
    monkeypatch.setenv("ALAMA_MASTER_KEY", MASTER_KEY)
    installed = installation.open_installation(settings.read(os.environ))
    keys.add_lender(installed.registry, clock.wall_us, "umoja", "Umoja", "KES")
    installed.close()
    become_later(monkeypatch, tmp_path, NEXT)
    with closing(database.connect(as_role(url, OWNER))) as owner:
        assert migrate.upgrade(owner)
    with (
        closing(database.connect(as_role(url, SERVICE))) as service,
        service.writing() as connection,
    ):
        connection.execute(text("INSERT INTO later VALUES (1)"))
