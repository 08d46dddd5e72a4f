"""Scores: given by POST /v1/score, read at /v1/scores."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl

import msgspec

from alama.api import render
from alama.api.exchange import BODY_MAX, JSON, PRIVATE, Reply
from alama.api.problems import BadParameter, BodyTooLarge, UnsupportedMediaType
from alama.service import ids, scoring
from alama.service.errors import UnknownScore
from alama.service.keys import Scope
from alama.service.patience import in_time
from alama.service.records import Sealed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from alama.api.admission import Admission
    from alama.api.exchange import Call, Headers
    from alama.service.ports import Registry, Scores
    from alama.service.scoring import Once, Render, Scoring

IDEMPOTENCY_KEY_MAX: Final = 255
PAGE_DEFAULT: Final = 20
PAGE_MAX: Final = 100

_LIMIT: Final = re.compile(r"[0-9]{1,3}")

_JSON_TYPES: Final = frozenset({b"application/json", b"application/json; charset=utf-8"})


class ScoreEndpoints:
    """What callers can do with scores."""

    def __init__(
        self, admission: Admission, scoring: Scoring, scores: Scores, registry: Registry
    ) -> None:
        """Use the use cases."""
        self._admission = admission
        self._scoring = scoring
        self._scores = scores
        self._registry = registry

    async def score(self, call: Call) -> Reply:
        """POST /v1/score: score an application and keep it."""
        caller, headers = await self._admission.admit(call, Scope.WRITE)
        render_reply = _renderer(call)
        body = await _json_body(call)
        once = _once(call, body)
        answer = await self._scoring.score(caller, call.arrival, body, render_reply, once)
        if answer.replayed:
            headers.append((b"idempotent-replayed", b"true"))
        return _json(answer.reply, headers)

    async def find(self, call: Call) -> Reply:
        """GET /v1/scores/{request_id}: a stored score, whole."""
        caller, headers = await self._admission.admit(call, Scope.READ)
        request_id = call.path_part("request_id")
        if not ids.is_request_id(request_id):
            raise UnknownScore
        row = await in_time(lambda: self._scores.find(caller.book, request_id))
        lender = await in_time(lambda: self._registry.lender(caller.book.lender))
        sealed = msgspec.json.decode(row.sealed, type=Sealed)
        return _json(render.score_record(row, sealed, lender.currency), headers)

    async def page(self, call: Call) -> Reply:
        """GET /v1/scores: scores in pages, newest first."""
        caller, headers = await self._admission.admit(call, Scope.READ)
        asked = _parameters(call, {"limit", "cursor"})
        limit = _limit(asked.get("limit"))
        cursor = asked.get("cursor")
        if cursor is not None and not ids.is_request_id(cursor):
            raise BadParameter("cursor must be the next_cursor of a page before")
        # One row more than asked for tells whether there is a next page.
        rows = await in_time(lambda: self._scores.page(caller.book, cursor, limit + 1))
        return _json(render.score_page(rows, limit), headers)


def _json(body: bytes, headers: Headers) -> Reply:
    return Reply(200, [JSON, PRIVATE, *headers], body)


async def _json_body(call: Call) -> bytes:
    content_type = call.headers.get(b"content-type", b"")
    if content_type not in _JSON_TYPES and not _is_json(content_type):
        raise UnsupportedMediaType(
            "the body must be JSON", hint="send the header Content-Type: application/json"
        )
    if call.headers.get(b"content-encoding", b"identity") != b"identity":
        raise UnsupportedMediaType("the body must not be compressed")
    too_large = BodyTooLarge(f"the body is larger than {BODY_MAX // 1024} KiB")
    length = call.headers.get(b"content-length", b"0")
    if length.isdigit() and int(length) > BODY_MAX:
        raise too_large
    body = await call.body()
    if body is None:
        raise too_large
    return body


def _is_json(content_type: bytes) -> bool:
    media_type, _, parameters = content_type.lower().partition(b";")
    charset = parameters.strip().replace(b'"', b"")
    return media_type.strip() == b"application/json" and charset in {b"", b"charset=utf-8"}


def _once(call: Call, body: bytes) -> Once | None:
    key = call.headers.get(b"idempotency-key")
    if key is None:
        return None
    if not 1 <= len(key) <= IDEMPOTENCY_KEY_MAX:
        raise BadParameter(f"Idempotency-Key must have 1 to {IDEMPOTENCY_KEY_MAX} characters")
    return scoring.only_once(key, body, call.query)


def _renderer(call: Call) -> Render:
    if not call.query:
        return render.score_reply
    asked = _parameters(call, {"expand"}).get("expand")
    names = frozenset() if asked is None else frozenset(asked.split(","))
    if not names <= render.EXPANSIONS.keys():
        raise BadParameter(f"expand knows {', '.join(render.EXPANSIONS)}")
    return render.expanded(names)


def _limit(asked: str | None) -> int:
    if asked is None:
        return PAGE_DEFAULT
    if not (_LIMIT.fullmatch(asked) and 1 <= int(asked) <= PAGE_MAX):
        raise BadParameter(f"limit must be a whole number from 1 to {PAGE_MAX}")
    return int(asked)


def _parameters(call: Call, known: set[str]) -> Mapping[str, str]:
    """Read the query; a parameter that is misspelled or stands twice is refused, not dropped."""
    try:
        sent = parse_qsl(
            call.query.decode("ascii"), keep_blank_values=True, max_num_fields=20, errors="strict"
        )
    except ValueError:
        raise BadParameter("the query is not one") from None
    asked = dict(sent)
    if not asked.keys() <= known:
        raise BadParameter(f"this path knows the parameters {', '.join(sorted(known))}")
    if len(asked) != len(sent):
        raise BadParameter("a parameter stands twice")
    return asked
