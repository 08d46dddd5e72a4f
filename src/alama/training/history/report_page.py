"""The report of a lender's history as one page: what was read, what is wrong where, what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.platform.pages import charts, numbers
from alama.platform.pages.charts import Bar, Curve
from alama.platform.pages.render import Markup, render
from alama.training.history.evidence import DRIFT_MONTHS, DRIFTED_PSI
from alama.training.history.split import JUDGING_DEFAULTS_MIN, LEARNING_DEFAULTS_MIN

if TYPE_CHECKING:
    from alama.training.history.report import HistoryReport

_PSI_WATCH: Final = 0.1


def history_page(report: HistoryReport, lender: str) -> str:
    """Give the report as one self-contained HTML page, without script."""
    return render(
        "training/history/templates/report.html",
        report=report,
        lender=lender,
        left_out=report.unsound + report.repeated,
        told=[_sentence(line) for line in (*report.advice, *report.notes)],
        missing_shares=_missing_shares(report),
        rate_by_month=_rate_by_month(report),
        drift=_drift(report),
        drift_months=DRIFT_MONTHS,
        learning_defaults_min=LEARNING_DEFAULTS_MIN,
        judging_defaults_min=JUDGING_DEFAULTS_MIN,
    )


def _sentence(told: str) -> str:
    return told if told.endswith(".") else f"{told[0].upper()}{told[1:]}."


def _missing_shares(report: HistoryReport) -> Markup | None:
    some = sorted((m for m in report.missing if m.share > 0.0), key=lambda m: -m.share)
    if not some:
        return None
    listed = [Bar(missing.column, missing.share) for missing in some]
    return charts.bars(listed, numbers.percent, "Missing shares by column")


def _rate_by_month(report: HistoryReport) -> Markup | None:
    known = [(place, m.rate) for place, m in enumerate(report.months) if m.rate is not None]
    if not known:
        return None
    return charts.trend(
        [month.month for month in report.months],
        [Curve("default rate", [p for p, _ in known], [rate for _, rate in known])],
        "Default rate by month",
        "month of the application",
    )


def _drift(report: HistoryReport) -> Markup | None:
    if not report.drift:
        return None
    return charts.bars(
        [Bar(shift.column, shift.psi) for shift in report.drift],
        numbers.fixed,
        "Drift of each field",
        full_at_least=0.3,
        limits=((_PSI_WATCH, "0.1 watch"), (DRIFTED_PSI, "0.25 shift")),
    )
