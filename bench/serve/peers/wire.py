"""Request and reply as pydantic models, with the ranges that a careful engineer would write."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Months = Annotated[int, Field(ge=0, le=600)]
Money = Annotated[float, Field(ge=0, le=1e12)]
Share = Annotated[float, Field(ge=0, le=1)]
Word = Annotated[str, Field(min_length=1, max_length=64)]


class ScoreRequest(BaseModel):
    """The full field set."""

    model_config = ConfigDict(extra="forbid")

    mm_months: Months
    avg_inflow: Money
    balance_stability: Share
    airtime_regularity: Share
    avg_outflow: Money | None = None
    avg_balance: Money | None = None
    counterparties: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    tx_frequency: Annotated[float, Field(ge=0, le=1e5)] | None = None
    weekend_activity: Share | None = None
    airtime_avg: Annotated[float, Field(ge=0, le=1e9)] | None = None
    airtime_freq: Annotated[float, Field(ge=0, le=1e4)] | None = None
    device_type: Word | None = None
    device_age_months: Months | None = None
    requested_amount: Annotated[float, Field(gt=0, le=1e12)] | None = None
    requested_term_days: Annotated[int, Field(ge=1, le=3650)] | None = None
    loan_purpose: Word | None = None
    region: Word | None = None


class Contribution(BaseModel):
    """What one field gave to the score, in points."""

    feature: str
    contribution: float


class ScoreReply(BaseModel):
    """The ten fields of the interface."""

    score: int
    tier: str
    default_probability: float
    decision: str
    recommended_limit: float
    recommended_term_days: int
    recommended_apr: float
    shap_values: list[Contribution]
    request_id: str
    processing_ms: int
