"""What every store of endpoints does with the secrets that sign for them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest
from sqlalchemy import select

from alama.platform.database import tables
from alama.platform.database.database import Database
from alama.webhooks import secrets
from tests.entries import DEMO, LIVE, NOON_US, UMOJA
from tests.webhooked import NEW_SECRET, SECRET, Hooks, an_endpoint

THIRD_SECRET = b"3" * secrets.SECRET_BYTES


def test_the_secret_before_signs_too_until_its_time(hooks: Hooks) -> None:
    endpoint = hooks.add()
    until = hooks.wrapped(endpoint)._replace(previous_until_us=NOON_US + 1)
    both = hooks.endpoints.replace_secrets(DEMO, endpoint.id, until, NOON_US)
    assert hooks.endpoints.find(DEMO, endpoint.id) == both
    assert secrets.of_endpoint(hooks.vault, both, NOON_US) == [NEW_SECRET, SECRET]
    lender_key = hooks.vault.lender_key("demo", both.secrets.lender_key_id)
    assert secrets.signing(both, lender_key, NOON_US + 1) == [NEW_SECRET]


def test_a_secret_that_is_rotated_again_leaves_the_one_that_receivers_have(hooks: Hooks) -> None:
    endpoint = hooks.add()
    first_us, later_us = NOON_US + 10, NOON_US + 1_000
    until = hooks.wrapped(endpoint)._replace(previous_until_us=first_us)
    hooks.endpoints.replace_secrets(DEMO, endpoint.id, until, NOON_US)
    third = hooks.wrapped(endpoint, THIRD_SECRET)._replace(previous_until_us=later_us)
    within = hooks.endpoints.replace_secrets(DEMO, endpoint.id, third, first_us - 1)
    assert secrets.of_endpoint(hooks.vault, within, NOON_US) == [THIRD_SECRET, SECRET]
    assert within.secrets.previous_until_us == first_us
    fourth = hooks.wrapped(endpoint)._replace(previous_until_us=later_us)
    after = hooks.endpoints.replace_secrets(DEMO, endpoint.id, fourth, first_us)
    assert secrets.of_endpoint(hooks.vault, after, NOON_US) == [NEW_SECRET, THIRD_SECRET]
    assert after.secrets.previous_until_us == later_us


def test_an_overlap_ends_at_once_where_somebody_says_so(hooks: Hooks) -> None:
    endpoint = hooks.add()
    until = hooks.wrapped(endpoint)._replace(previous_until_us=NOON_US + 10)
    hooks.endpoints.replace_secrets(DEMO, endpoint.id, until, NOON_US)
    leaked = hooks.wrapped(endpoint, THIRD_SECRET)
    only = hooks.endpoints.replace_secrets(DEMO, endpoint.id, leaked, NOON_US)
    assert secrets.of_endpoint(hooks.vault, only, NOON_US) == [THIRD_SECRET]


def test_a_rotation_within_an_overlap_may_follow_one_of_the_lenders_key(
    hooks: Hooks, elsewhere: Database
) -> None:
    endpoint = hooks.add()
    late = Hooks(elsewhere)
    until = late.wrapped(endpoint)._replace(previous_until_us=NOON_US + 10)
    late.endpoints.replace_secrets(DEMO, endpoint.id, until, NOON_US)
    third = late.wrapped(endpoint, THIRD_SECRET)._replace(previous_until_us=NOON_US + 10)
    hooks.rotate_lender()
    late.endpoints.replace_secrets(DEMO, endpoint.id, third, NOON_US)
    fresh = Hooks(hooks.database)
    found = fresh.endpoints.find(DEMO, endpoint.id)
    assert secrets.of_endpoint(fresh.vault, found, NOON_US) == [THIRD_SECRET, SECRET]


def test_the_secret_before_can_end_at_once(hooks: Hooks) -> None:
    endpoint = hooks.add()
    only = hooks.endpoints.replace_secrets(DEMO, endpoint.id, hooks.wrapped(endpoint), NOON_US)
    assert (only.secrets.previous, only.secrets.previous_until_us) == (None, None)
    assert secrets.of_endpoint(hooks.vault, only, NOON_US) == [NEW_SECRET]


def test_no_secret_stands_in_clear(hooks: Hooks, database: Database) -> None:
    endpoint = hooks.add()
    until = hooks.wrapped(endpoint)._replace(previous_until_us=NOON_US + 1)
    hooks.endpoints.replace_secrets(DEMO, endpoint.id, until, NOON_US)
    with database.reading() as connection:
        row = connection.execute(select(tables.webhook_endpoints)).one()
    assert not {SECRET, NEW_SECRET} & {value for value in row if isinstance(value, bytes)}


def test_a_secret_that_is_moved_to_another_endpoint_does_not_open(hooks: Hooks) -> None:
    one, other = hooks.add(), hooks.add()
    with pytest.raises(Exception, match=f"secret of {other.id} is damaged"):
        secrets.of_endpoint(
            hooks.vault, msgspec.structs.replace(other, secrets=one.secrets), NOON_US
        )


def test_secrets_are_handed_over_when_the_key_of_the_lender_is_rotated(
    hooks: Hooks, elsewhere: Database
) -> None:
    endpoint, untouched = hooks.add(), hooks.add(UMOJA)
    until = hooks.wrapped(endpoint)._replace(previous_until_us=NOON_US + 1)
    before = hooks.endpoints.replace_secrets(DEMO, endpoint.id, until, NOON_US)
    live = hooks.add(LIVE)
    assert hooks.rotate_lender() == (2, 2)
    fresh = Hooks(elsewhere)  # which remembers nothing
    moved = fresh.endpoints.find(DEMO, endpoint.id)
    assert moved.secrets.lender_key_id != before.secrets.lender_key_id
    assert secrets.of_endpoint(fresh.vault, moved, NOON_US) == [NEW_SECRET, SECRET]
    assert secrets.of_endpoint(fresh.vault, fresh.endpoints.find(LIVE, live.id), NOON_US) == [
        SECRET
    ]
    assert fresh.endpoints.find(UMOJA, untouched.id) == untouched


def test_what_was_wrapped_before_the_key_was_rotated_is_kept_under_the_new_one(
    hooks: Hooks, elsewhere: Database
) -> None:
    """A process that slept through the rotation still has the old key, and nobody else has."""
    first = hooks.add()
    late = Hooks(elsewhere)
    wrapped_before = an_endpoint(late.vault)
    until = late.wrapped(first)._replace(previous_until_us=NOON_US + 1)
    hooks.rotate_lender()
    late.endpoints.add(wrapped_before)
    late.endpoints.replace_secrets(DEMO, first.id, until, NOON_US)
    rotated, added = Hooks(hooks.database).endpoints.of(DEMO)
    assert secrets.of_endpoint(Hooks(hooks.database).vault, added, NOON_US) == [SECRET]
    assert secrets.of_endpoint(Hooks(hooks.database).vault, rotated, NOON_US) == [
        NEW_SECRET,
        SECRET,
    ]


def test_secrets_that_are_replaced_while_the_lender_is_rotated_all_open(
    hooks: Hooks, elsewhere: Database
) -> None:
    endpoint = hooks.add()
    there, done = Hooks(elsewhere), threading.Event()

    def replace() -> bytes:
        number = 0
        while not done.is_set():
            number += 1
            until = there.wrapped(endpoint, number.to_bytes(32, "big"))
            there.endpoints.replace_secrets(
                DEMO, endpoint.id, until._replace(previous_until_us=NOON_US + 1), NOON_US
            )
        return number.to_bytes(32, "big")

    with ThreadPoolExecutor(1) as pool:
        last = pool.submit(replace)
        try:
            for _ in range(2):
                hooks.rotate_lender()
        finally:
            done.set()
        newest = last.result()
    fresh = Hooks(hooks.database)
    signing = secrets.of_endpoint(fresh.vault, fresh.endpoints.find(DEMO, endpoint.id), NOON_US)
    assert (signing[0], len(signing)) == (newest, 2)
