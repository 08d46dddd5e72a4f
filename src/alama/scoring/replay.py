"""Replay: the same application, model and policy must give the same answer, years later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from alama.core import model as models
from alama.core.application import may_have_been_word, remembering
from alama.core.assess import Assessment, assess
from alama.core.errors import InvalidApplication
from alama.core.intake import Intake
from alama.core.lending import policy_text
from alama.core.lending.earnings import Known
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.lending.simulation import Case
from alama.core.model import ReadyModel
from alama.core.own_fields import reading
from alama.lenders.own_fields import own_fields_by_id
from alama.platform.book import Book, Mode
from alama.platform.days import day_of, month_name
from alama.platform.errors import Erased
from alama.scoring.records import (
    Became,
    Earlier,
    ScoreRow,
    Sealed,
    StoredScore,
    UnknownScore,
    unpack,
    weight_of,
)
from alama.vault import envelope
from alama.vault.vault import Locked, Vault

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from alama.core.application import Application
    from alama.core.catalogue import Catalogue
    from alama.core.lending.policy import Policy
    from alama.lenders.store import Registry
    from alama.scoring.store import Scores


def open_score(vault: Vault, stored: StoredScore) -> Sealed:
    """Read what was kept of a score; `Erased`, or `StoreUnfit` where it is damaged."""
    return unpack(open_packed(vault, stored), stored.row.request_id)


def open_packed(vault: Vault, stored: StoredScore) -> bytes:
    """Give the same as it was packed, to the byte: that is what its digest covers."""
    row = stored.row
    locked = Locked(row.book, row.request_id, envelope.RECORD, row.sealed)
    return vault.opened(locked, row.seal_key_id, stored.applicant)


def open_reply(vault: Vault, book: Book, earlier: Earlier) -> bytes:
    """Read the reply that was given under an idempotency key; errors as in `open_score`."""
    locked = Locked(book, earlier.request_id, envelope.REPLY, earlier.reply)
    return vault.opened(locked, earlier.seal_key_id, earlier.applicant)


class Record(NamedTuple):
    """A stored score, with the model and the policy that it names, ready to be used again."""

    row: ScoreRow
    sealed: Sealed
    model: ReadyModel
    policy: ReadyPolicy


class Difference(NamedTuple):
    """One part of an assessment that came out otherwise; None where one side has no such part."""

    part: str
    stored: object
    replayed: object


def find(registry: Registry, scores: Scores, request_id: str) -> StoredScore:
    """Find a score in whichever book it is: for those who run the service, not for callers."""
    for lender in registry.lenders():
        for mode in Mode:
            try:
                return scores.find(Book(lender.id, mode), request_id)
            except UnknownScore:
                continue
    raise UnknownScore


def recall(registry: Registry, vault: Vault, stored: StoredScore) -> Record:
    """Bring together everything that a stored score rests on, or raise `Erased`."""
    row, sealed = stored.row, open_score(vault, stored)
    own = own_fields_by_id(registry, row.lender, sealed.fields or None)
    policy = policy_text.decode(registry.policy(row.policy_id), row.policy_id)
    model = models.stored(registry.model(row.model_id), row.model_id)
    return record_of(row, sealed, ReadyModel(reading(model, own), policy.currency), policy)


def record_of(row: ScoreRow, sealed: Sealed, model: ReadyModel, policy: Policy) -> Record:
    """Lay the policy out as it spoke: by the product that decided."""
    ready = ReadyPolicy(policy, model).for_product(sealed.assessment.product)
    return Record(row, sealed, model, ready)


def as_decided(intake: Intake, sealed: Sealed, catalogue: Catalogue) -> Application:
    """Read an application as it was decided on: with what was remembered, and by its product."""
    said = sealed.assessment
    application = intake.read(sealed.application)
    application = msgspec.structs.replace(application, product=said.product)
    return remembering(application, said.memory, catalogue)


def replay(record: Record) -> tuple[Difference, ...]:
    """Assess a stored application again and say what differs; nothing should."""
    intake = Intake(record.model.catalogue, may_have_been_word, record.policy.products)
    said = record.sealed.assessment
    application = intake.read(record.sealed.application)
    application = remembering(application, said.memory, record.model.catalogue)
    again = assess(record.model, record.policy, application, said.circumstances(record.policy))
    again = msgspec.structs.replace(again, proven=said.proven)  # came beside the application
    if not said.slots:  # given before they were kept
        again = msgspec.structs.replace(again, slots=())
    stored = {**_parts(said), **_columns_of(record.row)}
    replayed = {**_parts(again), **_columns_from(again)}
    # Parts in the order of the record, then those that only the replay has.
    return tuple(
        Difference(part, stored.get(part), replayed.get(part))
        for part in {**stored, **replayed}
        if stored.get(part) != replayed.get(part)
    )


def _parts(said: Assessment) -> dict[str, object]:
    """Give an assessment as one flat table, so that a difference names the very number."""
    contributions = said.contributions
    return {
        **dict(_leaves("", said)),
        "contributions": [one.feature for one in contributions],
        **{f"points of {one.feature}": one.points for one in contributions},
        **{f"value of {one.feature}": one.value for one in contributions},
    }


def _leaves(path: str, said: msgspec.Struct) -> Iterator[tuple[str, object]]:
    for name, value in msgspec.structs.asdict(said).items():
        if isinstance(value, msgspec.Struct):
            yield from _leaves(f"{path}{name}.", value)
        elif value is not msgspec.UNSET:
            yield f"{path}{name}", msgspec.to_builtins(value)


def _columns_of(row: ScoreRow) -> dict[str, object]:
    """Give what lists and statistics read: it must say what the assessment says."""
    return {
        "column score": row.score,
        "column tier": row.tier,
        "column default_probability": row.default_probability,
        "column decision": row.decision,
        "column recommended_limit": row.recommended_limit,
        "column recommended_term_days": row.recommended_term_days,
        "column recommended_apr": row.recommended_apr,
        "column expected_loss": row.expected_loss,
        "column propensity": row.propensity,
        "column product": row.product,
    }


def _columns_from(said: Assessment) -> dict[str, object]:
    return {
        "column score": said.score,
        "column tier": said.tier,
        "column default_probability": said.default_probability,
        "column decision": said.decision.value,
        "column recommended_limit": said.offer.limit,
        "column recommended_term_days": said.offer.term_days,
        "column recommended_apr": said.offer.apr,
        "column expected_loss": said.offer.expected_loss if said.offer.limit else 0.0,
        "column propensity": said.propensity,
        "column product": said.product,
    }


PAGE: Final = 2_000
"""Applications that are fetched at a time, some 6 MB."""


class StoredCases:
    """The applications of one book, the newest first, known by their request ids.

    What became of loans that were due before the day `due_before` is known with them. How many
    there are is not known beforehand. `unfit` counts those of the latest reading that the
    catalogue does not know how to read: an earlier model may have asked for other fields. `erased`
    counts those that nobody can read any more.
    """

    total = None

    def __init__(
        self,
        scores: Scores,
        vault: Vault,
        book: Book,
        catalogue: Catalogue,
        due_before: int | None = None,
    ) -> None:
        self._due_before = due_before
        self._scores = scores
        self._vault = vault
        self._book = book
        self._catalogue = catalogue
        self._intake = Intake(catalogue, may_have_been_word, products=None)
        self.unfit = 0
        self.erased = 0

    def first(self, count: int) -> Iterator[Case]:
        """Read the newest so many, or all there are."""
        self.unfit = self.erased = 0
        before: str | None = None
        while count > 0:
            page = self._scores.applications(self._book, before, min(count, PAGE))
            became = self._became(page)
            for stored in page:
                case = self._case(stored, became.get(stored.row.request_id))
                if case is not None:
                    yield case
            if len(page) < min(count, PAGE):
                return
            count -= len(page)
            before = page[-1].row.request_id

    def remarks(self) -> list[str]:
        """Say what the latest reading has left out."""
        left_out = (
            (self.unfit, "that this model cannot read were left out"),
            (self.erased, "that were erased are not among them"),
        )
        return [f"{count:,} {what}" for count, what in left_out if count]

    def _became(self, page: Sequence[StoredScore]) -> Mapping[str, Became]:
        if self._due_before is None or not page:
            return {}
        ids = [stored.row.request_id for stored in page]
        return self._scores.became(self._book, ids, self._due_before)

    def _case(self, stored: StoredScore, became: Became | None) -> Case | None:
        row = stored.row
        try:
            sealed = open_score(self._vault, stored)
            application = as_decided(self._intake, sealed, self._catalogue)
            known = None if became is None else _known(row, became)
            month = month_name(day_of(row.created_us))
            return Case(row.request_id, application, month, known)
        except InvalidApplication:
            self.unfit += 1
        except Erased:
            self.erased += 1
        return None


def _known(row: ScoreRow, became: Became) -> Known:
    """Give what became of a loan, and the chance with which it was given where it was drawn."""
    returned = None
    if became.disbursed_amount and became.repaid_amount is not None:
        returned = became.repaid_amount / became.disbursed_amount
    propensity = 1.0 / weight_of(row.decision, row.propensity)
    return Known(became.defaulted_on is not None, returned, propensity)
