"""The loan that was asked for beside the one that is offered: what of it an offer leaves open."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.core.application import Application, Value
    from alama.core.lending.offer import Offer
    from alama.core.lending.ready_policy import ReadyPolicy
    from alama.core.recourse.answer import Counterfactual


class Asked(NamedTuple):
    """An amount, or a term in days, that was asked for.

    `is_assumed`: the application does not say, so it is the standard one. `is_changed`: it would
    be asked for after a change.
    """

    value: float
    is_assumed: bool
    is_changed: bool


class Unmet(NamedTuple):
    """What was asked for and is not offered: an amount above the limit, and another term."""

    amount: Asked | None
    term: Asked | None


def assumed(policy: ReadyPolicy, application: Application, card: str) -> Sequence[int]:
    """Give the places, in the card that scored it, of what an application does not say of the loan.

    It was scored as if the standard loan had been asked for.
    """
    values, amount, term = application.values, policy.amount_place, policy.term_place
    if (amount is None or values[amount] is not None) and (
        term is None or values[term] is not None
    ):
        return ()
    found = []
    for scorecard in policy.model.scorecards:
        if scorecard.card.name == card:
            for place in (amount, term):
                if place is not None and values[place] is None and place in scorecard.places:
                    found.append(scorecard.places.index(place))  # noqa: PERF401  faster so
    return found


def unmet(policy: ReadyPolicy, application: Application, offer: Offer) -> Unmet:
    """Compare an offer with the loan that an application asks for."""
    return _compared(policy, application.values, application.values, offer)


def unmet_after(policy: ReadyPolicy, application: Application, way: Counterfactual) -> Unmet:
    """Compare what a way leads to with the loan that is asked for after its changes."""
    after = list(application.values)
    for change in way.changes:
        after[policy.model.catalogue.position[change.field]] = change.after
    return _compared(policy, application.values, after, way.assessment.offer)


def _compared(
    policy: ReadyPolicy, before: Sequence[Value], after: Sequence[Value], offer: Offer
) -> Unmet:
    loan = policy.standard_loan
    amount = _asked(before, after, policy.amount_place, loan.amount)
    term = _asked(before, after, policy.term_place, loan.term_days)
    return Unmet(
        amount if offer.limit < amount.value else None,
        term if offer.term_days != term.value else None,
    )


def _asked(
    before: Sequence[Value], after: Sequence[Value], place: int | None, standard: float
) -> Asked:
    value = None if place is None else after[place]
    if place is None or value is None:
        return Asked(standard, is_assumed=True, is_changed=False)
    assert isinstance(value, int | float)  # neither is a word
    return Asked(value, is_assumed=False, is_changed=value != before[place])
