"""The first step: what a default is to a lender, whose law holds, and how many must sign.

A lender whose law is named gets a live policy under it with its terms, where it has none yet: a
draft to start from, which it changes as any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from alama.core.lending import policy_text
from alama.core.lending.draft import draft, draft_text
from alama.lenders.records import Lender, Signed, require_person
from alama.onboarding.records import NO_GATES, LawElsewhere, Pilot
from alama.onboarding.store import JudgeTerms, Stores, whatever_was_before
from alama.platform.book import Book, Mode
from alama.platform.errors import InvalidName
from alama.platform.files.packaged import builtin, jurisdiction
from alama.policies import policies

if TYPE_CHECKING:
    from collections.abc import Callable

    from alama.core.lending.jurisdiction import Jurisdiction
    from alama.core.model import Model
    from alama.lenders.installation import Installation
    from alama.platform.clock import Clock


DAYS_PAST_DUE: Final = range(1, 366)
APPROVERS: Final = (1, 2)


class Terms(msgspec.Struct, frozen=True):
    """What is agreed with a lender; its name and currency are in the registry.

    `gates` is JSON: what the lender asks of a model beyond what every lender does. Whoever made it
    has checked that it only tightens (`alama.training.validation`).
    """

    days_past_due: int
    approvers: int = 1
    jurisdiction: str | None = None
    gates: str = NO_GATES


class Agreed(NamedTuple):
    """The terms of now, and whether a live policy was drafted with them.

    `other_law` is that of the live policy that was in force, where the terms name another.
    """

    pilot: Pilot
    drafted: bool = False
    other_law: str | None = None


class Agreement:
    """Agrees terms with lenders."""

    def __init__(
        self,
        stores: Stores,
        clock: Clock,
        law: Callable[[str], Jurisdiction],
        builtin: Callable[[], Model],
    ) -> None:
        """Keep what an onboarding is kept in.

        `law` finds the pack of a jurisdiction; `builtin` gives the model that a policy has to fit
        before the lender has one.
        """
        self._stores = stores
        self._clock = clock
        self._law = law
        self._builtin = builtin

    @classmethod
    def at(cls, installed: Installation) -> Agreement:
        """What a default is to the lenders of an installation, and who approves their models."""
        return cls(Stores.at(installed), installed.clock, jurisdiction, builtin)

    def set(
        self,
        lender: str,
        terms: Terms,
        by: str,
        judge: JudgeTerms = whatever_was_before,
        reason: str | None = None,
    ) -> Agreed:
        """Agree terms, in the place of those before, and draft a live policy where none is.

        `UnknownLender`, `UnknownJurisdiction`, `LawElsewhere`, `InvalidName`, and whatever is
        raised by who judges them by those before. Histories that were
        read by another definition of default, and candidates that were judged by other gates, do
        not count any more: `steps.standing` says what is to be done again. A shadow that has begun
        goes on, and so does a live policy that is in force. `reason` is for the audit: why fewer
        people approve than before.
        """
        _require_sound(terms)
        person = require_person(by)
        found = self._stores.registry.lender(lender)
        place = None if terms.jurisdiction is None else self._law(terms.jurisdiction)
        judge(self._stores.pilots.find(lender))  # refused terms draft no policy
        # The policy comes first: left without it, the same terms said again would draft none.
        drafted = place is not None and self._draft_first_policy(found, place, person)
        pilot = Pilot(
            lender=lender,
            jurisdiction=None if place is None else place.code,
            days_past_due=terms.days_past_due,
            approvers=terms.approvers,
            gates=terms.gates,
            set_us=self._clock(),
            set_by=person,
        )
        self._stores.pilots.set(pilot, judge, reason)
        other_law = None if place is None else self._other_law(lender, place)
        return Agreed(self._stores.pilots.find(lender) or pilot, drafted, other_law)

    def _draft_first_policy(self, lender: Lender, place: Jurisdiction, by: str) -> bool:
        """Draft a live policy and put it in force; False where there is one already."""
        if place.currencies and lender.currency not in place.currencies:
            raise LawElsewhere(place.name, lender.id, lender.currency)
        registry, book = self._stores.registry, Book(lender.id, Mode.LIVE)
        deployed = registry.deployed(book)
        if deployed is not None and deployed[1] is not None:
            return False
        text = draft_text(draft(lender.currency, place, f"our {lender.currency} policy"), place)
        note = f"drafted from the pack {place.code} with the terms of the pilot"
        signed = Signed(self._clock(), by, note)
        policies.activate(registry, book, text.encode(), signed, self._builtin)
        return True

    def _other_law(self, lender: str, place: Jurisdiction) -> str | None:
        text = policies.text_in_force(self._stores.registry, Book(lender, Mode.LIVE))
        in_force = policy_text.unjudged(text).jurisdiction
        return None if in_force == place.code else in_force


def _require_sound(terms: Terms) -> None:
    if terms.days_past_due not in DAYS_PAST_DUE:
        raise InvalidName(
            f"a loan is a default after 1 to {DAYS_PAST_DUE[-1]} days past due",
            hint="30, 60 and 90 are usual; what your supervisor reports by is best",
        )
    if terms.approvers not in APPROVERS:
        raise InvalidName(
            "one or two people approve a model", hint="2 asks for four eyes: two different people"
        )
