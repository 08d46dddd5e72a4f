"""Scores: given by POST /v1/score, read at /v1/scores."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl

from alama.api import render
from alama.api.exchange import BODY_MAX, JSON, PRIVATE, Reply
from alama.api.problems import BadParameter, BodyTooLarge, UnsupportedMediaType
from alama.service import ids, scoring
from alama.service.errors import UnknownScore
from alama.service.keys import Scope
from alama.service.patience import in_time
from alama.service.records import unseal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from alama.api.admission import Admission
    from alama.api.exchange import Call, Headers
    from alama.service.ports import Scores
    from alama.service.scoring import Once, Render, Scoring

IDEMPOTENCY_KEY_MAX: Final = 255
"""Bytes: what a header holds has no other length."""

PAGE_DEFAULT: Final = 20
PAGE_MAX: Final = 100

PARAMETERS_MAX: Final = 20

NAME_MAX: Final = 40
"""Letters of a parameter's name that are worth repeating."""

_LIMIT: Final = re.compile(r"[0-9]{1,3}")
_NAME: Final = re.compile(rf"[A-Za-z_][A-Za-z0-9_.-]{{0,{NAME_MAX - 1}}}")

_JSON: Final = b"application/json"
_JSON_TYPES: Final = frozenset({_JSON, _JSON + b"; charset=utf-8"})


class ScoreEndpoints:
    """What callers can do with scores."""

    def __init__(self, admission: Admission, scoring: Scoring, scores: Scores) -> None:
        """Use the use cases."""
        self._admission = admission
        self._scoring = scoring
        self._scores = scores

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
        _parameters(call, ())
        request_id = call.path_part("request_id")
        if not ids.is_request_id(request_id):
            raise UnknownScore
        row = await in_time(lambda: self._scores.find(caller.book, request_id))
        return _json(render.score_record(row, unseal(row)), headers)

    async def page(self, call: Call) -> Reply:
        """GET /v1/scores: scores in pages, newest first."""
        caller, headers = await self._admission.admit(call, Scope.READ)
        asked = _parameters(call, ("limit", "cursor"))
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
        raise _wrong_type(content_type)
    if call.headers.get(b"content-encoding", b"identity") != b"identity":
        raise UnsupportedMediaType("the body must not be compressed")
    length = call.headers.get(b"content-length", b"0")
    announced_too_large = length.isdigit() and int(length) > BODY_MAX
    body = None if announced_too_large else await call.body()
    if body is None:
        raise BodyTooLarge(f"the body is larger than {BODY_MAX // 1024} KiB")
    return body


def _is_json(content_type: bytes) -> bool:
    media_type, _, parameters = content_type.lower().partition(b";")
    charset = parameters.strip().replace(b'"', b"")
    return media_type.strip() == _JSON and charset in {b"", b"charset=utf-8"}


def _wrong_type(content_type: bytes) -> UnsupportedMediaType:
    media_type = content_type.lower().partition(b";")[0].strip()
    if media_type == _JSON:
        return UnsupportedMediaType(
            "JSON is always UTF-8, and Content-Type says something else after application/json",
            hint="write the body in UTF-8 and send the header Content-Type: application/json",
        )
    return UnsupportedMediaType(
        "the body must be JSON", hint="send the header Content-Type: application/json"
    )


def _once(call: Call, body: bytes) -> Once | None:
    key = call.headers.get(b"idempotency-key")
    if key is None:
        return None
    if not 1 <= len(key) <= IDEMPOTENCY_KEY_MAX:
        raise BadParameter(f"Idempotency-Key must have 1 to {IDEMPOTENCY_KEY_MAX} bytes")
    if sum(name == b"idempotency-key" for name, _ in call.scope["headers"]) > 1:
        raise BadParameter("the header Idempotency-Key stands twice")
    return scoring.only_once(key, body, call.query)


def _renderer(call: Call) -> Render:
    if not call.query:
        return render.score_reply
    asked = _parameters(call, ("expand",)).get("expand")
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


def _parameters(call: Call, known: Sequence[str]) -> Mapping[str, str]:
    """Read the query; a parameter that is misspelled or stands twice is refused, not dropped."""
    if not call.query:
        return {}
    try:
        sent = parse_qsl(
            call.query.decode("ascii"),
            keep_blank_values=True,
            max_num_fields=PARAMETERS_MAX,
            errors="strict",
        )
    except ValueError:
        raise BadParameter(
            f"the query is not one of name=value, joined by &, {PARAMETERS_MAX} at most"
        ) from None
    asked: dict[str, str] = {}
    for name, value in sent:
        if name not in known:
            raise _unknown(name, known)
        if name in asked:
            raise BadParameter(f"the parameter {name} stands twice")
        asked[name] = value
    return asked


def _unknown(name: str, known: Sequence[str]) -> BadParameter:
    """Name what is unknown, unless that is no name at all, and what was meant by it."""
    shown = f"the parameter {name}" if _NAME.fullmatch(name) else "one of the parameters"
    message = f"this path does not know {shown}"
    if not known:
        return BadParameter(message, hint="it knows none")
    near = difflib.get_close_matches(name[:NAME_MAX], known, n=1, cutoff=0.6)
    meant = f"; the nearest is {near[0]}" if near else ""
    return BadParameter(message, hint=f"it knows {', '.join(known)}{meant}")
