"""The whole of recourse on one page: an application and a goal in, what to change out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from alama.core.recourse import obstacles
from alama.core.recourse.answer import (
    Counterfactual,
    FieldChange,
    Hindrance,
    Obstacle,
    Recourse,
    Status,
)
from alama.core.recourse.applicant import Applicant, Judge
from alama.core.recourse.cost import MILLIONTHS
from alama.core.recourse.goals import COUNT_MAX
from alama.core.recourse.search import Search

if TYPE_CHECKING:
    from collections.abc import Callable

    from alama.core.application import Application
    from alama.core.assess import Assessment
    from alama.core.lending.policy import Rule
    from alama.core.recourse.goals import Sought
    from alama.core.recourse.moves import Moves
    from alama.core.recourse.ready import ReadyRecourse
    from alama.core.recourse.search import Found


def find_recourse(
    ready: ReadyRecourse,
    application: Application,
    sought: Sought,
    out_of_time: Callable[[], bool],
    holds: tuple[Rule, ...] = (),
) -> Recourse:
    """Give the cheapest changes of at most three fields that meet the goal.

    `out_of_time` is asked now and then: once it says yes the answer is what was found until then,
    and not proven. `holds` leave every decision of the day to a person, as `assess` has it.
    """
    assert 1 <= sought.count <= COUNT_MAX
    applicant = Applicant(ready, application, sought.goal, holds)
    if applicant.met:
        return Recourse(Status.ALREADY_MET)
    kept = frozenset(ready.policy.model.catalogue.position[name] for name in sought.locked)
    moves = applicant.moves([p for p in ready.movable(application.values) if p not in kept])
    space = applicant.space(moves, applicant.strangeness_max)
    binding = obstacles.certain(applicant, space.gates)
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
        binding = obstacles.of_rules(applicant, judge.objections or ())
    binding += obstacles.of_locks(applicant, kept, out_of_time)
    if not binding:
        binding += obstacles.of_reach(applicant, space, out_of_time)
    binding = binding or obstacles.of_enough_points(applicant, space, out_of_time)
    binding = binding or [obstacles.of_what_cannot_change(applicant, space)]
    return Recourse(Status.NO_RECOURSE, binding=tuple(_spelled(applicant, one) for one in binding))


def _spelled(applicant: Applicant, obstacle: Obstacle) -> Obstacle:
    """Name the fields of an obstacle as the caller did."""
    position, spelled = applicant.model.catalogue.position, applicant.application.spelled or {}
    names = tuple(spelled.get(position[name], name) for name in obstacle.fields)
    return msgspec.structs.replace(obstacle, fields=names)


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
