"""Chains of the audit: what each entry covers, and what is wrong where one was touched.

Every process that writes has a chain of its own, so that none waits for another; acts of
administration share the chain `main`. An entry carries the hash of the one before it. Its own hash
covers that, its place, its time, its kind and the Merkle root of its body; the signature covers the
hash. An entry of scores has a leaf for each score, so that one score is proved without showing the
others; every other entry has one leaf, its body.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


_LEAF: Final = b"\x00"
_NODE: Final = b"\x01"


def root(items: Sequence[bytes]) -> bytes:
    """The hash of all items, of which there is one at least."""
    assert items
    level = _leaves(items)
    while len(level) > 1:
        level = _above(level)
    return level[0]


class Step(NamedTuple):
    """One level of the path from an item to the root: what stands beside, and on which side."""

    beside: bytes
    is_left: bool


def path(items: Sequence[bytes], index: int) -> tuple[Step, ...]:
    """What it takes to get from one item to the root, from the leaf upwards.

    Sides instead of the place and the number of items: another number can lead the same way, and
    nobody would notice that it was changed.
    """
    steps = []
    level, at = _leaves(items), index
    while len(level) > 1:
        beside = at ^ 1
        if beside < len(level):
            steps.append(Step(level[beside], is_left=beside < at))
        level, at = _above(level), at // 2
    return tuple(steps)


def climb(item: bytes, path: Sequence[Step]) -> bytes:
    """The root to which a path leads from an item."""
    found = sha256(_LEAF + item).digest()
    for beside, is_left in path:
        found = _node(beside, found) if is_left else _node(found, beside)
    return found


def _leaves(items: Sequence[bytes]) -> list[bytes]:
    return [sha256(_LEAF + item).digest() for item in items]


def _above(level: Sequence[bytes]) -> list[bytes]:
    pairs = zip(level[::2], level[1::2], strict=False)
    above = [sha256(_NODE + left + right).digest() for left, right in pairs]
    return [*above, level[-1]] if len(level) % 2 else above


def _node(left: bytes, right: bytes) -> bytes:
    return sha256(_NODE + left + right).digest()


MAIN: Final = "main"
"""The chain of administrative acts."""

SCORES: Final = "scores"
"""The kind of an entry that names the scores of one commit."""

GENESIS: Final = bytes(32)
"""What stands for the hash before the first."""

_LABEL: Final = b"alama audit 1"
_NUMBER_BYTES: Final = 8
SALT_BYTES: Final = 16


class Signer(Protocol):
    """Whoever vouches for an entry. The same bytes always get the same signature."""

    @property
    def id(self) -> str:
        """The name under which the public key is found."""
        ...

    def sign(self, message: bytes) -> bytes: ...


class Signatures(Protocol):
    """Knows the public keys that entries may be signed with."""

    def verifies(self, signer: str, signature: bytes, message: bytes) -> bool:
        """Say whether the signer is known and has signed this message."""
        ...


class Named(NamedTuple):
    """A score as an entry names it. The digest says nothing without the salt of the record.

    The key of its applicant, if it has one, stands beside the digest and not within: it can be told
    when the digest cannot be made any more, and no other score can pass for one that was erased.
    """

    lender: str
    mode: str
    request_id: str
    applicant_key_id: str | None
    digest: bytes


NamedParts = tuple[str, str, str, str | None, bytes]
"""The parts of a `Named`, which takes three times as long to make."""


class Head(NamedTuple):
    """The last entry of a chain, or what stands before the first."""

    writer: str
    number: int
    hash: bytes


class Header(NamedTuple):
    """All that the hash of an entry covers; the root stands for its body."""

    previous_hash: bytes
    writer: str
    number: int
    created_us: int
    kind: str
    root: bytes

    @property
    def hash(self) -> bytes:
        """The SHA-256 of each part with its length before it, so that no two can be confused."""
        parts = (
            _LABEL,
            self.previous_hash,
            _text(self.writer),
            _number(self.number),
            _number(self.created_us),
            _text(self.kind),
            self.root,
        )
        return sha256(b"".join(_number(len(part)) + part for part in parts)).digest()


class Link(NamedTuple):
    """One entry as stored, in the order of its columns."""

    writer: str
    number: int
    created_us: int
    kind: str
    body: bytes
    previous_hash: bytes
    hash: bytes
    signer: str
    signature: bytes

    @property
    def head(self) -> Head:
        """The chain up to here."""
        return Head(self.writer, self.number, self.hash)

    @property
    def header(self) -> Header:
        """What the hash should cover; `UnreadableBody` where the body is none of this kind."""
        return Header(
            self.previous_hash,
            self.writer,
            self.number,
            self.created_us,
            self.kind,
            root(leaves(self.kind, self.body)),
        )


class UnreadableBody(ValueError):
    """The body of an entry is not what its kind says."""


_encode: Final = msgspec.msgpack.Encoder().encode
_decode_names: Final = msgspec.msgpack.Decoder(list[Named]).decode


def start(writer: str) -> Head:
    """The head of a chain that has no entry yet."""
    return Head(writer, 0, GENESIS)


def follow(head: Head, created_us: int, kind: str, body: bytes, signer: Signer) -> Link:
    """Make the next entry of a chain."""
    return _linked(head, created_us, kind, body, leaves(kind, body), signer)


def follow_with_scores(
    head: Head, created_us: int, named: Iterable[NamedParts], signer: Signer
) -> Link:
    """Make the next entry of a chain from the scores of one commit, of which there is one or more.

    As `follow` does, but the leaves are at hand and need not be read from the body again.
    """
    items = [_encode(one) for one in named]
    return _linked(head, created_us, SCORES, _joined(items), items, signer)


def leaves(kind: str, body: bytes) -> list[bytes]:
    """What the Merkle tree of an entry stands on, or raise `UnreadableBody`."""
    return [_encode(one) for one in names(body)] if kind == SCORES else [body]


def names(body: bytes) -> list[Named]:
    """The scores that an entry of the kind `scores` names, or raise `UnreadableBody`."""
    try:
        found = _decode_names(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnreadableBody from error
    # One way to write them: else a body could be changed without its leaves.
    if not found or _joined([_encode(one) for one in found]) != body:
        raise UnreadableBody
    return found


def faults(link: Link, before: Head, signatures: Signatures) -> list[str]:
    """Say what is wrong with an entry that comes after another in its chain; nothing should be."""
    found = unsigned_faults(link, before)
    if not signatures.verifies(link.signer, link.signature, link.hash):
        found.append(f"it is not signed by {link.signer}")
    return found


def unsigned_faults(link: Link, before: Head) -> list[str]:
    """Say the same of everything but the signature: the key that it takes may be missing."""
    found = []
    if link.number != before.number + 1:
        found.append(_gap(before.number, link.number))
    elif link.previous_hash != before.hash:
        found.append("it does not follow from the entry before it")
    if not _is_whole(link):
        found.append("it was changed, its hash is another")
    return found


def _gap(before: int, number: int) -> str:
    if number <= before:
        return f"its number is {number}, and that of the entry before it is {before}"
    if number == before + 2:
        return f"entry {before + 1} before it is missing"
    return f"entries {before + 1} to {number - 1} before it are missing"


def _is_whole(link: Link) -> bool:
    try:
        return link.header.hash == link.hash
    except UnreadableBody:
        return False


def _linked(
    head: Head, created_us: int, kind: str, body: bytes, items: Sequence[bytes], signer: Signer
) -> Link:
    number = head.number + 1
    header = Header(head.hash, head.writer, number, created_us, kind, root(items))
    digest = header.hash
    signature = signer.sign(digest)
    return Link(
        head.writer, number, created_us, kind, body, head.hash, digest, signer.id, signature
    )


def _joined(items: Sequence[bytes]) -> bytes:
    return _encode([msgspec.Raw(item) for item in items])


def _text(text: str) -> bytes:
    # What was damaged in storage may be no Unicode any more, and has to be hashed all the same.
    return text.encode("utf-8", "surrogatepass")


def _number(number: int) -> bytes:
    return number.to_bytes(_NUMBER_BYTES, "big", signed=True)


def digest(salt: bytes, columns: tuple[str | int | float, ...], record: bytes) -> bytes:
    """Give what the audit knows a score by: SHA-256 of a salt, its columns in clear and its record.

    Without the salt, which is sealed with the record, nobody can hold a guess against it. Columns
    are in the order in which the database has them, as one MessagePack array.
    """
    return sha256(b"".join((salt, _encode(columns), record))).digest()
