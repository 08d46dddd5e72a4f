"""Monitoring: /v1/monitoring, how a book goes and whether what was predicted came true."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from alama.api import parameters
from alama.api.exchange import private_json
from alama.api.html import VARIES, private_page, wants_page
from alama.api.problems import BadParameter
from alama.core.errors import InvalidModel, UnknownCurrency
from alama.pages import monitoring as page
from alama.service.errors import ModelUnavailable
from alama.service.keys import Scope
from alama.service.monitoring.report import DAYS_DEFAULT, DAYS_MAX

if TYPE_CHECKING:
    from alama.api.admission import Admission
    from alama.api.exchange import Call, Reply
    from alama.service.monitoring.report import Monitoring
    from alama.service.turns import Turns

PATIENCE_S: Final = 30.0
"""Some hundred thousand loans are summed in seconds, and on a busy machine in more of them."""

WAITING_MAX: Final = 8
"""Reports under way: the last waits for the others, a second or two each where a book is large."""

WAITING_EACH_MAX: Final = 4
"""Of one book: nobody takes all the places."""

_WHOLE: Final = re.compile(r"[0-9]{1,3}")

encode: Final = msgspec.json.Encoder().encode


class MonitoringEndpoint:
    """Reports on the book of the key."""

    def __init__(self, admission: Admission, monitoring: Monitoring, turns: Turns) -> None:
        """Use the use case, and the thread on which reports are made and drawn."""
        self._admission = admission
        self._monitoring = monitoring
        self._turns = turns

    async def report(self, call: Call) -> Reply:
        """GET /v1/monitoring: all figures, or the page."""
        caller, headers = await self._admission.admit(call, Scope.MONITORING_READ)
        asked = parameters.read(call, ("days", "model"))
        days, model_id = _days(asked.get("days")), asked.get("model")
        is_page = wants_page(call)

        def make() -> bytes:
            try:
                report = self._monitoring.report(caller.book, days, model_id)
            except (InvalidModel, UnknownCurrency) as error:
                raise ModelUnavailable(error) from error
            return page.render(report).encode() if is_page else encode(report)

        made = await self._turns.take(caller.book, make, PATIENCE_S)
        if is_page:
            return private_page(made, headers)
        return private_json(made, [VARIES, *headers])


def _days(asked: str | None) -> int:
    if asked is None:
        return DAYS_DEFAULT
    if not (_WHOLE.fullmatch(asked) and 1 <= int(asked) <= DAYS_MAX):
        raise BadParameter(f"days must be a whole number from 1 to {DAYS_MAX}")
    return int(asked)
