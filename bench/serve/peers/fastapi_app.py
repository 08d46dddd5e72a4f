"""FastAPI + pydantic + LightGBM + shap: what one would build first, built with care."""

from __future__ import annotations

from fastapi import FastAPI

from bench.serve.peers.forest import ForestScorer

# FastAPI reads the types of an endpoint while it runs.
from bench.serve.peers.wire import ScoreReply, ScoreRequest  # noqa: TC001


def create_app() -> FastAPI:
    """Make the app; the forest and its explainer are loaded once."""
    app = FastAPI()
    scorer = ForestScorer()

    # `async`, though it computes: in one process on one core a hop to a thread is only lost time.
    @app.post("/v1/score")
    async def score(request: ScoreRequest) -> ScoreReply:
        return scorer.score(request)

    @app.get("/v1/health")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    return app
