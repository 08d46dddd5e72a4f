"""The product's own field catalogue: the 17 fields of the interface, and two of ours."""

from __future__ import annotations

from typing import Final

from alama.core.catalogue import Catalogue, Change, Direction, Field, Kind, Use, Way

_MONEY_MAX: Final = 1e12
_HALF_YEAR_DAYS: Final = 180

PROHIBITED: Final = (
    "contacts",
    "contact_list",
    "phonebook",
    "call_log",
    "call_logs",
    "calls",
    "photos",
    "gallery",
    "sms",
    "sms_content",
    "messages",
    "religion",
    "ethnicity",
    "tribe",
    "gender",
    "sex",
)

PRODUCT: Final = Catalogue(
    prohibited=PROHIBITED,
    fields=(
        Field(
            name="mm_months",
            other_spelling="mobile_money_months",
            kind=Kind.INTEGER,
            required=True,
            minimum=0,
            maximum=600,
            unit="months",
            meaning="months since the first mobile-money transaction",
            direction=Direction.SAFER,
            change=Change(
                way=Way.UP,
                within_days=_HALF_YEAR_DAYS,
                by_at_most=6,
                effort=0.5,
                days_each=30,
            ),
        ),
        Field(
            name="avg_inflow",
            other_spelling="monthly_inflow",
            kind=Kind.NUMBER,
            required=True,
            minimum=0,
            maximum=_MONEY_MAX,
            money=True,
            unit="money a month",
            meaning="mean money received per month",
            direction=Direction.SAFER,
            change=Change(way=Way.UP, within_days=_HALF_YEAR_DAYS, times_at_most=1.5, effort=2.0),
        ),
        Field(
            name="avg_outflow",
            kind=Kind.NUMBER,
            minimum=0,
            maximum=_MONEY_MAX,
            money=True,
            unit="money a month",
            meaning="mean money sent or withdrawn per month",
            change=Change(
                way=Way.EITHER, within_days=_HALF_YEAR_DAYS, times_at_most=1.5, effort=1.5
            ),
        ),
        Field(
            name="avg_balance",
            kind=Kind.NUMBER,
            minimum=0,
            maximum=_MONEY_MAX,
            money=True,
            unit="money",
            meaning="mean end-of-day wallet balance",
            direction=Direction.SAFER,
            change=Change(way=Way.UP, within_days=_HALF_YEAR_DAYS, times_at_most=3.0, effort=1.0),
        ),
        Field(
            name="balance_stability",
            other_spelling="stability_score",
            kind=Kind.NUMBER,
            required=True,
            minimum=0,
            maximum=1,
            unit="share",
            meaning="1 = the daily balance hardly varies",
            direction=Direction.SAFER,
            change=Change(way=Way.UP, within_days=_HALF_YEAR_DAYS, by_at_most=0.3, effort=1.0),
        ),
        Field(
            name="counterparties",
            kind=Kind.INTEGER,
            minimum=0,
            maximum=1e6,
            unit="per month",
            meaning="distinct people and businesses paid or paying per month",
            direction=Direction.SAFER,
            change=Change(way=Way.UP, within_days=_HALF_YEAR_DAYS, times_at_most=2.0, effort=1.0),
        ),
        Field(
            name="tx_frequency",
            kind=Kind.NUMBER,
            minimum=0,
            maximum=1e5,
            unit="per month",
            meaning="transactions per month",
            change=Change(
                way=Way.EITHER, within_days=_HALF_YEAR_DAYS, times_at_most=2.0, effort=1.0
            ),
        ),
        Field(
            name="weekend_activity",
            kind=Kind.NUMBER,
            minimum=0,
            maximum=1,
            unit="share",
            meaning="share of transactions on the two weekend days",
        ),
        Field(
            name="airtime_avg",
            kind=Kind.NUMBER,
            minimum=0,
            maximum=1e9,
            money=True,
            unit="money a month",
            meaning="mean airtime bought per month",
            change=Change(
                way=Way.EITHER, within_days=_HALF_YEAR_DAYS, times_at_most=2.0, effort=1.0
            ),
        ),
        Field(
            name="airtime_freq",
            kind=Kind.NUMBER,
            minimum=0,
            maximum=1e4,
            unit="per month",
            meaning="airtime top-ups per month",
            change=Change(
                way=Way.EITHER, within_days=_HALF_YEAR_DAYS, times_at_most=2.0, effort=0.8
            ),
        ),
        Field(
            name="airtime_regularity",
            kind=Kind.NUMBER,
            required=True,
            minimum=0,
            maximum=1,
            unit="share",
            meaning="1 = topped up at even intervals",
            direction=Direction.SAFER,
            change=Change(way=Way.UP, within_days=_HALF_YEAR_DAYS, by_at_most=0.3, effort=0.8),
        ),
        Field(
            name="device_type",
            kind=Kind.WORD,
            meaning="smartphone, feature_phone, basic_phone, tablet, ...",
        ),
        Field(
            name="device_age_months",
            kind=Kind.INTEGER,
            minimum=0,
            maximum=600,
            unit="months",
            meaning="age of the device",
        ),
        Field(
            name="requested_amount",
            kind=Kind.NUMBER,
            above=0,
            maximum=_MONEY_MAX,
            money=True,
            unit="money",
            meaning="amount asked for",
            direction=Direction.RISKIER,
            change=Change(way=Way.DOWN, within_days=0, times_at_most=10.0, effort=0.3),
        ),
        Field(
            name="requested_term_days",
            kind=Kind.INTEGER,
            minimum=1,
            maximum=3650,
            unit="days",
            meaning="days until the loan is due",
            change=Change(way=Way.EITHER, within_days=0, effort=0.3),
        ),
        Field(
            name="loan_purpose",
            kind=Kind.WORD,
            meaning="business, education, medical, agriculture, ...",
        ),
        Field(name="region", kind=Kind.WORD, meaning="any place name the lender uses"),
        Field(
            name="existing_repayments",
            kind=Kind.NUMBER,
            minimum=0,
            maximum=_MONEY_MAX,
            money=True,
            unit="money a month",
            meaning="due per month on other loans",
            use=Use.POLICY,
            change=Change(way=Way.DOWN, within_days=_HALF_YEAR_DAYS, effort=1.0),
        ),
        Field(
            name="applicant_ref",
            kind=Kind.WORD,
            meaning="the lender's own opaque reference: no phone number, e-mail or national id",
            use=Use.REFERENCE,
        ),
    ),
)
