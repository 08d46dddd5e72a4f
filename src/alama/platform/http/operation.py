"""An operation: what the OpenAPI document tells of it, said where its handler stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from alama.core.errors import AlamaError, MalformedDocument
from alama.platform import errors, ids
from alama.platform.http.problems import (
    BadParameter,
    BodyTooLarge,
    InvalidRequest,
    MethodNotAllowed,
    UnsupportedMediaType,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping

    from alama.platform.book import Scope
    from alama.platform.http.exchange import Reply


Json = dict[str, Any]
Schema = Json

Method = TypeVar("Method", bound="Callable[..., Awaitable[Reply]]")

FILE: Final[Schema] = {"type": "string", "format": "binary"}
JSON: Final = "application/json"
HTML: Final = "text/html; charset=utf-8"
RATE: Final = ("RateLimit", "RateLimit-Policy", "Cache-Control")
"""Headers of every reply to a key."""


# ------------------------------------------------------------------------------ problems


class Mishap(AlamaError):
    """A defect of ours, which a caller sees as an internal error."""


ALWAYS: Final[tuple[type[AlamaError], ...]] = (MethodNotAllowed, Mishap)
ADMISSION: Final[tuple[type[AlamaError], ...]] = (
    errors.KeyMissing,
    errors.KeyRefused,
    errors.KeyExpired,
    errors.ScopeMissing,
    errors.TooManyRequests,
    errors.StoreUnavailable,
)
BODY: Final[tuple[type[AlamaError], ...]] = (
    MalformedDocument,
    BadParameter,
    BodyTooLarge,
    UnsupportedMediaType,
    InvalidRequest,
)
"""What an operation refuses that takes a body of fields."""

FIELDS_TOLD: Final = "The fields. At most 64 KiB of UTF-8, plain or gzip."
"""What such a body is."""


@dataclass(frozen=True, slots=True)
class Link:
    """Leads from a reply on to an operation, with a parameter that stands in the reply."""

    operation: str
    description: str
    parameter: str
    place: str


@dataclass(frozen=True, slots=True)
class Success:
    """A reply that is no problem. A schema of None: there is no body.

    `headers` names what comes beside `Request-Id`; where nothing is said, what every reply to a key
    has. `links` lead to operations that go on from here.
    `also` is a media type in which people can have the same.
    """

    description: str
    schema: Schema | None
    media_type: str = JSON
    headers: tuple[str, ...] = RATE
    examples: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    also: str | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path. It decorates its handler, a method of a class of endpoints.

    With a scope it needs a key that has it; with `any_key`, a key whatever its scopes.

    `requests` are examples of its body, the one to show first; `body_told` says what it is. Where
    there is an `other_body`, either will do. A body that is no document has one of the media types
    of `files`, each with its schema. `elsewhere` tells where to go with the other methods of the
    path. What is `for_operators` is for whoever runs the service, and has no second path.
    """

    path: str
    method: str
    id: str
    tag: str
    summary: str
    description: str
    replies: Mapping[int, Success]
    scope: Scope | None = None
    any_key: bool = False
    parameters: tuple[str, ...] = ()
    body: str | None = None
    other_body: str | None = None
    files: Mapping[str, Schema] | None = None
    body_told: str = "One application. At most 64 KiB of UTF-8, plain or gzip."
    body_required: bool = True
    requests: tuple[str, ...] = ()
    refusals: tuple[type[AlamaError], ...] = ()
    elsewhere: str | None = None
    for_operators: bool = False

    @property
    def needs_key(self) -> bool:
        return self.any_key or self.scope is not None

    @property
    def problems(self) -> tuple[type[AlamaError], ...]:
        """Every kind of problem that the operation can answer with."""
        admission = [kind for kind in ADMISSION if self.scope or kind is not errors.ScopeMissing]
        return (*self.refusals, *(admission if self.needs_key else ()), *ALWAYS)

    def __call__(self, method: Method) -> Method:
        """Name the method that serves it; one may serve several."""
        vars(method).setdefault("serves", []).insert(0, self)  # the topmost is applied last
        return method


def operations_of(endpoints: type) -> Iterator[tuple[str, Operation]]:
    """Give what a class of endpoints serves, in its order, with the names of the methods."""
    for name, member in vars(endpoints).items():
        for operation in getattr(member, "serves", ()):
            yield name, operation


AT_US: Final = 1_790_000_000_000_000
REQUEST_ID: Final = ids.request_id(AT_US, bytes.fromhex("5d1f0a9c3b7e42"))


def reference(name: str) -> Schema:
    """Point to a schema of the document."""
    return {"$ref": f"#/components/schemas/{name}"}


def path_parameter(name: str, description: str, pattern: str, example: str) -> Json:
    """Describe a part of a path."""
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": description,
        "schema": {"type": "string", "pattern": pattern},
        "example": example,
    }


def cursor_parameter(pattern: str, example: str) -> Json:
    """Describe where a page begins: behind one of what it lists."""
    return {
        "name": "cursor",
        "in": "query",
        "description": "The `next_cursor` of the page before; left out for the newest.",
        "schema": {"type": "string", "pattern": pattern},
        "example": example,
    }
