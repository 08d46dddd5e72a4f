"""Recording what became of loans: news in, one answer for each piece of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from alama.service.outcomes.records import Answer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from alama.service.book import Book
    from alama.service.outcomes.ports import OutcomeStore
    from alama.service.outcomes.records import News
    from alama.service.ports import Clock

BATCH_MAX: Final = 1_000
"""News that are kept in one transaction: meanwhile SQLite lets nobody else write."""

REFUSALS: Final[Mapping[Answer, str]] = {
    Answer.CONFLICT: "Something else was said of this loan on the same date, or it was corrected "
    "since, and that stands. If it is wrong, send this again with corrects: true, and with "
    "defaulted_on if the loan was a default before: a correction replaces all that was said.",
    Answer.UNKNOWN_SCORE: "There is no score with this request_id. Check the id, and that a test "
    "key speaks of test scores and a live key of live ones.",
    Answer.IN_THE_FUTURE: "The date is in the future. Send what has happened, once it has.",
    Answer.BEFORE_THE_LOAN: "The date is before the application was scored. Check the date and the "
    "request_id.",
}
"""What is said to whoever sent news that changed nothing and should have."""


class Result(NamedTuple):
    """What became of one piece of news. `is_default`: None where nothing is known of the loan."""

    request_id: str
    answer: Answer
    is_default: bool | None

    @property
    def message(self) -> str | None:
        """What to do about it, where it was refused."""
        return REFUSALS.get(self.answer)


class Sent(NamedTuple):
    """How news came. `sha256` is that of the bytes they came in, in hexadecimal digits.

    None: they came in none. So is `key_id` where no key came with them, and `by` where the audit
    is to note who is logged in.
    """

    sha256: str | None = None
    key_id: str | None = None
    by: str | None = None


class Outcomes:
    """What becomes of the loans of every book."""

    def __init__(self, store: OutcomeStore, clock: Clock) -> None:
        """Use a store; the clock says what lies in the future."""
        self._store = store
        self._clock = clock

    def record(self, book: Book, news: Sequence[News], sent: Sent) -> list[Result]:
        """Keep what news say of loans, and answer each, in their order.

        At most `BATCH_MAX`. To send the same again does no harm: nothing is counted twice.
        """
        assert len(news) <= BATCH_MAX
        verdicts = self._store.record(book, news, sent, self._clock)
        return [
            Result(
                one.request_id,
                verdict.answer,
                None if verdict.outcome is None else verdict.outcome.is_default,
            )
            for one, verdict in zip(news, verdicts, strict=True)
        ]
