"""A book: the scores of one lender in one mode. Nothing crosses from one book to another."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple


class Mode(StrEnum):
    """Which model answers: the built-in one on synthetic data, or the lender's own."""

    TEST = "test"
    LIVE = "live"


class Book(NamedTuple):
    """Whose data it is. Every query of every score names one."""

    lender: str
    mode: Mode


class Scope(StrEnum):
    """What a key may do."""

    WRITE = "scores:write"
    READ = "scores:read"
    OUTCOMES_WRITE = "outcomes:write"
    LOANS_WRITE = "loans:write"
    REVIEWS_WRITE = "reviews:write"
    MONITORING_READ = "monitoring:read"
    WEBHOOKS_WRITE = "webhooks:write"
    WEBHOOKS_READ = "webhooks:read"
    PILOT_WRITE = "pilot:write"
    PILOT_READ = "pilot:read"
    APPLICANTS_WRITE = "applicants:write"
    APPLICANTS_READ = "applicants:read"
    LISTS_WRITE = "lists:write"
    LISTS_READ = "lists:read"
    KEYS_ROTATE = "keys:rotate"


PILOT_SCOPES: Final = (Scope.PILOT_WRITE, Scope.PILOT_READ)
"""These decide by which model live applications are answered: a key has them on purpose alone."""

GIVEN_BY_NAME: Final = (
    *PILOT_SCOPES,
    Scope.APPLICANTS_WRITE,
    Scope.APPLICANTS_READ,
    Scope.LISTS_WRITE,
    Scope.LISTS_READ,
    Scope.KEYS_ROTATE,
)
"""A key has none of these unless it is named: they hand out or destroy more than a loan system
needs."""

USUAL_SCOPES: Final = tuple(scope for scope in Scope if scope not in GIVEN_BY_NAME)
