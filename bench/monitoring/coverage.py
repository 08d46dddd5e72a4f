"""How often the interval of a realised rate holds the true one: outcomes drawn from the truth.

Each run has loans of its own, of people whose true risk is known, and a tier of each by the model
and the policy that come with the package. What became of them is drawn from the true risk, the
report's own figures are made of that, and the mean true risk of each tier lies in its interval or
does not. One more run goes through the database: scored, sealed, recorded and reported on as
everything is; its figures have to be those that the same loans give in memory.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from sqlalchemy import select

from alama.core import kernel
from alama.core.lending.draft import default_policy
from alama.core.lending.policy import Decision
from alama.core.monitoring.figures import COUNT_MIN, Rate
from alama.core.monitoring.rates import Loans, rate
from alama.lenders import installation
from alama.monitoring.repayment import due_before
from alama.monitoring.report import Monitoring
from alama.monitoring.synthetic_book import Asked, Kept, fill
from alama.platform import clock, settings
from alama.platform.book import Book, Mode
from alama.platform.files.packaged import builtin
from alama.scoring import schema
from alama.scoring.sequels import DEFAULTS
from alama.training.population.people import CHUNK_ROWS, PopulationOptions, batches
from alama.training.validation.figures import served_points
from bench.monitoring.drift import columns_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from alama.platform.database.database import Database


Figures = dict[str, Any]
Progress = Callable[[float, str], None]

PEOPLE: Final = 5_000
"""Applications of a run: some hundreds to two thousand loans in each tier."""

STORED_PEOPLE: Final = 10_000
_SEED: Final = 70_000
_DAY_US: Final = 86_400 * 1_000_000
_BOOK: Final = Book("demo", Mode.TEST)


def measure(runs: int, progress: Progress, stored_people: int = STORED_PEOPLE) -> Figures:
    """Draw so many runs in memory and one through the database, and count what was covered."""
    covered, of = Counter[str](), Counter[str]()
    for number, loans in enumerate(_runs(runs), start=1):
        for tier, (found, true) in loans.items():
            of[tier] += 1
            covered[tier] += found.low <= true <= found.high
        progress(0.9 * number / runs, f"coverage run {number}")
    stored = _through_the_database(stored_people)
    progress(1.0, "coverage through the database")
    total, holds = sum(of.values()), sum(covered.values())
    return {
        "runs": runs,
        "people": PEOPLE,
        "intervals": total,
        "covered": holds,
        "share": round(holds / total, 4),
        "tiers": {tier: round(covered[tier] / of[tier], 4) for tier in sorted(of)},
        "stored": stored,
    }


def _runs(runs: int) -> Iterator[dict[str, tuple[Rate, float]]]:
    """Give for each run the figures of each tier that lends, and its true rate."""
    model, policy = builtin(), default_policy("KES")
    worst_first = policy.tiers[::-1]
    cuts = np.array([tier.score_min for tier in worst_first[1:]])
    many = CHUNK_ROWS // PEOPLE
    for chunk in range(-(-runs // many)):
        [batch] = batches(PopulationOptions(rows=CHUNK_ROWS, seed=_SEED + chunk))
        points, _ = served_points(model, columns_of(batch, model), CHUNK_ROWS)
        tiers = np.searchsorted(cuts, kernel.shown_scores(points), side="right")
        predicted = kernel.shown_probabilities(points)
        risk = batch.column("true_default_probability").to_numpy()
        source = np.random.default_rng((_SEED, chunk))
        defaulted = source.random(CHUNK_ROWS) < risk
        for part in range(min(many, runs - many * chunk)):
            rows = slice(part * PEOPLE, (part + 1) * PEOPLE)
            found = {}
            for place, tier in enumerate(worst_first):
                mine = tiers[rows] == place
                if tier.decision is Decision.DECLINED or np.count_nonzero(mine) < COUNT_MIN:
                    continue
                figures = _figures(mine, defaulted[rows], predicted[rows])
                found[tier.name] = (figures, float(risk[rows][mine].mean()))
            yield found


def _figures(
    mine: NDArray[np.bool_], defaulted: NDArray[np.bool_], predicted: NDArray[np.float64]
) -> Rate:
    count, defaults = int(np.count_nonzero(mine)), int(np.count_nonzero(defaulted[mine]))
    return rate(Loans(count, defaults, float(predicted[mine].sum())))


# ---------------------------------------------------------------------------- one that is stored


def _through_the_database(people: int) -> Figures:
    """Fill a book, report on it, and hold each tier against the loans that it was filled with."""
    with tempfile.TemporaryDirectory() as folder:
        opened = installation.open_installation(settings.read({"ALAMA_HOME": folder}))
        try:
            kept = fill(opened, Asked(_BOOK.lender, people, 12, _SEED))
            report = Monitoring.at(opened).report(_BOOK)
            expected = _by_hand(opened.database, kept)
        finally:
            opened.close()
    reported = {tier.tier: tier.rate for tier in report.rates.tiers}
    same = set(reported) == set(expected) and all(
        _is_same(reported[tier], found) for tier, (found, _) in expected.items()
    )
    covered = sum(
        reported[tier].low <= true <= reported[tier].high for tier, (_, true) in expected.items()
    )
    loans = sum(found.count for found, _ in expected.values())
    return {"loans": loans, "same": same, "intervals": len(expected), "covered": covered}


def _is_same(one: Rate, other: Rate) -> bool:
    counts = (one.count, one.defaults, one.low, one.high) == (
        other.count,
        other.defaults,
        other.low,
        other.high,
    )
    # Databases add up probabilities in an order of their own.
    near = one.predicted is not None and other.predicted is not None
    return counts and near and abs((one.predicted or 0.0) - (other.predicted or 0.0)) < 1e-9


def _by_hand(database: Database, kept: Kept) -> Mapping[str, tuple[Rate, float]]:
    """Work out the figures of each tier from the loans themselves, with their true rate."""
    table = schema.scores
    query = select(table.c.request_id, table.c.tier, table.c.default_probability)
    with database.reading() as connection:
        said = {row[0]: (row[1], row[2]) for row in connection.execute(query)}
    mature = due_before(builtin(), clock.wall_us() // _DAY_US)
    defaulted = {one.request_id for one in kept.news if one.state in DEFAULTS}
    sums: dict[str, Loans] = {}
    risks: dict[str, list[float]] = {}
    lent = kept.loans
    for request_id, risk, due in zip(
        lent.request_ids, lent.risk.tolist(), lent.due_day.tolist(), strict=True
    ):
        if due >= mature:
            continue
        tier, probability = said[request_id]
        had = sums.get(tier, Loans())
        defaults = had.defaults + (request_id in defaulted)
        sums[tier] = Loans(had.count + 1, defaults, had.predicted + probability)
        risks.setdefault(tier, []).append(risk)
    return {tier: (rate(loans), float(np.mean(risks[tier]))) for tier, loans in sums.items()}
