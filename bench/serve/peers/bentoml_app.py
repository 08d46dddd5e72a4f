"""BentoML serving the same forest: one worker, no access log, no metrics, no thread hop."""

from __future__ import annotations

import bentoml

from bench.serve.peers.forest import ForestScorer

# BentoML reads the types of a method while it runs.
from bench.serve.peers.wire import ScoreReply, ScoreRequest  # noqa: TC001


@bentoml.service(
    workers=1,
    logging={"access": {"enabled": False}},
    metrics={"enabled": False},
    monitoring={"enabled": False},
)
class Scorer:
    """One endpoint; `/livez` comes with BentoML."""

    def __init__(self) -> None:
        self._scorer = ForestScorer()

    @bentoml.api(route="/v1/score")
    async def score(self, request: ScoreRequest, /) -> ScoreReply:
        """Score on the event loop: shap computes, and the process has one core."""
        return self._scorer.score(request)
