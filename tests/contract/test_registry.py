"""What every registry does: see `alama.lenders.store.Registry`."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from alama.core import own_fields
from alama.lenders import store as lenders_store
from alama.lenders.records import Deployment, Key, Lender, Pause, Signed, UnknownKey, UnknownLender
from alama.lenders.store import Registry
from alama.platform.book import USUAL_SCOPES, Book, Mode, Scope
from alama.platform.database import database as databases
from alama.platform.database.database import Database
from alama.platform.errors import InvalidName, StoreUnavailable, StoreUnfit
from alama.platform.http.status import Pulse
from tests.entries import NOON_US
from tests.own_fields import TEXT, the_three, without
from tests.stores import registry_in

UMOJA = Lender("umoja", "Umoja Sacco Société", "XOF", NOON_US)
LATER = Lender("demo", "Demo lender", "KES", NOON_US + 1)
LIVE = Book("demo", Mode.LIVE)
OTHER_BOOKS = (Book("demo", Mode.TEST), Book("umoja", Mode.LIVE))


@pytest.fixture
def registry(database: Database) -> Registry:
    registry = registry_in(database)
    registry.add_lender(LATER)
    registry.add_lender(UMOJA)
    return registry


@pytest.fixture
def another_process(address: str) -> Iterator[Registry]:
    """The same database, through connections of its own."""
    other = databases.connect(address)
    yield registry_in(other)
    other.close()


def a_key(number: int, lender: str = "demo", mode: Mode = Mode.TEST) -> Key:
    return Key(
        id=f"key_{number}",
        lender=lender,
        mode=mode,
        digest=number.to_bytes(32, "big"),
        hint="abcd",
        scopes=(Scope.READ,) if number % 2 else USUAL_SCOPES,
        created_us=NOON_US + number,
        expires_us=NOON_US + 100 if number % 2 else None,
    )


def test_lenders_are_kept_whole_and_listed_oldest_first(registry: Registry) -> None:
    assert registry.lenders() == [UMOJA, LATER]
    assert registry.lender("umoja") == UMOJA


def test_an_id_belongs_to_one_lender(registry: Registry) -> None:
    with pytest.raises(InvalidName, match="umoja"):
        registry.add_lender(Lender("umoja", "Another", "KES", NOON_US))
    assert registry.lender("umoja") == UMOJA


def test_an_unknown_lender_is_named(registry: Registry) -> None:
    with pytest.raises(UnknownLender, match="nobody"):
        registry.lender("nobody")


def test_keys_are_kept_whole_and_listed_oldest_first(registry: Registry) -> None:
    made = [a_key(1), a_key(2, "umoja"), a_key(3, mode=Mode.LIVE)]
    for key in reversed(made):
        registry.add_key(key)
    assert registry.keys() == made
    assert registry.keys("demo") == [made[0], made[2]]
    assert registry.key("key_2") == made[1]
    assert registry.key_of(made[2].digest) == made[2]


def test_an_unknown_key_is_named_and_an_unknown_hash_is_nobody(registry: Registry) -> None:
    with pytest.raises(UnknownKey, match="key_9"):
        registry.key("key_9")
    assert registry.key_of(b"\0" * 32) is None
    assert registry.key_of(b"") is None


def test_the_first_revocation_of_a_key_stands(registry: Registry) -> None:
    registry.add_key(a_key(1))
    registry.add_key(a_key(2))
    registry.revoke_key("key_1", NOON_US + 5)
    registry.revoke_key("key_1", NOON_US + 9)
    assert registry.key("key_1").revoked_us == NOON_US + 5
    assert registry.key("key_2").revoked_us is None


def test_a_revoked_key_is_still_recognised_as_what_it_was(registry: Registry) -> None:
    registry.add_key(a_key(1))
    registry.revoke_key("key_1", NOON_US)
    found = registry.key_of(a_key(1).digest)
    assert found is not None
    assert found.revoked_us == NOON_US


def test_a_key_is_kept_for_a_lender_that_exists_and_once(registry: Registry) -> None:
    with pytest.raises(UnknownLender, match="nobody"):
        registry.add_key(a_key(1, "nobody"))
    registry.add_key(a_key(1))
    with pytest.raises(InvalidName, match="key_1"):
        registry.add_key(a_key(1, "umoja"))
    assert registry.keys() == [a_key(1)]


def test_a_key_is_replaced_by_another_in_one_step(registry: Registry) -> None:
    registry.add_key(a_key(2))
    registry.replace_key("key_2", NOON_US + 7, a_key(4))
    assert registry.key("key_2").expires_us == NOON_US + 7
    assert registry.key("key_4") == a_key(4)


def test_a_key_that_cannot_be_replaced_stays_as_it_is(registry: Registry) -> None:
    for number in (2, 4):
        registry.add_key(a_key(number))
    with pytest.raises(InvalidName, match="key_4"):
        registry.replace_key("key_2", NOON_US + 7, a_key(4))
    with pytest.raises(UnknownLender, match="nobody"):
        registry.replace_key("key_2", NOON_US + 7, a_key(6, "nobody"))
    assert registry.keys() == [a_key(2), a_key(4)]


def test_nothing_follows_a_key_that_is_not_there_or_was_revoked(registry: Registry) -> None:
    registry.add_key(a_key(2))
    registry.revoke_key("key_2", NOON_US)
    for gone in ("key_2", "key_9"):
        with pytest.raises(UnknownKey, match=gone):
            registry.replace_key(gone, NOON_US + 7, a_key(4))
    (kept,) = registry.keys()
    assert kept.id == "key_2"


def test_an_earlier_use_never_hides_a_later_one(registry: Registry) -> None:
    registry.add_key(a_key(1))
    for used_us in (NOON_US + 5, NOON_US + 3):
        registry.note_key_use({"key_1": used_us})
    assert registry.key("key_1").last_used_us == NOON_US + 5
    registry.note_key_use({"key_1": NOON_US + 6})
    assert registry.key("key_1").last_used_us == NOON_US + 6


def test_the_use_of_many_keys_is_noted_at_once(registry: Registry) -> None:
    for number in (1, 2, 3):
        registry.add_key(a_key(number))
    registry.note_key_use({})
    registry.note_key_use({"key_3": NOON_US + 3, "key_1": NOON_US + 1, "key_gone": NOON_US})
    noted = [registry.key(f"key_{number}").last_used_us for number in (1, 2, 3)]
    assert noted == [NOON_US + 1, None, NOON_US + 3]


def test_a_document_is_kept_for_ever_as_it_was_written_last(registry: Registry) -> None:
    for keep, give in [
        (registry.keep_model, registry.model),
        (registry.keep_policy, registry.policy),
    ]:
        keep("sha256:1", b"\0first\xff", NOON_US)
        keep("sha256:1", b"second", NOON_US)
        assert give("sha256:1") == b"second"
        keep("sha256:1", b"\0first\xff", NOON_US)
        assert give("sha256:1") == b"\0first\xff"
        with pytest.raises(StoreUnfit, match="sha256:2"):
            give("sha256:2")


def test_nothing_answers_in_a_book_until_something_is_deployed(registry: Registry) -> None:
    assert registry.deployed(Book("demo", Mode.LIVE)) is None


def test_the_newest_deployment_of_a_book_answers_in_it_alone(registry: Registry) -> None:
    registry.keep_model("sha256:m", b"model", NOON_US)
    registry.keep_policy("sha256:p", b"policy", NOON_US)
    registry.deploy(LIVE, "sha256:m", None, NOON_US)
    registry.deploy(LIVE, "sha256:m", "sha256:p", NOON_US)
    registry.deploy(Book("umoja", Mode.LIVE), None, None, NOON_US + 9)
    assert registry.deployed(LIVE) == ("sha256:m", "sha256:p")
    assert registry.deployed(Book("umoja", Mode.LIVE)) == (None, None)
    assert registry.deployed(Book("demo", Mode.TEST)) is None


def test_only_what_exists_is_deployed_and_what_does_not_is_named(registry: Registry) -> None:
    registry.keep_model("sha256:m", b"model", NOON_US)
    with pytest.raises(UnknownLender, match="nobody"):
        registry.deploy(Book("nobody", Mode.LIVE), None, None, NOON_US)
    with pytest.raises(StoreUnfit, match="sha256:other"):
        registry.deploy(LIVE, "sha256:other", None, NOON_US)
    with pytest.raises(StoreUnfit, match="sha256:p"):
        registry.deploy(LIVE, "sha256:m", "sha256:p", NOON_US)
    assert registry.deployed(LIVE) is None


def test_a_new_policy_leaves_the_model_of_a_book_as_it_is(registry: Registry) -> None:
    registry.keep_model("sha256:m", b"model", NOON_US)
    for policy_id in ("sha256:p", "sha256:q"):
        registry.keep_policy(policy_id, b"policy", NOON_US)
    registry.deploy_policy(LIVE, "sha256:p", Signed(NOON_US))
    assert registry.deployed(LIVE) == (None, "sha256:p")
    registry.deploy(LIVE, "sha256:m", "sha256:p", NOON_US)
    for chosen in ("sha256:q", None):
        registry.deploy_policy(LIVE, chosen, Signed(NOON_US))
        assert registry.deployed(LIVE) == ("sha256:m", chosen)
    assert [registry.deployed(book) for book in OTHER_BOOKS] == [None, None]


def test_a_policy_that_is_not_there_is_named_and_changes_nothing(registry: Registry) -> None:
    with pytest.raises(UnknownLender, match="nobody"):
        registry.deploy_policy(Book("nobody", Mode.TEST), None, Signed(NOON_US))
    with pytest.raises(StoreUnfit, match="sha256:p"):
        registry.deploy_policy(LIVE, "sha256:p", Signed(NOON_US))
    assert registry.deployments(LIVE) == []


def test_all_that_ever_answered_is_listed_oldest_first_with_who_signed_it(
    registry: Registry,
) -> None:
    registry.keep_model("sha256:m", b"model", NOON_US)
    registry.keep_policy("sha256:p", b"policy", NOON_US)
    signed = [
        Signed(NOON_US, "W. Mutua", "cut-off C 610, caf\u00e9 \u2713"),
        # The order is that of the deeds, not of the clock, which may have been set back.
        Signed(NOON_US - 5, "A. Njeri"),
        Signed(NOON_US + 5, None, "back to what it was"),
    ]
    registry.deploy_policy(LIVE, "sha256:p", signed[0])
    registry.deploy(LIVE, "sha256:m", "sha256:p", NOON_US + 1)
    registry.deploy_policy(LIVE, None, signed[1])
    registry.deploy_policy(LIVE, "sha256:p", signed[2])
    assert registry.deployments(LIVE) == [
        Deployment(None, "sha256:p", signed[0]),
        Deployment("sha256:m", "sha256:p", Signed(NOON_US + 1)),
        Deployment("sha256:m", None, signed[1]),
        Deployment("sha256:m", "sha256:p", signed[2]),
    ]
    assert [registry.deployments(book) for book in OTHER_BOOKS] == [[], []]


def test_a_model_and_a_policy_that_are_deployed_at_once_both_stay(
    registry: Registry, another_process: Registry
) -> None:
    policy_id, models = "sha256:p", [f"sha256:{number}" for number in range(25)]
    registry.keep_policy(policy_id, b"policy", NOON_US)
    for model_id in models:
        registry.keep_model(model_id, b"model", NOON_US)
    with ThreadPoolExecutor(2) as pool:
        for model_id in models:
            start = threading.Barrier(2)
            told = [
                pool.submit(_after, start, registry.deploy, LIVE, model_id, None, NOON_US),
                pool.submit(
                    _after, start, another_process.deploy_policy, LIVE, policy_id, Signed(NOON_US)
                ),
            ]
            for done in told:
                done.result()
            deployed = registry.deployed(LIVE)
            assert deployed is not None
            assert deployed[0] == model_id


def _after(start: threading.Barrier, do: Callable[..., None], *arguments: object) -> None:
    start.wait()
    do(*arguments)


def test_own_fields_are_kept_for_one_lender_and_the_newest_are_in_force(registry: Registry) -> None:
    assert registry.fields_in_force("demo") is None
    ids = []
    for number, text in enumerate((TEXT, without("branch"), TEXT)):
        ids.append(own_fields.read(text).id)
        signed = Signed(NOON_US + number, "W. Mutua", f"step {number}")
        registry.activate_fields("demo", ids[-1], text, signed)
        assert registry.fields_in_force("demo") == ids[-1]
        assert registry.fields("demo", ids[-1]) == text
    assert registry.fields_in_force("umoja") is None
    with pytest.raises(StoreUnfit, match=f"does not hold the fields {ids[0]} of umoja"):
        registry.fields("umoja", ids[0])
    steps = registry.field_activations("demo")
    assert [(step.fields_id, step.signed.note) for step in steps] == [
        (fields_id, f"step {number}") for number, fields_id in enumerate(ids)
    ]


def test_nobody_declares_fields_who_is_not_there(registry: Registry) -> None:
    with pytest.raises(UnknownLender):
        registry.activate_fields("nobody", the_three().id, TEXT, Signed(NOON_US, "W. Mutua"))


def test_the_first_pause_of_a_book_stands_until_it_ends(registry: Registry) -> None:
    first, second = Pause(NOON_US, "payments are down"), Pause(NOON_US + 1, "still down")
    assert registry.pause_of(LIVE) is None
    registry.pause(LIVE, first)
    registry.pause(LIVE, second)
    assert registry.pause_of(LIVE) == first
    assert registry.resume(LIVE) == first
    assert registry.pause_of(LIVE) is None
    assert registry.resume(LIVE) is None
    registry.pause(LIVE, second)
    assert registry.pause_of(LIVE) == second


def test_a_pause_begins_and_ends_in_one_book_alone(registry: Registry) -> None:
    pause = Pause(NOON_US, "payments are down")
    for book in (LIVE, *OTHER_BOOKS):
        assert registry.pause_of(book) is None
        registry.pause(book, pause)
    registry.resume(LIVE)
    assert registry.pause_of(LIVE) is None
    assert [registry.pause_of(book) for book in OTHER_BOOKS] == [pause, pause]


def test_nobody_can_be_paused_who_is_not_there(registry: Registry) -> None:
    nobody = Book("nobody", Mode.LIVE)
    with pytest.raises(UnknownLender, match="nobody"):
        registry.pause(nobody, Pause(NOON_US, "payments are down"))
    assert registry.pause_of(nobody) is None
    assert registry.resume(nobody) is None


def test_a_fact_is_settled_by_whoever_comes_first(database: Database) -> None:
    registry = Registry(database)
    assert registry.settle_fact("pepper", "one") == "one"
    assert registry.settle_fact("pepper", "other") == "one"
    assert registry.settle_fact("another", "other") == "other"


def test_a_database_that_is_well_reads_and_writes(database: Database) -> None:
    pulse: Pulse = Registry(database)
    for _ in range(2):
        pulse.ping()
        pulse.write_something()


MAY_ONLY_READ = {
    "sqlite": "PRAGMA query_only = ON",
    "postgresql": "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
}


def test_a_session_that_may_only_read_is_told_and_then_replaced(database: Database) -> None:
    pulse = Registry(database)
    with database.reading() as connection:
        connection.exec_driver_sql(MAY_ONLY_READ[connection.dialect.name])
    pulse.ping()
    with pytest.raises(StoreUnavailable):
        pulse.write_something()
    pulse.write_something()


def test_a_session_of_the_hot_path_that_may_only_read_is_replaced(database: Database) -> None:
    with database.driving() as cursor:
        cursor.execute(MAY_ONLY_READ[database.engine.dialect.name])
    with pytest.raises(StoreUnavailable), database.driving() as cursor:
        cursor.execute("DELETE FROM facts")
    with database.driving() as cursor:
        cursor.execute("DELETE FROM facts")


def test_scores_that_were_just_refused_outweigh_a_few_bytes_that_may_still_fit(
    database: Database,
) -> None:
    pulse = Registry(database)
    with pytest.raises(StoreUnavailable, match="as it should"), database.driving() as cursor:
        cursor.execute("INSERT INTO no_such_table VALUES (1)")
    with pytest.raises(StoreUnavailable, match="as it should"):
        pulse.write_something()
    with database.driving() as cursor:
        cursor.execute("DELETE FROM facts")
    pulse.write_something()


def test_scores_that_were_refused_long_ago_outweigh_nothing(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lenders_store, "REFUSAL_STANDS_S", 0.0)
    with pytest.raises(StoreUnavailable), database.driving() as cursor:
        cursor.execute("INSERT INTO no_such_table VALUES (1)")
    Registry(database).write_something()
