"""Problems: each error of the service as a status, a code and a sentence (RFC 9457).

The only place where an error meets a status code.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from alama.core.errors import AlamaError, BrokenRules, InvalidApplication, MalformedDocument
from alama.platform import errors
from alama.platform.errors import Kind
from alama.platform.http.exchange import INT32, Headers, Reply, encode_json

if TYPE_CHECKING:
    from collections.abc import Mapping


MEDIA_TYPE: Final = b"application/problem+json"
PAGES: Final = "/docs/problems"
"""Where each kind of problem has a page."""


# ------------------------------------------------------------------- errors of the HTTP side


class BadParameter(AlamaError):
    """A query parameter or a header breaks its rule."""

    kind = Kind(HTTPStatus.BAD_REQUEST, "invalid_parameter", "Invalid parameter")


class InvalidRequest(BrokenRules):
    """A body that is no application breaks rules of its fields."""

    kind = Kind(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_request", "Invalid request")

    what = "body"


class NoSuchPath(AlamaError):
    """Nothing is served at this path."""

    kind = Kind(HTTPStatus.NOT_FOUND, "not_found", "Not found")


class MethodNotAllowed(AlamaError):
    """The path does not know this method."""

    kind = Kind(HTTPStatus.METHOD_NOT_ALLOWED, "method_not_allowed", "Method not allowed")

    def __init__(self, allowed: str) -> None:
        super().__init__(f"this path knows {allowed}")
        self.allowed = allowed


class BodyTooLarge(AlamaError):
    """The body is larger than any application can be."""

    kind = Kind(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "body_too_large", "Body too large")


class MalformedHttp(AlamaError):
    """What came is no request, or one that could be read in two ways."""

    kind = Kind(HTTPStatus.BAD_REQUEST, "malformed_http", "Malformed HTTP")


class HeadTooLarge(AlamaError):
    """The request line and the headers are longer than any caller needs."""

    kind = Kind(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "head_too_large", "Head too large")


class RequestTimeout(AlamaError):
    """A request did not come whole in its time."""

    kind = Kind(HTTPStatus.REQUEST_TIMEOUT, "request_timeout", "Request timeout")


class InvalidFile(AlamaError):
    """A file is, by its first bytes, no table that would be read."""

    kind = Kind(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_file", "Invalid file")


class UnsupportedMediaType(AlamaError):
    """The body is said to be something other than JSON, or packed in a way that is not known."""

    kind = Kind(
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", "Unsupported media type"
    )

    codings: str | None = None
    """What it may be packed in, where it is that which is wrong."""


INTERNAL: Final = Kind(HTTPStatus.INTERNAL_SERVER_ERROR, "internal_error", "Internal error")

_OF_CORE: Final[Mapping[type[AlamaError], Kind]] = {
    MalformedDocument: Kind(HTTPStatus.BAD_REQUEST, "malformed_json", "Malformed JSON"),
    InvalidApplication: Kind(
        HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_application", "Invalid application"
    ),
}


def kinds() -> dict[type[AlamaError], Kind]:
    """Give the kind of every error that has one, of all the code that is loaded."""
    found = dict(_OF_CORE)
    unseen: list[type[AlamaError]] = [AlamaError]
    while unseen:
        one = unseen.pop()
        unseen += one.__subclasses__()
        if "kind" in vars(one):
            found[one] = vars(one)["kind"]
    return found


def kind_of(error: Exception) -> Kind:
    """Give the kind of an error; whatever nobody has thought of is a defect of ours."""
    if not isinstance(error, AlamaError):
        return INTERNAL
    found: Kind | None = vars(type(error)).get("kind")
    return found or _OF_CORE.get(type(error), INTERNAL)


def reply(error: Exception, path: str, request_id: str) -> Reply:
    """Put an error into the words of RFC 9457."""
    kind = kind_of(error)
    problem = Problem(
        type=f"{PAGES}/{kind.code}",
        title=kind.title,
        status=kind.status,
        detail=_detail(error, kind),
        instance=path,
        code=kind.code,
        request_id=request_id,
        errors=_faults(error),
        remains=_remains(error),
        proposal=_proposal(error),
    )
    headers = [(b"content-type", MEDIA_TYPE), *_headers(error)]
    return Reply(kind.status.value, headers, encode_json(problem))


def _detail(error: Exception, kind: Kind) -> str:
    if kind is INTERNAL or not isinstance(error, AlamaError):
        return "Something broke on our side. It is logged under this request_id."
    if isinstance(error, BrokenRules):
        count, listed = error.count, len(error.problems)
        shown = f"; the first {listed} are listed" if count > listed else ""
        return f"{count} {'rule is' if count == 1 else 'rules are'} broken: see errors{shown}."
    sentences = [str(error), *([error.hint] if error.hint else [])]
    return " ".join(f"{text[0].upper()}{text[1:]}." for text in sentences)


def _faults(error: Exception) -> list[FieldFault] | msgspec.UnsetType:
    if not isinstance(error, BrokenRules):
        return msgspec.UNSET
    return [FieldFault(problem.pointer, problem.code, problem.detail) for problem in error.problems]


def _remains(error: Exception) -> msgspec.Struct | msgspec.UnsetType:
    remains = error.remains if isinstance(error, errors.Erased) else None
    return remains if isinstance(remains, msgspec.Struct) else msgspec.UNSET


def _proposal(error: Exception) -> msgspec.Struct | msgspec.UnsetType:
    proposal = getattr(error, "proposal", None)
    return proposal if isinstance(proposal, msgspec.Struct) else msgspec.UNSET


def _headers(error: Exception) -> Headers:
    match error:
        case errors.KeyMissing():
            return [(b"www-authenticate", b'Bearer realm="alama"')]
        case errors.KeyRefused():
            return [(b"www-authenticate", b'Bearer realm="alama", error="invalid_token"')]
        case MethodNotAllowed():
            return [(b"allow", error.allowed.encode())]
        case UnsupportedMediaType(codings=str(codings)):
            return [(b"accept-encoding", codings.encode())]
        case _:
            wait_s = _retry_after_s(error)
            return [] if wait_s is None else [(b"retry-after", str(wait_s).encode())]


def _retry_after_s(error: Exception) -> int | None:
    """Give the seconds after which the same request may fare better; None: never."""
    if isinstance(error, errors.TooManyRequests):
        return error.retry_after_s
    return kind_of(error).retry_after_s


class FieldFault(msgspec.Struct, frozen=True):
    """One broken rule of one field."""

    pointer: Annotated[str, Meta(description="JSON pointer (RFC 6901) to the field.")]
    code: Annotated[str, Meta(description="Stable name of the rule; more may come.")]
    detail: Annotated[str, Meta(description="The rule, in words; never the value.")]


class Problem(msgspec.Struct, frozen=True):
    """What went wrong (RFC 9457)."""

    type: Annotated[
        str,
        Meta(
            description="Names the kind of problem: a page of this service that says what to do.",
            extra_json_schema={"format": "uri-reference"},
        ),
    ]
    title: Annotated[str, Meta(description="The kind, for people.")]
    status: Annotated[int, Meta(description="The HTTP status, again.", extra_json_schema=INT32)]
    detail: Annotated[str, Meta(description="What happened, and what to do about it.")]
    instance: Annotated[str, Meta(description="The path that was asked for.")]
    code: Annotated[str, Meta(description="Stable name of the kind; more may come.")]
    request_id: Annotated[
        str,
        Meta(description="To quote when asking for help: your `X-Request-Id`, or else ours."),
    ]
    errors: Annotated[
        list[FieldFault] | UnsetType, Meta(description="Every broken rule, where fields are wrong.")
    ] = UNSET
    remains: Annotated[
        Any | UnsetType,
        Meta(description="What is left of a score whose applicant was erased."),
    ] = UNSET
    proposal: Annotated[
        Any | UnsetType,
        Meta(description="How a table may be read whose columns are not known."),
    ] = UNSET
