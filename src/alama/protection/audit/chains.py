"""Every chain by itself, who may have signed it, and all of them against `main`."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from alama.core import chain
from alama.core.chain import MAIN, SCORES, Head, Link, Named, Signer, UnreadableBody
from alama.platform import acts, ids
from alama.platform.acts import RETIRES, VOUCHED, Act, ActKind
from alama.platform.clock import TOLERANCE_US
from alama.protection import retention
from alama.protection.audit.findings import Finding, Trouble
from alama.protection.audit.records import ReviewsTold
from alama.protection.audit.standing import Standing

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence

    from alama.protection.audit.store import Moment, Trail
    from alama.vault.vault import Vault


class _Step(NamedTuple):
    """An entry that is earlier than the one before it."""

    writer: str
    number: int
    before_us: int
    at_us: int


class _Accepted(NamedTuple):
    """A person has said that it is this time."""

    number: int
    at_us: int
    set_back_us: int


class Times:
    """Follows the time of all chains, entry by entry."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._last_us: dict[str, int] = {}
        self._steps: list[_Step] = []
        self._accepted: _Accepted | None = None  # the newest: what was before is before it too

    def take(self, link: Link) -> None:
        """Read an entry, which nobody has changed, after those before it in its chain."""
        last_us = self._last_us.get(link.writer, link.created_us)
        if link.created_us < last_us - TOLERANCE_US:
            self._steps.append(_Step(link.writer, link.number, last_us, link.created_us))
        self._last_us[link.writer] = link.created_us
        if link.writer == MAIN and link.kind == ActKind.CLOCK_ACCEPTED:
            set_back_us = acts.set_back_us(acts.decode(link.body))
            self._accepted = _Accepted(link.number, link.created_us, set_back_us)

    def findings(self) -> Iterator[Finding]:
        """Tell of each entry that goes back and that nobody has accepted."""
        set_back = set[str]()
        for step in self._steps:
            if self._accepted is not None:
                if step.writer not in set_back and _is_set_back(self._accepted, step):
                    set_back.add(step.writer)
                    continue
                if _stood_before(self._accepted, step):
                    continue
            earlier = timedelta(seconds=(step.before_us - step.at_us) // 1_000_000)
            where = f"entry {step.number} of {step.writer}"
            yield Finding(Trouble.TIME, where, f"{earlier} earlier than the one before it")


def _stood_before(accepted: _Accepted, step: _Step) -> bool:
    if step.writer == MAIN:
        return step.number <= accepted.number
    return step.at_us <= accepted.at_us + TOLERANCE_US


def _is_set_back(accepted: _Accepted, step: _Step) -> bool:
    by_us = step.before_us - step.at_us
    is_after = step.writer != MAIN and step.at_us >= accepted.at_us - TOLERANCE_US
    return is_after and by_us <= accepted.set_back_us + TOLERANCE_US


# The audit as a person reads it: what was done, and the heads that are worth writing down.


OF_CHAINS: Final = frozenset({ActKind.CHAIN_OPENED, ActKind.CHAIN_CLOSED, ActKind.HEADS_NOTED})
"""What the service writes by itself, all day long."""


class Done(NamedTuple):
    """An act, where it stands in `main`, and when it was written; None: it cannot be read."""

    number: int
    at_us: int
    kind: str
    act: Act | None


def newest_first(trail: Trail, before: int | None) -> Iterator[Done]:
    """Give what was done, from just before a number on."""
    while links := trail.newest(MAIN, before, PAGE):
        for link in links:
            try:
                act = acts.decode(link.body)
            except (msgspec.DecodeError, UnicodeDecodeError):  # damaged, or of a later version
                act = None
            yield Done(link.number, link.created_us, link.kind, act)
        lowest = min(link.number for link in links)
        if before is not None and lowest >= before:  # what is no number stands for the highest
            return
        before = lowest


def heads_to_keep(trail: Trail) -> Sequence[Head]:
    """Give the head of `main`, and of each chain that has grown past what `main` knows of it.

    Whoever has these written down elsewhere would notice if any entry was taken away.
    """
    heads, told, read = trail.heads(), Told(), 0
    while links := trail.links(MAIN, read, PAGE):
        for link in links:
            told.take(link)
        if links[-1].number <= read:  # it is no number, and comes after all that are
            break
        read = links[-1].number
    return [head for head in heads if told.heads.get(head.writer, {}).get(head.number) != head.hash]


# Who may have signed: the keys of an installation, by the ids under which entries name them.
#
# A public key counts if its private half comes out of the vault: who can write into the database
# can
# put a key there, but cannot wrap it. Of a key that was rotated the private half is destroyed, and
# nobody can sign with it any more; so the key that follows it vouches for its public half, and the
# act of the rotation has both. What stands in the column `public` is never relied on.


_LABEL: Final = b"alama vouches for the signing key "


class PublicKeys:
    """Verifies signatures; see `alama.core.chain.Signatures`."""

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        """Take Ed25519 keys of 32 bytes by their ids."""
        self._keys = {name: Ed25519PublicKey.from_public_bytes(key) for name, key in keys.items()}

    def __contains__(self, signer: object) -> bool:
        return signer in self._keys

    def verifies(self, signer: str, signature: bytes, message: bytes) -> bool:
        """Say whether the signer is known and has signed this message."""
        key = self._keys.get(signer)
        if key is None:
            return False
        try:
            key.verify(signature, message)
        except InvalidSignature:
            return False
        return True


def trusted_keys(trail: Trail, vault: Vault) -> PublicKeys:
    """Give all keys that ever signed for the installation and stand there as they are.

    One whose public half was changed is left out: whoever is shown what stands there would trust
    what somebody else signs.
    """
    return PublicKeys(Signers(trail, vault).unchanged)


class Signers:
    """The keys that are said to sign for an installation, and those of them that may."""

    def __init__(self, trail: Trail, vault: Vault) -> None:
        """Look at all of them once."""
        keys = vault.signing_keys()
        self._there = {key.id: key.public for key, _ in keys}
        self._true = {key.id: public for key, public in keys if public is not None}
        rotations = _rotations(trail)
        for act in rotations:
            self._true |= _vouched(act, PublicKeys(self._true))
        self._keys = PublicKeys(self._true)
        self._spoken_of = {str(act.subject) for act in rotations}
        self._spoken_of |= {str(act.details.get(RETIRES)) for act in rotations}
        begun = trail.links(MAIN, 0, 1)
        # Where no act is left, none can speak of a key: that is no proof against any.
        self._spoken_of |= {begun[0].signer} if begun else self._there.keys()

    @property
    def unchanged(self) -> dict[str, bytes]:
        """Those that may sign and whose public half stands where it should, by their ids."""
        return {name: key for name, key in self._true.items() if self._there.get(name) == key}

    @property
    def changed(self) -> dict[str, bytes]:
        """The public halves that should stand there and do not, by the ids of their keys."""
        return {name: key for name, key in self._true.items() if self._there.get(name) != key}

    @property
    def foreign(self) -> list[str]:
        """Those that somebody else has put there: none of ours was ever called so."""
        return sorted(self._there.keys() - self._true.keys() - self._spoken_of)

    @property
    def damaged(self) -> list[str]:
        """Those of ours of which neither half can be relied on."""
        return sorted((self._there.keys() & self._spoken_of) - self._true.keys())

    def knows(self, signer: str) -> bool:
        """Say whether it can be told what a key has signed; without either half it cannot.

        One that is foreign is known too: what it has signed does not hold.
        """
        return signer in self._true or signer in self.foreign

    def verifies(self, signer: str, signature: bytes, message: bytes) -> bool:
        """Say whether a key that may has signed this message."""
        return self._keys.verifies(signer, signature, message)


def vouch(signer: Signer, key_id: str, public: bytes) -> str:
    """Have a new key say that another has signed for the same installation before it.

    Gives the public half of that one and the signature. Its private half is about to be destroyed,
    and what stands in the database alone might be changed.
    """
    return f"{public.hex()} {signer.sign(_statement(key_id, public)).hex()}"


def _rotations(trail: Trail) -> list[Act]:
    """Give the acts by which keys that sign were replaced, the latest first.

    In this order each key vouches for the one before it.
    """
    kind = ActKind.SIGNING_KEY_ROTATED
    return [
        done.act
        for done in newest_first(trail, None)
        if done.kind == kind and done.act is not None and done.act.kind is kind
    ]


def _vouched(act: Act, trusted: PublicKeys) -> dict[str, bytes]:
    key_id, vouched = str(act.details.get(RETIRES)), str(act.details.get(VOUCHED))
    try:
        public, signature = map(bytes.fromhex, vouched.split(" "))
    except ValueError:
        return {}
    said = trusted.verifies(str(act.subject), signature, _statement(key_id, public))
    return {key_id: public} if said else {}


def _statement(key_id: str, public: bytes) -> bytes:
    return _LABEL + key_id.encode() + b" " + public


PAGE: Final = 256
"""Entries that are fetched at a time, of some 40 kB each where commits are large."""

_BEFORE_ALL: Final = -(2**63)
"""A number may have been changed to less than nothing, and must be seen all the same."""

NEAR_US: Final = 10_000_000
"""How much later than a score its entry is, but for strays: where a clock was set meanwhile."""


class Told:
    """What the acts of `main` say that other findings depend on."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self.heads: dict[str, dict[int, bytes]] = {}
        self.erased: dict[str, Act] = {}
        """Who was erased, by the ids of their keys."""
        self.deleted: dict[tuple[str, str], set[bytes]] = {}
        """The scores that retention runs have deleted, by lender and mode: the bytes of ids."""
        self.standing = Standing()
        self.reviews = ReviewsTold()
        self.rotations: list[Act] = []
        """By which keys of lenders, and the one that signs, were replaced; in their order."""

    def take(self, link: Link) -> None:
        """Read an act, which nobody has changed."""
        try:
            act = acts.decode(link.body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return  # of a later version: whatever it is, it is signed
        for head in acts.heads_in(act):
            self.heads.setdefault(head.writer, {})[head.number] = head.hash
        if act.kind is ActKind.APPLICANT_ERASED:
            self.erased[str(act.subject)] = act
        elif act.kind is ActKind.RETENTION_RUN:
            book = (str(act.lender), str(act.mode))
            self.deleted.setdefault(book, set()).update(retention.deleted_in(act))
            self.reviews.forget(act)
        elif act.kind is ActKind.SCORE_REVIEWED:
            self.reviews.take(act)
        elif act.kind in {ActKind.LENDER_KEY_ROTATED, ActKind.SIGNING_KEY_ROTATED}:
            self.rotations.append(act)
        else:
            self.standing.take(act)

    def was_deleted(self, lender: str, mode: str, request_id: str) -> bool:
        """Say whether a retention run accounts for a score that is not there."""
        return ids.raw(request_id) in self.deleted.get((lender, mode), ())


class Chains:
    """Walks through all chains. `main` comes first: the others only grow after it was read."""

    def __init__(self, trail: Trail, signatures: Signers, wanted: frozenset[bytes]) -> None:
        """Take the heads that somebody has written down elsewhere, to be found again."""
        self._trail = trail
        self._signatures = signatures
        self._wanted = set(wanted)
        self._main = chain.start(MAIN)
        self.told = Told()
        self.times = Times()
        self.entries = 0
        self.chains = 0
        self.named = 0
        """Scores that are named by entries."""
        self.acts_hold = True
        """Whether every act can be relied on."""
        self.unsigned: Counter[str] = Counter()
        """Entries by keys that nobody knows, by the ids of those."""
        self.first_signer: str | None = None
        """The key that signed the first act."""
        self.strays: dict[tuple[str, str, str], Named] = {}
        """Scores whose entries are far from them in time."""

    def check(self, progress: Callable[[int], None]) -> Iterator[Finding]:
        """Check everything, and say how many entries more are done."""
        writers = self._trail.writers()
        self._main = yield from self._check_chain(MAIN, progress)
        for writer in sorted({*writers, *self.told.heads} - {MAIN}):
            before = self.entries
            head = yield from self._check_chain(writer, progress)
            if writer in writers and self.entries == before:
                yield Finding(Trouble.ENTRY, f"chain {writer}", "no entry is found by its name")
                progress(1)
            yield from self._against_main(head)
        for missing in sorted(self._wanted):
            yield Finding(Trouble.HEAD, f"head {missing.hex()}", "no entry has this hash")

    def catch_up(self, moment: Moment) -> Iterator[Finding]:
        """Check what was done since `main` was read."""
        links = moment.acts_after(self._main.number)
        self._main = yield from self._check_links(links, self._main)

    def _check_chain(
        self, writer: str, progress: Callable[[int], None]
    ) -> Generator[Finding, None, Head]:
        head, last = chain.start(writer), _BEFORE_ALL
        while links := self._trail.links(writer, last, PAGE):
            head = yield from self._check_links(links, head)
            progress(len(links))
            if head.number <= last:  # it is no number, and comes after all that are
                break
            last = head.number
        self.chains += head.number > 0
        return head

    def _check_links(self, links: Iterable[Link], head: Head) -> Generator[Finding, None, Head]:
        expected = self.told.heads.get(head.writer, {})
        for link in links:
            faults = self._faults(link, head)
            if expected.get(link.number, link.hash) != link.hash:
                faults.append("`main` knows it by another hash")
            where = f"entry {link.number} of {head.writer}"
            yield from (Finding(Trouble.ENTRY, where, fault) for fault in faults)
            self._count(link)
            if not faults:
                self.times.take(link)
            if head.writer == MAIN:
                self.first_signer = self.first_signer or link.signer
                self._take(link, faults)
            head = link.head
        return head

    def _faults(self, link: Link, head: Head) -> list[str]:
        """Say what is wrong with an entry; what a missing key has signed is counted, no more.

        It is taken at its word then, so that nobody is accused for the key: that it cannot be told
        whether all is in order is said all the same.
        """
        if self._signatures.knows(link.signer):
            return chain.faults(link, head, self._signatures)
        self.unsigned[link.signer] += 1
        return chain.unsigned_faults(link, head)

    @property
    def is_empty(self) -> bool:
        """Whether there is no act at all."""
        return not self._main.number

    def _take(self, link: Link, faults: list[str]) -> None:
        if faults:
            self.acts_hold = False
        else:
            self.told.take(link)

    def _count(self, link: Link) -> None:
        self.entries += 1
        self._wanted.discard(link.hash)
        # What is wrong with the entry was told: it need not be told of each score that it names.
        for named in names_in(link) if link.kind == SCORES else ():
            self.named += 1
            if not 0 <= link.created_us - ids.time_us(named.request_id) < NEAR_US:
                self.strays[named[:3]] = named

    def _against_main(self, head: Head) -> Iterator[Finding]:
        """Hold the length of a chain against what `main` bears witness to."""
        expected, where = self.told.heads.get(head.writer, {}), f"chain {head.writer}"
        if 1 not in expected:
            yield Finding(Trouble.UNOPENED, where, "`main` does not say that it began")
        last = max(expected, default=0)
        if last > head.number:
            ends = f"it ends with entry {head.number}" if head.number else "it is gone"
            what = f"{ends}, though `main` bears witness to entry {last}"
            yield Finding(Trouble.CUT, where, what)


def names_in(link: Link) -> list[Named]:
    """Give the scores that an entry names; none where it is damaged, which is told elsewhere."""
    try:
        return [named for named in chain.names(link.body) if ids.is_request_id(named.request_id)]
    except UnreadableBody:
        return []
