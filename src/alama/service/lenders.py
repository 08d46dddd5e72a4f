"""Lenders: who uses this installation, and the currency they lend in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from alama.core.money import REFERENCE_INFLOW_MONTHLY
from alama.service.errors import InvalidName

if TYPE_CHECKING:
    from alama.service.ports import Clock, Registry

DEMO: Final = "demo"
"""The lender of a new embedded database, so that the first score takes no administration."""

_ID: Final = re.compile(r"[a-z][a-z0-9-]{0,39}")
_NAME_LENGTH_MAX: Final = 200


class Lender(msgspec.Struct, frozen=True):
    """One lender. The id is a short word for commands and logs; the name is for people."""

    id: str
    name: str
    currency: str
    created_us: int


def add(registry: Registry, clock: Clock, lender_id: str, name: str, currency: str) -> Lender:
    """Add a lender, or raise `InvalidName` and say what is wrong."""
    if not _ID.fullmatch(lender_id):
        raise InvalidName(
            "a lender's id is 1 to 40 lower-case letters, digits and dashes, a letter first",
            hint="for example: umoja-sacco",
        )
    if not (1 <= len(name.strip()) <= _NAME_LENGTH_MAX and name.isprintable()):
        raise InvalidName(
            f"a lender's name has 1 to {_NAME_LENGTH_MAX} characters, all on one line",
            hint='for example: "Umoja SACCO"',
        )
    if currency not in REFERENCE_INFLOW_MONTHLY:
        raise InvalidName(
            f"{currency} is not a currency that the built-in model knows",
            hint=f"it knows {', '.join(sorted(REFERENCE_INFLOW_MONTHLY))}",
        )
    lender = Lender(lender_id, name.strip(), currency, clock())
    registry.add_lender(lender)
    return lender
