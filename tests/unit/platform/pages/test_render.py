from __future__ import annotations

import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError

from alama.platform.pages.render import Markup, _environment, render

PAGE = """{% extends "platform/pages/templates/page.html" %}
{% import "platform/pages/templates/parts.html" as parts %}
{% block title %}{{ said }}{% endblock %}
{% block header %}<h1>{{ said }} {{ parts.badge(said) }}</h1>{% endblock %}
{% block main %}
{% call section("one", "First") %}{{ parts.table(["", "n"], [[said, 1234 | count]]) }}{% endcall %}
{% call section("two", said) %}{{ parts.figure(drawn, said) }}{% endcall %}
{% endblock %}
{% block footer %}{{ said }}{% endblock %}
"""


def page(said: str) -> str:
    return render(_environment().from_string(PAGE), said=said, drawn=Markup("<svg/>"))


@given(st.text())
def test_any_text_survives_as_text(said: str) -> None:
    shown = ET.fromstring(page(said).removeprefix("<!DOCTYPE html>"))  # noqa: S314 our own markup
    assert [link.get("href") for link in shown.iterfind(".//nav//a")] == ["#one", "#two"]
    assert len(shown.findall(".//svg")) == 1
    assert [cell.text for cell in shown.iterfind(".//td")] == ["1,234"]


def test_a_name_without_a_value_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        render(_environment().from_string(PAGE), said="x")


def test_jinja_is_loaded_with_the_first_page_and_not_before() -> None:
    # A service imports the pages when it starts, and most of its processes never make one.
    code = "import sys; import alama.app.serving; print('jinja2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout == "False\n"
