"""Reading an OpenAPI document: pointers followed, operations in order."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]


class Told(NamedTuple):
    """One operation as the document tells it."""

    method: str
    path: str
    told: Json

    @property
    def anchor(self) -> str:
        """Where it stands on the page."""
        anchor: str = self.told["operationId"]
        return anchor

    @property
    def success(self) -> tuple[str, Json]:
        """The status of the reply where all goes well, and the reply."""
        status = next(status for status in self.told["responses"] if status.startswith("2"))
        return status, self.told["responses"][status]


class Topic(NamedTuple):
    """A paragraph of the document's description that has a title."""

    title: str
    written: str


class Reader:
    """A document, with its pointers followed."""

    def __init__(self, document: Json) -> None:
        """Take a document whose pointers lead into itself."""
        self.document = document

    def resolve(self, node: Json) -> Json:
        """Give what a pointer points to, or the node itself."""
        if "$ref" not in node:
            return node
        target: Any = self.document
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        found: Json = target
        return found

    def schema(self, name: str) -> Json:
        """Give a schema by name."""
        found: Json = self.document["components"]["schemas"][name]
        return found

    def operations(self, tag: str) -> Iterator[Told]:
        """Give the operations of a tag, in the order of the document."""
        for path, methods in self.document["paths"].items():
            for method, told in methods.items():
                if tag in told["tags"]:
                    yield Told(method.upper(), path, told)

    def lead(self) -> str:
        """Give the first paragraph of the description."""
        first: str = self.document["info"]["description"].split("\n\n")[0]
        return first

    def topics(self) -> dict[str, Topic]:
        """Give the paragraphs that start with a title in bold, by that title."""
        parts = self.document["info"]["description"].split("\n\n")[1:]
        found = (re.fullmatch(r"\*\*(.+?)\.\*\* (.+)", part, re.DOTALL) for part in parts)
        return {part[1]: Topic(part[1], part[2]) for part in found if part}
