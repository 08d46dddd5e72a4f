"""The whole of recourse: an application and a goal in, what to change out.

Where there is no recourse, what stands in the way is named only where it was seen to bind.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from alama.core.assess import Assessment, assess
from alama.core.lending.circumstances import USUAL, Circumstances
from alama.core.lending.policy import CounterOffers, Rule
from alama.core.recourse.additive import SIZE_MAX, Moves, is_lever
from alama.core.recourse.answer import (
    COUNT_MAX,
    Approval,
    Counterfactual,
    FieldChange,
    Goal,
    Hindrance,
    Obstacle,
    Recourse,
    Sought,
    Status,
    is_met,
    score_needed,
)
from alama.core.recourse.card import SHUT, Gate, gates
from alama.core.recourse.search import Booked, Found, Search, Space, Strangeness
from alama.core.recourse.values import MILLIONTHS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from alama.core.application import Application
    from alama.core.recourse.ready import ReadyRecourse


_ROUNDS_MAX: Final = 10
_FIELDS_MAX: Final = 3
"""How many fields that cannot be changed are named: the costliest tell it."""

_NO_RULES: Final = frozenset({Rule.UNLIKE_TRAINING, Rule.TIER_IN_REVIEW, Rule.TIER_BELOW_CUTOFF})
"""What is told in other words."""

_HEARD_MAX: Final = 200
"""How many sets of changes with the points are judged to learn what is against them."""

_NOTICEABLE_POINTS: Final = 1.0
"""What a field must cost at least to be named as what cannot be changed."""

Judged = Callable[[Sequence[int]], "Assessment | None"]


def find_recourse(
    ready: ReadyRecourse,
    application: Application,
    sought: Sought,
    out_of_time: Callable[[], bool],
    around: Circumstances = USUAL,
) -> Recourse:
    """Give the cheapest changes of at most three fields that meet the goal.

    `out_of_time` is asked now and then: once it says yes the answer is what was found until then,
    and not proven. `around` is as `assess` has it.
    """
    assert 1 <= sought.count <= COUNT_MAX
    applicant = Applicant(ready, application, sought.goal, around)
    if applicant.met:
        return Recourse(Status.ALREADY_MET)
    kept = frozenset(ready.policy.model.catalogue.position[name] for name in sought.locked)
    moves = applicant.moves([p for p in ready.movable(application.values) if p not in kept])
    space = applicant.space(moves, applicant.strangeness_max)
    binding = _certain_obstacles(applicant, space.gates)
    if not binding:
        judge = Judge(applicant, moves)
        search = Search(space, judge, sought.count, out_of_time)
        found = search.run()
        if found:
            told = tuple(_counterfactual(applicant, moves, one) for one in found)
            return Recourse(Status.FOUND, told, optimal=search.complete)
        if not search.complete:
            late = (Obstacle(Hindrance.OUT_OF_TIME),)
            return Recourse(Status.NO_RECOURSE, optimal=False, binding=late)
        binding = _obstacles_of_rules(applicant, judge.objections or ())
    binding += _obstacles_of_locks(applicant, kept, out_of_time)
    if not binding:
        binding += _obstacles_of_reach(applicant, space, out_of_time)
    binding = binding or _rules_against_enough_points(applicant, space, out_of_time)
    binding = binding or [_what_cannot_change(applicant, space)]
    return Recourse(Status.NO_RECOURSE, binding=tuple(_spelled(applicant, one) for one in binding))


def _counterfactual(applicant: Applicant, moves: Moves, found: Found[Assessment]) -> Counterfactual:
    before, spelled = applicant.application.values, applicant.application.spelled or {}
    changes, days = [], []
    for move in found.moves:
        place = moves.levers[moves.lever_of[move]].place
        field = applicant.model.catalogue.fields[place]
        assert field.change is not None
        name = spelled.get(place, field.name)
        change = FieldChange(name, before[place], moves.values[move])
        changes.append(change)
        days.append(field.change.days(change.step))
    return Counterfactual(tuple(changes), found.answer, found.cost / MILLIONTHS, max(days))


def _spelled(applicant: Applicant, obstacle: Obstacle) -> Obstacle:
    """Name the fields of an obstacle as the caller did."""
    position, spelled = applicant.model.catalogue.position, applicant.application.spelled or {}
    names = tuple(spelled.get(position[name], name) for name in obstacle.fields)
    return msgspec.structs.replace(obstacle, fields=names)


class Applicant:
    """An application as it stands, and what is sought for it; `around` as `assess` has it."""

    def __init__(
        self,
        ready: ReadyRecourse,
        application: Application,
        goal: Goal,
        around: Circumstances = USUAL,
    ) -> None:
        self.ready = ready
        self.policy = ready.policy
        self.model = ready.policy.model
        self.application = application
        self.goal = goal
        # No way leads through the lot: nobody is told to hope for it.
        self.around = around._replace(draw=None)
        self.now = assess(self.model, self.policy, application, around)
        self.need = score_needed(goal, self.policy.policy)
        self.card = ready.card(self.model.scorecard_for(application))
        self.values = self.policy.as_asked(application.values)
        self.scored = self.card.scorecard.score(self.values)
        self.strangeness_max = self._strangeness_max()

    def _strangeness_max(self) -> float:
        """Give what is plausible: no stranger than the policy's limit, or than it is already."""
        likeness, limit = self.card.likeness, self.card.strangeness_max
        if likeness is None:
            return math.inf
        # Whatever is stranger than a policy's own limit is left to a person, and not approved.
        asked = self.policy.policy.sufficiency.unlike_share
        is_last_word = self.policy.counter_offers is not CounterOffers.APPROVE
        if asked is not None and isinstance(self.goal, Approval) and is_last_word:
            return limit
        return max(limit, likeness.strangeness(self.scored.slots))

    @property
    def met(self) -> bool:
        return is_met(self.goal, self.policy.policy, self.now)

    def moves(self, movable: Collection[int]) -> Moves:
        return self.ready.moves(self.card, self.values, movable, self.scored.points)

    def gates(self, moves: Moves) -> tuple[Gate, ...]:
        """Give what stands between the moves and an approval; other goals ask for points alone."""
        if not isinstance(self.goal, Approval):
            return ()
        conditions = self.ready.conditions_of(self.card, self.values)
        return tuple(gates(tuple(conditions), moves, self.values, self.need))

    def space(self, moves: Moves, strangeness_max: float) -> Space:
        """Lay out what the moves do, as far as they lead to nothing stranger."""
        standing = self.card.standing(self.scored.slots)
        points, *others = self.card.sums.effects(standing, moves)
        strangeness = None
        if self.card.likeness is not None and not math.isinf(strangeness_max):
            _, surprise, variance, *_ = self.card.sums.totals(standing)
            strangeness = Strangeness(surprise, variance, others[0], others[1], strangeness_max)
        lending, booked = None, None
        if isinstance(self.goal, Approval):
            lending = self.card.lending.to(standing, moves, points)
            approves_others = self.policy.counter_offers is CounterOffers.APPROVE
            if self.card.booking is not None and not approves_others:
                now = self.card.booking.log_odds(self.scored.slots)
                limit = self.card.booking.booking.log_odds_min
                booked = Booked(now, others[-1], limit)
        gates = self.gates(moves)
        return Space(
            moves, self.scored.points, points, self.need, gates, lending, strangeness, booked
        )

    def after(self, moves: Moves, chosen: Sequence[int]) -> Assessment:
        """Assess the application with some moves made."""
        values = tuple(moves.changed(self.application.values, chosen))
        changed = msgspec.structs.replace(self.application, values=values)
        return assess(self.model, self.policy, changed, self.around)

    def works(self, moves: Moves, chosen: Sequence[int]) -> Assessment | None:
        """Give the assessment after some moves where it meets the goal and is plausible."""
        return self.accepted(moves, chosen, self.after(moves, chosen))

    def accepted(
        self, moves: Moves, chosen: Sequence[int], assessment: Assessment
    ) -> Assessment | None:
        """Give the assessment after some moves back where it will do."""
        if not is_met(self.goal, self.policy.policy, assessment):
            return None
        return assessment if self.is_plausible(moves, chosen) else None

    def is_plausible(self, moves: Moves, chosen: Sequence[int]) -> bool:
        likeness = self.card.likeness
        if likeness is None:
            return True
        slots = self.card.slots_after(self.scored.slots, moves, chosen)
        return likeness.strangeness(slots) <= self.strangeness_max

    def would_work(self, moves: Moves, chosen: Sequence[int]) -> Assessment | None:
        """Give the assessment after some moves where nothing but strangeness is against it."""
        assessment = self.after(moves, chosen)
        met = is_met(self.goal, self.policy.policy, assessment)
        strange = isinstance(self.goal, Approval) and assessment.rules == (Rule.UNLIKE_TRAINING,)
        return assessment if met or strange else None


class Judge:
    """Says whether moves work, and remembers what was against all those that did not."""

    __slots__ = ("_applicant", "_moves", "objections")

    def __init__(self, applicant: Applicant, moves: Moves) -> None:
        self._applicant = applicant
        self._moves = moves
        self.objections: frozenset[str] | None = None
        """The codes of what was against everything that was judged; None before anything was."""

    def __call__(self, chosen: Sequence[int]) -> Assessment | None:
        assessment = self._applicant.after(self._moves, chosen)
        said = frozenset(assessment.rules)
        self.objections = said if self.objections is None else self.objections & said
        return self._applicant.accepted(self._moves, chosen, assessment)


# --------------------------------------------------------------------------- what stands in the way


_UNMOVED: Final = tuple(
    rule.value
    for rule in (
        Rule.TOO_FEW_FIELDS,  # to give more of them is no change of those that were given
        Rule.LATE_ON_A_LOAN,
        Rule.ASKED_OFTEN,
        Rule.EXPOSURE,
        Rule.LADDER,
    )
)
"""Rules that no change of a field that was given moves."""


def _certain_obstacles(applicant: Applicant, gates: Iterable[Gate]) -> list[Obstacle]:
    """Give what binds before anything is tried; where there is something, a search is idle."""
    if applicant.need == math.inf:
        return [Obstacle(Hindrance.TIER)]
    if isinstance(applicant.goal, Approval) and applicant.around.certain:
        return [Obstacle(Hindrance.RULE, rule=rule.value) for rule in applicant.around.certain]
    found = [_rule(applicant, gate) for gate in gates if gate.is_shut]
    if isinstance(applicant.goal, Approval):
        codes = [code for code in _UNMOVED if code in applicant.now.rules]
        found += [Obstacle(Hindrance.RULE, rule=code) for code in codes]
    return found


def _rule(applicant: Applicant, gate: Gate) -> Obstacle:
    fields = _given(applicant, gate.condition.places)
    return Obstacle(Hindrance.RULE, fields, gate.condition.code)


def _obstacles_of_rules(applicant: Applicant, objections: Iterable[str]) -> list[Obstacle]:
    """Give rules that were against everything that was judged, each with what it reads."""
    conditions = applicant.ready.conditions_of(applicant.card, applicant.values)
    places: dict[str, frozenset[int]] = {}
    for condition in conditions:
        places[condition.code] = places.get(condition.code, frozenset()) | condition.places
    return [
        Obstacle(Hindrance.RULE, _given(applicant, places.get(code, ())), code)
        for code in sorted(frozenset(objections) - _NO_RULES)
    ]


def _given(applicant: Applicant, places: Iterable[int]) -> tuple[str, ...]:
    """Give the names of those fields that were given; nobody gives what is remembered."""
    fields, values = applicant.model.catalogue.fields, applicant.application.values
    sent = (place for place in sorted(places) if place < len(fields))
    return tuple(fields[place].name for place in sent if values[place] is not None)


def _obstacles_of_locks(
    applicant: Applicant, locked: frozenset[int], out_of_time: Callable[[], bool]
) -> Iterator[Obstacle]:
    """Yield the locked fields without which it would work."""
    if not locked:
        return
    moves = applicant.moves(applicant.ready.movable(applicant.application.values))
    space = applicant.space(moves, applicant.strangeness_max)
    if _certain_obstacles(applicant, space.gates):
        return
    search = Search(space, lambda chosen: applicant.works(moves, chosen), 1, out_of_time)
    for found in search.run():
        places = {moves.levers[lever].place for lever in found.levers}
        fields = applicant.model.catalogue.fields
        yield Obstacle(Hindrance.LOCKED, tuple(fields[p].name for p in sorted(places & locked)))


def _obstacles_of_reach(
    applicant: Applicant, space: Space, out_of_time: Callable[[], bool]
) -> Iterator[Obstacle]:
    """Yield why what may be changed does not lead to the goal, by trying what it would take."""
    moves = space.moves
    unbounded = applicant.space(moves, math.inf)
    search = Search(unbounded, lambda chosen: applicant.would_work(moves, chosen), 1, out_of_time)
    strange = [_fields(applicant, moves, found.moves) for found in search.run()]
    ascended = _ascend(space)
    if needed := _needed(moves, ascended, lambda chosen: applicant.works(moves, chosen)):
        yield Obstacle(Hindrance.MORE_CHANGES, _fields(applicant, moves, needed))
    elif not strange and (
        needed := _needed(moves, ascended, lambda chosen: applicant.would_work(moves, chosen))
    ):
        strange = [_fields(applicant, moves, needed)]
    for fields in strange:
        yield Obstacle(Hindrance.PLAUSIBILITY, fields)


def _rules_against_enough_points(
    applicant: Applicant, space: Space, out_of_time: Callable[[], bool]
) -> list[Obstacle]:
    """Give the rules in the way of those who have the points, now or by some changes.

    They are the rules against all of these, as far as they were judged; where there is none, those
    against the one with the fewest, of which some always remain.
    """
    if not isinstance(applicant.goal, Approval):
        return []
    said: list[frozenset[str]] = []
    if applicant.now.score >= applicant.need:
        said.append(frozenset(applicant.now.rules))

    def hear(chosen: Sequence[int]) -> None:
        said.append(frozenset(applicant.after(space.moves, chosen).rules))

    anything = dataclasses.replace(space, gates=(), lending=None, strangeness=None, booked=None)
    Search(anything, hear, 1, lambda: len(said) >= _HEARD_MAX or out_of_time()).run()
    if not said:
        return []
    codes = frozenset.intersection(*said) - _NO_RULES
    if not codes:
        codes = min((one - _NO_RULES for one in said), key=lambda one: (len(one), sorted(one)))
    # Somebody who is like nobody in training, and stays so, is told no more than that.
    return _obstacles_of_rules(applicant, codes) or [
        Obstacle(Hindrance.RULE, rule=Rule.UNLIKE_TRAINING.value)
    ]


def _what_cannot_change(applicant: Applicant, space: Space) -> Obstacle:
    """Give the fields without whose cost it would be enough, and which cannot be changed.

    Where there are none the reach of those that can be is too short.
    """
    catalogue, moves = applicant.model.catalogue, space.moves
    costly = [
        (field.name, contribution.points)
        for contribution in applicant.now.contributions
        if contribution.points <= -_NOTICEABLE_POINTS and contribution.value is not None
        if not is_lever(field := catalogue.field(contribution.feature))
    ][:_FIELDS_MAX]
    reached = _gain(space, _ascend(dataclasses.replace(space, gates=())))
    if costly and reached - sum(points for _, points in costly) >= space.gain_min:
        return Obstacle(Hindrance.IMMUTABLE, tuple(name for name, _ in costly))
    return Obstacle(Hindrance.OUT_OF_REACH, _fields(applicant, moves, moves.starts[:-1]))


def _gain(space: Space, chosen: Sequence[int]) -> float:
    """Give the points of any number of moves together."""
    one_each = [np.array([move], dtype=np.intp) for move in chosen]
    return float(space.effects.of(one_each)[0]) if one_each else 0.0


def _fields(applicant: Applicant, moves: Moves, chosen: Iterable[int]) -> tuple[str, ...]:
    fields = applicant.model.catalogue.fields
    places = sorted(moves.levers[moves.lever_of[move]].place for move in chosen)
    return tuple(fields[place].name for place in places)


def _ascend(space: Space) -> list[int]:
    """Give moves of any number of levers with as many points as going uphill finds.

    A lever that a gate wants moved is moved, and none is moved to where a gate is shut.
    """
    effects, moves = space.effects, space.moves
    shut, stuck = _shut(space)
    chosen: dict[int, int] = {}
    for _ in range(_ROUNDS_MAX):
        before = dict(chosen)
        for lever in range(len(moves.levers)):
            others = [move for other, move in chosen.items() if other != lever]
            worth = {
                move: float(effects.gains[move] + effects.extras[move, others].sum())
                for move in range(moves.starts[lever], moves.starts[lever + 1])
                if move not in shut
            }
            best = max(worth, key=worth.__getitem__, default=None)
            if best is not None and (worth[best] > 0.0 or lever in stuck):
                chosen[lever] = best
            else:
                chosen.pop(lever, None)
        if chosen == before:
            break
    return sorted(chosen.values())


def _shut(space: Space) -> tuple[set[int], set[int]]:
    """Give the moves to where a gate of one lever is shut, and the levers that cannot stay."""
    shut, stuck = set(), set()
    for gate in space.gates:
        if len(gate.ranks) == 1:
            (ranks,) = gate.ranks
            movers = [move for move, rank in enumerate(ranks.tolist()) if rank]
            shut |= {move for move in movers if gate.table[ranks[move]] == SHUT}
            if gate.table[0] == SHUT:
                stuck |= {int(space.moves.lever_of[move]) for move in movers}
    return shut, stuck


def _needed(moves: Moves, chosen: Sequence[int], judge: Judged) -> list[int]:
    """Give what is needed of moves that work together, more than a person would make; else none."""
    if len(chosen) <= SIZE_MAX or judge(chosen) is None:
        return []
    needed = list(chosen)
    for move in sorted(chosen, key=lambda move: -int(moves.costs[move])):
        fewer = [other for other in needed if other != move]
        if len(fewer) > SIZE_MAX and judge(fewer) is not None:
            needed = fewer
    return needed
