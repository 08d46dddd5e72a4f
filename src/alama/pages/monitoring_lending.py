"""What a monitoring report says of ranking, of officers, and of what is known at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alama.core.monitoring.figures import COUNT_MIN
from alama.pages import numbers, page
from alama.pages.markup import join, tag
from alama.pages.monitoring_figures import rate_table

if TYPE_CHECKING:
    from alama.core.monitoring.figures import Loss, MonitoringReport, OutcomeFigures
    from alama.pages.markup import Markup


def ranking(report: MonitoringReport) -> Markup:
    """Say whether those who repaid had the higher scores."""
    found = report.ranking
    held = report.model.hold_out if report.model else None
    made = f" When the model was made it was {numbers.fixed(held.auc)} on all." if held else ""
    if found.auc is None:
        return page.paragraph(
            f"There are {numbers.plural(found.goods, 'mature loan')} that were repaid and "
            f"{numbers.plural(found.bads, 'default')}. From {COUNT_MIN} of each on it can be told "
            f"how well the score ranks them.{made}"
        )
    return page.paragraph(
        f"Of two loans, one repaid and one not, the one that was had the higher score in "
        f"{numbers.percent(found.auc)} of cases (AUC {numbers.fixed(found.auc)}, "
        f"{numbers.between(numbers.fixed(found.low), numbers.fixed(found.high))}), over "
        f"{numbers.plural(found.goods, 'repaid loan')} and "
        f"{numbers.plural(found.bads, 'default')}. Half would be a coin.{made} Among loans that "
        "were granted it is lower by nature: the worst are not in it."
    )


def officers(report: MonitoringReport) -> Markup:
    """Tell what became of what was left to a person, and what was overridden."""
    found = report.reviews
    if not found.left and not found.waiting and not found.reasons:
        return page.paragraph("Nothing was left to a person, and nobody has decided otherwise.")
    parts = [
        page.table(
            ["Scores of the period", "Count"],
            [
                ["left to a person", numbers.count(found.left)],
                ["of these decided", numbers.count(found.decided)],
                ["approved by an officer", numbers.count(found.approved)],
                ["declined by an officer", numbers.count(found.declined)],
                ["waiting for a person, of all days", numbers.count(found.waiting)],
                ["decisions of the service confirmed", numbers.count(found.confirmed)],
                [
                    "declined by the service, approved by an officer",
                    numbers.count(found.to_approved),
                ],
                [
                    "approved by the service, declined by an officer",
                    numbers.count(found.to_declined),
                ],
            ],
        )
    ]
    if found.reviewed.count or found.overridden.count:
        parts += [
            page.heading("How their loans went"),
            rate_table(
                "Approved by an officer",
                [
                    ("left to a person by the service", found.reviewed),
                    ("declined by the service", found.overridden),
                ],
            ),
            page.note(
                "Of those whom an officer declined nobody will ever know how they would have paid."
            ),
        ]
    if found.reasons:
        rows = [
            [
                one.reason.replace("_", " "),
                one.given_decision.lower(),
                one.decision.lower(),
                numbers.count(one.count),
            ]
            for one in found.reasons
        ]
        table = page.table(["Reason", "Service", "Officer", "Count"], rows, words=3)
        parts += [page.heading("Why"), table]
    return join(*parts)


def outcomes(report: MonitoringReport) -> Markup:
    """Tell of how many loans the outcome is known, and what defaults cost."""
    found = report.outcomes
    if not found.known:
        return page.paragraph(
            "Nothing has been sent. ",
            tag("code", "POST /v1/outcomes"),
            " or ",
            tag("code", "alama outcomes load"),
            " tells what became of loans.",
        )
    expected, loss = found.expected, found.loss
    rows = [[state.replace("_", " "), numbers.count(n)] for state, n in found.states.items()]
    said = [_known(found)]
    if expected.of:
        said.append(
            f"Of {numbers.plural(expected.of, 'loan')} that were approved at once in months whose "
            "loans are all mature, the "
            f"outcome of {numbers.count(expected.count)} is known "
            f"({numbers.percent(expected.share)}). The rest is in no rate: it may not have been "
            "taken up, or not been sent."
        )
    if loss.share is not None:
        said.append(
            f"Of {numbers.plural(loss.defaults, 'mature default')} both amounts are known: "
            f"{numbers.money(loss.disbursed, report.currency)} was paid out and "
            f"{numbers.money(loss.repaid, report.currency)} came back, a loss of "
            f"{numbers.percent(loss.share)}{_beside(loss)}."
        )
    return join(*map(page.paragraph, said), page.table(["The latest that is known", "Loans"], rows))


def _beside(loss: Loss) -> str:
    said = ""
    if loss.low is not None and loss.high is not None:
        said = f" ({numbers.percent(loss.low)} to {numbers.percent(loss.high)})"
    if loss.assumed is not None:
        said += f", where the policy prices with {numbers.percent(loss.assumed)} of what is due"
    return said


def _known(found: OutcomeFigures) -> str:
    return (
        f"Something is known of {numbers.plural(found.known, 'loan')} of this model; "
        f"of these {numbers.count(found.mature)} {'is' if found.mature == 1 else 'are'} mature, "
        "and counted."
    )
