"""The public contract of reviews: what an officer sends. `wire` has what comes back."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from alama.api.fields import Rule
from alama.api.wire_onboarding import Person
from alama.core.characters import HIDDEN
from alama.service.onboarding.words import TEXT_MAX
from alama.service.outcomes.records import RULINGS, ReviewReason
from alama.service.outcomes.reviewing import NOTE_MAX

REASONS: Final = tuple(reason.value for reason in ReviewReason)

_LINES: Final = rf"^([^{HIDDEN}]|[\n\t]|\r\n)*$"

RULES: Final = {
    "decision": Rule(str, f"must be {' or '.join(RULINGS)}"),
    "reason": Rule(str, f"must be one of {', '.join(REASONS)}"),
    "name": Rule(str, f"must be a name on one line, at most {TEXT_MAX} characters"),
    "note": Rule(str, f"must be plain text, at most {NOTE_MAX} characters"),
}
"""What the fields of the body must be, by their names."""


class NewReview(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an officer decides on a score."""

    decision: Annotated[
        str,
        Meta(
            description="What the officer decides.",
            examples=["APPROVED"],
            extra_json_schema={"enum": list(RULINGS)},
        ),
    ]
    reason: Annotated[
        str,
        Meta(
            description="What weighed most. Reasons are counted; `other` says that none fits.",
            examples=["income_verified"],
            extra_json_schema={"enum": list(REASONS)},
        ),
    ]
    name: Person
    note: Annotated[
        str,
        Meta(
            description="In the officer's own words. It may tell of the applicant: it is sealed, "
            "is in no event and in no log, and is erased with the applicant.",
            examples=["payslips of three months seen"],
            extra_json_schema={"maxLength": NOTE_MAX, "pattern": _LINES},
        ),
    ] = ""


REQUESTS: Final = (NewReview,)
