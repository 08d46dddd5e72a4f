"""What recording outcomes needs from outside. `alama.storage` implements it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.service.book import Book
    from alama.service.outcomes.judging import Verdict
    from alama.service.outcomes.recording import Sent
    from alama.service.outcomes.records import News
    from alama.service.ports import Clock


class OutcomeStore(Protocol):
    """What became of loans. Every method may raise `StoreUnavailable`."""

    def record(
        self, book: Book, news: Sequence[News], sent: Sent, clock: Clock
    ) -> Sequence[Verdict]:
        """Judge news one after the other, and keep what comes of it, all of it or nothing.

        At most `BATCH_MAX`. No two that speak of the same loan are judged at once, whoever sent
        them; the clock is asked once it is their turn. Those who want to be told are told, and the
        audit notes how many there were and who said so; where nothing is written it notes nothing.
        """
        ...
