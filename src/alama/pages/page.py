"""A page for people: one self-contained HTML document, good on a screen, in the dark, on paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from alama.pages.markup import Markup, join, tag
from alama.pages.style import SHEET

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page that the table of contents names."""

    anchor: str
    title: str
    body: Markup


@dataclass(frozen=True, slots=True)
class Tile:
    """A headline figure: its name, itself, its interval, and what it means in a sentence."""

    name: str
    figure: str
    interval: str
    meaning: str


def document(title: str, header: Markup, sections: Sequence[Section], footer: str) -> str:
    """Give the whole page."""
    contents = tag(
        "nav",
        tag("h2", "Contents"),
        tag("ol", *(tag("li", tag("a", s.title, href=f"#{s.anchor}")) for s in sections)),
        aria_label="Contents",
    )
    body = join(*(tag("section", tag("h2", s.title), s.body, id=s.anchor) for s in sections))
    return _html(
        _head_of_page(title),
        tag(
            "body",
            tag("header", header),
            tag("div", contents, tag("main", body), class_="columns"),
            tag("footer", footer),
        ),
    )


def _head_of_page(title: str) -> Markup:
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", Markup(SHEET)),
    )


def _html(head: Markup, body: Markup) -> str:
    return str(join(Markup("<!DOCTYPE html>\n"), tag("html", head, body, lang="en"), "\n"))


def tiles(listed: Sequence[Tile]) -> Markup:
    """Set headline figures side by side."""
    return tag(
        "div",
        *(
            tag(
                "div",
                tag("p", tile.name, class_="tile-name"),
                tag("p", tile.figure, class_="tile-figure"),
                tag("p", tile.interval, class_="tile-interval"),
                tag("p", tile.meaning, class_="tile-meaning"),
                class_="tile",
            )
            for tile in listed
        ),
        class_="tiles",
    )


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "", words: int = 1
) -> Markup:
    """Give a table whose first `words` columns are text, aligned left; the rest are numbers."""
    return tag(
        "div",
        tag(
            "table",
            tag("caption", caption) if caption else "",
            tag(
                "thead", tag("tr", *(_head(cell, place, words) for place, cell in enumerate(head)))
            ),
            tag(
                "tbody",
                *(
                    tag("tr", *(_cell(cell, place, words) for place, cell in enumerate(row)))
                    for row in rows
                ),
            ),
        ),
        class_="scroll",
    )


def _head(shown: str, place: int, words: int) -> Markup:
    return tag("th", shown, scope="col", class_=None if place < words else "number")


def _cell(shown: str, place: int, words: int) -> Markup:
    if place == 0:
        return tag("th", shown, scope="row")
    return tag("td", shown, class_=None if place < words else "number")


def figure(picture: Markup, caption: str = "", *more: str) -> Markup:
    """Give a picture with its caption under it."""
    told = [tag("figcaption", caption)] if caption else []
    return tag("figure", picture, *told, *more)


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


def facts(listed: Sequence[tuple[str, str]]) -> Markup:
    """Give names and values as a list."""
    return tag("dl", *(join(tag("dt", name), tag("dd", value)) for name, value in listed))
