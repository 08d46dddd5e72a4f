"""What a look at an installation finds: one finding for each thing, with what to do about it."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Mark(StrEnum):
    """How it stands with what was looked at."""

    OK = "ok"
    LOOK = "look"
    """Nothing is known to be broken, but somebody should look at it."""
    BROKEN = "broken"
    UNCHECKED = "unchecked"
    """It was left out, does not apply here, or something else stands in the way."""


class Finding(msgspec.Struct, frozen=True):
    """What one check has seen, and what to do unless all is well. Neither holds a secret."""

    check: str
    mark: Mark
    seen: str
    todo: str | None = None

    @property
    def group(self) -> str:
        """The group of checks that it belongs to: the name of the check up to the point."""
        return self.check.partition(".")[0]


def ok(check: str, seen: str) -> Finding:
    """All is well."""
    return Finding(check, Mark.OK, seen)


def look(check: str, seen: str, todo: str | None) -> Finding:
    """It works, or that cannot be told: somebody should look at it."""
    return Finding(check, Mark.LOOK, seen, todo)


def broken(check: str, seen: str, todo: str | None) -> Finding:
    """It does not work, or is about to end badly."""
    return Finding(check, Mark.BROKEN, seen, todo)


def unchecked(check: str, why: str, todo: str | None = None) -> Finding:
    """It was not checked."""
    return Finding(check, Mark.UNCHECKED, why, todo)
