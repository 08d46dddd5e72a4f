"""Fields that give the outcome of a loan away, and about which somebody has to decide.

A file that came over HTTP is kept before anybody has: its report names the fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from alama.core.product import PRODUCT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_OPEN: Final = "open"
"""As `alama.training.history.report.Standing` writes it."""


class _Suspect(msgspec.Struct, frozen=True):
    column: str
    standing: str


class _Report(msgspec.Struct, frozen=True):
    """The part of the report of a history that is read here."""

    suspects: tuple[_Suspect, ...] = ()


def undecided(report: bytes, decided: Iterable[str] = ()) -> Sequence[str]:
    """Give the fields that a report names as open, but for those that are decided about now.

    Either spelling of a field will do.
    """
    suspects = msgspec.json.decode(report, type=_Report).suspects
    named = {_field(name) for name in decided}
    return [
        one.column for one in suspects if one.standing == _OPEN and _field(one.column) not in named
    ]


def told(fields: Sequence[str]) -> str:
    """Say what is wrong with fields that are open."""
    tell = "tells" if len(fields) == 1 else "tell"
    return f"{', '.join(fields)} {tell} the outcome almost alone, and nobody has decided"


def _field(name: str) -> str:
    return PRODUCT.field(name).name if name in PRODUCT.position else name
