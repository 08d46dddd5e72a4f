"""The validation pack as one page: what a risk committee reads before it signs.

This file says what stands on the page and in which order, and writes its first and last parts. The
page answers every line of docs/validation-checklist.md, and a test holds it to that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.pages import numbers, page, signoff
from alama.pages.markup import Markup, join, tag
from alama.pages.page import Section, Tile
from alama.training.validation import (
    pack_data,
    pack_evidence,
    pack_people,
    pack_scorecard,
    pack_selection,
    report_costs,
    report_tables,
)
from alama.training.validation.figures import Measure
from alama.training.validation.gates import Gate
from alama.training.validation.lamps import lamps
from alama.training.validation.report_evidence import MEASURES, interval
from alama.training.validation.term_bands import seldom_judged
from alama.training.validation.tiers import Light

if TYPE_CHECKING:
    from alama.core.model import Model
    from alama.training.validation.gates import GateResult
    from alama.training.validation.pack import Pack

_GATES: Final = {
    Gate.EVIDENCE: "Enough evidence",
    Gate.DISCRIMINATION: "Ranks well enough",
    Gate.SLOPE: "Calibration slope",
    Gate.LEVEL: "Predicted to observed",
    Gate.TIERS: "Tiers in order",
    Gate.STABILITY: "Population stands still",
    Gate.LEAKAGE: "Nothing gives the outcome away",
}

_SHORT_ID: Final = 8


def pack_page(pack: Pack, model: Model) -> str:
    """Give the pack as one self-contained HTML page, without script."""
    sections = [
        Section("verdict", "Verdict", _verdict(pack)),
        Section("purpose", "Purpose", _purpose(pack, model)),
        Section("data", "Data", pack_data.data(pack)),
        Section("exclusions", "Exclusions", pack_data.exclusions(pack)),
        Section("method", "Method", pack_data.method(model)),
        Section("assumptions", "Assumptions", pack_data.assumptions(pack, model)),
        Section("performance", "Performance", pack_evidence.performance(pack)),
        Section("calibration", "Calibration", pack_evidence.calibration(pack)),
        Section("stability", "Stability", pack_evidence.stability(pack)),
        Section("comparison", "Against other models", pack_evidence.comparison(pack)),
        Section("scorecard", "The scorecard", pack_scorecard.scorecard(model)),
        Section("importance", "What moves the score", report_tables.importance(model)),
        Section("shapes", "Every field and its points", report_tables.shapes(model)),
    ]
    if any(card.pairs for card in model.cards):
        sections.append(Section("pairs", "Pairs", report_tables.pairs(model)))
    sections += [
        Section("monotonicity", "Monotonicity", _monotonicity(pack, model)),
        Section("missing", "Missing fields", report_costs.missing(pack.validation, pack.notes)),
        Section("fairness", "Fairness", pack_people.fairness(pack)),
        Section("selection", "Selection", pack_selection.selection(pack)),
        Section("limits", "Limits", _limits(pack, model)),
        Section("monitoring", "Monitoring plan", _monitoring(pack)),
        Section("signoff", "Sign-off", _signoff(pack)),
    ]
    return page.document(
        f"Validation pack of {pack.name} ({_short_id(pack)})",
        _header(pack, model),
        sections,
        f"Alama validation pack of model {pack.model_id}. Intervals are 95 %; those of "
        "figures come "
        f"from {numbers.count(pack.validation.draws)} bootstrap draws of the out-of-time loans.",
    )


def _short_id(pack: Pack) -> str:
    """Tell two models of one name and day apart, in few letters."""
    return pack.model_id.removeprefix("sha256:")[:_SHORT_ID]


def _header(pack: Pack, model: Model) -> Markup:
    split = pack.split
    blocked = len(pack.blocked_by)
    verdict = (
        "Every gate is passed: it may be approved."
        if pack.passed
        else f"{numbers.plural(blocked, 'gate')} not passed: it cannot be approved."
    )
    return join(
        tag("p", "Validation pack", class_="kicker"),
        tag("h1", pack.name, " ", page.badge(_short_id(pack))),
        tag(
            "p",
            tag("strong", verdict),
            f" The candidate learned from {numbers.count(split.learning_loans)} loans of this "
            f"lender and is judged here on {numbers.count(split.out_of_time_loans)} later ones, of "
            f"people it never met ({numbers.percent(pack.validation.served.default_rate)} "
            "defaulted).",
            class_="lead",
        ),
        tag("p", model.id, class_="id"),
    )


def _verdict(pack: Pack) -> Markup:
    return join(
        page.table(
            ["Gate", "", "What was found", "Limit"],
            [_gate_row(gate) for gate in pack.gates],
            words=4,
        ),
        page.note(
            "A gate that is not passed blocks approval, whoever signs. Limits are those for "
            "everyone, or tighter ones that the lender has set."
        ),
        page.tiles(_tiles(pack)),
        _questions(pack),
    )


def _questions(pack: Pack) -> str:
    if not pack.questions:
        return ""
    return join(
        page.heading("To be answered before signing"),
        tag("ul", *(tag("li", question) for question in pack.questions), class_="findings"),
    )


def _gate_row(gate: GateResult) -> list[str]:
    light = lamps(Light.GREEN if gate.passed else Light.RED)
    said = tag("span", "passed" if gate.passed else "blocks", class_="badge proven")
    verdict = said if gate.passed else tag("strong", "blocks")
    return [_GATES[gate.name], join(_only_lamps(light), verdict), gate.words, gate.limit]


def _only_lamps(light: Markup) -> Markup:
    """Leave the word out where another stands beside the light."""
    return light.rpartition("</svg>")[0] + Markup("</svg> </span>")


def _tiles(pack: Pack) -> list[Tile]:
    served = pack.validation.served
    auc, gini, ks = (served.figure(m) for m in (Measure.AUC, Measure.GINI, Measure.KS))
    ratio = served.predicted_rate / served.default_rate
    return [
        Tile(
            "AUC",
            MEASURES[Measure.AUC].form(auc.value),
            interval(auc),
            f"A default has the lower score {100.0 * auc.value:.0f} times in 100.",
        ),
        Tile("Gini", MEASURES[Measure.GINI].form(gini.value), interval(gini), "Twice AUC less 1."),
        Tile(
            "KS",
            MEASURES[Measure.KS].form(ks.value),
            interval(ks),
            "The widest gap between defaults and good loans below one cut-off.",
        ),
        Tile(
            "Predicted to observed",
            numbers.fixed(ratio, 2),
            f"{numbers.percent(served.predicted_rate)} to {numbers.percent(served.default_rate)}",
            "1 is exact; below it loans are priced too low.",
        ),
        Tile(
            "Stability",
            numbers.fixed(pack.score_psi),
            "PSI of the scores"
            if pack.recent_psi is None
            else f"PSI of the scores; last three months {numbers.fixed(pack.recent_psi)}",
            "Below 0.1 is usually called stable.",
        ),
    ]


def _purpose(pack: Pack, model: Model) -> Markup:
    policy = pack.policy
    return join(
        page.paragraph(
            "To state the chance that a loan this lender is asked for will default "
            f"({model.outcome.definition}), so that its policy can decide, limit and price. The "
            "score and its reasons go to the lender's officers and, in plain words, to applicants."
        ),
        page.facts(
            [
                ("Used for", "decisions on single loans of this lender, at application"),
                ("Used with", f"the policy \u201c{policy.name}\u201d, version {policy.version}"),
                ("Policy", policy.id),
                ("Jurisdiction pack", policy.jurisdiction),
                ("Terms learned on", _terms(model)),
                ("Currency", pack.currency),
            ]
        ),
        page.note(
            "What it must not be used for stands under Limits. Gates, tiers and fairness were "
            "measured with this policy; another one needs its own simulation (alama policy "
            "simulate)."
        ),
    )


def _terms(model: Model) -> str:
    shortest, longest = model.outcome.shortest_term_days, model.outcome.longest_term_days
    if shortest is None or longest is None:
        return "not recorded"
    return f"{numbers.between(numbers.count(shortest), numbers.count(longest))} days"


def _monotonicity(pack: Pack, model: Model) -> Markup:
    return join(
        pack_scorecard.proof(model),
        report_costs.directions(model, pack.validation),
        page.heading("How it was made, step by step"),
        report_costs.stages(pack.notes),
    )


def _limits(pack: Pack, model: Model) -> Markup:
    forbidden = ", ".join(pack.policy.forbidden_fields)
    musts = (
        "other lenders, other products or other currencies than those named under Purpose",
        f"loans outside the terms it learned on ({_terms(model)})",
        "collections, employment, insurance, tenancy or marketing",
        "setting a person's price beyond what the policy's tariff makes of the probability",
        "a final refusal without a person where the law asks for one",
        "people whom the policy sends to REVIEW because their like were not, or seldom, booked",
    )
    limits = [
        "Points say how the score is made, not what would make someone repay.",
        (
            "Intervals hold the chance in drawing the out-of-time loans. They do not hold "
            "what other "
            "training loans would have changed, nor a change of market, policy or people."
        ),
        (
            "Applicants whom the earlier policy turned away can be riskier than their fields say: "
            "see Selection."
        ),
        "Combinations of missing fields rarer than 3 % of the loans are not measured one by one.",
        (
            "Groups are compared one attribute at a time; how they repay is known of booked loans "
            "alone."
        ),
    ]
    if pack.history.stale:
        limits.append(f"{pack.history.books_age}: of what changed since then nothing is known.")
    if (thin := seldom_judged(pack.split.terms)) is not None:
        limits.append(thin)
    if forbidden:
        limits.append(f"The policy forbids these fields, so nobody may send them: {forbidden}.")
    return join(
        page.heading("It must not be used for"),
        tag("ul", *(tag("li", use) for use in musts)),
        page.heading("What these figures do not say"),
        tag("ul", *(tag("li", limit) for limit in limits)),
    )


def _monitoring(pack: Pack) -> Markup:
    k = pack.history.days_past_due
    rows = [
        ["Scores and fields moved", "PSI by week, against training", "0.1", "0.25", "each week"],
        [
            "Unlike training",
            "share sent to REVIEW for it",
            "twice this pack",
            "5 times",
            "each week",
        ],
        [
            "Level",
            "predicted to observed, mature loans",
            "outside 0.9 to 1.1",
            (
                f"outside {pack.limits.predicted_to_observed_min:g} to "
                f"{pack.limits.predicted_to_observed_max:g}"
            ),
            "each month",
        ],
        ["Tiers", "Jeffreys light of each tier", "amber twice", "red", "each month"],
        [
            "Ranking",
            "AUC of mature loans, lower 95 % bound",
            "below this pack's",
            f"below {pack.limits.auc_low_min:g}",
            "each quarter",
        ],
        ["Groups", "four-fifths ratio, and lights", "below 0.85", "below 0.80", "each quarter"],
    ]
    return join(
        page.paragraph(
            f"Outcomes are known {k} days after a loan is due at the earliest, so drift is watched "
            "at once and performance as loans mature. Amber is looked at by the risk officer "
            "within the period; red goes to those who signed, who may roll back (one command) or "
            "retrain."
        ),
        page.table(["What", "Measured by", "Amber", "Red", "How often"], rows, words=5),
        page.paragraph(
            "Retrain, and validate anew, at the latest after a year, after a change of product, "
            "policy or channel, and whenever a red line is not explained. Keep outcomes coming: "
            "the next pack is judged on loans that this model approved."
        ),
    )


def _signoff(pack: Pack) -> Markup:
    if not pack.passed:
        return signoff.blocked(_GATES[gate.name] for gate in pack.blocked_by)
    return signoff.room(
        "this model, by the id below, for the purpose above",
        [("Model", pack.model_id), ("Policy", pack.policy.id)],
    )
