"""Simulations to show: two policies that differ in many ways, on people who do not exist."""

from __future__ import annotations

from functools import cache

import msgspec
import numpy as np

from alama.core.lending.draft import default_policy
from alama.core.lending.policy import Decision, OwnRule, Policy
from alama.core.lending.policy_check import seal
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.lending.simulation import Case, Simulation, simulate
from alama.core.model import ReadyModel
from tests.applications import random_application
from tests.factories import a_model


def a_wider_policy(**changed: object) -> Policy:
    """The default policy for KES with lower cut-offs and rules of its own."""
    policy = default_policy("KES")
    tiers = [
        msgspec.structs.replace(tier, score_min=max(tier.score_min - 25, 300))
        for tier in policy.tiers
    ]
    rules = (
        OwnRule("young_account", "mm_months < 4", Decision.DECLINED, "Younger than four months."),
        OwnRule("large_for_income", "requested_amount > 1.5 * avg_inflow", Decision.REVIEW),
    )
    changes = {"name": "wider", "tiers": tuple(tiers), "rules": rules, "id": "", **changed}
    return seal(msgspec.structs.replace(policy, **changes))


@cache
def the_model() -> ReadyModel:
    return ReadyModel(a_model(seed=2, pairs=5), "KES")


def some_cases(count: int, seed: int = 1) -> list[Case]:
    rng = np.random.default_rng(seed)
    return [Case(f"A-{n}", random_application(rng, the_model())) for n in range(count)]


def a_simulation(
    old: Policy | None = None, new: Policy | None = None, count: int = 400
) -> Simulation:
    """What the wider policy makes of some applications, by default against the default policy."""
    model = the_model()
    before = ReadyPolicy(old or default_policy("KES"), model)
    after = ReadyPolicy(new or a_wider_policy(), model)
    return simulate(model, before, after, some_cases(count))
