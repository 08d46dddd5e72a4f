"""Drift that was told of, as the log of acts has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alama.service.audit.acts import Act, Detail, Kind, in_book

if TYPE_CHECKING:
    from alama.service.book import Book
    from alama.service.monitoring.drift import Drifted


def drift_detected(book: Book, drifted: Drifted) -> Act:
    """Say what has drifted in which days; the index of each is in the window that was kept."""
    data = drifted.data()
    details: dict[str, Detail] = {
        "card": drifted.card,
        "names": " ".join(drifted.figures),
        "first_day": data["first_day"],
        "last_day": data["last_day"],
        "scores": drifted.window.scores,
    }
    return in_book(Kind.DRIFT_DETECTED, book, drifted.model_id, details)
