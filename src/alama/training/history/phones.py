"""Whether a word looks like a phone number, which names a person wherever it is seen."""

from __future__ import annotations

import re
from typing import Final

_BETWEEN_DIGITS: Final = str.maketrans("", "", " -().\u00a0")
_PHONE: Final = re.compile(
    r"""
    (?:\+|00)[1-9][0-9]{7,14}   # as it is dialled from abroad
    | 2[1-6][0-9][1-9][0-9]{8}  # the same without the sign: a code of Africa and nine digits
    | 0[1-9][0-9]{8}            # as it is dialled at home; zeros before a number make two
    """,
    re.VERBOSE,
)


def may_be_phone(word: str) -> bool:
    """Say whether a word is written as phone numbers are. Some other long numbers are as well."""
    return _PHONE.fullmatch(word.translate(_BETWEEN_DIGITS)) is not None
