"""A secret that is damaged in the database costs nobody more than that secret."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from alama.platform.database import tables
from alama.platform.errors import StoreUnfit
from alama.webhooks import secrets
from alama.webhooks.records import Endpoint, Secrets
from tests.entries import DEMO, NOON_US
from tests.webhooked import NEW_SECRET, SECRET, Hooks

pytestmark = pytest.mark.alike

THIRD_SECRET = b"3" * secrets.SECRET_BYTES
UNTIL_US = NOON_US + 10
LATER_US = NOON_US + 20


def rotate(hooks: Hooks, endpoint: Endpoint, secret: bytes, until_us: int = UNTIL_US) -> Endpoint:
    """Give an endpoint another secret; the one before signs until a time."""
    new = hooks.wrapped(endpoint, secret)._replace(previous_until_us=until_us)
    return hooks.endpoints.replace_secrets(DEMO, endpoint.id, new, NOON_US)


def damage(hooks: Hooks, column: str) -> None:
    with hooks.database.writing() as connection:
        connection.execute(update(tables.webhook_endpoints).values({column: bytes(60)}))


def rotate_lender(hooks: Hooks) -> Secrets:
    """Give the lender another key; give what its only endpoint has then."""
    hooks.rotate_lender()
    (endpoint,) = hooks.endpoints.of(DEMO)
    return endpoint.secrets


def test_a_damaged_secret_of_before_does_not_keep_the_one_of_now_from_signing(hooks: Hooks) -> None:
    endpoint = hooks.add()
    rotate(hooks, endpoint, NEW_SECRET)
    damage(hooks, "previous_secret")
    (found,) = hooks.endpoints.of(DEMO)
    assert secrets.of_endpoint(hooks.vault, found, NOON_US) == [NEW_SECRET]


def test_a_damaged_secret_is_replaced_and_does_not_go_on(hooks: Hooks) -> None:
    endpoint = hooks.add()
    damage(hooks, "secret")
    (found,) = hooks.endpoints.of(DEMO)
    with pytest.raises(StoreUnfit, match=f"secret of {endpoint.id} is damaged") as told:
        secrets.of_endpoint(hooks.vault, found, NOON_US)
    assert f"alama webhooks rotate demo --mode test {endpoint.id}" in str(told.value.hint)
    mended = rotate(hooks, endpoint, NEW_SECRET)
    assert (mended.secrets.previous, mended.secrets.previous_until_us) == (None, None)
    assert secrets.of_endpoint(hooks.vault, mended, NOON_US) == [NEW_SECRET]


def test_where_the_older_secret_is_damaged_the_newer_goes_on_beside_the_next(hooks: Hooks) -> None:
    endpoint = hooks.add()
    rotate(hooks, endpoint, NEW_SECRET)
    damage(hooks, "previous_secret")
    third = rotate(hooks, endpoint, THIRD_SECRET, LATER_US)
    assert secrets.of_endpoint(hooks.vault, third, NOON_US) == [THIRD_SECRET, NEW_SECRET]
    assert third.secrets.previous_until_us == LATER_US


def test_where_the_newer_secret_is_damaged_the_older_goes_on_beside_the_next(hooks: Hooks) -> None:
    endpoint = hooks.add()
    rotate(hooks, endpoint, NEW_SECRET)
    damage(hooks, "secret")
    third = rotate(hooks, endpoint, THIRD_SECRET, LATER_US)
    assert secrets.of_endpoint(hooks.vault, third, NOON_US) == [THIRD_SECRET, SECRET]
    assert third.secrets.previous_until_us == UNTIL_US


def test_a_lender_gets_a_new_key_though_a_secret_of_before_is_damaged(hooks: Hooks) -> None:
    rotate(hooks, hooks.add(), NEW_SECRET)
    damage(hooks, "previous_secret")
    moved = rotate_lender(hooks)
    assert (moved.previous, moved.previous_until_us) == (None, None)


def test_a_rotation_that_a_damaged_secret_has_stopped_goes_on_once_it_is_replaced(
    hooks: Hooks,
) -> None:
    endpoint = hooks.add()
    damage(hooks, "secret")
    with pytest.raises(StoreUnfit, match=f"secret of {endpoint.id} is damaged"):
        rotate_lender(hooks)
    rotate(hooks, endpoint, NEW_SECRET)
    moved = rotate_lender(hooks)
    assert moved.lender_key_id == hooks.vault.ring("demo").seal_key_id
    (found,) = hooks.endpoints.of(DEMO)
    assert secrets.of_endpoint(hooks.vault, found, NOON_US) == [NEW_SECRET]
