"""Monitoring over HTTP: /v1/monitoring, how a book goes, and whether what was predicted came."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from alama.core.errors import InvalidModel, UnknownCurrency
from alama.core.monitoring import figures
from alama.core.monitoring.figures import Movement
from alama.core.monitoring.findings import findings
from alama.core.monitoring.rates import Loans, proportion, rate
from alama.lenders.records import UnknownModel
from alama.monitoring import page
from alama.monitoring.report import DAYS_DEFAULT, DAYS_MAX, Monitoring
from alama.platform.book import Scope
from alama.platform.errors import Busy, ModelUnavailable
from alama.platform.http import parameters
from alama.platform.http.exchange import (
    VARIES,
    Call,
    Reply,
    encode_json,
    private_json,
    private_page,
)
from alama.platform.http.operation import AT_US, HTML, RATE, Json, Operation, Success, reference
from alama.platform.http.problems import BadParameter

if TYPE_CHECKING:
    from alama.platform.timeouts import WorkQueue
    from alama.scoring.admission import Admission

TIMEOUT_S: Final = 30.0
"""Some hundred thousand loans are summed in seconds, and on a busy machine in more of them."""

WAITING_MAX: Final = 8
"""Reports under way: the last waits for the others, a second or two each where a book is large."""

WAITING_EACH_MAX: Final = 4
"""Of one book: nobody takes all the places."""

PARAMETERS: Final[dict[str, Json]] = {
    "days": {
        "name": "days",
        "in": "query",
        "description": "How many days to report on, today included.",
        "schema": {"type": "integer", "minimum": 1, "maximum": DAYS_MAX, "default": DAYS_DEFAULT},
        "example": 30,
    },
    "model": {
        "name": "model",
        "in": "query",
        "description": "Another model than the one that answers, by its id: one of `other_models`, "
        "or one of whose loans anything is known.",
        "schema": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"},
    },
}

_WHOLE: Final = re.compile(r"[0-9]{1,3}")


class MonitoringEndpoint:
    """Reports on the book of the key."""

    def __init__(self, admission: Admission, monitoring: Monitoring, turns: WorkQueue) -> None:
        self._admission = admission
        self._monitoring = monitoring
        self._turns = turns

    @Operation(
        path="/v1/monitoring",
        method="GET",
        id="getMonitoring",
        tag="Monitoring",
        summary="Read how the book goes, and whether predictions come true",
        description="Reports on the lender and mode of the key: volume and decisions of the last "
        "days, how far scores and fields are from what the model was trained on, the default rates "
        "that came true beside those that were predicted, by tier and month and with intervals, "
        "how well the score ranks, and what officers decided. `findings` says in words what to "
        "look at first. Rates are of mature loans alone: those that have been due for as long as "
        "it takes to be a default. With `Accept: text/html` it is a page with plots, which needs "
        "nothing from elsewhere. In test mode it is of the built-in model, and of outcomes that "
        "you made up.",
        scope=Scope.MONITORING_READ,
        parameters=("days", "model"),
        replies={
            200: Success(
                "The report.",
                reference("MonitoringReport"),
                headers=("Vary", *RATE),
                examples=("monitoring",),
                also=HTML,
            )
        },
        refusals=(BadParameter, UnknownModel, Busy, ModelUnavailable),
    )
    async def report(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.MONITORING_READ)
        asked = parameters.read(call, ("days", "model"))
        days, model_id = _days(asked.get("days")), asked.get("model")
        is_page = call.wants_page

        def make() -> bytes:
            try:
                report = self._monitoring.report(caller.book, days, model_id)
            except (InvalidModel, UnknownCurrency) as error:
                raise ModelUnavailable(error) from error
            return page.monitoring_page(report).encode() if is_page else encode_json(report)

        made = await self._turns.take(caller.book, make, TIMEOUT_S)
        if is_page:
            return private_page(made, headers)
        return private_json(made, [VARIES, *headers])


def _days(asked: str | None) -> int:
    if asked is None:
        return DAYS_DEFAULT
    if not (_WHOLE.fullmatch(asked) and 1 <= int(asked) <= DAYS_MAX):
        raise BadParameter(f"days must be a whole number from 1 to {DAYS_MAX}")
    return int(asked)


_AT: Final = datetime.fromtimestamp(AT_US / 1e6, UTC).replace(microsecond=0)
_TODAY: Final = _AT.date()
_TIERS: Final = {"A": Loans(820, 16, 17.2), "B": Loans(1_140, 68, 52.4), "C": Loans(640, 71, 60.8)}
_ALL: Final = Loans(2_600, 155, 130.4)
_CHALLENGER: Final = "sha256:" + "8a1d" * 16
_NOBODY: Final = Loans()


def replies(model_id: str) -> dict[str, Json]:
    """Give the bodies of replies by name."""
    told = json.loads(encode_json(_report(model_id)))
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
            hold_out=figures.HoldOut(0.7747, 0.7724, 0.7766),
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
        profit=_profit(),
        explored=figures.Explored(64, 14, 1_280.0, 0.219, 0.135, 0.335, 0.187),
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


def _profit() -> figures.Profit:
    month = figures.MonthProfit(
        *("2026-05", 2_440, 28_060_000.0, 30_115_000.0, 690_000.0, 366_000.0, 0.0),
        *(999_000.0, 862_000.0, 1_136_000.0),
    )
    return figures.Profit(2_440, 160, 12, month.profit, month.low, month.high, (month,))


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
