"""What officers decided, as the log of acts has it: the decision, and a digest of why.

Neither the reason nor their own words: the log is kept for ever, and both tell of the applicant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from alama.service.audit.acts import DIGEST, Kind, in_book

if TYPE_CHECKING:
    from alama.service.audit.acts import Act, Detail
    from alama.service.book import Book
    from alama.service.outcomes.records import Review


def score_reviewed(book: Book, review: Review, digest: str) -> Act:
    """Say who decided what on which score, and what the service had said.

    `digest` is that of `Noted`.
    """
    details: dict[str, Detail] = {
        "decision": review.decision,
        "given_decision": review.given_decision,
        "reviewed_us": review.reviewed_us,
        "key_id": review.key_id,
        DIGEST: digest,
    }
    return in_book(Kind.SCORE_REVIEWED, book, review.request_id, details, review.person)
