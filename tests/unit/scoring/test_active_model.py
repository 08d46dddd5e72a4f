"""A new policy, a pause, an endpoint and the bound of a day reach callers within the second."""

import asyncio

import pytest

from alama.core import document
from alama.core.lending import draft
from alama.core.lending.policy import Policy, Rule
from alama.lenders import keys
from alama.lenders.keys import US_PER_HOUR
from alama.lenders.records import OnboardingIncomplete, Signed
from alama.lenders.store import Registry
from alama.onboarding.approval import LiveKeys
from alama.platform.book import Book, Mode
from alama.platform.timeouts import FRESH_US
from alama.policies import policies
from alama.scoring.directory import ActiveModel, Directory
from tests.clocks import HandClock
from tests.entries import DEMO, an_entry
from tests.factories import a_model
from tests.lending import early_key
from tests.onboarded import OTHER_MODEL, House, a_pilot, stores_in
from tests.policies import with_parts
from tests.stores import scores_in
from tests.vaults import vault_of

PEPPER = b"pepper" * 8
LIVE = Book("demo", Mode.LIVE)
MODEL = a_model()
BOUNDED = with_parts(
    draft.default_policy("KES"), daily={"volume_max": 100.0, "utc_offset_hours": 3}
)


@pytest.fixture
def directory(registry: Registry, clock: HandClock, stopwatch: HandClock) -> Directory:
    scores, vault = scores_in(registry._database), vault_of(registry._database)
    return Directory(registry, scores, clock, stopwatch, PEPPER, lambda: MODEL, vault)


def asked(directory: Directory, text: str) -> ActiveModel:
    """What answers a caller who comes with this key now."""
    return asyncio.run(directory.caller(text)).active_model()


def activate(registry: Registry, book: Book, policy: Policy, at_us: int) -> None:
    text = draft.write(policy).encode()
    policies.activate(registry, book, text, Signed(at_us), lambda: MODEL)


def test_a_new_policy_answers_within_a_second_and_not_before(
    directory: Directory, registry: Registry, clock: HandClock, stopwatch: HandClock
) -> None:
    text, _ = keys.issue(registry, clock, PEPPER, DEMO)
    default_id = asked(directory, text).policy.id
    activate(registry, DEMO, BOUNDED, clock())
    stopwatch.now_us += FRESH_US - 1
    assert asked(directory, text).policy.id == default_id
    stopwatch.now_us += 1
    assert asked(directory, text).policy.id == BOUNDED.id
    policies.reactivate(registry, DEMO, policies.DEFAULT, Signed(clock()), lambda: MODEL)
    stopwatch.now_us += FRESH_US
    assert asked(directory, text).policy.id == default_id


def test_a_policy_does_not_open_a_live_book_that_has_no_model(
    directory: Directory, registry: Registry, clock: HandClock, stopwatch: HandClock
) -> None:
    text, _ = early_key(registry, clock, PEPPER, LIVE)
    activate(registry, LIVE, BOUNDED, clock())
    with pytest.raises(OnboardingIncomplete):
        asked(directory, text)
    registry.keep_model(MODEL.id, document.encode(MODEL), clock())
    registry.deploy(LIVE, MODEL.id, BOUNDED.id, clock())
    stopwatch.now_us += FRESH_US
    assert asked(directory, text).policy.id == BOUNDED.id


def test_a_pause_and_its_end_reach_every_key_of_the_book_within_a_second(
    directory: Directory, registry: Registry, clock: HandClock, stopwatch: HandClock
) -> None:
    texts = [keys.issue(registry, clock, PEPPER, DEMO)[0] for _ in range(2)]
    for text in texts:
        assert asked(directory, text).holds == ()
    policies.pause(registry, clock, DEMO, "payments are down")
    for expected in ((Rule.PAUSED,), ()):
        stopwatch.now_us += FRESH_US
        for text in texts:
            assert asked(directory, text).holds == expected
        registry.resume(DEMO)


def test_a_pause_of_one_book_is_not_felt_in_another(
    directory: Directory, registry: Registry, clock: HandClock
) -> None:
    policies.pause(registry, clock, LIVE, "payments are down")
    text, _ = keys.issue(registry, clock, PEPPER, DEMO)
    assert asked(directory, text).holds == ()


def test_the_bound_of_a_day_is_felt_within_a_second_and_ends_with_the_day(
    directory: Directory, registry: Registry, clock: HandClock, stopwatch: HandClock
) -> None:
    text, _ = keys.issue(registry, clock, PEPPER, DEMO)
    activate(registry, DEMO, BOUNDED, clock())
    assert asked(directory, text).holds == ()
    scores_in(registry._database).commit([an_entry(at_us=clock(), limit=100.0)])
    stopwatch.now_us += FRESH_US
    assert asked(directory, text).holds == (Rule.DAILY_VOLUME,)
    # It is noon of UTC, and three in the afternoon where the lender is.
    for passed_us, expected in ((9 * US_PER_HOUR - 1, (Rule.DAILY_VOLUME,)), (1, ())):
        clock.now_us += passed_us
        stopwatch.now_us += FRESH_US
        assert asked(directory, text).holds == expected


def test_holds_are_felt_though_the_model_was_made_ready_long_ago(
    directory: Directory, registry: Registry, clock: HandClock
) -> None:
    assert directory.warm() == []
    policies.pause(registry, clock, DEMO, "payments are down")
    active = directory.active_model(DEMO)
    assert active is not None
    assert active.holds == (Rule.PAUSED,)


def test_a_book_in_shadow_is_answered_by_the_built_in_model_and_left_to_a_person(
    directory: Directory, registry: Registry, clock: HandClock, stopwatch: HandClock
) -> None:
    stores = stores_in(registry._database)
    stores.pilots.set(a_pilot())
    text, _ = LiveKeys(stores, clock, PEPPER).issue_shadow("demo", "W. Mutua")
    active = asked(directory, text)
    assert (active.model.model.id, active.holds) == (MODEL.id, (Rule.SHADOW,))
    policies.pause(registry, clock, LIVE, "payments are down")
    stopwatch.now_us += FRESH_US
    assert asked(directory, text).holds == (Rule.SHADOW, Rule.PAUSED)
    registry.resume(LIVE)
    test_key, _ = keys.issue(registry, clock, PEPPER, DEMO)
    assert asked(directory, test_key).holds == ()


def test_a_shadow_ends_within_a_second_of_the_approval(
    directory: Directory, registry: Registry, clock: HandClock, stopwatch: HandClock
) -> None:
    stores = stores_in(registry._database)
    stores.pilots.set(a_pilot())
    text, _ = LiveKeys(stores, clock, PEPPER).issue_shadow("demo", "W. Mutua")
    house = House(registry._database)
    house.signed(house.trained(model=OTHER_MODEL), "A. Njeri")
    stopwatch.now_us += FRESH_US
    active = asked(directory, text)
    assert (active.model.model.id, active.holds) == (OTHER_MODEL.id, ())


def test_the_built_in_model_is_left_to_a_person_even_after_another_key_saw_the_approval(
    directory: Directory, registry: Registry, clock: HandClock, stopwatch: HandClock
) -> None:
    stores = stores_in(registry._database)
    stores.pilots.set(a_pilot())
    issue = LiveKeys(stores, clock, PEPPER).issue_shadow
    early, late = (issue("demo", "W. Mutua")[0] for _ in range(2))
    asked(directory, early)
    house = House(registry._database)
    house.signed(house.trained(model=OTHER_MODEL), "A. Njeri")
    stopwatch.now_us += FRESH_US - 1
    assert (asked(directory, late).model.model.id, asked(directory, late).holds) == (
        OTHER_MODEL.id,
        (),
    )
    still = asked(directory, early)  # remembered from before the approval
    assert (still.model.model.id, still.holds) == (MODEL.id, (Rule.SHADOW,))
