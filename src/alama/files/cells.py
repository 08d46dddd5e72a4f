"""Text in a CSV file that a spreadsheet would take for a formula, and run.

A table holds words from anywhere, and is opened by those who trust it: a cell such as
=HYPERLINK(...) would act in their name. An apostrophe in front makes it text. Numbers may begin
with a sign and stay as they are.
"""

from __future__ import annotations

import re
from typing import Final

APOSTROPHE: Final = "'"
FORMULA: Final = r"^[=+\-@\t\r]"
NUMBER: Final = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\z"
"""Both as Arrow writes regular expressions, whose end of a text is \\z."""

_FORMULA: Final = re.compile(FORMULA)
_NUMBER: Final = re.compile(NUMBER.replace(r"\z", r"\Z"))


def inert(text: str) -> str:
    """Give a text as a cell that no spreadsheet runs."""
    acts = _FORMULA.match(text) is not None and _NUMBER.match(text) is None
    return APOSTROPHE + text if acts else text
