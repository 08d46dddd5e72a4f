"""The applications of the sandbox, found among people who do not exist: `python -m tools.fixtures`.

Each leads where its name says under the built-in model and the default policy of every currency.
Run it again when the built-in model is another, and its test says that one leads elsewhere.
"""

from __future__ import annotations

import json
import random
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from alama.core.assess import Assessment, assess
from alama.core.explanation import explain
from alama.core.intake import Intake
from alama.core.lending.draft import default_policy
from alama.core.lending.policy import Decision, Rule
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import REFERENCE_INFLOW_MONTHLY, ReadyModel
from alama.core.product import PRODUCT
from alama.core.reasons import tell
from alama.core.recourse.answer import Sought, Status
from alama.core.recourse.ready import ReadyRecourse
from alama.platform.files.packaged import builtin, language
from alama.scoring.directory import ActiveModel
from alama.scoring.sandbox import PREFIX, Fixture, stand_in_for
from alama.training.population.people import PopulationOptions, batches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alama.core.reasons.dictionary import Language
    from alama.core.reasons.tell import Reason

FILE: Final = Path(__file__).parents[1] / "src" / "alama" / "builtin" / "fixtures.json"
PEOPLE: Final = 8_000
SEED: Final = 7
CANDIDATES: Final = 60
"""Of each kind, the best first, that are tried in other currencies."""

POINTS_FROM_CUTOFF: Final = 6
"""A fixture is not on the edge of its tier, unless that is what it is about."""

EDGES: Final = (Rule.OFFER_BELOW_CUTOFF, Rule.BELOW_BREAK_EVEN)

_LITTLE: Final = 5_000
_TIMES: Final = 12

Person = dict[str, Any]


class Told(NamedTuple):
    """An applicant, and what is said of them."""

    person: Person
    said: Assessment
    reasons: tuple[Reason, ...]


@cache
def _english() -> Language:
    return language("en")


def active_in(currency: str) -> ActiveModel:
    """Give what answers test keys of a lender without a policy of its own."""
    model = ReadyModel(builtin(), currency)
    return ActiveModel(model, ReadyPolicy(default_policy(currency), model))


def holds(fixture: Fixture, active: ActiveModel) -> bool:
    """Say whether a fixture leads where it says."""
    application = Intake(PRODUCT).read(stand_in_for(fixture, active, fixture.name))
    said = assess(active.model, active.policy, application)
    told = tell.reasons(active.policy, application, said, _english())
    reasons = {reason.code for reason in told}
    if fixture.recourse is not None:
        ready = ReadyRecourse(active.policy)
        found = explain(ready, application, Sought(), _english(), lambda: False)
        if found.recourse.status != fixture.recourse:
            return False
    return said.decision == fixture.decision and fixture.reason in (None, *reasons)


def people() -> Iterator[Person]:
    """Give those who do not exist, and some of whom strange things are said."""
    names = {field.name for field in PRODUCT.fields}
    everyone = [
        _rounded(
            {name: value for name, value in row.items() if name in names and value is not None}
        )
        for batch in batches(PopulationOptions(PEOPLE, SEED))
        for row in batch.to_pylist()
    ]
    yield from everyone
    chance = random.Random(SEED)  # noqa: S311  no secret
    for person in everyone[: PEOPLE // 8]:
        inflow = person["avg_inflow"]
        yield person | {"existing_repayments": round(inflow * chance.uniform(0.1, 0.6))}
        yield person | {"avg_balance": person.get("avg_balance", 1_000) * 10_000}
    # Those who can hardly carry the smallest loan, and ask for less.
    for person in everyone:
        for _ in range(_TIMES if person["avg_inflow"] < _LITTLE else 0):
            yield person | {
                "requested_amount": chance.randint(100, 450),
                "requested_term_days": chance.choice((14, 21, 30)),
                "existing_repayments": round(person["avg_inflow"] * chance.uniform(0.0, 0.25)),
            }


def _rounded(person: Person) -> Person:
    rounded = {
        name: round(value) if PRODUCT.field(name).money or name == "tx_frequency" else value
        for name, value in person.items()
        if not isinstance(value, str)
    }
    return person | {
        name: round(value, 2) if isinstance(value, float) else value
        for name, value in rounded.items()
    }


def wanted() -> Iterator[Fixture]:
    """Give what is looked for, without the applications."""
    no_recourse = Status.NO_RECOURSE.value
    for name, decision, reason, recourse in (
        ("approved", Decision.APPROVED, None, None),
        ("review", Decision.REVIEW, Rule.TIER_IN_REVIEW, None),
        ("declined", Decision.DECLINED, Rule.TIER_BELOW_CUTOFF, Status.FOUND.value),
        ("no-recourse", Decision.DECLINED, Rule.TIER_BELOW_CUTOFF, no_recourse),
    ):
        yield Fixture(PREFIX + name, decision.value, {}, reason and reason.value, recourse)
    for code in _english().texts:
        for decision in Decision:
            yield Fixture(PREFIX + code.replace("_", "-"), decision.value, {}, code)


def find() -> list[Fixture]:
    """Give every fixture that there is."""
    intake = Intake(PRODUCT)
    actives = {currency: active_in(currency) for currency in REFERENCE_INFLOW_MONTHLY}
    home = actives["KES"]
    told = []
    for person in people():
        application = intake.read(json.dumps(person).encode())
        said = assess(home.model, home.policy, application)
        told.append(Told(person, said, tell.reasons(home.policy, application, said, _english())))
    found: dict[str, Fixture] = {}
    for sought in wanted():
        if sought.name in found:
            continue
        fitting = [one for one in told if _fits(sought, one, home)]
        for one in sorted(fitting, key=lambda one: _rank(sought, one))[:CANDIDATES]:
            fixture = Fixture(
                sought.name, sought.decision, one.person, sought.reason, sought.recourse
            )
            if all(holds(fixture, active) for active in actives.values()):
                found[sought.name] = fixture
                break
    return list(found.values())


def _fits(sought: Fixture, one: Told, active: ActiveModel) -> bool:
    cutoffs = [tier.score_min for tier in active.policy.policy.tiers]
    on_edge = any(abs(one.said.score - cutoff) < POINTS_FROM_CUTOFF for cutoff in cutoffs)
    codes = [reason.code for reason in one.reasons]
    return (
        one.said.decision == sought.decision
        and (sought.reason is None or sought.reason in codes)
        and not (on_edge and sought.reason not in EDGES)
    )


def _rank(sought: Fixture, one: Told) -> tuple[float, ...]:
    """Order those that fit: nothing else decided, the reason stands first and weighs most."""
    others = [rule for rule in one.said.rules if rule != sought.reason]
    if sought.reason is None:
        return (len(others), abs(one.said.score - 720))
    (place,) = [n for n, reason in enumerate(one.reasons) if reason.code == sought.reason][:1]
    weight = abs(one.reasons[place].contribution or 0.0)
    return (len(others), place, -weight)


def main() -> None:
    """Write the file, and say what no application leads to."""
    found = find()
    lines = ",\n".join(
        json.dumps(
            {
                "name": one.name,
                "decision": one.decision,
                "reason": one.reason,
                "recourse": one.recourse,
                "application": one.application,
            },
            ensure_ascii=False,
        )
        for one in found
    )
    FILE.write_text(f"[\n{lines}\n]\n", "utf-8")
    missing = {one.name for one in wanted()} - {one.name for one in found}
    sys.stdout.write(f"{FILE.name}: {len(found)}; none for {', '.join(sorted(missing))}\n")


if __name__ == "__main__":
    main()
