"""What is sealed opens in its place, under its key, if no bit of it has changed; and only then."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import assume, given
from hypothesis import strategies as st

from alama.platform.book import Mode
from alama.vault import envelope
from alama.vault.envelope import RECORD, REPLY, NotOpened, place

KEY, OTHER, NEW = (AESGCM(bytes([seed]) * 32) for seed in (1, 2, 3))
Work = Callable[[AESGCM, bytes, bytes], bytes]


class Way(NamedTuple):
    """A way to seal: under a key itself, or under one of its own that the key wraps."""

    seal: Work
    open: Work


def seal_alone(key: AESGCM, text: bytes, where: bytes) -> bytes:
    return envelope.own_key(key, where).seal(text, where)


WAYS = st.sampled_from(
    [
        Way(envelope.seal, envelope.open_sealed),
        Way(seal_alone, envelope.open_alone),
    ]
)
TEXTS = st.binary(max_size=300)
PLACES = st.builds(
    place,
    st.from_regex(r"[a-z][a-z0-9-]{0,39}", fullmatch=True),
    st.sampled_from([mode.value for mode in Mode]),
    st.from_regex(r"req_[0-9a-f]{28}", fullmatch=True),
    st.sampled_from([RECORD, REPLY]),
)


def flipped(sealed: bytes, bit: int) -> bytes:
    changed = bytearray(sealed)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


@given(WAYS, TEXTS, PLACES)
def test_what_is_sealed_opens(way: Way, text: bytes, where: bytes) -> None:
    assert way.open(KEY, way.seal(KEY, text, where), where) == text


@given(WAYS, TEXTS, PLACES)
def test_the_same_text_is_never_sealed_alike(way: Way, text: bytes, where: bytes) -> None:
    assert way.seal(KEY, text, where) != way.seal(KEY, text, where)


@given(WAYS, TEXTS, PLACES, st.data())
def test_with_any_bit_flipped_it_does_not_open(
    way: Way, text: bytes, where: bytes, data: st.DataObject
) -> None:
    sealed = way.seal(KEY, text, where)
    bit = data.draw(st.integers(0, 8 * len(sealed) - 1))
    with pytest.raises(NotOpened):
        way.open(KEY, flipped(sealed, bit), where)


@pytest.mark.parametrize("way", [Way(seal_alone, envelope.open_alone)])
def test_no_bit_at_all_may_be_another(way: Way) -> None:
    where = place("demo", "test", "req_" + "0" * 28, RECORD)
    sealed = way.seal(KEY, b"what was sent", where)
    for bit in range(8 * len(sealed)):
        with pytest.raises(NotOpened):
            way.open(KEY, flipped(sealed, bit), where)


@given(WAYS, TEXTS, PLACES, st.data())
def test_cut_or_lengthened_it_does_not_open(
    way: Way, text: bytes, where: bytes, data: st.DataObject
) -> None:
    sealed = way.seal(KEY, text, where)
    end = data.draw(st.integers(0, len(sealed) - 1))
    for changed in (sealed[:end], sealed + b"\x00"):
        with pytest.raises(NotOpened):
            way.open(KEY, changed, where)


@given(WAYS, TEXTS, PLACES, PLACES)
def test_moved_to_another_row_it_does_not_open(
    way: Way, text: bytes, where: bytes, elsewhere: bytes
) -> None:
    assume(where != elsewhere)
    with pytest.raises(NotOpened):
        way.open(KEY, way.seal(KEY, text, where), elsewhere)


@given(WAYS, TEXTS, PLACES)
def test_another_key_does_not_open_it(way: Way, text: bytes, where: bytes) -> None:
    with pytest.raises(NotOpened):
        way.open(OTHER, way.seal(KEY, text, where), where)


@given(TEXTS, TEXTS, PLACES)
def test_the_front_of_one_does_not_open_the_rest_of_another(
    text: bytes, other: bytes, where: bytes
) -> None:
    front = seal_alone(KEY, text, where)[: envelope.WRAPPED_BYTES]
    rest = seal_alone(KEY, other, where)[envelope.WRAPPED_BYTES :]
    with pytest.raises(NotOpened):
        envelope.open_alone(KEY, front + rest, where)


@given(TEXTS, PLACES)
def test_handed_over_it_opens_under_the_new_key_alone(text: bytes, where: bytes) -> None:
    sealed = seal_alone(KEY, text, where)
    moved = envelope.rewrap_alone(KEY, NEW, sealed, where)
    assert envelope.open_alone(NEW, moved, where) == text
    assert moved[envelope.WRAPPED_BYTES :] == sealed[envelope.WRAPPED_BYTES :]
    with pytest.raises(NotOpened):
        envelope.open_alone(KEY, moved, where)
    with pytest.raises(NotOpened):
        envelope.rewrap_alone(OTHER, NEW, sealed, where)
