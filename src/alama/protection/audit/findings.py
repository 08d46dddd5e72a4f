"""What a verification finds wrong, and what each kind of it means."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import Final, NamedTuple


class Trouble(StrEnum):
    """Kinds of findings, in words for the person who has to act on them."""

    EMPTY = "The audit has been emptied: there are lenders, and no act says that any was added."
    ENTRY = "An entry of the audit was changed, added or taken away after it was written."
    CUT = "Entries that `main` bears witness to are gone: the end of a chain, or all of it."
    UNOPENED = "A chain was begun that `main` knows nothing of: its scores were not given here."
    TIME = (
        "An entry is earlier than the one before it: a clock was wrong, and nothing was changed. "
        "Where it is known why, `alama clock accept` explains it; see docs/audit.md."
    )
    CHANGED = "A score is not what was given: a column or its record was changed since."
    GONE = "A score that was given is gone, and no retention run accounts for it."
    BACK = "A score is there again that a retention run had deleted."
    UNNAMED = "A score is in no entry: it was not written by this service."
    ERASED = "The key of an applicant was destroyed, and no act of erasure says so."
    RESTORED = "An applicant was erased, and their key is there again: erase them once more."
    APPLICANT = "The key of an applicant was changed, or whom it is found for."
    STANDING = "What stands is not what was done: no act accounts for it."
    DOCUMENT = "A model or a policy is not the one that its id names: it was changed or is damaged."
    HISTORY = "A loan history is not the file that was handed in: it was changed or is damaged."
    PUBLIC = (
        "The public half of a key that signs was changed; what it signed was checked by its own."
    )
    SIGNER = "A key is among those that sign for this installation, and is none of ours."
    HEAD = "The audit is not the one of which a head was written down."
    KEY = "It cannot be told: a key is missing or damaged, and what needs it cannot be checked."


CANNOT_BE_TOLD: Final = frozenset({Trouble.KEY})
"""What accuses nobody: with the key in its place, everything may be in order."""


class Finding(NamedTuple):
    """One thing that is wrong: its kind, where it is, and what it is."""

    trouble: Trouble
    where: str
    what: str


Watch = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]
"""Told what comes next and how much of it there is; gives whom to tell that some more is done."""
