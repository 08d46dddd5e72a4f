"""What was said of loans, as the log of acts has it: how many, by what became of them, and a hash.

Which loans they were is in the outcomes themselves. The hash is for a dispute: it is the SHA-256 of
the bytes as they were sent, so that a lender who kept them can show that it was these.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from alama.service.audit.acts import SHA256, Act, Detail, Kind, in_book
from alama.service.outcomes.records import Answer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from alama.service.book import Book


def outcomes_recorded(
    book: Book, answers: Iterable[Answer], sha256: str | None, by: str | None
) -> Act:
    """Say how many pieces of news of one batch were answered how."""
    counted = Counter(answers)
    details: dict[str, Detail] = {
        answer.value: counted[answer] for answer in Answer if counted[answer]
    }
    if sha256 is not None:
        details[SHA256] = sha256
    return in_book(Kind.OUTCOMES_RECORDED, book, None, details, by)
