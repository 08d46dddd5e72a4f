"""The operation of monitoring, as the OpenAPI document tells it."""

from __future__ import annotations

from typing import Final

from alama.api.operation import HTML, RATE, Operation, Success
from alama.api.problems import BadParameter
from alama.api.schemas import reference
from alama.service import errors
from alama.service.keys import Scope

MONITORING_OPERATIONS: Final = (
    Operation(
        path="/v1/monitoring",
        method="GET",
        id="getMonitoring",
        tag="Monitoring",
        summary="Read how the book goes, and whether predictions come true",
        description="Reports on the lender and mode of the key: volume and decisions of the last "
        "days, how far scores and fields are from what the model was trained on, the default rates "
        "that came true beside those that were predicted, by tier and month and with intervals, "
        "how well the score ranks, and what officers decided. `findings` says in words what to "
        "look at first. Rates are of mature loans alone: those that have been due for as long as "
        "it takes to be a default. With `Accept: text/html` it is a page with plots, which needs "
        "nothing from elsewhere. In test mode it is of the built-in model, and of outcomes that "
        "you made up.",
        scope=Scope.MONITORING_READ,
        parameters=("days", "model"),
        replies={
            200: Success(
                "The report.",
                reference("MonitoringReport"),
                headers=("Vary", *RATE),
                examples=("monitoring",),
                also=HTML,
            )
        },
        refusals=(BadParameter, errors.UnknownModel, errors.Busy, errors.ModelUnavailable),
    ),
)
