"""Documents that are named by their content: models, policies.

One JSON document with no code in it. Its id is the hash of everything else in it, so that a stored
decision names for ever exactly what made it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

if TYPE_CHECKING:
    from alama.core.errors import AlamaError


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What every document starts with: the schema it keeps, and the hash of its content."""

    schema: str
    id: str


D = TypeVar("D", bound=Document)


def seal(document: D) -> D:
    """Give the document as it will be read back, with the id that its content has."""
    # A whole number where the schema says float reads back as a float: hash that form.
    settled = msgspec.json.decode(msgspec.json.encode(document), type=type(document))
    return msgspec.structs.replace(settled, id=content_id(settled))


def content_id(document: Document) -> str:
    """Hash everything but the id itself."""
    bare = msgspec.structs.replace(document, id="")
    canonical = msgspec.json.encode(bare, order="deterministic")
    return "sha256:" + hashlib.sha256(canonical).hexdigest()


def encode(document: Document) -> bytes:
    return msgspec.json.encode(document, order="deterministic") + b"\n"


@dataclass(frozen=True, slots=True)
class Format(Generic[D]):
    """How one kind of document is read: its type, its limits, and what a refusal says.

    `noun` names the kind in messages; `remedy` is what to do where the original cannot be had.
    """

    kind: type[D]
    schema: str
    noun: str
    size_max: int
    error: type[AlamaError]
    remedy: str

    def decode(self, document: bytes) -> D:
        """Read strictly, or raise this format's error and say what is wrong."""
        if len(document) > self.size_max:
            mib = self.size_max / 2**20
            raise self.error(f"the {self.noun} document is larger than {mib:g} MiB")
        try:
            found = msgspec.json.decode(document, type=self.kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self.error(f"this is not a {self.noun} document: {error}") from error
        if found.schema != self.schema:
            raise self.error(
                f"the document says schema {found.schema[:40]!r}; "
                f"this version reads {self.schema!r}",
                hint=f"use the version of Alama that wrote it, or {self.remedy}",
            )
        if content_id(found) != found.id:
            raise self.error(
                f"the content of the {self.noun} does not match its id: it was changed or damaged",
                hint=f"take the original file, or {self.remedy}",
            )
        return found
