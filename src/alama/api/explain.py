"""POST /v1/explain: why, and what can be done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.api import parameters
from alama.api.bodies import json_body
from alama.api.exchange import private_json
from alama.api.problems import BadParameter
from alama.api.render_explanation import explain_reply
from alama.core.errors import UnknownField, UnknownGoal
from alama.core.lending.policy import Decision
from alama.core.recourse import COUNT_DEFAULT, COUNT_MAX
from alama.service.explaining import Question
from alama.service.keys import Scope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.api.admission import Admission
    from alama.api.exchange import Call, Reply
    from alama.core.reasons import Language
    from alama.service.explaining import Explaining

TARGET_DEFAULT: Final = Decision.APPROVED.value


class ExplainEndpoint:
    """Explains applications. Nothing of them is kept."""

    def __init__(
        self, admission: Admission, explaining: Explaining, languages: Sequence[Language]
    ) -> None:
        """Use the use case; the first language is that of callers who do not say."""
        self._admission = admission
        self._explaining = explaining
        self._languages = languages

    async def explain(self, call: Call) -> Reply:
        """POST /v1/explain: contributions, reasons and recourse."""
        caller, headers = await self._admission.admit(call, Scope.WRITE)
        question = self._question(call)
        body = await json_body(call)
        try:
            explained = await self._explaining.explain(caller, call.arrival, body, question)
        except UnknownGoal as error:  # which repeats what was sent
            raise BadParameter("target names nothing to aim at", hint=error.hint) from None
        except UnknownField:
            known = caller.desk_for_scoring().model.catalogue.position
            raise parameters.no_field("locked", question.locked, known) from None
        return private_json(explain_reply(explained), headers)

    def _question(self, call: Call) -> Question:
        asked = parameters.read(call, ("target", "limit", "locked", "language"))
        return Question(
            target=asked.get("target", TARGET_DEFAULT),
            locked=parameters.listed(asked.get("locked")),
            limit=parameters.limit(asked.get("limit"), COUNT_DEFAULT, COUNT_MAX),
            language=parameters.language(asked.get("language"), self._languages),
        )
