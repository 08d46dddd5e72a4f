"""Trees: one root for many items, and a proof for each of them alone."""

from hashlib import sha256

from hypothesis import assume, given
from hypothesis import strategies as st

from alama.core import chain
from alama.core.chain import Step

items = st.lists(st.binary(max_size=40), min_size=1, max_size=40)


def rfc_6962(leaves: list[bytes]) -> bytes:
    """The definition of section 2.1, word for word."""
    if len(leaves) == 1:
        return sha256(b"\x00" + leaves[0]).digest()
    half = 1 << (len(leaves) - 1).bit_length() - 1
    return sha256(b"\x01" + rfc_6962(leaves[:half]) + rfc_6962(leaves[half:])).digest()


# Of the reference implementation of Certificate Transparency.
KNOWN = [
    b"",
    b"\x00",
    b"\x10",
    b"\x20\x21",
    b"\x30\x31",
    b"\x40\x41\x42\x43",
    b"\x50\x51\x52\x53\x54\x55\x56\x57",
    b"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f",
]


def test_the_root_is_that_of_the_reference_implementation() -> None:
    known = "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"
    assert chain.root(KNOWN).hex() == known


@given(items)
def test_the_root_is_as_the_rfc_defines_it(leaves: list[bytes]) -> None:
    assert chain.root(leaves) == rfc_6962(leaves)


@given(items, st.data())
def test_every_item_leads_to_the_root(leaves: list[bytes], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(leaves) - 1))
    path = chain.path(leaves, index)
    assert chain.climb(leaves[index], path) == chain.root(leaves)


@given(items, st.binary(max_size=40), st.data())
def test_no_other_item_does(leaves: list[bytes], other: bytes, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(leaves) - 1))
    assume(other != leaves[index])
    path = chain.path(leaves, index)
    assert chain.climb(other, path) != chain.root(leaves)


@given(items, st.data())
def test_a_changed_path_leads_elsewhere(leaves: list[bytes], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(leaves) - 1))
    path = chain.path(leaves, index)
    assume(path)
    place = data.draw(st.integers(0, len(path) - 1))
    bit = data.draw(st.integers(0, 255))
    step = path[place]
    changed = (int.from_bytes(step.beside, "big") ^ 1 << bit).to_bytes(32, "big")
    for wrong in (
        [*path[:place], Step(changed, step.is_left), *path[place + 1 :]],
        [*path[:place], *path[place + 1 :]],
        [*path[:place], step, *path[place:]],
    ):
        assert chain.climb(leaves[index], wrong) != chain.root(leaves)


@given(items, st.data())
def test_a_neighbour_on_the_other_side_leads_elsewhere(
    leaves: list[bytes], data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, len(leaves) - 1))
    path = chain.path(leaves, index)
    assume(path)
    first, *others = path
    # Two equal items have equal neighbours, and then sides do not matter.
    assume(first.beside != sha256(b"\x00" + leaves[index]).digest())
    wrong = [Step(first.beside, not first.is_left), *others]
    assert chain.climb(leaves[index], wrong) != chain.root(leaves)
