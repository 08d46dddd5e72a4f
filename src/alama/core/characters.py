"""Characters that have no place in a word: they steer a terminal, or hide or turn what it shows.

A word comes from whoever calls the service, and ends on the terminal of whoever runs it: an escape
could rewrite the screen there, a turned line could say the opposite. The characters are listed
rather than asked of `str.isprintable`: what that says depends on the version of Python, a contract
can give no pattern for it, and it refuses the joiners (U+200C, U+200D) that Indian and Persian
names are written with.
"""

from __future__ import annotations

import re
from typing import Final

HIDDEN: Final = (
    r"\x00-\x1f\x7f-\x9f"  # controls: escapes, newlines, tabs
    r"\xad\u200b\u2060-\u2065\ufeff"  # no width: two words would look the same
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"  # the direction of writing, and its shapes
    r"\u2028\u2029\ufff9-\ufffb"  # separators of lines, marks around annotations
)
"""The inside of a character class, as regular expressions of most languages write it."""

_REPLACEMENT: Final = "?"
_HIDDEN: Final = re.compile(f"[{HIDDEN}]")
_HIDDEN_IN_LINES: Final = re.compile(rf"(?![\n\t]|\r\n)[{HIDDEN}]")


def is_visible(text: str) -> bool:
    """Say whether a text holds none of these characters."""
    # Nearly every text is printable, which takes less time to find out.
    return text.isprintable() or _HIDDEN.search(text) is None


def visible(text: str) -> str:
    """Give a text that can be shown within a line; a question mark stands for what cannot."""
    return text if text.isprintable() else _HIDDEN.sub(_REPLACEMENT, text)


def visible_lines(text: str) -> str:
    """Give a text that can be shown in lines of its own: tabs and ends of lines stay."""
    return text if text.isprintable() else _HIDDEN_IN_LINES.sub(_REPLACEMENT, text)
