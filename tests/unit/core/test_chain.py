"""Chains: what follows from what, and that no bit of an entry can be changed unseen."""

import hashlib
import hmac

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from alama.core import chain
from alama.core.chain import SALT_BYTES, Head, Link, Named, UnreadableBody, digest

AT_US = 1_794_744_000_000_000


class KeyedHash:
    """Signs as a key does; whoever has it can verify."""

    id = "vk_1"

    def sign(self, message: bytes) -> bytes:
        return hmac.digest(b"key", message, "sha512")

    def verifies(self, signer: str, signature: bytes, message: bytes) -> bool:
        return signer == self.id and hmac.compare_digest(signature, self.sign(message))


KEY = KeyedHash()

words = st.text(max_size=12)
names = st.builds(
    Named, words, words, words, st.none() | words, st.binary(min_size=32, max_size=32)
)
commits = st.lists(st.lists(names, min_size=1, max_size=5), min_size=1, max_size=5)


def a_chain(named: list[list[Named]]) -> list[Link]:
    """A chain of commits, with an act between them."""
    links: list[Link] = []
    head = chain.start("writer")
    for number, commit in enumerate(named):
        links.append(chain.follow_with_scores(head, AT_US + number, commit, KEY))
        links.append(chain.follow(links[-1].head, AT_US, "act", b"what was done", KEY))
        head = links[-1].head
    return links


def faults(links: list[Link]) -> list[str]:
    found = []
    head = chain.start("writer")
    for link in links:
        found += chain.faults(link, head, KEY)
        head = link.head
    return found


@given(commits)
def test_a_chain_that_nobody_touched_has_no_fault(named: list[list[Named]]) -> None:
    links = a_chain(named)
    assert faults(links) == []
    assert [link.number for link in links] == list(range(1, len(links) + 1))


@given(commits)
def test_an_entry_names_its_scores_and_has_a_leaf_for_each(named: list[list[Named]]) -> None:
    for link, commit in zip(a_chain(named)[::2], named, strict=True):
        assert chain.names(link.body) == commit
        leaves = chain.leaves(link.kind, link.body)
        for index, leaf in enumerate(leaves):
            assert link.header.root == chain.climb(leaf, chain.path(leaves, index))
        assert len(leaves) == len(commit)


@given(commits)
def test_scores_make_the_entry_that_their_body_makes(named: list[list[Named]]) -> None:
    for link in a_chain(named):
        before = Head(link.writer, link.number - 1, link.previous_hash)
        assert chain.follow(before, link.created_us, link.kind, link.body, KEY) == link


@given(commits, st.data())
def test_a_changed_bit_of_any_column_is_a_fault(
    named: list[list[Named]], data: st.DataObject
) -> None:
    links = a_chain(named)
    place = data.draw(st.integers(0, len(links) - 1))
    column = data.draw(st.sampled_from(Link._fields))
    links[place] = flipped(links[place], column, data)
    assert faults(links)


def flipped(link: Link, column: str, data: st.DataObject) -> Link:
    value = getattr(link, column)
    if isinstance(value, int):
        return replaced(link, column, value ^ 1 << data.draw(st.integers(0, 62)))
    raw = value.encode() if isinstance(value, str) else value
    bit = data.draw(st.integers(0, 8 * len(raw) - 1))
    changed = (int.from_bytes(raw, "big") ^ 1 << bit).to_bytes(len(raw), "big")
    as_it_was = changed.decode("utf-8", "replace") if isinstance(value, str) else changed
    return replaced(link, column, as_it_was)


def replaced(link: Link, column: str, value: object) -> Link:
    return Link._make(value if name == column else old for name, old in link._asdict().items())


@given(commits, st.data())
def test_an_entry_that_is_gone_is_a_fault(named: list[list[Named]], data: st.DataObject) -> None:
    links = a_chain(named)
    del links[data.draw(st.integers(0, len(links) - 2))]
    (first, *_) = faults(links)
    assert "is missing" in first


@given(commits, st.data())
def test_entries_that_changed_places_are_a_fault(
    named: list[list[Named]], data: st.DataObject
) -> None:
    links = a_chain(named)
    place = data.draw(st.integers(0, len(links) - 2))
    links[place : place + 2] = reversed(links[place : place + 2])
    assert faults(links)


@given(commits)
def test_an_entry_of_another_chain_does_not_fit(named: list[list[Named]]) -> None:
    links = a_chain(named)
    other = chain.follow(chain.start("another"), AT_US, "act", b"what was done", KEY)
    links[0] = other._replace(writer="writer")
    assert faults(links)


def test_a_signature_by_nobody_known_is_a_fault_and_names_whom_it_claims() -> None:
    (link, _) = a_chain([[Named("demo", "test", "req_1", None, bytes(32))]])
    (fault,) = chain.faults(link._replace(signer="vk_9"), chain.start("writer"), KEY)
    assert "vk_9" in fault


def test_a_gap_is_told_by_its_numbers() -> None:
    links = a_chain([[Named("demo", "test", "req_1", None, bytes(32))]] * 3)
    assert chain.faults(links[1], chain.start("writer"), KEY) == ["entry 1 before it is missing"]
    assert chain.faults(links[4], links[0].head, KEY) == ["entries 2 to 4 before it are missing"]


def test_the_numbers_of_a_chain_go_up() -> None:
    links = a_chain([[Named("demo", "test", "req_1", None, bytes(32))]] * 3)
    (fault,) = chain.faults(links[2], links[4].head, KEY)
    assert fault == "its number is 3, and that of the entry before it is 5"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x90",  # no score at all
        b"\xdc\x00\x01\x94\xa1a\xa1b\xa1c\xc4\x00",  # the length of the list, written too long
        b"\x91\x94\xa1a\xa1b\xa1c",
        b"\x91\x94\xa1\xff\xa1b\xa1c\xc4\x00",
        b"\x91\x01",
    ],
)
def test_there_is_one_way_to_name_scores(body: bytes) -> None:
    with pytest.raises(UnreadableBody):
        chain.names(body)


def test_the_hash_is_the_documented_one() -> None:
    """docs/audit.md promises that anybody can compute it; once published it stays as it is."""
    link = chain.follow(chain.start("main"), AT_US, "paused", b"body", KEY)
    parts = [
        b"alama audit 1",
        bytes(32),
        b"main",
        (1).to_bytes(8, "big"),
        AT_US.to_bytes(8, "big"),
        b"paused",
        hashlib.sha256(b"\x00body").digest(),
    ]
    whole = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    assert link.hash == hashlib.sha256(whole).digest()


columns = st.lists(st.one_of(words, st.integers(0, 2**40), st.floats(allow_nan=False)), max_size=6)


salts = st.binary(min_size=SALT_BYTES, max_size=SALT_BYTES)


@given(salts, salts, columns, columns, st.binary())
def test_a_digest_covers_salt_columns_and_record(
    salt: bytes,
    other_salt: bytes,
    some: list[str | int | float],
    others: list[str | int | float],
    record: bytes,
) -> None:
    made = digest(salt, tuple(some), record)
    assert made == digest(salt, tuple(some), record)
    assume(salt != other_salt)
    assert made != digest(other_salt, tuple(some), record)
    assert made != digest(salt, tuple(some), record + b"\x00")
    assume(repr(some) != repr(others))
    assert made != digest(salt, tuple(others), record)
