"""What receivers of webhooks get, on the page: each kind of event, and the headers with it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from alama.api.reference import tables
from alama.api.reference.text import code_block, json_block, paragraphs
from alama.pages.markup import Markup, join, text
from alama.pages.page import heading, paragraph

if TYPE_CHECKING:
    from alama.api.reference.reader import Reader

Json = dict[str, Any]

_SHOWN_WHOLE: Final = "webhook.test"
"""What a receiver gets first."""


def sent(reader: Reader) -> Markup:
    """Tell of each kind of event what it is about, how it looks and what is in it."""
    kinds: Json = {kind: told["post"] for kind, told in reader.document["webhooks"].items()}
    # What is said of a request, and its headers, are the same for all of them.
    any_kind: Json = kinds[_SHOWN_WHOLE]
    return join(
        paragraphs(any_kind["description"]),
        heading("Headers of a delivery"),
        tables.sent_headers(any_kind["parameters"]),
        code_block("One as it comes, for code of your own to try", text(_as_it_comes(any_kind))),
        *(_kind(reader, kind, told) for kind, told in kinds.items()),
    )


def _as_it_comes(told: Json) -> str:
    """Write a delivery whole; of the body these very bytes are signed."""
    ((media_type, content),) = told["requestBody"]["content"].items()
    headers = [f"{header['name']}: {header['example']}" for header in told["parameters"]]
    body = json.dumps(content["example"], ensure_ascii=False, separators=(",", ":"))
    return "\n".join(["POST /hook HTTP/1.1", f"content-type: {media_type}", *headers, "", body])


def _kind(reader: Reader, kind: str, told: Json) -> Markup:
    (content,) = told["requestBody"]["content"].values()
    return join(
        heading(kind),
        paragraph(f"{told['summary']}."),
        json_block("Body", content["example"]),
        tables.reply_fields(reader, content["schema"]),
    )
