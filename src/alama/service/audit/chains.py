"""The first half of a verification: every chain by itself, and all of them against `main`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import msgspec

from alama.core import chain
from alama.core.chain import MAIN, SCORES, Named, UnreadableBody
from alama.service import ids
from alama.service.audit import acts
from alama.service.audit.acts import Kind
from alama.service.audit.findings import Finding, Trouble
from alama.service.audit.reviews import ReviewsTold
from alama.service.audit.standing import Standing
from alama.service.audit.times import Times

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from alama.core.chain import Head, Link
    from alama.service.audit.acts import Act
    from alama.service.audit.signatures import Signers
    from alama.service.audit.trail import Moment, Trail

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
        if act.kind is Kind.APPLICANT_ERASED:
            self.erased[str(act.subject)] = act
        elif act.kind is Kind.RETENTION_RUN:
            book = (str(act.lender), str(act.mode))
            self.deleted.setdefault(book, set()).update(acts.deleted_in(act))
            self.reviews.forget(act)
        elif act.kind is Kind.SCORE_REVIEWED:
            self.reviews.take(act)
        elif act.kind in {Kind.LENDER_KEY_ROTATED, Kind.SIGNING_KEY_ROTATED}:
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
            head = yield from self._check_chain(writer, progress)
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
