"""The validation pack: all that a person needs to approve a candidate, as one JSON document.

`pack_page` shows it. Nothing in it repeats what the history says of a person: counts, rates,
columns and months only.
"""

from __future__ import annotations

from typing import Final

import msgspec

from alama.training.history.report import HistoryReport
from alama.training.recipe import CardNotes
from alama.training.validation.fairness import Attribute
from alama.training.validation.gates import GateResult, Gates
from alama.training.validation.money import Money
from alama.training.validation.refit import Refit
from alama.training.validation.rivals import Comparison
from alama.training.validation.support import Selection, Support
from alama.training.validation.tiers import LoanRate, TermBand, TierRate
from alama.training.validation.validate import Validation

SCHEMA: Final = "alama.pack/1"


class Returned(msgspec.Struct, frozen=True):
    """Later loans of borrowers who came back; `predicted_rate` is None where there is none.

    The model has met these people, so this is no independent evidence.
    """

    loans: int
    defaults: int
    predicted_rate: float | None = None


class SplitFacts(msgspec.Struct, frozen=True):
    """How the loans were split: by day of application, then by borrower.

    The model learned from every earlier loan. Those of the out-of-time part judge it, but for
    `returned`: loans of borrowers from whom it had learned. `explored` of the earlier loans were
    given by chance, and taught as often as they stand for.
    """

    out_of_time_from: str
    learning_loans: int
    learning_defaults: int
    out_of_time_loans: int
    out_of_time_defaults: int
    out_of_time_borrowers: int
    returned: Returned
    terms: tuple[TermBand, ...]
    explored: int = 0


class PolicyFacts(msgspec.Struct, frozen=True):
    """The policy that the candidate was judged with, and when it leaves an application to a person.

    None: the policy does not look at it.
    """

    id: str
    name: str
    version: str
    jurisdiction: str
    unlike_share: float | None
    outside_times: float | None
    forbidden_fields: tuple[str, ...]


class RegionEffect(msgspec.Struct, frozen=True):
    """What the region buys, and what it does: the candidate against itself without the field."""

    comparison: Comparison
    without: tuple[Attribute, ...]


class OwnFieldsEffect(msgspec.Struct, frozen=True):
    """What fields beside the product's buy: the lender's own, and what is remembered."""

    fields: tuple[str, ...]
    comparison: Comparison


class Pack(msgspec.Struct, frozen=True):
    """The pack of one candidate. `score_psi` is of the model as served, out of time.

    It is of all that was booked, also of what has no outcome yet. `recent_psi` is that of the last
    three months, None where there are too few loans. Without `support` the history knew of nobody,
    or of too few, who were not booked. `questions` are what stands out although no gate blocks.

    `refit` is there where one was asked for. Once made, `model_id` and `notes` are those of the
    refit, and all else is still of the model that was judged.
    """

    schema: str
    model_id: str
    name: str
    currency: str
    limits: Gates
    gates: tuple[GateResult, ...]
    history: HistoryReport
    split: SplitFacts
    policy: PolicyFacts
    validation: Validation
    notes: tuple[CardNotes, ...]
    overall: LoanRate
    tiers: tuple[TierRate, ...]
    score_psi: float
    recent_psi: float | None
    fairness: tuple[Attribute, ...]
    selection: Selection
    current: Comparison | None
    region: RegionEffect | None
    support: Support | None = None
    questions: tuple[str, ...] = ()
    refit: Refit | None = None
    money: Money | None = None
    own_fields: OwnFieldsEffect | None = None

    @property
    def passed(self) -> bool:
        """Say whether every gate is passed: only then may anyone approve."""
        return all(gate.passed for gate in self.gates)

    @property
    def blocked_by(self) -> tuple[GateResult, ...]:
        """Give the gates that block approval."""
        return tuple(gate for gate in self.gates if not gate.passed)


def encode(pack: Pack) -> bytes:
    return msgspec.json.encode(pack)
