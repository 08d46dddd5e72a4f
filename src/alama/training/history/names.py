"""What the columns of a loan history are called in files of lenders: English, Swahili, French."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.core.catalogue import Kind, Use
from alama.platform.files.asis.likeness import Holds, Target
from alama.training.history.roles import (
    AMOUNT,
    APPLIED_ON,
    BORROWER_ID,
    DISBURSED_ON,
    DUE_ON,
    LARGEST_DAYS_PAST_DUE,
    OBSERVED_ON,
    PRESENT_SCORE,
    PROPENSITY,
    REPAID_AMOUNT,
    REPAID_ON,
    RESTRUCTURED,
    TERM_DAYS,
)

if TYPE_CHECKING:
    from alama.core.catalogue import Catalogue, Field

_ALSO: Final[dict[str, str]] = {
    BORROWER_ID: "borrower; borrower number; borrower no; client id; client number; client no; "
    "customer id; customer number; customer no; member id; member number; member no; id client; "
    "numero client; code client; numero de membre; id emprunteur; numero emprunteur; "
    "namba ya mteja; namba ya mkopaji; namba ya mwanachama; kitambulisho cha mkopaji",
    APPLIED_ON: "application date; date applied; date of application; applied; applied date; "
    "request date; date of request; date de demande; date de la demande; tarehe ya maombi; "
    "tarehe ya ombi; tarehe ya kuomba",
    DISBURSED_ON: "disbursement date; date disbursed; date of disbursement; disbursed; disbursed "
    "date; disbursal date; payout date; date de decaissement; date de deblocage; "
    "date de versement; tarehe ya kutolewa; tarehe ya kutoa mkopo; tarehe ya kutolewa mkopo",
    DUE_ON: "due date; date due; due; maturity date; date of maturity; final due date; "
    "date d'echeance; date echeance; echeance; echeance finale; tarehe ya mwisho; "
    "tarehe ya mwisho ya kulipa; tarehe ya kukomaa",
    OBSERVED_ON: "observation date; date observed; as of date; as of; as at; snapshot date; "
    "report date; date of report; date du rapport; date d'observation; date d'arrete; "
    "tarehe ya taarifa; tarehe ya ripoti",
    LARGEST_DAYS_PAST_DUE: "max days past due; maximum days past due; worst days past due; "
    "highest days past due; max dpd; maximum dpd; worst dpd; largest dpd; highest dpd; max days "
    "late; maximum days late; max days in arrears; maximum days in arrears; retard maximum; "
    "jours de retard maximum; jours de retard max; retard max; retard maximal; "
    "siku nyingi zaidi za kuchelewa; siku za juu za kuchelewa",
    RESTRUCTURED: "is restructured; loan restructured; rescheduled; restructure; restructuree; "
    "reechelonne; mkopo ulipangwa upya; umepangwa upya",
    AMOUNT: "loan amount; principal; principal amount; amount disbursed; disbursed amount; "
    "amount lent; montant du pret; montant; montant decaisse; montant accorde; kiasi cha mkopo; "
    "kiasi; kiasi kilichotolewa",
    REPAID_AMOUNT: "amount repaid; total repaid; amount recovered; montant rembourse; "
    "kiasi kilicholipwa",
    REPAID_ON: "date repaid; repayment date; date of repayment; fully repaid on; "
    "date fully repaid; date de remboursement; date de remboursement complet; "
    "tarehe ya kumaliza kulipa",
    PRESENT_SCORE: "current score; existing score; our score; score actuel; alama ya sasa",
    TERM_DAYS: "loan term days; tenor days; duration days; duree jours; duree en jours; "
    "muda siku; muda wa mkopo siku",
    "mm_months": "months of mobile money; months on mobile money; mobile money age months; "
    "mois de mobile money; miezi ya pesa mtandao; miezi ya m-pesa",
    "avg_inflow": "average inflow; mean inflow; avg monthly inflow; average monthly inflow; "
    "entrees moyennes; entrees mensuelles; entrees mensuelles moyennes; wastani wa mapato; "
    "mapato ya mwezi",
    "avg_outflow": "average outflow; mean outflow; average monthly outflow; monthly outflow; "
    "sorties moyennes; sorties mensuelles; wastani wa matumizi; matumizi ya mwezi",
    "avg_balance": "average balance; mean balance; average wallet balance; solde moyen; "
    "wastani wa salio",
    "balance_stability": "stability; stability of balance; stabilite du solde; uthabiti wa salio",
    "counterparties": "number of counterparties; distinct counterparties; nombre de contreparties; "
    "idadi ya washirika",
    "tx_frequency": "transaction frequency; transactions per month; transactions a month; "
    "frequence des transactions; miamala kwa mwezi",
    "weekend_activity": "weekend share; share of weekend activity; activite de week-end; "
    "shughuli za wikendi",
    "airtime_avg": "average airtime; mean airtime; airtime average; credit telephonique moyen; "
    "wastani wa vocha",
    "airtime_freq": "airtime frequency; airtime purchases per month; frequence de recharge; "
    "idadi ya vocha",
    "airtime_regularity": "regularity of airtime; regularite de recharge; regularite des recharges",
    "device_type": "device; type of device; phone type; type d'appareil; type de telephone; "
    "aina ya simu",
    "device_age_months": "age of device months; device age; age de l'appareil mois; "
    "umri wa simu miezi",
    "requested_amount": "amount requested; amount applied; amount applied for; montant demande; "
    "kiasi kilichoombwa",
    "requested_term_days": "term requested days; requested tenor days; duree demandee jours; "
    "muda ulioombwa siku",
    "loan_purpose": "purpose; purpose of loan; objet du pret; motif du pret; but du pret; "
    "madhumuni ya mkopo; sababu ya mkopo",
    "region": "province; county; mkoa; district; departement",
}
"""Other names that say the same as the name that Alama knows."""

_MAYBE: Final[dict[str, str]] = {
    BORROWER_ID: "id; client; customer; member; name; account; account number; phone; msisdn; "
    "mteja; mkopaji; emprunteur",
    APPLIED_ON: "date; tarehe; created; created at; created on",
    DISBURSED_ON: "loan date; start date; value date; issue date; date; date d'octroi; "
    "date du pret; tarehe ya mkopo",
    DUE_ON: "end date; expected repayment date; last instalment date; date de fin; "
    "tarehe ya kulipa",
    OBSERVED_ON: "date; last payment date; closed on; close date; tarehe",
    LARGEST_DAYS_PAST_DUE: "dpd; days past due; days late; arrears days; days in arrears; "
    "jours de retard; siku za kuchelewa",
    AMOUNT: "value; sum; loan; pret; mkopo",
    TERM_DAYS: "term; tenor; duration; loan term; duree; muda; muda wa mkopo",
    "avg_balance": "balance; solde; salio",
    "avg_inflow": "income; monthly income; inflow; revenu; mapato",
    "avg_outflow": "outflow; expenses; expenditure; depenses; matumizi",
}
"""Names that may say the same, or something else that would make a model worthless: they are asked
about."""

_HOLDS: Final = {Kind.NUMBER: Holds.NUMBER, Kind.INTEGER: Holds.NUMBER, Kind.WORD: Holds.WORD}
_MONEY: Final = frozenset((AMOUNT, REPAID_AMOUNT))


def _words(told: dict[str, str], name: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in told.get(name, "").split(";") if word.strip())


def _of_loan(name: str, holds: Holds, *, required: bool = True, always: bool = False) -> Target:
    return Target(
        name=name,
        holds=holds,
        required=required,
        always=always,
        also=_words(_ALSO, name),
        maybe=_words(_MAYBE, name),
        money=name in _MONEY,
    )


def _of_request(field: Field) -> Target:
    return Target(
        name=field.name,
        holds=_HOLDS[field.kind],
        required=field.required,
        also=_words(_ALSO, field.name),
        maybe=_words(_MAYBE, field.name),
        money=field.money,
        spelling=field.other_spelling,
    )


_OF_LOANS: Final = (
    _of_loan(BORROWER_ID, Holds.ID, always=True),
    _of_loan(APPLIED_ON, Holds.DAY, always=True),
    _of_loan(DISBURSED_ON, Holds.DAY),
    _of_loan(DUE_ON, Holds.DAY),
    _of_loan(OBSERVED_ON, Holds.DAY),
    _of_loan(LARGEST_DAYS_PAST_DUE, Holds.NUMBER),
    _of_loan(AMOUNT, Holds.NUMBER, required=False),
    _of_loan(TERM_DAYS, Holds.NUMBER, required=False),
    _of_loan(RESTRUCTURED, Holds.ANSWER, required=False),
    _of_loan(REPAID_AMOUNT, Holds.NUMBER, required=False),
    _of_loan(REPAID_ON, Holds.DAY, required=False),
    _of_loan(PRESENT_SCORE, Holds.NUMBER, required=False),
    _of_loan(PROPENSITY, Holds.NUMBER, required=False),
)


def targets_of(catalogue: Catalogue) -> tuple[Target, ...]:
    """Give the columns of a loan history, by the names that reports and models use.

    What is remembered is told by its own names alone: others mean the loan itself, most often.
    """
    asked = (field for field in catalogue.model_fields if field.use is Use.MODEL)
    return (*_OF_LOANS, *map(_of_request, asked))
