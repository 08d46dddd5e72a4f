"""The loan that was asked for beside the one that is offered."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from alama.core.application import read
from alama.core.asked import Asked, Unmet, unmet, unmet_after
from alama.core.explanation import horizon_days
from alama.core.product import PRODUCT
from alama.core.recourse.answer import Counterfactual, FieldChange
from alama.platform.files.packaged import language
from tests.explanations import APPROVED, COMPACT, explained, ready_recourse

POLICY = ready_recourse().policy
SAID = explained(APPROVED, language("en")).explanation.assessment
OFFER = msgspec.structs.replace(SAID.offer, limit=12_000, term_days=60)


def asking(amount: float | None, term_days: int | None) -> dict[str, Any]:
    asked = {"requested_amount": amount, "requested_term_days": term_days}
    return {**COMPACT, **{name: value for name, value in asked.items() if value is not None}}


@pytest.mark.parametrize(
    ("amount", "term_days", "left_open"),
    [
        (12_000, 60, Unmet(None, None)),
        (500, 60, Unmet(None, None)),
        (12_000.5, 60, Unmet(Asked(12_000.5, is_assumed=False, is_changed=False), None)),
        (12_000, 30, Unmet(None, Asked(30, is_assumed=False, is_changed=False))),
        (12_000, 90, Unmet(None, Asked(90, is_assumed=False, is_changed=False))),
        (None, None, Unmet(None, Asked(30, is_assumed=True, is_changed=False))),
    ],
)
def test_only_a_larger_amount_and_another_term_are_left_open(
    amount: float | None, term_days: int | None, left_open: Unmet
) -> None:
    application = read(POLICY.model.catalogue, asking(amount, term_days))
    assert unmet(POLICY, application, OFFER) == left_open


def test_after_a_way_it_is_the_changed_loan_that_is_compared() -> None:
    application = read(POLICY.model.catalogue, asking(40_000, 30))
    then = msgspec.structs.replace(SAID, offer=OFFER)
    changes = (FieldChange("requested_amount", 40_000, 20_000),)
    way = Counterfactual(changes, then, cost=0.1, within_days=0)
    assert unmet_after(POLICY, application, way) == Unmet(
        Asked(20_000, is_assumed=False, is_changed=True),
        Asked(30, is_assumed=False, is_changed=False),
    )


def test_recourse_looks_as_far_ahead_as_the_slowest_change() -> None:
    assert horizon_days(PRODUCT) == 180
    without = tuple(msgspec.structs.replace(field, change=None) for field in PRODUCT.fields)
    assert horizon_days(msgspec.structs.replace(PRODUCT, fields=without)) == 0
