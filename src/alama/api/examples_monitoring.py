"""An example of monitoring for the OpenAPI document, made by the code that answers callers."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from msgspec.structs import replace

from alama.api import monitoring
from alama.api.examples_webhooks import AT_US
from alama.core.monitoring import figures
from alama.core.monitoring.figures import Movement
from alama.core.monitoring.findings import findings
from alama.core.monitoring.summing import Loans, proportion, rate

Json = dict[str, Any]

_AT: Final = datetime.fromtimestamp(AT_US / 1e6, UTC).replace(microsecond=0)
_TODAY: Final = _AT.date()
_TIERS: Final = {"A": Loans(820, 16, 17.2), "B": Loans(1_140, 68, 52.4), "C": Loans(640, 71, 60.8)}
_ALL: Final = Loans(2_600, 155, 130.4)
_CHALLENGER: Final = "sha256:" + "8a1d" * 16
_NOBODY: Final = Loans()


def replies(model_id: str) -> dict[str, Json]:
    """Give the bodies of replies by name."""
    told = json.loads(monitoring.encode(_report(model_id)))
    return {"monitoring": {"summary": "A report on two days", "value": told}}


def _report(model_id: str) -> figures.MonitoringReport:
    report = figures.MonitoringReport(
        lender="demo",
        mode="test",
        currency="KES",
        generated_at=_AT,
        first_day=_TODAY - timedelta(days=1),
        last_day=_TODAY,
        findings=(),
        model=figures.MonitoredModel(
            id=model_id,
            name="Alama synthetic",
            answers=True,
            days_past_due=30,
            definition="ever 30 days past due by the due date + 30 days",
            hold_out=figures.HoldOut(0.7724, 0.7676, 0.7778),
        ),
        other_models=(),
        challenger=figures.RunningChallenger(
            _CHALLENGER, _TODAY, scored=1_204, failed=0, answers=False
        ),
        volume=_volume(),
        stability=(_stability(),),
        rates=_rates(),
        ranking=figures.Ranking(0.701, 0.661, 0.738, goods=2_445, bads=155),
        outcomes=figures.OutcomeFigures(
            known=3_105,
            mature=2_600,
            states={"defaulted": 139, "repaid": 2_947, "restructured": 8, "written_off": 11},
            expected=proportion(2_480, 2_611),
            loss=figures.Loss(140, 1_640_000.0, 705_200.0, 0.57, 0.53, 0.61, 0.6),
        ),
        reviews=_reviews(),
    )
    return replace(report, findings=findings(report))


def _volume() -> figures.Volume:
    return figures.Volume(
        scores=1_240,
        decisions={"APPROVED": 672, "REVIEW": 341, "DECLINED": 227},
        approval=proportion(672, 1_240),
        tiers={"A": 211, "B": 402, "C": 391, "D": 236},
        days=(
            figures.DayVolume(_TODAY - timedelta(days=1), 1_002, 548),
            figures.DayVolume(_TODAY, 238, 124),
        ),
    )


def _stability() -> figures.CardStability:
    inflow = (
        figures.BandShare(None, 12_000.0, None, 0.61, 0.38),
        figures.BandShare(12_000.0, None, None, 0.39, 0.62),
        figures.BandShare(None, None, None, 0.0, 0.0),
    )
    return figures.CardStability(
        card="compact",
        scores=1_240,
        compared=1_240,
        score=figures.Moved("score", 0.061, 0.1, Movement.STEADY, ()),
        fields=(
            figures.Moved("avg_inflow", 0.216, 0.1, Movement.MOVED, inflow),
            figures.Moved("mm_months", 0.004, 0.1, Movement.STEADY, ()),
        ),
        windows=(),
    )


def _rates() -> figures.Rates:
    return figures.Rates(
        overall=rate(_ALL),
        tiers=tuple(figures.TierRate(tier, rate(loans)) for tier, loans in _TIERS.items()),
        months=(
            figures.MonthRate(
                "2026-05", approved=2_611, known=2_480, young=False, partial=False, rate=rate(_ALL)
            ),
            figures.MonthRate(
                "2026-08", approved=1_002, known=505, young=True, partial=False, rate=rate(_NOBODY)
            ),
        ),
        cells=tuple(
            figures.CellRate(tier, "2026-05", rate(loans)) for tier, loans in _TIERS.items()
        ),
    )


def _reviews() -> figures.ReviewFigures:
    return figures.ReviewFigures(
        left=341,
        decided=329,
        waiting=12,
        approved=204,
        declined=125,
        confirmed=3,
        to_approved=6,
        to_declined=2,
        reasons=(figures.ReasonCount("income_verified", "REVIEW", "APPROVED", 188),),
        reviewed=rate(Loans(310, 22, 21.4)),
        overridden=rate(Loans(9, 1, 1.2)),
    )
