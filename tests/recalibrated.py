"""Mature loans of one model, made up, whose level is off by as much as a test likes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import insert

from alama.core import calibration
from alama.core.monitoring.recalibration import moved
from alama.core.units import Points
from alama.monitoring import schema
from alama.platform.book import Book
from alama.platform.database.database import Database
from tests.entries import a_request_id

DAY_US = 86_400 * 1_000_000
SCORES = range(560, 721, 20)


def keep_loans(
    database: Database, book: Book, model_id: str, now_us: int, shift: float, many: int = 120
) -> int:
    """Keep so many loans of each score, of the last year and all mature; give how many defaulted.

    They default as often as the model would have said had its log-odds been moved by the shift.
    """
    rows: list[dict[str, Any]] = []
    for score in SCORES:
        stated = calibration.shown_probability(Points(score))
        true = moved(stated, shift)
        for place in range(many):
            # Spread evenly: every part of the year has as many defaults as another.
            defaults = int((place + 1) * true) > int(place * true)
            at_us = now_us - (80 + 280 * place // many) * DAY_US
            day = at_us // DAY_US
            rows.append(
                {
                    "lender": book.lender,
                    "mode": book.mode.value,
                    "request_id": a_request_id(at_us),
                    "state": "defaulted" if defaults else "repaid",
                    "happened_on": day + 60,
                    "defaulted_on": day + 60 if defaults else None,
                    "recorded_us": now_us,
                    "score_us": at_us,
                    "score_month": int(f"{datetime.fromtimestamp(at_us / 1e6, UTC):%Y%m}"),
                    "due_day": day + 30,
                    "model_id": model_id,
                    "score": score,
                    "tier": "B",
                    "default_probability": stated,
                    "decision": "APPROVED",
                }
            )
    with database.writing() as connection:
        connection.execute(insert(schema.outcomes), rows)
    return sum(row["defaulted_on"] is not None for row in rows)
