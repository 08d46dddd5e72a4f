"""One applicant who seeks a goal: the space to search, and the judge of what is found."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from alama.core.application import Application
from alama.core.assess import assess
from alama.core.lending.policy import Rule
from alama.core.recourse.gates import Gate, gates
from alama.core.recourse.goals import Approval, is_met, score_needed
from alama.core.recourse.space import Booked, Space, Strangeness

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from alama.core.assess import Assessment
    from alama.core.recourse.goals import Goal
    from alama.core.recourse.moves import Moves
    from alama.core.recourse.ready import ReadyRecourse


class Applicant:
    """An application as it stands, and what is sought for it."""

    def __init__(
        self,
        ready: ReadyRecourse,
        application: Application,
        goal: Goal,
        holds: tuple[Rule, ...] = (),
    ) -> None:
        """Assess it, and see what the goal needs; `holds` as `assess` has them."""
        self.ready = ready
        self.policy = ready.policy
        self.model = ready.policy.model
        self.application = application
        self.goal = goal
        self.holds = holds
        self.now = assess(self.model, self.policy, application, holds)
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
        if asked is not None and isinstance(self.goal, Approval):
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
            if self.card.booking is not None:
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
        changed = Application(values, self.application.spelled)
        return assess(self.model, self.policy, changed, self.holds)

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
