"""Fields that give the outcome of a loan away, and about which somebody has to decide.

A file that came over HTTP is kept before anybody has: its report names the fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from alama.core.product import PRODUCT
from alama.service.onboarding.errors import HistoryDamaged

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from alama.service.onboarding.ports import Histories

_OPEN: Final = "open"
"""As `alama.training.history.report.Standing` writes it."""


class _Suspect(msgspec.Struct, frozen=True):
    column: str
    standing: str


class _Report(msgspec.Struct, frozen=True):
    """The part of the report of a history that is read here."""

    suspects: tuple[_Suspect, ...] = ()


def undecided(
    histories: Histories, lender: str, history_id: str, decided: Iterable[str] = ()
) -> Sequence[str]:
    """Give the fields that a report names as open, but for those that are decided about now.

    Either spelling of a field will do. `UnknownHistory`, `HistoryDamaged`.
    """
    suspects = _read(history_id, histories.report(lender, history_id)).suspects
    named = {_field(name) for name in decided}
    return [
        one.column for one in suspects if one.standing == _OPEN and _field(one.column) not in named
    ]


def whole_report(histories: Histories, lender: str, history_id: str) -> bytes:
    """Give the report of a history as it was kept; `UnknownHistory`, `HistoryDamaged`."""
    report = histories.report(lender, history_id)
    _read(history_id, report)
    return report


def _read(history_id: str, report: bytes) -> _Report:
    try:
        # As text: of what is passed over, the decoder does not look at the letters.
        return msgspec.json.decode(report.decode("utf-8"), type=_Report)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise HistoryDamaged(history_id) from None  # its words may be those of the file


def told(fields: Sequence[str]) -> str:
    """Say what is wrong with fields that are open."""
    tell = "tells" if len(fields) == 1 else "tell"
    return f"{', '.join(fields)} {tell} the outcome almost alone, and nobody has decided"


def _field(name: str) -> str:
    return PRODUCT.field(name).name if name in PRODUCT.position else name
