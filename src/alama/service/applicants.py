"""Applicants: what is held on one of them is exported, kept for a court, or erased for good.

An applicant is found by the lender's own reference, `applicant_ref`, which is kept nowhere in
clear: the vault turns it into what the database knows the applicant by. Neither of the two is ever
written to a log or to the audit.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from alama.core.assess import Assessment
from alama.service.days import date_of
from alama.service.errors import InvalidName, StoreUnfit
from alama.service.opening import open_packed, open_score
from alama.service.outcomes.reviewing import opened
from alama.service.records import reference_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from alama.service.book import Book
    from alama.service.outcomes.records import Outcome, Review, Sequel, StoredSequel
    from alama.service.ports import ApplicantStore, Clock, RequireTheirs
    from alama.service.records import StoredScore
    from alama.service.vault.vault import Vault

REASON_MAX: Final = 200
REFERENCE_MAX: Final = 64
FORMAT: Final = 1
"""Of the exported document. It is raised when a field changes its meaning."""

_INDENT: Final = 2

Day = date
"""Under another name, for a field is called `date`."""


class Hold(NamedTuple):
    """A legal hold: as long as it stands, nothing of the applicant may be erased or deleted.

    `key_id` names the applicant, as the audit does.
    """

    number: int
    book: Book
    key_id: str
    reason: str
    placed_us: int
    released_us: int | None


class Held(NamedTuple):
    """All that is stored on one applicant, sealed as it is. `since_us`: the first of it."""

    key_id: str
    since_us: int
    scores: Sequence[StoredScore]
    holds: Sequence[Hold]


class Shadowed(NamedTuple):
    """What a model would have said that was asked beside the one that decided."""

    model_id: str
    score: int
    tier: str
    default_probability: float
    decision: str


class TakenOut(NamedTuple):
    """The same with what became of each score, and what other models would have said, by its id."""

    held: Held
    sequels: Mapping[str, StoredSequel]
    shadows: Mapping[str, Sequence[Shadowed]]


class Erasure(NamedTuple):
    """What an erasure has made unreadable, of how many scores.

    `journal_emptied` is False where SQLite's journal may still hold the key, because somebody is
    reading from it.
    """

    key_id: str
    erased_us: int
    scores: int
    replies: int
    journal_emptied: bool


class ExportedHold(msgspec.Struct, frozen=True, kw_only=True):
    """A legal hold as the applicant reads of it."""

    reason: str
    placed_at: datetime
    released_at: datetime | None


class ExportedReview(msgspec.Struct, frozen=True, kw_only=True):
    """What an officer decided on a score, as the applicant reads of it."""

    decision: str
    reason: str
    by: str
    note: str
    reviewed_at: datetime


class ExportedOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a loan went, as the applicant reads of it."""

    outcome: str
    date: Day
    is_default: bool
    defaulted_on: Day | None = None
    disbursed_amount: float | None
    repaid_amount: float | None
    recorded_at: datetime


class ExportedShadow(msgspec.Struct, frozen=True, kw_only=True):
    """What another model would have said, as the applicant reads of it."""

    model: str
    score: int
    tier: str
    default_probability: float
    decision: str


class ExportedScore(msgspec.Struct, frozen=True, kw_only=True):
    """One score: what was decided, from what, and every number between the two.

    Then what became of it, if anything is known.
    """

    request_id: str
    given_at: datetime
    key_id: str
    model: str
    policy: str
    score: int
    tier: str
    default_probability: float
    decision: str
    recommended_limit: float
    recommended_term_days: int
    recommended_apr: float
    expected_loss: float
    processing_ms: int
    application: msgspec.Raw
    """The body as it was sent."""
    assessment: Assessment
    review: ExportedReview | None = None
    outcome: ExportedOutcome | None = None
    shadow_scores: list[ExportedShadow] = []


class Export(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is held on one applicant, as one document."""

    format: int
    lender: str
    mode: str
    applicant_ref: str
    exported_at: datetime
    held_since: datetime
    scores: list[ExportedScore]
    legal_holds: list[ExportedHold]
    remarks: list[str]


REMARKS: Final = (
    "Times are UTC. Money is in the currency that each assessment names.",
    "A contribution is a field, what was sent for it, and the points that it added.",
    (
        "`card` names the scorecard of the model that answered; `slots` has, for each of its "
        "fields in their order, the number of the band that the value fell into, counted from 0."
    ),
    "What was erased before cannot be found by the reference any more, and is not part of this.",
    (
        "`review` is what a person decided on a score, where one did; `outcome` what the lender "
        "said of the loan. `shadow_scores` are what other models would have said, which were tried "
        "beside the one that decided."
    ),
    "Replies kept for retries repeat what the scores say, for 72 hours, and are not listed.",
)

_encode: Final = msgspec.json.Encoder().encode
_decoder: Final = msgspec.json.Decoder(Export)


def encode(export: Export) -> bytes:
    """Write an export as JSON for people and programs; numbers stay what they are."""
    return msgspec.json.format(_encode(export), indent=_INDENT) + b"\n"


def decode(document: bytes) -> Export:
    """Read an export again; `msgspec.DecodeError` if it is none."""
    return _decoder.decode(document)


class Applicants:
    """What those who run the service can do for one applicant, or with what is held on them."""

    def __init__(self, store: ApplicantStore, vault: Vault, clock: Clock) -> None:
        """Use a store, and the vault that knows its applicants."""
        self._store = store
        self._vault = vault
        self._clock = clock

    def export(self, book: Book, applicant_ref: str, by: str | None = None) -> Export:
        """Give everything that is held on an applicant, or raise `UnknownApplicant`."""
        reference = _reference(applicant_ref)
        subject = self._subject(book, reference)
        taken = self._store.take_out(book, subject, self._require_theirs(book, subject), by)
        held = taken.held
        return Export(
            format=FORMAT,
            lender=book.lender,
            mode=book.mode.value,
            applicant_ref=reference,
            exported_at=_time(self._clock()),
            held_since=_time(held.since_us),
            scores=[
                _with_sequel(
                    self._opened(stored),
                    opened(self._vault, taken.sequels[stored.row.request_id]),
                    taken.shadows.get(stored.row.request_id, ()),
                )
                for stored in held.scores
            ],
            legal_holds=[_exported_hold(hold) for hold in held.holds],
            remarks=list(REMARKS),
        )

    def look_up(self, book: Book, applicant_ref: str) -> Held:
        """Give what is held on an applicant, sealed as it is; nothing of it is taken out."""
        return self._store.look_up(book, self._subject(book, _reference(applicant_ref)))

    def erase(self, book: Book, applicant_ref: str, by: str | None = None) -> Erasure:
        """Destroy the key of an applicant: what it has sealed is unreadable from then on.

        `UnknownApplicant` or `UnderHold`, and nothing has changed. Done again, where the applicant
        is not known any more, it still empties the journal.
        """
        subject = self._subject(book, _reference(applicant_ref))
        theirs = self._require_theirs(book, subject)
        return self._store.erase(book, subject, theirs, self._clock(), by)

    def hold(self, book: Book, applicant_ref: str, reason: str, by: str | None = None) -> Hold:
        """Keep everything of an applicant until the hold is released; several may stand."""
        reference, said = _reference(applicant_ref), reason.strip()
        if not (said.isprintable() and 1 <= len(said) <= REASON_MAX):
            raise InvalidName(f"a reason has 1 to {REASON_MAX} characters, all on one line")
        if reference.casefold() in said.casefold():
            raise InvalidName(
                "the reason names the applicant",
                hint="it is kept in clear, for good: name the case instead",
            )
        return self._store.place_hold(book, self._subject(book, reference), said, self._clock(), by)

    def release(self, number: int, by: str | None = None) -> Hold:
        """End a hold, or raise `UnknownHold`."""
        return self._store.release_hold(number, self._clock(), by)

    def holds(self) -> Sequence[Hold]:
        """Give the holds that stand, oldest first."""
        return self._store.holds()

    def _subject(self, book: Book, reference: str) -> bytes:
        return self._vault.ring(book.lender).subject(book.mode.value, reference)

    def _require_theirs(self, book: Book, subject: bytes) -> RequireTheirs:
        """Hold what was found against whom it names: the way to it is a column, and may be wrong.

        What is damaged names nobody any more, and can be erased all the same.
        """

        def require(found: Sequence[StoredScore]) -> None:
            for stored in found:
                reference = self._named_by(stored)
                if reference is not None and self._subject(book, reference) != subject:
                    raise StoreUnfit(
                        f"{stored.row.request_id} would be found, and names somebody else: "
                        "who is found by which reference was changed in the database",
                        hint="nothing was done. `alama audit verify` says what else was changed; "
                        "restore the table applicant_keys from a backup",
                    )

        return require

    def _named_by(self, stored: StoredScore) -> str | None:
        try:
            return reference_of(open_packed(self._vault, stored), stored.row.request_id)
        except StoreUnfit:
            return None

    def _opened(self, stored: StoredScore) -> ExportedScore:
        row, sealed = stored.row, open_score(self._vault, stored)
        return ExportedScore(
            request_id=row.request_id,
            given_at=_time(row.created_us),
            key_id=row.key_id,
            model=row.model_id,
            policy=row.policy_id,
            score=row.score,
            tier=row.tier,
            default_probability=row.default_probability,
            decision=row.decision,
            recommended_limit=row.recommended_limit,
            recommended_term_days=row.recommended_term_days,
            recommended_apr=row.recommended_apr,
            expected_loss=row.expected_loss,
            processing_ms=row.processing_ms,
            application=msgspec.Raw(sealed.application),
            assessment=sealed.assessment,
        )


def _reference(said: str) -> str:
    """Read a reference as the intake of applications does."""
    reference = said.strip()
    if not (reference.isprintable() and 1 <= len(reference) <= REFERENCE_MAX):
        raise InvalidName(
            f"a reference has 1 to {REFERENCE_MAX} characters, all on one line",
            hint="give what was sent as applicant_ref",
        )
    return reference


def _with_sequel(
    score: ExportedScore, sequel: Sequel, shadows: Sequence[Shadowed]
) -> ExportedScore:
    review, outcome = sequel
    return msgspec.structs.replace(
        score,
        review=None if review is None else _exported_review(review),
        outcome=None if outcome is None else _exported_outcome(outcome),
        shadow_scores=[_exported_shadow(one) for one in shadows],
    )


def _exported_shadow(shadow: Shadowed) -> ExportedShadow:
    return ExportedShadow(
        model=shadow.model_id,
        score=shadow.score,
        tier=shadow.tier,
        default_probability=shadow.default_probability,
        decision=shadow.decision,
    )


def _exported_review(review: Review) -> ExportedReview:
    return ExportedReview(
        decision=review.decision,
        reason=review.reason.value,
        by=review.person,
        note=review.note,
        reviewed_at=_time(review.reviewed_us),
    )


def _exported_outcome(outcome: Outcome) -> ExportedOutcome:
    return ExportedOutcome(
        outcome=outcome.state.value,
        date=date_of(outcome.happened_on),
        is_default=outcome.is_default,
        defaulted_on=None if outcome.defaulted_on is None else date_of(outcome.defaulted_on),
        disbursed_amount=outcome.disbursed_amount,
        repaid_amount=outcome.repaid_amount,
        recorded_at=_time(outcome.recorded_us),
    )


def _exported_hold(hold: Hold) -> ExportedHold:
    released = None if hold.released_us is None else _time(hold.released_us)
    return ExportedHold(reason=hold.reason, placed_at=_time(hold.placed_us), released_at=released)


def _time(moment_us: int) -> datetime:
    return datetime.fromtimestamp(moment_us / 1_000_000, UTC)
