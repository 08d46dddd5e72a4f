"""Markup that cannot be forged by its content: plain text is escaped wherever it is put in.

`Markup` is text already safe to send, in templates too; everything else is text to show. The same
elements serve HTML and SVG, and everything is written as well-formed XML, so that a strict parser
can read it.
"""

from __future__ import annotations

import re
from typing import Final

import markupsafe

_CONTROL: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML document may hold, escaped or not."""

Markup = markupsafe.Markup
Attribute = str | int | float | None


def allowed(written: str) -> str:
    """Replace what no XML document may hold."""
    return _CONTROL.sub("\ufffd", written)


def text(shown: str) -> Markup:
    """Escape text so that a browser shows it as it is; markup passes unchanged."""
    return shown if isinstance(shown, Markup) else markupsafe.escape(allowed(shown))


def tag(name: str, /, *children: str, **attributes: Attribute) -> Markup:
    """Give an element. `class_` is `class`, other underscores are hyphens; None is left out."""
    written = "".join(
        f' {_attribute_name(key)}="{_attribute_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    inner = "".join(text(child) for child in children)
    if not inner and name in _VOID:
        return Markup(f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{inner}</{name}>")


_VOID: Final = frozenset(
    ("br", "circle", "hr", "line", "link", "meta", "path", "polygon", "polyline", "rect", "wbr")
)


def join(*parts: str) -> Markup:
    """Put parts side by side."""
    return Markup("".join(text(part) for part in parts))


def _attribute_name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _attribute_value(value: str | float) -> str:
    if isinstance(value, float):
        # Hundredths of a pixel are finer than any screen.
        written = f"{value:.2f}".rstrip("0").rstrip(".")
        return "0" if written == "-0" else written
    return text(str(value))
