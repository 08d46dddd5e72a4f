"""Scores: given by POST /v1/score, read at /v1/scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.api import parameters, render
from alama.api.bodies import json_body
from alama.api.exchange import private_json
from alama.api.problems import BadParameter
from alama.core import receipts
from alama.service import ids, scoring
from alama.service.errors import Erased
from alama.service.keys import Scope
from alama.service.opening import open_score
from alama.service.patience import in_time

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from alama.api.admission import Admission
    from alama.api.exchange import Call, Reply
    from alama.core.reasons import Language
    from alama.core.receipts import Receipt
    from alama.service.book import Book
    from alama.service.outcomes.records import Sequel
    from alama.service.ports import Scores
    from alama.service.records import ScoreRow, Sealed
    from alama.service.scoring import Once, Render, Scoring
    from alama.service.vault.vault import Vault

IDEMPOTENCY_KEY_MAX: Final = 255
"""Bytes: what a header holds has no other length."""

PAGE_DEFAULT: Final = 20
PAGE_MAX: Final = 100


class ScoreEndpoints:
    """What callers can do with scores."""

    def __init__(
        self,
        admission: Admission,
        scoring: Scoring,
        scores: Scores,
        vault: Vault,
        receipt_of: Callable[[Book, str], Receipt],
        sequel_of: Callable[[Book, str], Sequel],
        languages: Sequence[Language],
    ) -> None:
        """Use the use cases; the first language is that of callers who do not say."""
        self._admission = admission
        self._scoring = scoring
        self._scores = scores
        self._vault = vault
        self._receipt_of = receipt_of
        self._sequel_of = sequel_of
        self._languages = languages

    async def score(self, call: Call) -> Reply:
        """POST /v1/score: score an application and keep it."""
        caller, headers = await self._admission.admit(call, Scope.WRITE)
        render_reply = self._renderer(call)
        body = await json_body(call)
        once = _once(call, body)
        answer = await self._scoring.score(caller, call.arrival, body, render_reply, once)
        if answer.replayed:
            headers.append((b"idempotent-replayed", b"true"))
        return private_json(answer.reply, headers)

    async def find(self, call: Call) -> Reply:
        """GET /v1/scores/{request_id}: a stored score, whole, and what became of it."""
        caller, headers = await self._admission.admit(call, Scope.READ)
        parameters.read(call, ())
        request_id = parameters.request_id(call)
        row, sealed, sequel = await in_time(lambda: self._opened(caller.book, request_id))
        return private_json(render.score_record(row, sealed, sequel), headers)

    async def receipt(self, call: Call) -> Reply:
        """GET /v1/scores/{request_id}/receipt: the proof of a score."""
        caller, headers = await self._admission.admit(call, Scope.READ)
        parameters.read(call, ())
        request_id = parameters.request_id(call)
        found = await in_time(lambda: self._receipt_of(caller.book, request_id))
        return private_json(receipts.encode(found), headers)

    async def page(self, call: Call) -> Reply:
        """GET /v1/scores: scores in pages, newest first; all, or those that wait for a person."""
        caller, headers = await self._admission.admit(call, Scope.READ)
        asked = parameters.read(call, ("waiting", "limit", "cursor"))
        waiting = parameters.switch("waiting", asked.get("waiting"))
        pages = self._scores.waiting if waiting else self._scores.page
        limit = parameters.limit(asked.get("limit"), PAGE_DEFAULT, PAGE_MAX)
        cursor = parameters.cursor(asked.get("cursor"), ids.PREFIX)
        # One row more than asked for tells whether there is a next page.
        rows = await in_time(lambda: pages(caller.book, cursor, limit + 1))
        return private_json(render.score_page(rows, limit), headers)

    def _renderer(self, call: Call) -> Render:
        if not call.query:
            return render.score_reply
        asked = parameters.read(call, ("expand", "language"))
        names = parameters.expansions(asked.get("expand"), render.EXPANSIONS)
        return render.expanded(names, parameters.language(asked.get("language"), self._languages))

    def _opened(self, book: Book, request_id: str) -> tuple[ScoreRow, Sealed, Sequel]:
        stored = self._scores.find(book, request_id)
        try:
            sealed = open_score(self._vault, stored)
            return stored.row, sealed, self._sequel_of(book, request_id)
        except Erased as error:
            raise Erased(error.erased_us, render.listed(stored.row.summary)) from None


def _once(call: Call, body: bytes) -> Once | None:
    key = call.headers.get(b"idempotency-key")
    if key is None:
        return None
    if not 1 <= len(key) <= IDEMPOTENCY_KEY_MAX:
        raise BadParameter(f"Idempotency-Key must have 1 to {IDEMPOTENCY_KEY_MAX} bytes")
    if sum(name == b"idempotency-key" for name, _ in call.scope["headers"]) > 1:
        raise BadParameter("the header Idempotency-Key stands twice")
    return scoring.only_once(key, body, call.query)
