"""A process that slept through the rotation of the master key says so, and is not ready."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from alama.lenders import installation, keys
from alama.platform import clock, settings
from alama.protection.rotation import Rotation, RotationStore
from alama.vault.keys import Masters, master
from alama.vault.store import SqlVaultKeys
from alama.vault.vault import Vault
from tests.entries import DEMO
from tests.exchanges import Notes
from tests.served import BODY, Service

NEW = master("0b" * 32)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    installed = installation.open_installation(settings.read({"ALAMA_HOME": str(tmp_path)}))
    key, _ = keys.issue(installed.registry, installed.clock, installed.pepper, DEMO)
    yield Service(installed, key)
    installed.close()


def rotate_elsewhere(service: Service) -> None:
    """Bring all keys under a new master key, as a command that knows both does."""
    installed = service.installed
    both = Masters(NEW, installed.vault.masters.current)
    vault = Vault(SqlVaultKeys(installed.database), both, clock.wall_us)
    store = RotationStore(installed.database, installed.log, vault)
    assert Rotation(store, vault, clock.wall_us).master(None)


def test_requests_are_refused_as_unavailable_and_not_as_a_defect(service: Service) -> None:
    assert service.ask("/v1/score", body=BODY).status == 200
    rotate_elsewhere(service)
    received = service.ask("/v1/score", body=BODY)
    assert (received.status, received.json()["code"]) == (503, "unavailable")
    assert NEW.id not in received.json()["detail"]


@pytest.mark.parametrize("path", ["/v1/health", "/readyz"])
def test_it_is_not_ready(service: Service, path: str) -> None:
    assert service.ask(path).status == 200
    rotate_elsewhere(service)
    received = service.ask(path)
    assert received.status == 503
    assert f"wrapped under the master key {NEW.id}" in received.json()["reason"]


def test_the_cause_is_told_to_whoever_keeps_the_log(service: Service) -> None:
    rotate_elsewhere(service)
    notes = Notes()
    service.ask("/v1/score", body=BODY, notes=notes)
    (refused,) = notes.outages
    assert f"under the master key {NEW.id}, and this process has" in str(refused.__cause__)
