"""What a verification reads, and what it finds wrong."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from alama.vault.ring import ApplicantKey


class DocumentKind(StrEnum):
    """What a document is, and where it is kept."""

    MODEL = "model"
    POLICY = "policy"
    FIELDS = "own fields"
    CANDIDATE = "candidate"


class StoredDocument(NamedTuple):
    """A document; `name` is what its row is known by, `id` the hash that it must have."""

    kind: DocumentKind
    name: str
    id: str
    content: bytes


class HistoryFile(NamedTuple):
    """A file that is kept; `digest` is the hash that the act and its row have of it."""

    id: str
    lender: str
    digest: str
    part_count: int


class ReviewColumns(NamedTuple):
    """What an act says of a review, and the table must. Somebody may have put anything there."""

    decision: object
    given_decision: object
    reviewed_us: object
    key_id: object
    person: object


class ReviewSaid(NamedTuple):
    """The same, and the digest of the reason and the note."""

    columns: ReviewColumns
    digest: object


class ReviewRow(NamedTuple):
    """A review as it stands in the table, its note sealed.

    `strange` names the columns in which it is not what its score is; none where that is gone.
    """

    lender: str
    mode: str
    request_id: str
    columns: ReviewColumns
    reason: str
    strange: tuple[str, ...]
    note: bytes
    seal_key_id: str | None
    applicant: ApplicantKey | None


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
    DOCUMENT = (
        "A model, a policy or a lender's own fields are not those that the id names: changed, or "
        "damaged."
    )
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
