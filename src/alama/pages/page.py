"""Parts of a page that is made by calls, as the API reference is; templates have theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alama.pages.markup import tag

if TYPE_CHECKING:
    from alama.pages.markup import Markup


def side_by_side(*parts: str) -> Markup:
    """Set parts in columns where there is room."""
    return tag("div", *parts, class_="pair")


def paragraph(*parts: str) -> Markup:
    """Give a paragraph."""
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
