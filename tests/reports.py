"""Monitoring reports in several states, made by the use case on sums that are made up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import cast

from msgspec.structs import replace

from alama.core import document
from alama.core.calibration import SCORE_MIN
from alama.core.model import Model
from alama.core.monitoring.drift import Figure
from alama.core.monitoring.figures import MonitoringReport
from alama.core.tables import Feature
from alama.core.tally import SCORE_STEP, CardTally, Tally
from alama.lenders.records import Deployment, Lender, Signed
from alama.lenders.store import Registry
from alama.monitoring.challengers import Challenger
from alama.monitoring.drift import Window
from alama.monitoring.records import (
    AmountRow,
    DayScore,
    DayTally,
    GrantedRow,
    KnownRow,
    LotRow,
    OverrideRow,
    ProductRow,
    RateRow,
    ReviewRow,
    ScoreCount,
)
from alama.monitoring.report import Monitoring
from alama.platform.book import Book
from alama.platform.days import DAY_US
from alama.platform.files.packaged import builtin
from tests.entries import DEMO, NOON_US

TODAY = NOON_US // DAY_US
LONG_NAME = "a_loan_for_" + "n" * 29
"""As long as the name of a product may be."""
NO_LOTS = LotRow(0, 0, 0.0, 0.0, 0.0, 0.0, 0.0)
MODEL = builtin()
LATER = document.seal(replace(MODEL, name="A later one"))
EARLIER = document.seal(replace(MODEL, name="An earlier one"))
OTHER = EARLIER.id
TIERS = {"A": 0.02, "B": 0.05, "C": 0.1, "D": 0.2}
MONTHS = (202603, 202604, 202605, 202606)
_FIRSTS = [TODAY - 259, TODAY - 228, TODAY - 198, TODAY - 167]
"""A day of each of these months."""


@dataclass
class Sums:
    """What a database would tell of a book; a test says what."""

    rate_rows: Sequence[RateRow] = ()
    scores: Sequence[ScoreCount] = ()
    known_rows: Sequence[KnownRow] = ()
    term_days: Mapping[int, int] = field(default_factory=dict)
    review_rows: Sequence[ReviewRow] = ()
    override_rows: Sequence[OverrideRow] = ()
    tallies: Sequence[DayTally] = ()
    oldest: int | None = 0
    waits: int = 0
    amount_rows: Sequence[AmountRow] = ()
    lots: LotRow = NO_LOTS
    product_rows: Sequence[ProductRow] = ()
    granted_rows: Sequence[GrantedRow] = ()
    asked: list[object] = field(default_factory=list)

    def rates(self, book: Book, due_before: Mapping[str, int]) -> Sequence[RateRow]:
        self.asked.append((book, dict(due_before)))
        return [row for row in self.rate_rows if row.model_id in due_before]

    def amounts(self, _book: Book, _model_id: str, _due_before: int) -> Sequence[AmountRow]:
        return self.amount_rows

    def by_product(self, _book: Book, _model_id: str, _due_before: int) -> Sequence[ProductRow]:
        return self.product_rows

    def granted(self, _book: Book, _first_day: int) -> Sequence[GrantedRow]:
        return self.granted_rows

    def by_lot(self, _book: Book, _model_id: str, _due_before: int) -> LotRow:
        return self.lots

    def by_score(self, book: Book, model_id: str, due_before: int) -> Sequence[ScoreCount]:
        self.asked.append((book, model_id, due_before))
        return self.scores

    def by_day(
        self, _book: Book, _model_id: str, _due_before: int, _first_day: int
    ) -> Sequence[DayScore]:
        raise NotImplementedError

    def known(self, _book: Book) -> Sequence[KnownRow]:
        return self.known_rows

    def terms(self, _book: Book, _model_id: str) -> Mapping[int, int]:
        return self.term_days

    def reviewed(self, _book: Book, _since_us: int) -> Sequence[ReviewRow]:
        return self.review_rows

    def waiting(self, _book: Book) -> int:
        return self.waits

    def overridden(self, _book: Book, _model_id: str, _due_before: int) -> Sequence[OverrideRow]:
        return self.override_rows

    def days(self, _book: Book, first_day: int, last_day: int) -> Iterator[DayTally]:
        return (one for one in self.tallies if first_day <= one.day <= last_day)

    def oldest_day(self, _book: Book) -> int | None:
        return self.oldest


class Kept:
    """Windows of drift that were kept, whatever the card."""

    def __init__(self, *windows: Window) -> None:
        self._windows = windows

    def windows(self, _book: Book, _model_id: str, card: str, limit: int) -> Sequence[Window]:
        return self._windows[-limit:] if card == "full" else ()


class Tried:
    """Challengers of the book."""

    def __init__(self, *challengers: Challenger) -> None:
        self._challengers = challengers

    def of(self, _book: Book) -> Sequence[Challenger]:
        return self._challengers


class Registered:
    """The lender of the book, and what answers in it: the built-in model unless told."""

    def __init__(self, model_id: str | None = None, *earlier: str) -> None:
        self._model_id = model_id
        self._earlier = earlier

    def lender(self, lender_id: str) -> Lender:
        return Lender(lender_id, lender_id, "KES", NOON_US)

    def deployed(self, _book: Book) -> tuple[str | None, str | None] | None:
        return (self._model_id, None) if self._model_id else None

    def deployments(self, _book: Book) -> Sequence[Deployment]:
        signed = Signed(NOON_US, "W. Mutua", "a trial")
        return [Deployment(model_id, None, signed) for model_id in self._earlier]

    def in_shadow(self, _book: Book) -> bool:
        return False

    def model(self, model_id: str) -> bytes:
        """Give one of the two that there are beside the built-in one."""
        return document.encode({one.id: one for one in (LATER, EARLIER)}[model_id])


def monitoring(
    sums: Sums,
    kept: Kept | None = None,
    registered: Registered | None = None,
    tried: Tried | None = None,
) -> Monitoring:
    """The use case on made-up sums, at noon of the day of `tests.entries`."""
    # A report asks no more of a registry than this one can tell.
    registry = cast("Registry", registered or Registered())
    return Monitoring(registry, sums, kept or Kept(), tried or Tried(), lambda: NOON_US, builtin)


def report(sums: Sums, kept: Kept | None = None, days: int = 60) -> MonitoringReport:
    """The report on these sums."""
    return monitoring(sums, kept).report(DEMO, days)


# ------------------------------------------------------------------------------- states


def a_day(day: int, count: int = 500, halved: float = 0.0) -> DayTally:
    """A day of the full card as in training; `halved` of those in the upper bands are lower."""
    card = MODEL.cards[-1]
    bands = [
        _spread(one, count, halved if one.field == "avg_inflow" else 0.0) for one in card.features
    ]
    given = sum(bands[0])
    approved, review = given // 2, given // 4
    counted = CardTally(
        bands=bands,
        steps=_steps(MODEL, given),
        tiers={"A": approved, "B": given - approved},
        decisions={
            "APPROVED": approved,
            "REVIEW": review,
            "DECLINED": given - approved - review,
        },
    )
    return DayTally(day, MODEL.id, Tally({card.name: counted}))


def _spread(feature: Feature, count: int, halved: float) -> list[int]:
    counts = [share * count for share in feature.shares]
    if halved:
        for slot in range(len(counts) // 2, len(counts)):
            moved = counts[slot] * halved
            counts[slot] -= moved
            counts[slot // 2] += moved
    return _whole(counts)


def _whole(counts: Sequence[float]) -> list[int]:
    """Round so that the sum stays."""
    ends = [0, *(round(end) for end in accumulate(counts))]
    return [high - low for low, high in pairwise(ends)]


def _steps(model: Model, count: int) -> list[int]:
    reference = next(one for one in model.references if one.card == model.cards[-1].name)
    steps = [0] * ((850 - SCORE_MIN) // SCORE_STEP + 1)
    starts = (SCORE_MIN, *reference.score_edges)
    counts = _whole([share * count for share in reference.score_shares])
    for start, number in zip(starts, counts, strict=True):
        steps[(start - SCORE_MIN) // SCORE_STEP] = number
    return steps


def scored(halved: float = 0.0, days: int = 60) -> Sums:
    """A book with scores and nothing else."""
    tallies = [a_day(TODAY - ago, halved=halved) for ago in reversed(range(days))]
    left = sum(one.tally.decisions["REVIEW"] for one in tallies)
    return Sums(tallies=tallies, waits=left)


def repaid(times: float = 1.0, count: int = 400) -> Sums:
    """A book with scores, and with mature loans that default `times` as often as predicted."""
    sums = scored()
    sums.rate_rows = [
        RateRow(
            MODEL.id,
            month,
            tier,
            count,
            round(count * pd * times),
            count * pd,
            # Five loans of 200, of which two came back whole.
            *(5, 1000.0, 400.0, 200_000.0, 80_000.0, 80_000.0),
        )
        for month in MONTHS
        for tier, pd in TIERS.items()
    ]
    sums.tallies = [*(a_day(day, 3_400) for day in _FIRSTS), *sums.tallies]
    sums.scores = [
        ScoreCount(700 - 50 * place, 4 * count, 4 * round(count * pd * times), 4 * count * pd)
        for place, (_, pd) in enumerate(TIERS.items())
    ]
    sums.known_rows = [
        KnownRow(MODEL.id, month, "APPROVED", state, number, number * (state == "defaulted"))
        for month in MONTHS
        for state, number in (("repaid", 4 * count - 40), ("defaulted", 40))
    ]
    sums.term_days = {30: 4_000, 60: 900}
    return sums


def reviewed(sums: Sums, overridden_defaults: int = 14) -> Sums:
    """The same book, in which officers have decided on some scores."""
    sums.waits = 5
    sums.review_rows = [
        ReviewRow("REVIEW", "APPROVED", "income_verified", 4_700),
        ReviewRow("REVIEW", "DECLINED", "cannot_afford", 2_795),
        ReviewRow("DECLINED", "APPROVED", "known_customer", 30),
        ReviewRow("APPROVED", "DECLINED", "fraud_suspected", 12),
        ReviewRow("DECLINED", "DECLINED", "documents_checked", 4),
    ]
    sums.override_rows = [
        OverrideRow("REVIEW", "APPROVED", 800, 64, 62.0),
        OverrideRow("DECLINED", "APPROVED", 90, overridden_defaults, 15.0),
    ]
    return sums


def drifting_windows() -> Kept:
    """Three windows, of which the last two show drift of a field."""
    calm = {"score": Figure(0.02, 0.1), "avg_inflow": Figure(0.03, 0.1)}
    over = {"score": Figure(0.04, 0.1), "avg_inflow": Figure(0.41, 0.1)}
    return Kept(
        *(
            Window(TODAY - 30 + 10 * place, TODAY - 21 + 10 * place, 2_000, figures)
            for place, figures in enumerate((calm, over, over))
        )
    )


def states() -> dict[str, MonitoringReport]:
    """A report of each state that a reader may meet."""
    young = scored()
    young.known_rows = [KnownRow(MODEL.id, 202611, "APPROVED", "repaid", 12, 0)]
    return {
        "empty": report(Sums()),
        "no_outcomes": report(scored()),
        "young": report(young),
        "healthy": report(reviewed(repaid())),
        "troubled": report(_troubled(), drifting_windows()),
    }


def _troubled() -> Sums:
    sums = reviewed(repaid(times=1.8), overridden_defaults=40)
    sums.tallies = scored(halved=0.66).tallies
    sums.product_rows = [ProductRow("weekly", 400, 60, 20.0), ProductRow(LONG_NAME, 3, 0, 0.3)]
    sums.granted_rows = [GrantedRow("weekly", 1_200, 9_600_000.0)]
    return sums
