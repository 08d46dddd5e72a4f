"""A command for each operation that can be copied and run."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final

from alama.api.reference.text import pretty

if TYPE_CHECKING:
    from alama.api.reference.reader import Reader, Told

Json = dict[str, Any]

CONTINUE: Final = " \\\n  "


def curl(reader: Reader, operation: Told, body: str | None = None) -> str:
    """Give the command, with an example for a body where the operation takes one.

    The example is that of the name, or the first.
    `{origin}` stands for where the service is; the shell puts the key in. Optional parameters are
    left out.
    """
    told = operation.told
    path = operation.path
    for parameter in map(reader.resolve, told.get("parameters", ())):
        if parameter["in"] == "path":
            path = path.replace("{" + parameter["name"] + "}", parameter["example"])
    options = ['-H "Authorization: Bearer $KEY"'] if told["security"] else []
    if "requestBody" in told:
        media_type, content = next(iter(told["requestBody"]["content"].items()))
        options.append(f"-H {shlex.quote('Content-Type: ' + media_type)}")
        options.append(_data(reader, content, body))
    method = "" if operation.method == _usual(told) else f"-X {operation.method} "
    return CONTINUE.join([f"curl -s {method}{{origin}}{path}", *options])


def _data(reader: Reader, content: Json, body: str | None) -> str:
    """Give an example of the body; one without any is a file."""
    shown = content.get("examples")
    if shown is None:
        return "--data-binary @loans.csv"
    example = reader.resolve(shown[body or next(iter(shown))])["value"]
    return f"-d {shlex.quote(pretty(example, '  '))}"


def _usual(told: Json) -> str:
    """Give the method that curl takes where none is named."""
    return "POST" if "requestBody" in told else "GET"
