"""Who is calling is asked once a second at most, and every change is seen within that second."""

import asyncio

import pytest

from alama.core import document
from alama.core.model import REFERENCE_INFLOW_MONTHLY
from alama.lenders import keys
from alama.lenders.keys import US_PER_DAY, US_PER_HOUR
from alama.lenders.records import Key, OnboardingIncomplete
from alama.lenders.store import Registry
from alama.platform.book import Book, Mode, Scope
from alama.platform.clock import Leap
from alama.platform.errors import (
    KeyExpired,
    KeyRefused,
    ModelUnavailable,
    ScopeMissing,
    StoreUnavailable,
)
from alama.platform.files.packaged import builtin
from alama.platform.timeouts import FRESH_US
from alama.scoring import directory as directories
from alama.scoring.directory import Caller, Directory
from tests.clocks import HandClock
from tests.entries import DEMO
from tests.factories import a_model
from tests.lending import early_key
from tests.stores import scores_in
from tests.vaults import vault_of

PEPPER = b"pepper" * 8
LIVE = Book("demo", Mode.LIVE)
MODEL = a_model()


class WatchedRegistry(Registry):
    """Counts how often it is asked for a key; it is away, or knows none, when it is told to."""

    asked = 0
    away = False
    lost = False

    def key_of(self, digest: bytes) -> Key | None:
        self.asked += 1
        if self.away:
            raise StoreUnavailable("away")
        return None if self.lost else super().key_of(digest)


@pytest.fixture
def watched(registry: Registry) -> WatchedRegistry:
    return WatchedRegistry(registry._database, registry._log)


@pytest.fixture
def directory(watched: WatchedRegistry, clock: HandClock, stopwatch: HandClock) -> Directory:
    scores, vault = scores_in(watched._database), vault_of(watched._database)
    return Directory(watched, scores, clock, stopwatch, PEPPER, lambda: MODEL, vault)


def calls(directory: Directory, text: str, times: int = 1) -> list[Caller]:
    async def together() -> list[Caller]:
        return await asyncio.gather(*[directory.caller(text) for _ in range(times)])

    return asyncio.run(together())


def test_a_key_is_looked_up_once_however_many_ask(
    directory: Directory, watched: WatchedRegistry, clock: HandClock
) -> None:
    text, key = keys.issue(watched, clock, PEPPER, DEMO)
    assert {caller.key.id for caller in calls(directory, text, times=20)} == {key.id}
    assert calls(directory, text)[0].book == DEMO
    assert watched.asked == 1


def test_a_typo_costs_no_look_up(directory: Directory, watched: WatchedRegistry) -> None:
    with pytest.raises(KeyRefused):
        calls(directory, "alama_test_" + "a" * 36)
    assert watched.asked == 0


def test_a_key_of_another_installation_is_refused(
    directory: Directory, watched: WatchedRegistry, clock: HandClock
) -> None:
    text, _ = keys.issue(watched, clock, b"another pepper" * 3, DEMO)
    with pytest.raises(KeyRefused):
        calls(directory, text)


def test_a_revoked_key_works_for_a_second_at_most(
    directory: Directory, watched: WatchedRegistry, clock: HandClock, stopwatch: HandClock
) -> None:
    text, key = keys.issue(watched, clock, PEPPER, DEMO)
    calls(directory, text)
    keys.revoke(watched, clock, key.id)
    stopwatch.now_us += FRESH_US
    for _ in range(2):
        with pytest.raises(KeyRefused, match="revoked"):
            calls(directory, text)


def test_a_clock_that_is_set_back_keeps_no_revoked_key_alive(
    directory: Directory, watched: WatchedRegistry, clock: HandClock, stopwatch: HandClock
) -> None:
    text, key = keys.issue(watched, clock, PEPPER, DEMO)
    calls(directory, text)
    keys.revoke(watched, clock, key.id)
    clock.now_us -= US_PER_HOUR
    stopwatch.now_us += FRESH_US
    with pytest.raises(KeyRefused, match="revoked"):
        calls(directory, text)


def test_a_clock_that_jumps_ahead_makes_nobody_ask_again(
    directory: Directory, watched: WatchedRegistry, clock: HandClock
) -> None:
    text, _ = keys.issue(watched, clock, PEPPER, DEMO)
    calls(directory, text)
    clock.now_us += US_PER_HOUR
    calls(directory, text)
    assert watched.asked == 1


def test_no_key_stays_in_memory_that_nobody_uses_any_more(
    directory: Directory, watched: WatchedRegistry, clock: HandClock, stopwatch: HandClock
) -> None:
    texts = [keys.issue(watched, clock, PEPPER, DEMO)[0] for _ in range(3)]
    for text in texts:
        calls(directory, text)
    assert list(directory._remembered) == texts
    stopwatch.now_us += FRESH_US
    calls(directory, texts[0])
    assert list(directory._remembered) == texts[:1]


def unknown_key() -> str:
    return keys._new_text(Mode.TEST)


def test_an_unknown_key_is_asked_for_once_a_second_at_most(
    directory: Directory, watched: WatchedRegistry, stopwatch: HandClock
) -> None:
    text = unknown_key()
    for _ in range(3):
        with pytest.raises(KeyRefused, match="not known here"):
            calls(directory, text)
    assert watched.asked == 1
    stopwatch.now_us += FRESH_US
    with pytest.raises(KeyRefused):
        calls(directory, text)
    assert watched.asked == 2


def test_of_many_unknown_keys_the_latest_are_remembered_and_no_more(
    directory: Directory, watched: WatchedRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directories, "_UNKNOWN_MAX", 3)
    texts = [unknown_key() for _ in range(5)]
    for text in [*texts, *texts[2:], *texts[:2]]:
        with pytest.raises(KeyRefused):
            calls(directory, text)
    assert watched.asked == 5 + 2
    assert len(directory._unknown_until_us) == 3


def test_a_key_that_becomes_known_is_accepted_within_a_second(
    directory: Directory, watched: WatchedRegistry, clock: HandClock, stopwatch: HandClock
) -> None:
    text, key = keys.issue(watched, clock, PEPPER, DEMO)
    watched.lost = True
    with pytest.raises(KeyRefused):
        calls(directory, text)
    watched.lost = False
    stopwatch.now_us += FRESH_US
    assert calls(directory, text)[0].key.id == key.id


def test_a_key_expires_in_its_microsecond_even_while_it_is_remembered(
    directory: Directory, watched: WatchedRegistry, clock: HandClock
) -> None:
    text, _ = keys.issue(watched, clock, PEPPER, DEMO, days=1)
    clock.now_us += US_PER_DAY - 1
    calls(directory, text)
    clock.now_us += 1
    with pytest.raises(KeyExpired):
        calls(directory, text)
    assert watched.asked == 1


def test_a_new_deployment_answers_within_a_second(
    directory: Directory, watched: WatchedRegistry, clock: HandClock, stopwatch: HandClock
) -> None:
    text, _ = early_key(watched, clock, PEPPER, LIVE)
    (caller,) = calls(directory, text)
    with pytest.raises(OnboardingIncomplete, match="no model has been trained"):
        caller.active_model()
    watched.keep_model(MODEL.id, document.encode(MODEL), clock())
    watched.deploy(LIVE, MODEL.id, None, clock())
    stopwatch.now_us += FRESH_US
    (caller,) = calls(directory, text)
    assert caller.active_model().model.model.id == MODEL.id


@pytest.mark.parametrize(
    ("damaged", "told"),
    [
        ("model", "not a model"),
        ("policy", "stored policy sha256:damaged was changed or is damaged"),
    ],
)
def test_a_key_is_recognised_though_what_answers_it_cannot_be_used(
    directory: Directory,
    watched: WatchedRegistry,
    clock: HandClock,
    stopwatch: HandClock,
    damaged: str,
    told: str,
) -> None:
    text, key = keys.issue(watched, clock, PEPPER, DEMO)
    watched.keep_model("sha256:damaged", b"{}", clock())
    watched.keep_policy("sha256:damaged", b"{}", clock())
    model_id = "sha256:damaged" if damaged == "model" else None
    policy_id = "sha256:damaged" if damaged == "policy" else None
    watched.deploy(DEMO, model_id, policy_id, clock())
    (caller,) = calls(directory, text)
    assert caller.key.id == key.id
    for _ in range(2):
        with pytest.raises(ModelUnavailable, match=f"cannot be used: .*{told}"):
            caller.active_model()
    watched.deploy(DEMO, None, None, clock())
    stopwatch.now_us += FRESH_US
    assert calls(directory, text)[0].active_model().model.model.id == MODEL.id


def test_a_model_under_the_id_of_another_is_never_served_and_one_in_memory_stays(
    directory: Directory, watched: WatchedRegistry, clock: HandClock, stopwatch: HandClock
) -> None:
    text, _ = keys.issue(watched, clock, PEPPER, DEMO)
    own, another = a_model(name="own"), a_model(name="another")
    watched.keep_model(own.id, document.encode(own), clock())
    watched.deploy(DEMO, own.id, None, clock())
    assert calls(directory, text)[0].active_model().model.model == own
    watched.keep_model(own.id, document.encode(another), clock())
    stopwatch.now_us += FRESH_US
    assert calls(directory, text)[0].active_model().model.model == own
    scores, vault = scores_in(watched._database), vault_of(watched._database)
    fresh = Directory(watched, scores, clock, stopwatch, PEPPER, lambda: MODEL, vault)
    ((book, error),) = fresh.warm()
    assert (book, own.id in str(error)) == (DEMO, True)
    assert "restore it from a backup" in str(error.hint)
    with pytest.raises(ModelUnavailable, match="is another one"):
        calls(fresh, text)[0].active_model()


def test_a_database_that_goes_away_between_key_and_model_is_no_verdict_on_the_model(
    directory: Directory,
    watched: WatchedRegistry,
    clock: HandClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def away(_: str) -> bytes:
        raise StoreUnavailable("away")

    text, _ = keys.issue(watched, clock, PEPPER, DEMO)
    watched.keep_model(MODEL.id, document.encode(MODEL), clock())
    watched.deploy(DEMO, MODEL.id, None, clock())
    monkeypatch.setattr(watched, "model", away)
    with pytest.raises(StoreUnavailable):
        calls(directory, text)


def test_what_answers_a_test_key_is_kept_for_replays(
    directory: Directory, watched: WatchedRegistry, clock: HandClock
) -> None:
    text, _ = keys.issue(watched, clock, PEPPER, DEMO)
    active = calls(directory, text)[0].active_model()
    assert watched.model(active.model.model.id) == document.encode(MODEL)
    assert watched.policy(active.policy.id)


@pytest.mark.parametrize("currency", sorted(REFERENCE_INFLOW_MONTHLY))
def test_whatever_a_lender_lends_in_the_builtin_model_answers(
    registry: Registry, clock: HandClock, stopwatch: HandClock, currency: str
) -> None:
    keys.add_lender(registry, clock, "umoja", "Umoja", currency)
    scores, vault = scores_in(registry._database), vault_of(registry._database)
    directory = Directory(registry, scores, clock, stopwatch, PEPPER, builtin, vault)
    active = directory.active_model(Book("umoja", Mode.TEST))
    assert active is not None
    assert active.policy.policy.currency == currency


def test_an_active_model_is_made_ready_once(
    directory: Directory, watched: WatchedRegistry, clock: HandClock, stopwatch: HandClock
) -> None:
    text, _ = keys.issue(watched, clock, PEPPER, DEMO)
    (first,) = calls(directory, text)
    stopwatch.now_us += FRESH_US
    (second,) = calls(directory, text)
    assert first.active_model().policy is second.active_model().policy


def test_a_warm_directory_has_what_answers_and_minds_no_book_without_it(
    directory: Directory, watched: WatchedRegistry, clock: HandClock
) -> None:
    watched.keep_model("sha256:damaged", b"{}", clock())
    watched.deploy(LIVE, "sha256:damaged", None, clock())
    ((book, error),) = directory.warm()
    assert book == LIVE
    assert "not a model" in str(error)
    assert watched.model(MODEL.id) == document.encode(MODEL)
    text, _ = keys.issue(watched, clock, PEPPER, DEMO)
    active = directory.active_model(DEMO)
    assert active is not None
    assert calls(directory, text)[0].active_model().policy is active.policy


def test_a_caller_does_what_its_scopes_allow_and_no_more(
    directory: Directory, watched: WatchedRegistry, clock: HandClock
) -> None:
    text, _ = keys.issue(watched, clock, PEPPER, DEMO, (Scope.READ,))
    (caller,) = calls(directory, text)
    caller.may(Scope.READ)
    with pytest.raises(ScopeMissing, match="scores:write"):
        caller.may(Scope.WRITE)


def test_a_database_that_is_away_is_no_verdict_on_the_key(
    directory: Directory, watched: WatchedRegistry, clock: HandClock
) -> None:
    text, _ = keys.issue(watched, clock, PEPPER, DEMO)
    watched.away = True
    with pytest.raises(StoreUnavailable):
        calls(directory, text)
    watched.away = False
    assert calls(directory, text)[0].book == DEMO


@pytest.mark.parametrize("broken", [True, False], ids=["given back", "written down"])
def test_use_of_keys_is_told_once_unless_it_is_given_back(
    directory: Directory, watched: WatchedRegistry, clock: HandClock, *, broken: bool
) -> None:
    text, key = keys.issue(watched, clock, PEPPER, DEMO)
    calls(directory, text)
    used = directory.take_key_use()
    assert used == {key.id: clock.now_us}
    if broken:
        directory.give_back_key_use(used)
    assert directory.take_key_use() == (used if broken else {})


def test_newer_use_stands_when_older_is_given_back(
    directory: Directory, watched: WatchedRegistry, clock: HandClock
) -> None:
    text, key = keys.issue(watched, clock, PEPPER, DEMO)
    calls(directory, text)
    used = directory.take_key_use()
    clock.now_us += 5
    calls(directory, text)
    directory.give_back_key_use(used)
    assert directory.take_key_use() == {key.id: clock.now_us}


@pytest.mark.parametrize("ahead_us", [0, 8 * 365 * 86_400 * 1_000_000])
def test_a_key_expires_by_the_time_that_is_trusted(
    directory: Directory, registry: Registry, clock: HandClock, ahead_us: int
) -> None:
    text, _ = keys.issue(registry, clock, PEPPER, DEMO, days=1)
    clock.now_us += ahead_us
    clock.leap = Leap(ahead_us)
    assert asyncio.run(directory.caller(text)).book == DEMO
    clock.now_us += 86_400 * 1_000_000
    with pytest.raises(KeyExpired):
        asyncio.run(directory.caller(text))
