"""GET /v1/scores/{request_id}/receipt: the proof of a score."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alama.core import receipts
from alama.platform.book import Scope
from alama.platform.errors import Erased
from alama.platform.http import parameters
from alama.platform.http.exchange import Call, Reply, private_json
from alama.platform.http.operation import Operation, Success, reference
from alama.platform.http.problems import BadParameter
from alama.platform.timeouts import run_with_timeout
from alama.protection.receipts import NoReceipt, Receipts
from alama.scoring.records import UnknownScore
from alama.scoring.scores_api import request_id_asked

if TYPE_CHECKING:
    from alama.scoring.admission import Admission


class ReceiptEndpoint:
    """Proves the scores of the book of the key."""

    def __init__(self, admission: Admission, receipts: Receipts) -> None:
        self._admission = admission
        self._receipts = receipts

    @Operation(
        path="/v1/scores/{request_id}/receipt",
        method="GET",
        id="getReceipt",
        tag="Scores",
        summary="Prove one stored score",
        description="Gives the score with what was sent and concluded, the place of its digest in "
        "the audit log, and the signature of the installation there. Save the bytes as they are: "
        "with them, the model and the policy anyone can prove offline that nothing was changed, "
        "and decide again. It holds what the applicant sent: hand it to those alone who may know "
        "that.",
        scope=Scope.READ,
        parameters=("request_id",),
        replies={
            200: Success("The receipt.", reference("Receipt"), examples=("receipt",)),
        },
        refusals=(BadParameter, UnknownScore, NoReceipt, Erased),
    )
    async def receipt(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.READ)
        parameters.read(call, ())
        request_id = request_id_asked(call)
        found = await run_with_timeout(lambda: self._receipts.find(caller.book, request_id))
        return private_json(receipts.encode(found), headers)
