"""The report of a lender's history as one page: what was read, what is wrong where, what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.pages import bars, charts, numbers, page
from alama.pages.bars import Bar
from alama.pages.charts import Curve
from alama.pages.markup import join, tag
from alama.pages.page import Section, Tile
from alama.service.onboarding.records import Enough
from alama.training.history.evidence import DRIFT_MONTHS, DRIFTED_PSI
from alama.training.history.report import Standing
from alama.training.history.split import JUDGING_DEFAULTS_MIN, LEARNING_DEFAULTS_MIN
from alama.training.recipe import PAIRS_NEED_DEFAULTS

if TYPE_CHECKING:
    from alama.pages.markup import Markup
    from alama.training.history.report import HistoryReport, Suspect

_PSI_WATCH: Final = 0.1
_VERDICTS: Final = {
    Enough.NOTHING: ("Not enough", "Too little evidence for a model of its own."),
    Enough.MAINS: ("Fields", "Enough to learn each field by itself, without pairs."),
    Enough.PAIRS: ("Fields and pairs", "Enough to learn fields and pairs of fields."),
}
_STANDINGS: Final = {
    Standing.OPEN: "decide: exclude it, or keep it and give up approval",
    Standing.KEPT: "kept as an input on somebody\u2019s word; blocks approval",
    Standing.EXCLUDED: "excluded, no input",
    Standing.SET_ASIDE: "no field of a request, never an input",
}


def history_page(report: HistoryReport, lender: str) -> str:
    """Give the report as one self-contained HTML page, without script."""
    sections = [
        Section("glance", "At a glance", _glance(report)),
        Section("faults", "What is wrong where", _faults(report)),
        Section("duplicates", "Repeated rows", _duplicates(report)),
        Section("suspects", "What gives the outcome away", _suspects(report)),
        Section("missing", "What is missing", _missing(report)),
    ]
    if report.months:
        sections.append(Section("months", "Month by month", _months(report)))
    if report.drift:
        sections.append(Section("drift", "Drift", _drift(report)))
    sections += [
        Section("columns", "What each column is for", _columns(report)),
        Section("rules", "How it was read", _rules(report)),
    ]
    return page.document(
        f"History of {lender}",
        _header(report, lender),
        sections,
        "Alama report of a loan history. It names columns, rules and rows, and repeats no value.",
    )


def _header(report: HistoryReport, lender: str) -> Markup:
    period = ""
    if report.first_applied_on is not None:
        period = f", applied for from {report.first_applied_on} to {report.last_applied_on}"
    also = ", or is restructured in distress" if report.tells_restructuring else ""
    return join(
        tag("p", "Report of a loan history", class_="kicker"),
        tag("h1", lender),
        tag(
            "p",
            f"{numbers.plural(report.rows, 'row')}{period}; amounts in {report.currency}. "
            f"A loan defaults that is {report.days_past_due} days past due by its due date + "
            f"{report.days_past_due} days{also}.",
            class_="lead",
        ),
    )


def _glance(report: HistoryReport) -> Markup:
    name, meaning = _VERDICTS[report.enough]
    judged = "Nothing to judge a model by yet."
    if report.out_of_time_from is not None:
        judged = (
            f"{numbers.count(report.learning_loans)} before {report.out_of_time_from} teach the "
            f"model ({numbers.plural(report.learning_defaults, 'default')}). Later ones of people "
            f"without an earlier loan judge it: {numbers.count(report.out_of_time_loans)}, with "
            f"{numbers.plural(report.out_of_time_defaults, 'default')}."
        )
    counted = [
        ("Rows in the file", report.rows),
        ("Left out: they break a rule", report.unsound),
        ("Left out: they repeat others", report.repeated),
        ("Applications without a loan", report.not_booked),
        ("Loans too young to judge", report.immature),
        ("Mature loans to learn from", report.mature),
    ]
    told = [*report.advice, *report.notes]
    if report.open_suspects:
        told.insert(
            0,
            f"Decide on {', '.join(report.open_suspects)}: what gives the outcome away must be "
            "excluded before a model is made.",
        )
    parts = [
        page.tiles(
            [
                Tile(
                    "Mature loans",
                    numbers.count(report.mature),
                    f"of {numbers.plural(report.borrowers, 'borrower')}",
                    judged,
                ),
                Tile(
                    "Default rate",
                    numbers.percent(report.default_rate),
                    numbers.plural(report.defaults, "default"),
                    "Among mature loans alone.",
                ),
                Tile("Enough for", name, "", meaning),
                Tile(
                    "Rows left out",
                    numbers.percent((report.unsound + report.repeated) / max(report.rows, 1)),
                    numbers.plural(report.unsound + report.repeated, "row"),
                    "They break a rule or repeat others.",
                ),
            ]
        ),
    ]
    if told:
        parts.append(page.heading("What to know and to do"))
        parts.append(tag("ul", *(tag("li", _sentence(line)) for line in told), class_="findings"))
    parts.append(page.heading("Where every row went"))
    parts.append(page.table(["Rows", "Count"], [[n, numbers.count(many)] for n, many in counted]))
    return join(*parts)


def _sentence(told: str) -> str:
    return told if told.endswith(".") else f"{told[0].upper()}{told[1:]}."


def _faults(report: HistoryReport) -> Markup:
    if not report.faults:
        return page.paragraph("Every row keeps every rule.")
    return join(
        page.paragraph(
            f"{numbers.plural(report.unsound, 'row')} of {numbers.count(report.rows)} are left "
            "out because a value breaks a rule; one row can break several. Nothing was mended: "
            "put the file right and read it again. Rows are counted from 1, without the header."
        ),
        page.table(
            ["Column", "Rule", "First rows", "Rows"],
            [
                [fault.column, fault.rule, _listed(fault.first_rows), numbers.count(fault.rows)]
                for fault in report.faults
            ],
            words=3,
        ),
    )


def _listed(rows: tuple[int, ...]) -> str:
    return ", ".join(str(row) for row in rows)


def _duplicates(report: HistoryReport) -> Markup:
    if not report.duplicates:
        return page.paragraph("No row repeats another.")
    return join(
        page.paragraph(
            "Of rows that are equal in every column the first stays. Of loans of one borrower, "
            "day and amount that are told in different ways none does: nobody here can say which "
            "is right."
        ),
        page.table(
            ["Rows that are", "First rows", "Left out"],
            [
                [d.kind.value, _listed(d.first_rows), numbers.count(d.rows)]
                for d in report.duplicates
            ],
            words=2,
        ),
    )


def _suspects(report: HistoryReport) -> Markup:
    if not report.suspects:
        return page.paragraph("No column tells the outcome by itself.")
    return join(
        page.paragraph(
            "Nothing that was known before a loan tells its outcome so well. These were probably "
            "written after it; a model that learns from them knows nothing on the day it decides."
        ),
        page.table(
            ["Column", "Why", "What becomes of it", "AUC alone"],
            [_suspect(suspect) for suspect in report.suspects],
            words=3,
        ),
    )


def _suspect(suspect: Suspect) -> list[str]:
    return [
        suspect.column,
        suspect.why,
        _STANDINGS[suspect.standing],
        numbers.fixed(suspect.auc),
    ]


def _missing(report: HistoryReport) -> Markup:
    some = sorted((m for m in report.missing if m.share > 0.0), key=lambda m: -m.share)
    if not some:
        return page.paragraph("Every column says something in every row.")
    return join(
        page.paragraph(
            "The share of all rows in which a column says nothing. What a loan came to is empty "
            "for applications that were not booked, and rightly so."
        ),
        page.figure(
            bars.bars(
                [Bar(m.column, m.share) for m in some], numbers.percent, "Missing shares by column"
            )
        ),
    )


def _months(report: HistoryReport) -> Markup:
    known = [(place, m.rate) for place, m in enumerate(report.months) if m.rate is not None]
    parts = [
        page.paragraph(
            "By the month of the application. A young month holds only its shortest loans: its "
            "rate is not yet that of the whole month."
        )
    ]
    if known:
        parts.append(
            page.figure(
                charts.trend(
                    [month.month for month in report.months],
                    [Curve("default rate", [p for p, _ in known], [rate for _, rate in known])],
                    "Default rate by month",
                    "month of the application",
                )
            )
        )
    rows = [
        [
            month.month,
            *map(numbers.count, (month.applications, month.booked, month.mature, month.defaults)),
            numbers.percent(month.rate),
        ]
        for month in report.months
    ]
    head = ["Month", "Applications", "Booked", "Mature", "Defaults", "Rate"]
    return join(*parts, page.table(head, rows))


def _drift(report: HistoryReport) -> Markup:
    return join(
        page.paragraph(
            f"How far each field moved in the last {DRIFT_MONTHS} months from all months before "
            "(population stability index). Below 0.1 is usually called stable, from 0.25 on a "
            "shift: a model of the past then speaks of other people."
        ),
        page.figure(
            bars.bars(
                [Bar(shift.column, shift.psi) for shift in report.drift],
                numbers.fixed,
                "Drift of each field",
                full_at_least=0.3,
                limits=((_PSI_WATCH, "0.1 watch"), (DRIFTED_PSI, "0.25 shift")),
            )
        ),
    )


def _columns(report: HistoryReport) -> Markup:
    nothing = "none"
    return page.facts(
        [
            ("Inputs of a model", ", ".join(report.inputs) or nothing),
            ("For fairness only", ", ".join(report.groups) or nothing),
            ("Set aside", ", ".join(report.set_aside) or nothing),
        ]
    )


def _rules(report: HistoryReport) -> Markup:
    k = report.days_past_due
    listed = [
        (
            f"A loan is mature that was observed on its due date + {k} days or later. All others "
            f"are set aside, also those that are {k} days late already: a bad loan shows early "
            "and a good one only at the end, so counting the early ones would make every recent "
            "month look worse than it is."
        ),
        "An application without disbursed_on was not booked, and has no outcome.",
        "An empty restructured says no. NA, null and the like say nothing.",
        (
            f"A model needs {LEARNING_DEFAULTS_MIN} defaults to learn from, "
            f"{PAIRS_NEED_DEFAULTS:,} for pairs of fields, and {JUDGING_DEFAULTS_MIN} to be judged "
            "by: in the last part of the calendar, of borrowers without a loan before it."
        ),
    ]
    return tag("ul", *(tag("li", line) for line in listed))
