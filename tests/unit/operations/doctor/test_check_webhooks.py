"""The doctor on webhooks: receivers that fail, events that wait, and the way out."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import update

from alama.lenders.keys import US_PER_DAY, US_PER_SECOND
from alama.operations.doctor import check_webhooks
from alama.platform import addresses, clock
from alama.platform.addresses import Reach
from alama.platform.book import Book, Mode
from alama.platform.database import tables
from alama.webhooks.records import Listed
from tests.ports import HOST, free_port
from tests.receivers import Receivers
from tests.unit.operations.patients import (
    BROKEN,
    LOOK,
    OK,
    UNCHECKED,
    copied,
    install,
    looked_at,
    opened,
    run_sql,
)
from tests.unit.webhooks.raw_receivers import Trap
from tests.vaults import MASTER_KEY
from tests.webhooked import Hooks, an_event

BOOK = Book("demo", Mode.TEST)
SECRETS = {"ALAMA_MASTER_KEY": MASTER_KEY}
HERE = {**SECRETS, "ALAMA_DEVELOPMENT": "yes"}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("template") / "home"
    install(home, **SECRETS)
    return home


@pytest.fixture
def home(template: Path, tmp_path: Path) -> Path:
    return copied(template, tmp_path / "home")


def add(home: Path, url: str, **columns: str | int) -> str:
    """Have a lender told, and say the id of its endpoint."""
    with opened(home, **SECRETS) as installed:
        endpoint = Hooks(installed.database).add(BOOK, url=url)
        if columns:
            with installed.database.writing() as connection:
                connection.execute(update(tables.webhook_endpoints).values(**columns))
    return endpoint.id


def announce(home: Path, at_us: int) -> None:
    with opened(home, **SECRETS) as installed:
        Hooks(installed.database).events.add(an_event(BOOK, at_us=at_us))


def test_without_endpoints_there_is_nothing_to_check(home: Path) -> None:
    found = looked_at(home, **SECRETS)
    assert found["webhooks.endpoints"].mark is UNCHECKED
    assert found["webhooks.egress"].mark is UNCHECKED
    assert found["webhooks.backlog"].mark is OK


def test_a_receiver_that_answers_is_reached_and_is_sent_nothing(home: Path) -> None:
    with Receivers() as receivers:
        add(home, f"{receivers.url}/ok/secret-path")
        found = looked_at(home, **HERE)
        assert found["webhooks.egress"].mark is OK
        assert found["webhooks.endpoints"].mark is OK
        assert receivers.arrived == 0
    assert "secret-path" not in " ".join(f"{one.seen} {one.todo}" for one in found.values())


def test_a_receiver_that_is_away_is_named_by_its_id_and_not_by_its_path(home: Path) -> None:
    endpoint = add(home, f"http://{HOST}:{free_port()}/in?token=hush")
    one = looked_at(home, **HERE)["webhooks.egress"]
    assert one.mark is LOOK
    assert f"{endpoint} of demo: no connection" in one.seen
    assert "hush" not in f"{one.seen} {one.todo}"


def test_a_receiver_on_a_network_that_is_not_allowed_is_told_with_the_setting(home: Path) -> None:
    add(home, "https://10.1.7.9/in")
    one = looked_at(home, **SECRETS)["webhooks.egress"]
    assert one.mark is LOOK
    assert "ALAMA_WEBHOOK_ALLOW" in str(one.todo)


def test_where_nobody_is_reached_it_may_be_this_machine(home: Path) -> None:
    add(home, f"https://one.example:{free_port()}/in")
    add(home, f"https://two.example:{free_port()}/in")
    with opened(home, **SECRETS) as installed:
        enabled = Hooks(installed.database).endpoints.of(BOOK)
    one = check_webhooks.way_out(enabled, Reach(addresses.LOOPBACK), lambda _: [HOST])
    assert "its firewall" in str(one.todo)
    assert "2 of 2 not reached" in one.seen


def test_one_probe_is_enough_for_a_host(home: Path) -> None:
    with Trap(HOST) as trap:
        for path in ("a", "b"):
            add(home, f"http://{HOST}:{trap.port}/{path}")
        assert looked_at(home, **HERE)["webhooks.egress"].mark is OK
        assert trap.connections() == 1


@pytest.mark.parametrize(
    ("columns", "mark"),
    [
        ({"failing_since_us": 1}, LOOK),
        ({"disabled_us": 1, "disabled_reason": "failing"}, LOOK),
        ({"disabled_us": 1, "disabled_reason": "gone"}, LOOK),
        ({"disabled_us": 1, "disabled_reason": "requested"}, OK),
    ],
)
def test_endpoints_that_get_nothing_are_named(
    home: Path, columns: dict[str, str | int], mark: str
) -> None:
    endpoint = add(home, "https://10.1.7.9/in", **columns)
    one = looked_at(home, **SECRETS)["webhooks.endpoints"]
    assert one.mark == mark
    assert (endpoint in one.seen) == (mark is LOOK)


def test_an_endpoint_whose_row_cannot_be_read_is_broken() -> None:
    one = check_webhooks.judged_endpoints(Listed([], frozenset({"we_1"})))
    assert one.mark is BROKEN
    assert "we_1" in one.seen


@pytest.mark.parametrize(("delivery", "todo"), [("alone", "alama worker"), ("inside", "serve")])
def test_events_that_nobody_looks_at_tell_that_no_worker_runs(
    home: Path, delivery: str, todo: str
) -> None:
    add(home, "https://10.1.7.9/in")
    announce(home, clock.wall_us())
    fresh = looked_at(home, **SECRETS)["webhooks.worker"]
    assert fresh.mark is UNCHECKED
    announce(home, clock.wall_us() - 3_600 * US_PER_SECOND)
    found = looked_at(home, **SECRETS, ALAMA_DELIVERY=delivery)
    assert found["webhooks.worker"].mark is BROKEN
    assert todo in str(found["webhooks.worker"].todo)
    assert "2 deliveries" in found["webhooks.backlog"].seen


def test_a_worker_that_has_tried_is_at_work(home: Path) -> None:
    with opened(home, **SECRETS) as installed:
        at_us = clock.wall_us() - 3 * US_PER_DAY
        run_sql(
            installed.database,
            "INSERT INTO webhook_attempts (id, lender, mode, endpoint_id, event_id, number, "
            "started_us, took_ms, status, answer) VALUES "
            "('wa_1', 'demo', 'test', 'we_1', 'evt_1', 1, :at_us, 5, 200, '')",
            at_us=at_us,
        )
    one = looked_at(home, **SECRETS)["webhooks.worker"]
    assert one.mark is OK
    assert "3 d ago" in one.seen


def test_a_long_backlog_is_to_be_looked_at(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_webhooks, "BACKLOG_LOOK", 0)
    add(home, "https://10.1.7.9/in")
    announce(home, clock.wall_us())
    assert looked_at(home, **SECRETS)["webhooks.backlog"].mark is LOOK
