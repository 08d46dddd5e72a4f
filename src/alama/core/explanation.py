"""The answer to "why, and what can I do?": an assessment, its reasons, and the ways to a goal.

Pure, like the assessment itself: the service, the command line and the printed page say the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from alama.core.assess import Assessment, assess
from alama.core.lending.circumstances import USUAL, Circumstances
from alama.core.reasons.tell import Reason, reasons
from alama.core.recourse.answer import Recourse, Sought
from alama.core.recourse.find import find_recourse

if TYPE_CHECKING:
    from collections.abc import Callable

    from alama.core.application import Application
    from alama.core.catalogue import Catalogue
    from alama.core.reasons.dictionary import Language
    from alama.core.recourse.ready import ReadyRecourse


class Explanation(msgspec.Struct, frozen=True):
    """What is said of one application, why, and what would lead to what is sought."""

    assessment: Assessment
    reasons: tuple[Reason, ...]
    recourse: Recourse


def horizon_days(catalogue: Catalogue) -> int:
    """Give how far ahead recourse looks: the days that the slowest change of a field may take."""
    changes = (field.change for field in catalogue.fields)
    return max((change.within_days for change in changes if change is not None), default=0)


def explain(
    ready: ReadyRecourse,
    application: Application,
    sought: Sought,
    language: Language,
    out_of_time: Callable[[], bool],
    around: Circumstances = USUAL,
) -> Explanation:
    """Assess, tell why, and search; `out_of_time` and `around` are as `find_recourse` has them."""
    policy = ready.policy
    assessment = assess(policy.model, policy, application, around)
    return Explanation(
        assessment,
        reasons(policy, application, assessment, language),
        find_recourse(ready, application, sought, out_of_time, around),
    )
