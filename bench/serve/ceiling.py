"""The ceiling: the same server and the same bytes in and out, and nothing done in between.

All 17 fields are decoded and ten fields with 17 contributions are encoded, as Alama does it. No
key is checked, nothing is scored, nothing is stored: the room that Starlette, msgspec and uvicorn
leave.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

if TYPE_CHECKING:
    from starlette.requests import Request


class ScoreRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The full field set."""

    mm_months: int
    avg_inflow: float
    balance_stability: float
    airtime_regularity: float
    avg_outflow: float | None = None
    avg_balance: float | None = None
    counterparties: int | None = None
    tx_frequency: float | None = None
    weekend_activity: float | None = None
    airtime_avg: float | None = None
    airtime_freq: float | None = None
    device_type: str | None = None
    device_age_months: int | None = None
    requested_amount: float | None = None
    requested_term_days: int | None = None
    loan_purpose: str | None = None
    region: str | None = None


class Contribution(msgspec.Struct):
    """What one field gave to the score, in points."""

    feature: str
    contribution: float


class ScoreReply(msgspec.Struct):
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


_REPLY: Final = ScoreReply(
    score=671,
    tier="B",
    default_probability=0.041683,
    decision="APPROVED",
    recommended_limit=12_500.0,
    recommended_term_days=60,
    recommended_apr=41.5,
    shap_values=[
        Contribution(name, round(23.4567 - 2.7183 * place, 4))
        for place, name in enumerate(ScoreRequest.__struct_fields__)
    ],
    request_id="req_0123456789abcdefghjkmnpqrs",
    processing_ms=1,
)


def create_app() -> Starlette:
    """Make the app."""
    decode = msgspec.json.Decoder(ScoreRequest).decode
    encode = msgspec.json.Encoder().encode

    async def score(request: Request) -> Response:
        decode(await request.body())
        return Response(encode(_REPLY), media_type="application/json")

    async def health(_request: Request) -> Response:
        return Response(b'{"status":"ok"}', media_type="application/json")

    return Starlette(
        routes=[
            Route("/v1/score", score, methods=["POST"]),
            Route("/v1/health", health, methods=["GET"]),
        ]
    )
