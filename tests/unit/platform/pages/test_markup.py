from __future__ import annotations

from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from alama.platform.pages.render import Markup, join, tag, text


@given(st.text())
def test_any_text_survives_as_text(shown: str) -> None:
    element = ET.fromstring(tag("p", shown, title=shown))  # noqa: S314 our own markup
    assert not list(element)
    allowed = str(text(shown))
    assert "<" not in allowed
    assert '"' not in allowed


def test_markup_is_not_escaped_twice() -> None:
    assert tag("p", tag("b", "a & b")) == "<p><b>a &amp; b</b></p>"
    assert join("<", Markup("<br/>")) == "&lt;<br/>"


def test_attributes_are_named_written_and_left_out() -> None:
    written = tag("rect", class_="x", fill_opacity="0.5", x=1.0, y=-0.001, width=2.345, id=None)
    assert written == '<rect class="x" fill-opacity="0.5" x="1" y="0" width="2.35"/>'
    assert tag("rect", tag("title", "t")) == "<rect><title>t</title></rect>"
    assert tag("p") == "<p></p>"
