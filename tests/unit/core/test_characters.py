"""What may steer a terminal or hide text is never taken for part of a word."""

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core import application
from alama.core.application import is_visible, visible, visible_lines

STEERING = ["\x1b", "\x9b", "\u202e", "\n", "\r", "\t", "\x00", "\x7f", "\u2066", "\u2028"]
NAMES = [
    "Nairobi",
    "Murang'a",
    "S\u00e3o Tom\u00e9",
    "\u0928\u0908 \u0926\u093f",
    "a\u200db",
    "\U0001f600",
    "a\u00a0b",
]


@pytest.mark.parametrize("character", [*STEERING, "\u200b", "\u2060", "\ufeff", "\xad"], ids=ascii)
def test_what_steers_or_hides_is_found_and_replaced(character: str) -> None:
    text = f"a{character}b"
    assert not is_visible(text)
    assert visible(text) == "a?b"


@pytest.mark.parametrize("name", NAMES)
def test_a_name_in_any_script_is_left_alone(name: str) -> None:
    assert is_visible(name)
    assert visible(name) == name
    assert visible_lines(name) == name


def test_lines_keep_their_ends_and_tabs_and_nothing_else_of_the_kind() -> None:
    assert visible_lines("a\n\tb\x1b[2J\r\u202ec\r\n") == "a\n\tb?[2J??c\r\n"


def test_every_control_character_is_listed() -> None:
    controls = (chr(code) for code in range(sys.maxunicode + 1))
    assert not any(is_visible(one) for one in controls if unicodedata.category(one) == "Cc")


def test_a_printable_character_is_never_listed() -> None:
    # So that `str.isprintable`, which is faster, can be asked first.
    hidden = application._HIDDEN
    every = (chr(code) for code in range(sys.maxunicode + 1))
    assert not any(hidden.search(one) for one in every if one.isprintable())


@given(st.text())
def test_what_was_replaced_can_be_shown(text: str) -> None:
    assert is_visible(visible(text))
    lines = visible_lines(text).replace("\r\n", "\n")
    assert is_visible(lines.replace("\n", "").replace("\t", ""))
