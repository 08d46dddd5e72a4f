"""Applicants to explain: declined, left to a person, approved (for less), and beyond help."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, NamedTuple

from alama.core.application import Application, read
from alama.core.explanation import Explanation, explain
from alama.core.lending.draft import default_policy
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel
from alama.core.reasons.dictionary import (
    FIELD_LOWERS_SCORE,
    FIELD_RAISES_SCORE,
    LENDER_RULE,
    NOT_GIVEN,
    Language,
)
from alama.core.recourse.answer import Sought
from alama.core.recourse.ready import ReadyRecourse
from alama.platform.files.packaged import builtin, sample_application

GENERIC = (FIELD_LOWERS_SCORE, FIELD_RAISES_SCORE, NOT_GIVEN, LENDER_RULE)
"""Codes of reasons for what has none of its own."""

APPROVED: dict[str, Any] = json.loads(sample_application())
DECLINED = {
    **APPROVED,
    "mm_months": 8,
    "avg_balance": 800,
    "balance_stability": 0.25,
    "counterparties": 6,
    "airtime_regularity": 0.3,
    "requested_amount": 30_000,
    "applicant_ref": "L-20931",
}
REVIEWED = {**DECLINED, "balance_stability": 0.35, "requested_amount": 20_000}
COMPACT = {
    "mobile_money_months": 10,
    "monthly_inflow": 16_000,
    "stability_score": 0.4,
    "airtime_regularity": 0.4,
}
BEYOND_HELP = {
    "mobile_money_months": 1,
    "monthly_inflow": 6_000,
    "stability_score": 0.2,
    "airtime_regularity": 0.2,
}
INDEBTED = {
    "mobile_money_months": 14,
    "monthly_inflow": 18_000,
    "stability_score": 0.6,
    "airtime_regularity": 0.8,
    "existing_repayments": 18_000,
}
PENNILESS = {
    "mobile_money_months": 60,
    "monthly_inflow": 100,
    "stability_score": 0.9,
    "airtime_regularity": 0.9,
}
ASKING_MUCH = {**APPROVED, "requested_amount": 47_000, "requested_term_days": 25}
DECLINED_FOR_MUCH = {
    **DECLINED,
    "mm_months": 31,
    "avg_inflow": 25_000,
    "balance_stability": 0.6,
    "requested_amount": 40_000,
    "requested_term_days": 200,
}


class Explained(NamedTuple):
    """One applicant, as the built-in model and the default policy for KES explain them."""

    ready: ReadyRecourse
    application: Application
    sought: Sought
    explanation: Explanation


@cache
def ready_recourse() -> ReadyRecourse:
    return ReadyRecourse(ReadyPolicy(default_policy("KES"), ReadyModel(builtin(), "KES")))


def explained(
    sent: dict[str, Any],
    language: Language,
    sought: Sought | None = None,
    ready: ReadyRecourse | None = None,
) -> Explained:
    """Explain what was sent, with all the time there is."""
    ready = ready or ready_recourse()
    sought = sought or Sought()
    application = read(ready.policy.model.catalogue, sent)
    return Explained(
        ready,
        application,
        sought,
        explain(ready, application, sought, language, lambda: False),
    )
