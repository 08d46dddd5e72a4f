"""The second part of a verification: scores against the entries that name them, both ways.

It goes through time in spans of some commits. Of one span it holds the names in memory and reads
the scores past them, so that as many as there may be take the same memory; but for the ids of those
that were deleted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from alama.core.chain import Named, digest
from alama.platform import ids
from alama.platform.errors import StoreUnfit
from alama.protection.audit.chains import NEAR_US, Chains, names_in
from alama.protection.audit.records import Finding, Trouble
from alama.scoring.records import ScoreRow, StoredScore, reference_of, unpack
from alama.scoring.replay import open_packed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from alama.platform.book import Book
    from alama.protection.audit.checks import KnownKeys
    from alama.protection.audit.store import Moment, Trail
    from alama.vault.vault import Vault


Name = tuple[str, str, str]
"""Lender, mode and request id of a score."""


class ScoreCheck:
    """Holds every score against its entry."""

    def __init__(
        self,
        trail: Trail,
        chains: Chains,
        vault: Vault,
        lender_keys: KnownKeys,
        books: Sequence[Book],
    ) -> None:
        """Take chains that were checked: what their acts say accounts for what is gone."""
        self._trail = trail
        self._chains = chains
        self._expected = chains.expected
        self._vault = vault
        self._lender_keys = lender_keys
        self._books = books
        self._misfound: set[str] = set()
        self.proved = 0
        self.erased = 0
        self.deleted = 0

    def check(self, progress: Callable[[int], None]) -> Iterator[Finding]:
        """Check everything, and say of how many scores more that are named it is known."""
        from_us = 0
        while True:
            until_us = self._end_of_span(from_us)
            with self._trail.moment() as moment:
                yield from self._chains.catch_up(moment)
                yield from self._check_span(moment, from_us, until_us, progress)
            if until_us is None:
                break
            from_us = until_us
        yield from self._gone(self._chains.strays, progress)

    def _end_of_span(self, from_us: int) -> int | None:
        """Give the end of a span; None where the rest of time is one.

        Shorter spans than this would read the same entries again and again.
        """
        boundary_us = self._trail.boundary(from_us)
        if boundary_us is None or boundary_us > ids.TIME_MAX_US:  # which is no time of ours
            return None
        return max(boundary_us, from_us + NEAR_US)

    def _check_span(
        self,
        moment: Moment,
        from_us: int,
        until_us: int | None,
        progress: Callable[[int], None],
    ) -> Iterator[Finding]:
        named = self._named(moment, from_us, until_us)
        for book in self._books:
            for stored in moment.scores(book, from_us, until_us):
                row = stored.row
                name = (row.lender, row.mode, row.request_id)
                known = named.pop(name, None) or self._chains.strays.pop(name, None)
                if known is None:
                    where = f"it is of {row.lender}, {row.mode} mode"
                    yield Finding(Trouble.UNNAMED, row.request_id, where)
                else:
                    yield from self._compare(stored, known)
                    progress(1)
        yield from self._gone(named, progress)

    def _gone(self, named: dict[Name, Named], progress: Callable[[int], None]) -> Iterator[Finding]:
        """Account for scores that are named and not there."""
        progress(len(named))
        for name in named:
            if self._expected.was_deleted(*name):
                self.deleted += 1
                self._expected.deleted[name[:2]].discard(ids.raw(name[2]))
            else:
                yield Finding(Trouble.GONE, name[2], f"it was of {name[0]}, {name[1]} mode")

    def _named(self, moment: Moment, from_us: int, until_us: int | None) -> dict[Name, Named]:
        """Give the scores of a span that entries name."""
        late_us = None if until_us is None else until_us + NEAR_US
        return {
            named[:3]: named
            for link in moment.commits(from_us, late_us)
            for named in names_in(link)
            if named[:3] not in self._chains.strays
            and _within(ids.time_us(named.request_id), from_us, until_us)
        }

    # ------------------------------------------------------------------- scores that are named

    def _compare(self, stored: StoredScore, known: Named) -> Iterator[Finding]:
        row = stored.row
        if self._expected.was_deleted(row.lender, row.mode, row.request_id):
            yield Finding(Trouble.BACK, row.request_id, f"it is of {row.lender}, {row.mode} mode")
        wrong = _wrong_in_clear(row, known)
        if wrong is not None:
            yield Finding(Trouble.CHANGED, row.request_id, wrong)
        elif _is_erased(stored):
            # Whether an act says so is told of the key, once.
            self.erased += 1
        elif self._can_be_opened(stored):
            yield from self._compare_record(stored, known.digest)

    def _compare_record(self, stored: StoredScore, known: bytes) -> Iterator[Finding]:
        row = stored.row
        try:
            record = open_packed(self._vault, stored)
            sealed = unpack(record, row.request_id)
        except StoreUnfit as error:
            yield Finding(Trouble.CHANGED, row.request_id, str(error))
        else:
            if digest(sealed.salt, row.in_clear, record) != known:
                yield Finding(Trouble.CHANGED, row.request_id, "its digest is another")
            elif row.propensity != sealed.assessment.propensity:
                yield Finding(Trouble.CHANGED, row.request_id, "its propensity is another")
            elif row.product != sealed.assessment.product:
                yield Finding(Trouble.CHANGED, row.request_id, "its product is another")
            else:
                self.proved += 1
                yield from self._found_by(stored, record)

    def _can_be_opened(self, stored: StoredScore) -> bool:
        """Say whether the key of the lender that it takes is there."""
        row, applicant = stored
        if applicant is None:
            return row.seal_key_id is None or self._lender_keys.has(row.lender, row.seal_key_id)
        return self._lender_keys.has(row.lender, applicant.lender_key_id)

    def _found_by(self, stored: StoredScore, record: bytes) -> Iterator[Finding]:
        """Check that whoever asks by the reference in a record finds it, and nobody else does."""
        row, applicant = stored
        if applicant is None or applicant.subject is None or applicant.id in self._misfound:
            return
        reference = reference_of(record, row.request_id)
        if reference is None:
            return
        subject = self._lender_keys.subject(row.lender, row.mode, reference)
        if subject is not None and subject != applicant.subject:
            self._misfound.add(applicant.id)
            what = f"{row.request_id} is not of the applicant for whom it is found"
            yield Finding(Trouble.APPLICANT, applicant.id, what)


def _is_erased(stored: StoredScore) -> bool:
    return stored.applicant is not None and stored.applicant.erased_us is not None


def _wrong_in_clear(row: ScoreRow, known: Named) -> str | None:
    """Say what is wrong with what no digest is needed for: it is all that is left after erasure."""
    if row.applicant_key_id != known.applicant_key_id:
        return "it names the key of another applicant"
    if row.applicant_key_id is not None and row.seal_key_id is not None:
        return "it names two keys"
    if row.created_us != ids.time_us(row.request_id):
        return "its time is not that of its id"
    return None


def _within(at_us: int, from_us: int, until_us: int | None) -> bool:
    return from_us <= at_us and (until_us is None or at_us < until_us)
