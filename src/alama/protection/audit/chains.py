"""Every chain by itself, and all of them against `main`."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.core import chain
from alama.core.chain import MAIN, SCORES, Head, Link, Named, UnreadableBody
from alama.platform import acts, ids
from alama.platform.acts import ActKind
from alama.platform.clock import TOLERANCE_US
from alama.protection.audit.expected import ExpectedState
from alama.protection.audit.records import Finding, Trouble
from alama.protection.audit.store import PAGE, Moment, Trail

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

    from alama.protection.audit.signers import Signers


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


_BEFORE_ALL: Final = -(2**63)
"""A number may have been changed to less than nothing, and must be seen all the same."""

NEAR_US: Final = 10_000_000
"""How much later than a score its entry is, but for strays: where a clock was set meanwhile."""


class Chains:
    """Walks through all chains. `main` comes first: the others only grow after it was read."""

    def __init__(self, trail: Trail, signatures: Signers, wanted: frozenset[bytes]) -> None:
        """Take the heads that somebody has written down elsewhere, to be found again."""
        self._trail = trail
        self._signatures = signatures
        self._wanted = set(wanted)
        self._main = chain.start(MAIN)
        self.expected = ExpectedState()
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
        for writer in sorted({*writers, *self.expected.heads} - {MAIN}):
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
        expected = self.expected.heads.get(head.writer, {})
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
            self.expected.take(link)

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
        expected, where = self.expected.heads.get(head.writer, {}), f"chain {head.writer}"
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


def heads_to_keep(trail: Trail) -> Sequence[Head]:
    """Give the head of `main`, and of each chain that has grown past what `main` knows of it.

    Whoever has these written down elsewhere would notice if any entry was taken away.
    """
    heads, expected, read = trail.heads(), ExpectedState(), 0
    while links := trail.links(MAIN, read, PAGE):
        for link in links:
            expected.take(link)
        if links[-1].number <= read:  # it is no number, and comes after all that are
            break
        read = links[-1].number
    return [
        head for head in heads if expected.heads.get(head.writer, {}).get(head.number) != head.hash
    ]
