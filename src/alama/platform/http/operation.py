"""What the OpenAPI document tells of one operation: what it is for, takes, gives and refuses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from alama.core.errors import AlamaError
from alama.platform import errors, ids
from alama.platform.http.problems import MethodNotAllowed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from alama.platform.book import Scope


JSON: Final = "application/json"
HTML: Final = "text/html; charset=utf-8"


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


@dataclass(frozen=True, slots=True)
class Success:
    """A reply that is no problem. A schema of None: there is no body.

    `headers` names what comes beside `Request-Id`; `links` lead to operations that go on from here.
    `also` is a media type in which people can have the same.
    """

    description: str
    schema: Schema | None
    media_type: str = JSON
    headers: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    also: str | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path. With a scope it needs a key that has it.

    `requests` are examples of its body, the one to show first; `body_told` says what it is. Where
    there is an `other_body`, either will do. A body that is a file has one of the media types
    `file_types`, and no schema.
    """

    path: str
    method: str
    id: str
    tag: str
    summary: str
    description: str
    replies: Mapping[int, Success]
    scope: Scope | None = None
    parameters: tuple[str, ...] = ()
    body: str | None = None
    other_body: str | None = None
    file_types: tuple[str, ...] = ()
    body_told: str = "One application. At most 64 KiB of UTF-8, not compressed."
    body_required: bool = True
    requests: tuple[str, ...] = ()
    refusals: tuple[type[AlamaError], ...] = ()

    @property
    def problems(self) -> tuple[type[AlamaError], ...]:
        """Every kind of problem that the operation can answer with."""
        return (*self.refusals, *(ADMISSION if self.scope else ()), *ALWAYS)


RATE: Final = ("RateLimit", "RateLimit-Policy", "Cache-Control")


AT_US: Final = 1_790_000_000_000_000
REQUEST_ID: Final = ids.request_id(AT_US, bytes.fromhex("5d1f0a9c3b7e42"))


Schema = dict[str, Any]


def reference(name: str) -> Schema:
    """Point to a schema of the document."""
    return {"$ref": f"#/components/schemas/{name}"}
