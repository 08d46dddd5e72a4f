"""Words and code of the page: the little Markdown that descriptions use, JSON and commands."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from alama.pages.markup import Markup, join, tag, text

ONE_LINE_MAX: Final = 72
"""Characters up to which an object or a list is written on one line."""

_SPAN: Final = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*")
_TOKEN: Final = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*)|\b(true|false|null)\b')


def prose(written: str) -> Markup:
    """Give a line of text whose `code` and **strong** words are marked up."""
    parts: list[str] = []
    end = 0
    for found in _SPAN.finditer(written):
        code, strong = found.groups()
        parts += [written[end : found.start()], tag("code", code) if code else tag("b", strong)]
        end = found.end()
    return join(*parts, written[end:])


def paragraphs(written: str) -> Markup:
    """Give text in paragraphs, which empty lines part."""
    return join(*(tag("p", prose(part)) for part in written.split("\n\n")))


def pretty(value: Any, indent: str = "") -> str:  # noqa: ANN401  JSON has no better type
    """Write JSON for people: what is short stands on one line."""
    line = json.dumps(value, ensure_ascii=False)
    deep = isinstance(value, dict) and any(isinstance(v, dict | list) for v in value.values())
    if not value or not isinstance(value, dict | list):
        return line
    if len(line) <= ONE_LINE_MAX and indent and not deep:
        return line
    inner = indent + "  "
    if isinstance(value, list):
        parts = [inner + pretty(part, inner) for part in value]
        return "[\n" + ",\n".join(parts) + f"\n{indent}]"
    parts = [f"{inner}{json.dumps(name)}: {pretty(part, inner)}" for name, part in value.items()]
    return "{\n" + ",\n".join(parts) + f"\n{indent}}}"


def coloured(written: str) -> Markup:
    """Mark up the tokens of JSON."""
    parts: list[str] = []
    end = 0
    for found in _TOKEN.finditer(written):
        string, colon, number, word = found.groups()
        parts.append(written[end : found.start()])
        if colon is not None:
            parts += [tag("span", string, class_="j-name"), colon]
        elif string is not None:
            parts.append(tag("span", string, class_="j-text"))
        else:
            parts.append(tag("span", number or word, class_="j-number"))
        end = found.end()
    return join(*parts, written[end:])


def code_block(caption: str, shown: Markup) -> Markup:
    """Give a block of code; the script puts a button for copying beside its caption."""
    # A region that scrolls must be reachable by keyboard.
    block = tag("pre", tag("code", shown), tabindex=0)
    return tag("figure", tag("figcaption", tag("span", prose(caption))), block, class_="code")


def json_block(caption: str, value: Any) -> Markup:  # noqa: ANN401  as above
    """Give JSON as a block."""
    return code_block(caption, coloured(pretty(value)))


def command(written: str) -> Markup:
    """Give a shell command; `{origin}` is where the service is, put right by the script."""
    before, found, after = written.partition("{origin}")
    if not found:
        return text(written)
    return join(before, tag("span", "http://localhost:8000", class_="origin"), after)
