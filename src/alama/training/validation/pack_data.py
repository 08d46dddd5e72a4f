"""The first half of the pack: what the model was made from, what was left out, and how."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.pages import charts, numbers, page
from alama.pages.charts import Curve
from alama.pages.markup import join, tag
from alama.training.history.report import Standing

if TYPE_CHECKING:
    from alama.core.model import Model
    from alama.pages.markup import Markup
    from alama.training.history.report import HistoryReport
    from alama.training.validation.pack import Pack

_MISSING_SHOWN: Final = 0.0005
_DRIFT_SHOWN: Final = 8


def data(pack: Pack) -> Markup:
    """Show what the history holds, and how it was split."""
    history, split = pack.history, pack.split
    only_compared = [name for name in history.groups if name not in history.inputs]
    facts = [
        ("Applications", f"{history.first_applied_on} to {history.last_applied_on}"),
        ("Outcomes known up to", history.last_observed_on or numbers.NOTHING),
        ("Rows in the file", numbers.count(history.rows)),
        ("Loans learned from or judged by", _loans(history.mature, history.defaults)),
        ("Borrowers", numbers.count(history.borrowers)),
        ("Money", pack.currency),
        ("Inputs", ", ".join(history.inputs)),
        ("Looked at for fairness only", ", ".join(only_compared) or "nothing"),
    ]
    return join(
        page.facts(facts),
        page.heading("The split"),
        page.paragraph(
            f"The model learned from every loan applied for before {split.out_of_time_from}. It is "
            "judged on later loans of borrowers without an earlier one, so it has met none of the "
            "people it is judged on. Later loans of those who came back count neither way."
        ),
        page.table(
            ["Part", "Loans", "Defaults", "Default rate"],
            [
                [
                    "learned from",
                    numbers.count(split.learning_loans),
                    numbers.count(split.learning_defaults),
                    _rate(split.learning_defaults, split.learning_loans),
                ],
                [
                    "judged by (out of time)",
                    numbers.count(split.out_of_time_loans),
                    numbers.count(split.out_of_time_defaults),
                    _rate(split.out_of_time_defaults, split.out_of_time_loans),
                ],
                [
                    "neither: the borrower came back",
                    numbers.count(split.returned.loans),
                    numbers.count(split.returned.defaults),
                    _rate(split.returned.defaults, split.returned.loans),
                ],
            ],
        ),
        page.heading("Terms of the loans"),
        page.table(
            ["Term", "Learned from", "Judged by"],
            [
                [band.words, numbers.count(band.learned), numbers.count(band.judged)]
                for band in split.terms
            ],
        ),
        *_calendar(history),
        *_missing(history),
        *_drift(history),
    )


def _loans(loans: int, defaults: int) -> str:
    return (
        f"{numbers.count(loans)}, of which {numbers.count(defaults)} defaulted "
        f"({_rate(defaults, loans)})"
    )


def _rate(defaults: int, loans: int) -> str:
    return numbers.percent(defaults / loans) if loans else numbers.NOTHING


def _calendar(history: HistoryReport) -> list[Markup]:
    known = [month for month in history.months if month.rate is not None]
    if len(known) < len(("before", "after")):
        return []
    rates = Curve("default rate", list(range(len(known))), [month.rate or 0.0 for month in known])
    return [
        page.heading("Default rate by month of application"),
        page.figure(
            charts.trend([m.month for m in known], [rates], "Default rate by month", "month"),
            "Mature loans only.",
            page.unfold(
                "As a table",
                page.table(
                    ["Month", "Applications", "Booked", "Mature", "Defaults", "Default rate"],
                    [
                        [
                            month.month,
                            numbers.count(month.applications),
                            numbers.count(month.booked),
                            numbers.count(month.mature),
                            numbers.count(month.defaults),
                            numbers.percent(month.rate),
                        ]
                        for month in history.months
                    ],
                ),
            ),
        ),
    ]


def _missing(history: HistoryReport) -> list[Markup]:
    found = [missing for missing in history.missing if missing.share >= _MISSING_SHOWN]
    if not found:
        return []
    listed = "; ".join(
        f"{missing.column} {numbers.percent(missing.share)}"
        for missing in sorted(found, key=lambda missing: -missing.share)
    )
    return [page.heading("Not given"), page.paragraph(f"Share of the rows without it: {listed}.")]


def _drift(history: HistoryReport) -> list[Markup]:
    if not history.drift:
        return []
    listed = "; ".join(
        f"{drift.column} {numbers.fixed(drift.psi)}" for drift in history.drift[:_DRIFT_SHOWN]
    )
    return [
        page.heading("Drift of the fields"),
        page.paragraph(
            f"The last three months against all before (PSI; 0.25 is a shift): {listed}."
        ),
    ]


def exclusions(pack: Pack) -> Markup:
    """Show what was left out, how much of it, and why."""
    history = pack.history
    k = history.days_past_due
    rows = (
        ("Not booked", history.not_booked, "applied, never disbursed: there is no outcome"),
        (
            "Immature",
            history.immature,
            (
                f"not observed {k} days after the due date. Set aside alike whether late or not: "
                "early defaults show before early repayments do, and would raise the rate"
            ),
        ),
        ("Broken rules", history.unsound, "a value that a request may not hold; see below"),
        ("Repeated", history.repeated, "the same row or the same loan again; see below"),
        (
            "Came back",
            pack.split.returned.loans,
            "later loans of people from whom the model learned; Calibration shows how they fared",
        ),
    )
    return join(
        page.table(
            ["Left out", "Why", "Rows"],
            [[name, why, numbers.count(count)] for name, count, why in rows],
            words=2,
        ),
        *_faults(history),
        *_suspects(history),
        page.heading("Columns that are no input"),
        page.paragraph(
            ", ".join(history.set_aside)
            + ": not fields of a request, so no model can read them when it is asked."
            if history.set_aside
            else "Every column of the file was used."
        ),
        *_notes(history),
    )


def _notes(history: HistoryReport) -> list[Markup]:
    if not history.notes:
        return []
    said = (tag("li", note[:1].upper() + note[1:]) for note in history.notes)
    return [page.heading("What else was noticed"), tag("ul", *said)]


def _faults(history: HistoryReport) -> list[Markup]:
    faults = [
        [fault.column, fault.rule, numbers.count(fault.rows), _rows(fault.first_rows)]
        for fault in history.faults
    ]
    faults += [
        ["(rows)", found.kind.value, numbers.count(found.rows), _rows(found.first_rows)]
        for found in history.duplicates
    ]
    if not faults:
        return [page.paragraph("No row broke a rule, and none repeats another.")]
    return [
        page.heading("What was wrong, and where"),
        page.table(["Column", "Rule", "Rows", "First rows"], faults, words=2),
    ]


def _rows(first: tuple[int, ...]) -> str:
    return ", ".join(numbers.count(row) for row in first)


_STANDINGS: Final = {
    Standing.OPEN: "undecided, and no input",
    Standing.KEPT: "kept as an input on somebody's word: blocks approval",
    Standing.EXCLUDED: "excluded, no input",
    Standing.SET_ASIDE: "not a field of a request, no input",
}


def _suspects(history: HistoryReport) -> list[Markup]:
    if not history.suspects:
        return [page.paragraph("No column gives the outcome away.")]
    return [
        page.heading("Columns that give the outcome away"),
        page.table(
            ["Column", "Why it is suspect", "What became of it", "AUC alone"],
            [
                [
                    suspect.column,
                    suspect.why,
                    _STANDINGS[suspect.standing],
                    numbers.fixed(suspect.auc),
                ]
                for suspect in history.suspects
            ],
            words=3,
        ),
    ]


def method(model: Model) -> Markup:
    """Say in words how the model is made."""
    cards = "; ".join(
        f"\u201c{card.name}\u201d reads {numbers.plural(len(card.features), 'field')} and "
        f"{numbers.plural(len(card.pairs), 'pair')}"
        for card in model.cards
    )
    lineage = model.lineage
    steps = (
        (
            "Bags of small boosted trees, one field or one pair of fields at a time, each bag "
            "stopped "
            "on rows that it left out."
        ),
        "The bags are averaged and written out as tables, equal to them on every row.",
        (
            "Pairs that carry nothing are dropped, and neighbouring bands merged until a "
            "person can "
            "read them."
        ),
        (
            "All tables together are projected onto the risk directions, which are then "
            "proven cell by "
            "cell."
        ),
        (
            "Log-odds are calibrated on rows that each bag had left out, and turned into "
            "points: 660 "
            "stand for a probability of 5 %, and 40 more double the odds of repayment."
        ),
    )
    return join(
        page.paragraph(
            "The model is a points table: each field, and some pairs of fields, add points. "
            f"It holds {numbers.plural(len(model.cards), 'scorecard')}: {cards}. An application is "
            "scored by the smallest one that reads every field it gives."
        ),
        tag("ol", *(tag("li", step) for step in steps)),
        page.paragraph(
            f"It learned from {numbers.count(lineage.rows)} loans with "
            f"{numbers.count(lineage.defaults)} defaults. The recipe fits the evidence: pairs only "
            "from 1,000 defaults on, more bags where there are fewer."
        ),
        page.facts(
            [
                ("Model", model.id),
                ("Data fingerprint", lineage.fingerprint),
                ("Libraries", ", ".join(f"{n} {v}" for n, v in sorted(lineage.versions.items()))),
            ]
        ),
        page.unfold(
            "Every setting of the recipe",
            page.facts([(n, str(v)) for n, v in sorted(lineage.recipe.items())]),
        ),
    )


def assumptions(pack: Pack, model: Model) -> Markup:
    """Say what is taken for granted, and where it can be checked."""
    listed = (
        (
            f"A default is a loan {model.outcome.definition}. The lender's "
            "records of days past due are complete up to the day they were observed."
        ),
        (
            "Every input was known when the loan was asked for. Columns that give the outcome "
            "away are "
            "named under Exclusions; what leaks more quietly only the lender can know."
        ),
        (
            "Those who will apply resemble those who applied in the out-of-time part; "
            "Stability says "
            "how far they moved until now."
        ),
        (
            "Booked loans stand for applications of the same kind. Where an earlier policy, or an "
            "officer, knew more than the fields say, they do not; Selection says how large "
            "the gap may "
            "be."
        ),
        (
            "Risk moves one way in the fields named under Monotonicity. What that costs is shown "
            "there."
        ),
        (
            "Each loan counts once. In learning, loans of one person are taken to be independent; "
            "in judging, intervals are those of drawing whole borrowers."
        ),
        (
            "Those who borrow again are like others with the same fields. The model is judged on "
            "first loans and on what followed them within the out-of-time part; of those who came "
            "back Calibration shows the level, which is no independent evidence."
        ),
        f"Money is in {pack.currency}, and loans last {_terms(model)}.",
    )
    return tag("ul", *(tag("li", assumption) for assumption in listed))


def _terms(model: Model) -> str:
    shortest, longest = model.outcome.shortest_term_days, model.outcome.longest_term_days
    if shortest is None or longest is None:
        return "for terms that the file does not name"
    return f"{numbers.between(numbers.count(shortest), numbers.count(longest))} days"
