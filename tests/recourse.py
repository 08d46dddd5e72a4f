"""Small random cases of recourse, and the answer by trying everything."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations, product
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from alama.core import booking as bookings
from alama.core import likeness as likenesses
from alama.core.application import Application
from alama.core.assess import Assessment, assess, explain_score
from alama.core.booking import Booking, FieldBooking, on_step
from alama.core.catalogue import Catalogue, Change, Field, Kind, Use, Way
from alama.core.lending.draft import default_policy
from alama.core.lending.loan import AMOUNT, TERM
from alama.core.lending.policy import Decision, Policy, Sufficiency
from alama.core.lending.policy_check import seal
from alama.core.lending.ready_policy import OUTFLOW, ReadyPolicy
from alama.core.likeness import Branch, Distribution, Likeness, Limit
from alama.core.model import Model, ReadyModel
from alama.core.product import PRODUCT
from alama.core.recourse.additive import Moves, reach
from alama.core.recourse.answer import (
    APPROVAL,
    Goal,
    Recourse,
    ScoreAtLeast,
    Sought,
    TierAtLeast,
    is_met,
)
from alama.core.recourse.find import Applicant, find_recourse
from alama.core.recourse.ready import ReadyRecourse
from alama.core.recourse.values import MILLIONTHS, change_costs, is_between
from alama.core.tables import Card
from tests.applications import random_application
from tests.factories import a_model
from tests.policies import one_of, random_policy, random_rules, with_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.factories import Rng

LEVERS = 7
MODELS = 200


def in_time() -> bool:
    """Stand in for a clock that leaves all the time that is needed."""
    return False


@dataclass(frozen=True)
class Case:
    """A question, and what it is asked of."""

    ready: ReadyRecourse
    application: Application
    goal: Goal
    locked: frozenset[str]
    count: int

    @property
    def catalogue(self) -> Catalogue:
        return self.ready.policy.model.catalogue

    def assess(self, application: Application) -> Assessment:
        return assess(self.ready.policy.model, self.ready.policy, application)

    def find(self) -> Recourse:
        return self.find_until(in_time)

    def find_until(self, out_of_time: Callable[[], bool]) -> Recourse:
        sought = Sought(self.goal, self.locked, self.count)
        return find_recourse(self.ready, self.application, sought, out_of_time)

    def moves(self) -> Moves:
        """Give what is looked at: the values that the proof speaks of."""
        applicant = Applicant(self.ready, self.application, self.goal)
        kept = {self.catalogue.position[name] for name in self.locked}
        movable = self.ready.movable(self.application.values)
        return applicant.moves([place for place in movable if place not in kept])

    def strangeness(self, application: Application) -> float:
        model, policy = self.ready.policy.model, self.ready.policy
        scorecard = model.scorecard_for(application)
        likeness = model.likeness_of(scorecard)
        if likeness is None:
            return -math.inf
        return likeness.strangeness(scorecard.score(policy.as_asked(application.values)).slots)

    @cached_property
    def strangeness_max(self) -> float:
        """Give what is plausible: the limit of the policy, or of one in a thousand, or today's."""
        model = self.ready.policy.model
        likeness = model.likeness_of(model.scorecard_for(self.application))
        share = self.ready.policy.policy.sufficiency.unlike_share
        limit = -math.inf if likeness is None else likeness.limit(0.001 if share is None else share)
        return max(limit, self.strangeness(self.application))

    def works(self, application: Application) -> bool:
        if self.strangeness(application) > self.strangeness_max:
            return False
        return is_met(self.goal, self.ready.policy.policy, self.assess(application))


def random_case(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    ready_model = random_model(int(rng.integers(MODELS)))
    application = _telling_application(rng, ready_model)
    score = explain_score(ready_model, application).score
    policy = ReadyPolicy(_policy_near(rng, score), ready_model)
    levers = [field.name for field in ready_model.catalogue.fields if field.change]
    return Case(
        ReadyRecourse(policy),
        application,
        _random_goal(rng, policy, score),
        frozenset(name for name in levers if rng.random() < 0.1),
        int(rng.integers(1, 6)),
    )


@cache
def random_model(seed: int) -> ReadyModel:
    """Give one of some models; half of them know a likeness, every third who was booked."""
    rng = np.random.default_rng(seed)
    catalogue = random_levers(rng)
    bands, pairs = int(rng.integers(2, 7)), int(rng.choice([0, 4, 20]))
    model = a_model(seed, catalogue=catalogue, bands_max=bands, pairs=pairs)
    if seed % 2:
        model = _with_likeness(rng, model)
    if seed % 3 == 0:
        known = tuple(random_booking(rng, card) for card in model.cards)
        model = msgspec.structs.replace(model, booking=known)
    return ReadyModel(model)


def _policy_near(rng: Rng, score: int) -> Policy:
    """Give a policy that mostly approves somebody, from a score on that is not far from this."""
    policy = seal(msgspec.structs.replace(default_policy("KES"), rules=random_rules(rng)))
    for _ in range(int(rng.integers(0, 5))):
        policy = random_policy(rng)
        if policy.tiers[0].decision is Decision.APPROVED and len(policy.tiers) > 1:
            break
    *better, worst = policy.tiers
    approved = [tier.score_min for tier in better if tier.decision is Decision.APPROVED]
    shift = score + int(rng.integers(-5, 15)) - approved[-1] if approved else 0
    moved = [msgspec.structs.replace(t, score_min=t.score_min + shift) for t in better]
    if not moved or (moved[0].score_min > 850 or moved[-1].score_min <= worst.score_min):
        return policy
    policy = seal(msgspec.structs.replace(policy, tiers=(*moved, worst)))
    if rng.random() < 0.5:
        return policy
    blind = msgspec.structs.replace(policy, sufficiency=Sufficiency())
    return with_parts(blind, affordability={"outflow_ratio_max": None})


def _telling_application(rng: Rng, model: ReadyModel) -> Application:
    """Give an application that, nearly always, has most of what can be changed."""
    application = random_application(rng, model)
    for _ in range(3):
        told = [value is not None for value in application.values]
        if sum(t for t, f in zip(told, model.catalogue.fields, strict=True) if f.change) > 4:
            break
        application = random_application(rng, model)
    return application


def _random_goal(rng: Rng, policy: ReadyPolicy, score: int) -> Goal:
    tier: Goal = one_of(rng, *[TierAtLeast(tier.name) for tier in policy.tiers])
    higher = ScoreAtLeast(min(score + int(rng.integers(1, 60)), 850))
    goal: Goal = one_of(rng, APPROVAL, APPROVAL, APPROVAL, tier, higher)
    return goal


def random_levers(rng: Rng) -> Catalogue:
    """Give the product's catalogue with other fields that can be changed, in other ways."""
    numbers = [
        place
        for place, field in enumerate(PRODUCT.fields)
        if field.numeric and field.use is not Use.REFERENCE
    ]
    chosen = set(rng.choice(numbers, LEVERS, replace=False).tolist())
    return Catalogue(
        tuple(
            msgspec.structs.replace(
                field, change=random_change(rng, field) if place in chosen else None
            )
            for place, field in enumerate(PRODUCT.fields)
        ),
        PRODUCT.prohibited,
    )


def random_change(rng: Rng, field: Field) -> Change:
    step = 0.3 if field.maximum == 1 else 12.0
    return Change(
        way=one_of(rng, *Way, Way.EITHER, Way.EITHER),
        within_days=int(rng.integers(0, 365)),
        effort=one_of(rng, 0.0, 0.3, 1.0, 2.0),
        times_at_most=one_of(rng, None, None, 1.5, 4.0),
        by_at_most=one_of(rng, None, None, None, step),
    )


def _with_likeness(rng: Rng, model: Model) -> Model:
    known = tuple(random_likeness(rng, card) for card in model.cards)
    return msgspec.structs.replace(model, likeness=known)


def random_booking(rng: Rng, card: Card) -> Booking:
    """Give a booking of a card; every fourth field of numbers has an end."""
    fields = []
    for feature in card.features:
        table = tuple(on_step(cell) for cell in rng.normal(0.0, 0.5, len(feature.main)).tolist())
        lowest = highest = None
        if feature.cuts and rng.random() < 0.25:
            end = float(rng.choice(feature.cuts))
            lowest, highest = (end, None) if rng.random() < 0.5 else (None, end)
        fields.append(FieldBooking(table, lowest, highest))
    limit = on_step(float(rng.normal(-0.7, 0.5)))
    booking = Booking(card.name, on_step(0.5), tuple(fields), limit, booked_share=0.6)
    assert not list(bookings.faults(booking, card))
    return booking


def random_likeness(rng: Rng, card: Card) -> Likeness:
    """Give a tree in which each field hangs on an earlier one, with chances drawn at random."""
    counts = [int(rng.integers(1, len(feature.main))) for feature in card.features]
    groups = [
        (0, *np.sort(np.append(np.arange(1, n + 1), rng.integers(1, n + 1, len(f.main) - 1 - n))))
        for n, f in zip(counts, card.features, strict=True)
    ]
    branches = []
    for place, count in enumerate(counts):
        parent = int(rng.integers(place)) if place and rng.random() < 0.8 else None
        lines = 1 if parent is None else 1 + counts[parent]
        beside = tuple(_random_distribution(rng, count) for _ in range(lines))
        branches.append(Branch(tuple(map(int, groups[place])), parent, beside))
    low, high = np.sort(rng.uniform(-1.0, 3.0, 2)).tolist()
    likeness = Likeness(card.name, tuple(branches), (Limit(0.01, low), Limit(0.001, high)))
    assert not list(likenesses.faults(likeness, card))
    return likeness


def _random_distribution(rng: Rng, count: int) -> Distribution:
    chances = rng.dirichlet([1.0] * count).clip(1e-6)
    chances /= chances.sum()
    surprises = np.abs(np.log(chances)).tolist()
    return Distribution(tuple(surprises), *likenesses.moments(chances.tolist(), surprises))


# ----------------------------------------------------------------------------------- brute force


@dataclass(frozen=True, order=True)
class Trial:
    """One set of changes in the order in which answers are given."""

    cost: int
    size: int
    moves: tuple[int, ...]


def all_ways(moves: Moves) -> Iterator[Trial]:
    """Yield every set of up to three moves of different levers."""
    blocks = [range(start, end) for start, end in zip(moves.starts, moves.starts[1:], strict=False)]
    for size in (1, 2, 3):
        for chosen in combinations(blocks, size):
            for way in product(*chosen):
                yield Trial(sum(int(moves.costs[move]) for move in way), size, way)


def by_brute_force(case: Case) -> list[Trial]:
    """Try everything in order; an answer with all levers of an earlier one is no other."""
    moves = case.moves()
    found: list[tuple[Trial, set[int]]] = []
    for way in sorted(all_ways(moves)):
        levers = {int(moves.lever_of[move]) for move in way.moves}
        if any(earlier <= levers for _, earlier in found):
            continue
        if case.works(changed(case, moves, way.moves)):
            found.append((way, levers))
            if len(found) == case.count:
                break
    return [way for way, _ in found]


def changed(case: Case, moves: Moves, chosen: tuple[int, ...]) -> Application:
    values = list(case.application.values)
    for move in chosen:
        values[moves.levers[moves.lever_of[move]].place] = moves.values[move]
    return Application(tuple(values), case.application.spelled)


# ----------------------------------------------------------------------------------- by chance

_FAR_TIMES = 4.0
_STEPS_OF_ROUNDING = 2


@dataclass(frozen=True)
class Draw:
    """Real values for some fields, drawn in reach, and the cost of going to them.

    `cost_rounded` is the cost of going two steps of rounding further in each field: what is looked
    at need not hold these numbers, but no other ones within that.
    """

    application: Application
    cost: float
    cost_rounded: float


def draws(case: Case, rng: Rng, count: int) -> Iterator[Draw]:
    """Draw changes of one to three fields, whatever values are looked at."""
    applicant = Applicant(case.ready, case.application, case.goal)
    kept = {case.catalogue.position[name] for name in case.locked}
    places = [p for p in case.ready.movable(case.application.values) if p not in kept]
    for _ in range(count if places else 0):
        size = min(len(places), int(rng.integers(1, 4)))
        chosen = {p: _drawn(applicant, p, rng) for p in rng.permutation(places)[:size].tolist()}
        if rng.random() < 0.5:
            _spend_just_within(applicant, chosen)
        if all(_is_change(applicant, *one) for one in chosen.items()):
            yield _draw(applicant, chosen)


def _draw(applicant: Applicant, chosen: dict[int, float]) -> Draw:
    values, costs, rounded = list(applicant.application.values), 0, 0
    for place, number in chosen.items():
        field, old = applicant.model.catalogue.fields[place], applicant.values[place]
        assert field.change is not None
        assert isinstance(old, int | float)
        further = number + math.copysign(_STEPS_OF_ROUNDING * _step(field, number), number - old)
        ladder, effort = applicant.card.ladder(place), field.change.effort
        cost, cost_further = change_costs(ladder, effort, old, [number, further])
        costs, rounded = costs + cost, rounded + max(cost, cost_further)
        values[place] = int(number) if field.kind is Kind.INTEGER else number
    changed_application = Application(tuple(values), applicant.application.spelled)
    return Draw(changed_application, costs / MILLIONTHS, rounded / MILLIONTHS)


def _step(field: Field, number: float) -> float:
    """Give how far two neighbouring real values of a field are apart; 0 where all are."""
    if field.kind is Kind.INTEGER or field.name in {AMOUNT, TERM}:
        return 0.0
    if field.maximum == 1:
        return 0.01
    return float(5.0 * 10.0 ** (math.floor(math.log10(abs(number))) - 2)) if number else 0.0


def _drawn(applicant: Applicant, place: int, rng: Rng) -> float:
    field, value = applicant.model.catalogue.fields[place], applicant.values[place]
    assert isinstance(value, int | float)
    low, high = applicant.card.kept_inside(place, value, *reach(field, value))
    most = min(high[0], max(abs(value) * _FAR_TIMES, 100.0))
    number = float(rng.uniform(max(low[0], -1e6), most))
    if field.name == TERM:
        return float(one_of(rng, *applicant.policy.terms_days))
    if field.name == AMOUNT:
        step = applicant.policy.limit_step
        return float(round(number / step) * step)
    return float(round(number)) if field.kind is Kind.INTEGER else _rounded(field, number)


def _rounded(field: Field, number: float) -> float:
    step = _step(field, number)
    return float(f"{math.floor(number / step + 1e-9) * step:.6g}") if step else number


def _spend_just_within(applicant: Applicant, chosen: dict[int, float]) -> None:
    """Let spending, if it is drawn along with the inflow, be as much as the policy lets pass."""
    place = applicant.model.catalogue.position[OUTFLOW]
    ratio = applicant.policy.policy.affordability.outflow_ratio_max
    inflow = chosen.get(applicant.policy.inflow_place)
    if ratio is not None and inflow is not None and place in chosen:
        chosen[place] = _rounded(applicant.model.catalogue.fields[place], ratio * inflow)


def _is_change(applicant: Applicant, place: int, number: float) -> bool:
    field, value = applicant.model.catalogue.fields[place], applicant.values[place]
    assert isinstance(value, int | float)
    low, high = applicant.card.kept_inside(place, value, *reach(field, value))
    return is_between(low, number, high) and number != value
