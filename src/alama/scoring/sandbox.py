"""The sandbox: in test mode some references stand for applicants with whom a known thing happens.

Such a reference stands for an application, which takes the place of what was sent: the model and
the policy of the key answer it, it is stored, and it replays as every score does. In live mode, and
with any other reference, an application is what was sent.
"""

from __future__ import annotations

import asyncio
import difflib
from functools import cache
from typing import TYPE_CHECKING, Final

import msgspec

from alama.core.application import PRODUCT_NAME
from alama.core.errors import FieldProblem, InvalidApplication
from alama.core.model import money_factor
from alama.core.product import PRODUCT
from alama.platform.book import Mode
from alama.platform.errors import Busy, TooManyRequests
from alama.platform.files import packaged

if TYPE_CHECKING:
    from collections.abc import Mapping

    from alama.scoring.directory import ActiveModel, Caller


PREFIX: Final = "fixture-"
SLOW: Final = "fixture-slow"
TOO_MANY: Final = "fixture-429"
BUSY: Final = "fixture-503"

SLOW_S: Final = 5.0
SLOW_AT_ONCE: Final = 32
"""Waiting holds no thread, but a connection, of which there are so many."""

RETRY_AFTER_S: Final = 1

_SLOW_AS: Final = "fixture-approved"
_MARK: Final = PREFIX.encode()
_CENTS: Final = 2


class Fixture(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An application under the name that stands for it, and what it leads to; money in KES.

    `reason` is a code among the reasons, `recourse` the answer of an explanation.
    """

    name: str
    decision: str
    application: dict[str, float | int | str]
    reason: str | None = None
    recourse: str | None = None


@cache
def fixtures() -> Mapping[str, Fixture]:
    """Give those that stand for applications, by name."""
    found = msgspec.json.decode(packaged.fixtures(), type=list[Fixture])
    return {one.name: one for one in found}


def may_name_fixture(caller: Caller, body: bytes) -> bool:
    """Say whether `Sandbox` has to look at a body: hardly any, and none of live mode."""
    return caller.book.mode is Mode.TEST and _MARK in body


def is_fixture(caller: Caller, reference: str) -> bool:
    """Say whether a reference stands for an applicant of the sandbox, who is new every time."""
    return caller.book.mode is Mode.TEST and reference.startswith(PREFIX)


class Sandbox:
    """What happens with the fixtures. One instance lives in one event loop."""

    def __init__(self) -> None:
        self._slow = 0

    async def stand_in(self, caller: Caller, body: bytes) -> bytes:
        """Give the application that stands for the one that was sent, which is in order itself.

        Give the one that was sent where its applicant is no fixture; `InvalidApplication` where it
        is none that there is.
        """
        active = caller.active_model()
        application = active.intake.read(body)
        active.policy.refuse_forbidden(application)
        reference = active.intake.reference_of(application)
        if reference is None or not reference.startswith(PREFIX):
            return body
        if reference == TOO_MANY:
            raise TooManyRequests(RETRY_AFTER_S)
        if reference == BUSY:
            raise Busy("scores")
        if reference == SLOW:
            await self._wait()
        fixture = fixtures().get(_SLOW_AS if reference == SLOW else reference)
        if fixture is None:
            raise InvalidApplication([_unknown(reference)])
        return stand_in_for(fixture, active, reference, application.product)

    async def _wait(self) -> None:
        if self._slow >= SLOW_AT_ONCE:
            raise Busy("slow fixtures")
        self._slow += 1
        try:
            await asyncio.sleep(SLOW_S)
        finally:
            self._slow -= 1


def stand_in_for(
    fixture: Fixture, active: ActiveModel, reference: str, product: str | None = None
) -> bytes:
    """Give the application of a fixture, its money in the currency of the policy.

    It asks for the product that was asked for.
    Without the fields that the policy forbids, which nobody has sent.
    """
    factor = money_factor(active.model.model, active.policy.policy.currency)
    forbidden = {name for _, name in active.policy.forbidden}
    said: dict[str, float | int | str] = {
        name: round(value * factor, _CENTS)
        if not isinstance(value, str) and PRODUCT.field(name).money
        else value
        for name, value in fixture.application.items()
        if name not in forbidden
    }
    asked = {} if product is None else {PRODUCT_NAME: product}
    return msgspec.json.encode(said | asked | {"applicant_ref": reference})


def _unknown(reference: str) -> FieldProblem:
    known = [*fixtures(), SLOW, TOO_MANY, BUSY]
    near = difflib.get_close_matches(reference, known, n=1, cutoff=0.0)
    advice = f"is no fixture of the sandbox; the nearest is {near[0]}"
    return FieldProblem("applicant_ref", "unknown_fixture", advice)
