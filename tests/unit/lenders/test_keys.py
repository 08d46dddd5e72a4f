"""Keys: known by their form, refused when mistyped, kept only as a keyed hash."""

import re
import string

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from alama.lenders import keys
from alama.lenders.keys import US_PER_DAY, US_PER_SECOND
from alama.lenders.records import Key, OnboardingIncomplete, UnknownKey, UnknownLender
from alama.lenders.store import Registry
from alama.platform.book import USUAL_SCOPES, Book, Mode, Scope
from alama.platform.clock import Leap
from alama.platform.errors import ClockLeapt, InvalidName, KeyRefused
from tests.clocks import HandClock
from tests.entries import DEMO, LIVE, NOON_US
from tests.lending import open_live

PEPPER = b"pepper" * 8
BASE62 = string.digits + string.ascii_letters
HOUR_US = 3_600 * 1_000_000

texts = st.builds(keys._new_text, st.sampled_from(Mode))


def refused(text: str) -> bool:
    try:
        keys.check(text)
    except KeyRefused:
        return True
    return False


# ------------------------------------------------------------------------------------- the text


@given(texts)
def test_a_key_has_the_form_that_secret_scanners_look_for(text: str) -> None:
    assert re.fullmatch(r"alama_(test|live)_[0-9A-Za-z]{36}", text)
    assert not refused(text)


def test_no_two_keys_are_alike() -> None:
    assert len({keys._new_text(Mode.TEST) for _ in range(1_000)}) == 1_000


@given(texts, st.integers(0, 46), st.sampled_from(BASE62 + "_- \n"))
def test_any_mistyped_character_is_noticed(text: str, place: int, typed: str) -> None:
    assume(text[place] != typed)
    assert refused(text[:place] + typed + text[place + 1 :])


@given(texts, st.integers(0, 45))
def test_any_two_neighbours_in_the_wrong_order_are_noticed(text: str, place: int) -> None:
    first, second = text[place], text[place + 1]
    assume(first != second)
    assert refused(text[:place] + second + first + text[place + 2 :])


@given(texts, st.integers(0, 46))
def test_a_lost_or_doubled_character_is_noticed(text: str, place: int) -> None:
    assert refused(text[:place] + text[place + 1 :])
    assert refused(text[:place] + text[place] + text[place:])


def test_a_test_key_does_not_become_a_live_one_by_its_name() -> None:
    assert refused(keys._new_text(Mode.TEST).replace("test", "live"))


@given(st.text().map(lambda text: f"Zq7{text}"))
def test_what_is_no_key_is_refused_and_never_repeated(text: str) -> None:
    with pytest.raises(KeyRefused) as caught:
        keys.check(text)
    assert text not in repr(caught.value) + str(caught.value) + str(caught.value.hint)


def test_a_mistyped_key_is_never_repeated() -> None:
    text = keys._new_text(Mode.LIVE)[:-1] + "!"
    with pytest.raises(KeyRefused) as caught:
        keys.check(text)
    assert text[11:] not in repr(caught.value) + str(caught.value) + str(caught.value.hint)


# ------------------------------------------------------------------------------------- the hash


@given(texts, st.binary(min_size=32), st.binary(min_size=32))
def test_the_hash_is_worth_nothing_without_the_pepper(
    text: str, pepper: bytes, other: bytes
) -> None:
    assume(pepper.rstrip(b"\0") != other.rstrip(b"\0"))  # HMAC fills short secrets with zeros
    assert keys.digest(pepper, text) == keys.digest(pepper, text)
    assert keys.digest(pepper, text) != keys.digest(other, text)
    assert keys.fingerprint(pepper) != keys.fingerprint(other)


def test_a_fingerprint_does_not_show_the_pepper() -> None:
    assert PEPPER.hex() not in keys.fingerprint(PEPPER)
    assert PEPPER.decode() not in keys.fingerprint(PEPPER)


# ------------------------------------------------------------------------------------- their life


def test_nothing_that_is_kept_of_a_key_shows_it(registry: Registry, clock: HandClock) -> None:
    text, key = keys.issue(registry, clock, PEPPER, DEMO)
    kept = registry.key(key.id)
    assert kept == key
    assert text.endswith(kept.hint)
    assert len(kept.hint) == 4
    assert text[11:-4] not in repr(kept)


def test_a_key_has_all_scopes_and_no_end_unless_it_is_told(
    registry: Registry, clock: HandClock
) -> None:
    _, key = keys.issue(registry, clock, PEPPER, DEMO)
    assert set(key.scopes) == set(USUAL_SCOPES)
    assert key.expires_us is None
    _, key = keys.issue(registry, clock, PEPPER, DEMO, (Scope.READ, Scope.READ), days=2)
    assert key.scopes == (Scope.READ,)
    assert key.expires_us == NOON_US + 2 * US_PER_DAY


def test_a_key_opens_one_book(registry: Registry, clock: HandClock) -> None:
    open_live(registry, LIVE)
    text, key = keys.issue(registry, clock, PEPPER, LIVE)
    assert text.startswith("alama_live_")
    assert key.book == LIVE


def test_a_live_key_that_nothing_would_answer_is_not_issued(
    registry: Registry, clock: HandClock
) -> None:
    with pytest.raises(OnboardingIncomplete, match="no model has been trained"):
        keys.issue(registry, clock, PEPPER, LIVE)
    assert registry.keys() == []


def test_a_key_needs_a_lender_and_a_day(registry: Registry, clock: HandClock) -> None:
    with pytest.raises(UnknownLender):
        keys.issue(registry, clock, PEPPER, Book("nobody", Mode.TEST))
    with pytest.raises(InvalidName):
        keys.issue(registry, clock, PEPPER, DEMO, days=0)
    assert registry.keys() == []


def test_rotation_gives_a_key_like_the_old_one_which_ends_after_the_overlap(
    registry: Registry, clock: HandClock
) -> None:
    text, old = keys.issue(registry, clock, PEPPER, DEMO, (Scope.READ,))
    new_text, new = keys.rotate(registry, clock, PEPPER, old.id, keys.Successor(24))
    assert new_text != text
    assert (new.book, new.scopes) == (old.book, old.scopes)
    assert registry.key(old.id).expires_us == NOON_US + 24 * HOUR_US


class TakesNoNewKey(Registry):
    """A registry that lets the old key end, and then not the new one in."""

    def replace_key(self, old_id: str, expires_us: int, new: Key, by: str | None = None) -> None:
        nobodys = msgspec.structs.replace(new, lender="nobody")
        super().replace_key(old_id, expires_us, nobodys, by)


def test_a_rotation_that_fails_leaves_everything_as_it_was(
    registry: Registry, clock: HandClock
) -> None:
    _, old = keys.issue(registry, clock, PEPPER, DEMO)
    takes_none = TakesNoNewKey(registry._database, registry._log)
    with pytest.raises(UnknownLender):
        keys.rotate(takes_none, clock, PEPPER, old.id, keys.Successor(1))
    assert registry.keys() == [old]


def test_rotation_never_makes_a_key_live_longer(registry: Registry, clock: HandClock) -> None:
    _, old = keys.issue(registry, clock, PEPPER, DEMO, days=1)
    keys.rotate(registry, clock, PEPPER, old.id, keys.Successor(48))
    assert registry.key(old.id).expires_us == old.expires_us


def test_a_key_that_ends_is_followed_by_one_that_lives_as_long(
    registry: Registry, clock: HandClock
) -> None:
    _, old = keys.issue(registry, clock, PEPPER, DEMO, days=90)
    _, new = keys.rotate(registry, clock, PEPPER, old.id, keys.Successor(0))
    assert new.expires_us == NOON_US + 90 * US_PER_DAY


def test_a_key_in_its_overlap_is_rotated_into_one_that_lives_in_full(
    registry: Registry, clock: HandClock
) -> None:
    _, old = keys.issue(registry, clock, PEPPER, DEMO)
    keys.rotate(registry, clock, PEPPER, old.id, keys.Successor(1))
    _, again = keys.rotate(registry, clock, PEPPER, old.id, keys.Successor(1))
    assert again.expires_us is None


@pytest.mark.parametrize("hours", [-1, 24 * 90 + 1])
def test_an_overlap_lasts_from_nothing_to_90_days(
    registry: Registry, clock: HandClock, hours: int
) -> None:
    _, key = keys.issue(registry, clock, PEPPER, DEMO)
    with pytest.raises(InvalidName, match="hours"):
        keys.rotate(registry, clock, PEPPER, key.id, keys.Successor(hours))
    assert registry.keys() == [key]


def test_a_revoked_key_cannot_be_rotated_back_to_life(registry: Registry, clock: HandClock) -> None:
    _, key = keys.issue(registry, clock, PEPPER, DEMO)
    keys.revoke(registry, clock, key.id)
    with pytest.raises(InvalidName, match="revoked"):
        keys.rotate(registry, clock, PEPPER, key.id, keys.Successor(24))


def test_only_a_key_that_exists_can_be_revoked(registry: Registry, clock: HandClock) -> None:
    with pytest.raises(UnknownKey):
        keys.revoke(registry, clock, "key_" + "0" * 16)


def test_a_key_given_in_place_of_its_id_is_never_repeated(
    registry: Registry, clock: HandClock
) -> None:
    text, _ = keys.issue(registry, clock, PEPPER, DEMO)
    with pytest.raises(InvalidName) as caught:
        keys.revoke(registry, clock, text)
    assert text[11:-4] not in repr(caught.value) + str(caught.value.hint)


def test_no_key_that_is_to_end_is_made_in_a_leap(registry: Registry) -> None:
    clock = HandClock()
    _, ends = keys.issue(registry, clock, PEPPER, DEMO, days=2)
    clock.leap = Leap(3_600 * US_PER_SECOND)
    with pytest.raises(ClockLeapt, match="no key was made"):
        keys.issue(registry, clock, PEPPER, DEMO, days=2)
    with pytest.raises(ClockLeapt, match="no key was made"):
        keys.rotate(registry, clock, PEPPER, ends.id, keys.Successor(0))
    keys.issue(registry, clock, PEPPER, DEMO)
    assert len(registry.keys()) == 2
