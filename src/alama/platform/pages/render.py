"""Pages from templates, and markup that cannot be forged by its content."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

import markupsafe

from alama.platform.pages import numbers
from alama.platform.pages.style import HANDOUT, SHEET

if TYPE_CHECKING:
    from jinja2 import Environment, Template


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
    return Markup("".join(text(part) for part in parts))


def _attribute_name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _attribute_value(value: str | float) -> str:
    if isinstance(value, float):
        # Hundredths of a pixel are finer than any screen.
        written = f"{value:.2f}".rstrip("0").rstrip(".")
        return "0" if written == "-0" else written
    return text(str(value))


def side_by_side(*parts: str) -> Markup:
    """Set parts in columns where there is room."""
    return tag("div", *parts, class_="pair")


def paragraph(*parts: str) -> Markup:
    return tag("p", *parts)


def note(*parts: str) -> Markup:
    """Give a paragraph in the margin's voice: how to read what stands above."""
    return tag("p", *parts, class_="note")


def heading(shown: str) -> Markup:
    """Give a heading inside a section."""
    return tag("h3", shown)


def unfold(summary: str, body: Markup) -> Markup:
    """Fold details away, one click (and no script) from sight."""
    return tag("details", tag("summary", summary), body)


def badge(shown: str, kind: str = "") -> Markup:
    """Give a short remark set off from its heading."""
    return tag("span", shown, class_=f"badge {kind}".strip())


def render(template: str | Template, /, **values: object) -> str:
    """Fill in a template, named by its path inside `alama`: platform/pages/templates/signoff.html.

    Plain text is escaped, `Markup` is not. A name that has no value is an error.
    """
    return allowed(_environment().get_template(template).render(values))


@cache
def _environment() -> Environment:
    # Loaded with the first page: a service that only scores never needs it.
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415

    made = Environment(
        loader=PackageLoader("alama", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals.update(sheet=Markup(SHEET), handout_sheet=Markup(HANDOUT))
    made.filters.update(
        between=numbers.between,
        count=numbers.count,
        exact=numbers.exact,
        fixed=numbers.fixed,
        large=numbers.large,
        money=numbers.money,
        percent=numbers.percent,
        plural=numbers.plural,
        short=numbers.short,
        signed=numbers.signed,
    )
    return made
