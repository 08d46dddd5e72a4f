"""Applicants of the built-in model and the default policy who ask what to change."""

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import msgspec

from alama.core.application import read
from alama.core.assess import assess
from alama.core.lending.draft import default_policy
from alama.core.lending.policy import Decision, OwnRule, Policy
from alama.core.lending.policy_check import seal
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel
from alama.core.recourse.answer import APPROVAL, Counterfactual, Goal, Recourse, Sought, Status
from alama.core.recourse.find import find_recourse
from alama.core.recourse.ready import ReadyRecourse
from alama.platform.files.packaged import builtin
from tests.recourse import in_time

MODEL = ReadyModel(builtin())
POLICY = default_policy("KES")
READY = ReadyRecourse(ReadyPolicy(POLICY, MODEL))
ROOT = Path(__file__).parents[4]
GOOD = json.loads((ROOT / "src/alama/builtin/sample.json").read_text("utf-8"))
POOR = {
    **GOOD,
    "mm_months": 9,
    "avg_inflow": 15_200,
    "avg_balance": 900,
    "balance_stability": 0.35,
    "airtime_regularity": 0.4,
    "counterparties": 7,
    "requested_amount": 15_000,
}
"""Somebody who is declined for the score alone."""

COMPACT = {name: POOR[name] for name in MODEL.catalogue.core_names}


def find(
    sent: Mapping[str, Any],
    ready: ReadyRecourse = READY,
    *,
    goal: Goal = APPROVAL,
    locked: Collection[str] = (),
    count: int = 3,
) -> Recourse:
    application = read(ready.policy.model.catalogue, sent)
    return find_recourse(ready, application, Sought(goal, frozenset(locked), count), in_time)


def by_rule(*rules: str, base: Policy = POLICY) -> ReadyRecourse:
    own = tuple(OwnRule(f"rule_{n}", rule, Decision.DECLINED) for n, rule in enumerate(rules))
    return ReadyRecourse(ReadyPolicy(seal(msgspec.structs.replace(base, rules=own)), MODEL))


def advice(counterfactual: Counterfactual) -> dict[str, Any]:
    return {change.field: change.after for change in counterfactual.changes}


def sent_again(sent: Mapping[str, Any], one: Counterfactual, ready: ReadyRecourse = READY) -> None:
    """Whoever does as they are told gets what was promised."""
    changed = read(ready.policy.model.catalogue, {**sent, **advice(one)})
    assert assess(ready.policy.model, ready.policy, changed) == one.assessment


def obstacles(sent: Mapping[str, Any], ready: ReadyRecourse = READY, **asked: Any) -> Any:
    told = find(sent, ready, **asked)
    assert told.status is Status.NO_RECOURSE
    assert told.optimal
    return told.binding
