"""Examples for the OpenAPI document. None is typed by hand: the service itself has made each.

The sample application is assessed by the built-in model under the default policy of the lender
`demo`, and its replies and problems are written by the code that writes them for callers.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from alama.core import chain, receipts
from alama.core.assess import assess
from alama.core.chain import SALT_BYTES, Named, digest
from alama.core.errors import AlamaError, InvalidApplication, InvalidModel, MalformedDocument
from alama.core.explanation import explain
from alama.core.intake import Intake
from alama.core.lending.draft import default_policy
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel
from alama.core.product import PRODUCT
from alama.core.receipts import KeptScore
from alama.core.recourse.answer import COUNT_DEFAULT
from alama.core.recourse.ready import ReadyRecourse
from alama.lenders import keys
from alama.lenders import records as lenders_records
from alama.monitoring import reviews, reviews_api
from alama.onboarding import examples as examples_onboarding
from alama.onboarding import records as onboarding
from alama.platform import errors as platform_errors
from alama.platform.book import Scope
from alama.platform.files import packaged
from alama.platform.files.packaged import languages
from alama.platform.http import operation, problems
from alama.platform.http.operation import Mishap
from alama.platform.http.problems import (
    BadParameter,
    BodyTooLarge,
    MethodNotAllowed,
    UnsupportedMediaType,
)
from alama.protection import receipts as protection_receipts
from alama.scoring import api as render
from alama.scoring import records as scoring_records
from alama.scoring.directory import ActiveModel
from alama.scoring.explain_api import TARGET_DEFAULT, explain_reply
from alama.scoring.explaining import Explained, Question
from alama.scoring.records import ScoreRow, Sealed, pack
from alama.scoring.scoring import Given
from alama.webhooks import examples
from alama.webhooks import records as errors
from alama.webhooks.records import ENDPOINTS_MAX

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from alama.platform.http.exchange import Reply


AT_US: Final = operation.AT_US
REQUEST_ID: Final = operation.REQUEST_ID
CURRENCY: Final = "KES"
SALT: Final = bytes(range(SALT_BYTES))
COMPACT: Final = b"""\
{"mobile_money_months": 24, "monthly_inflow": 18500, "stability_score": 0.62, \
"airtime_regularity": 0.71}"""
DECLINED: Final = b"""\
{"mm_months": 9, "avg_inflow": 14200, "avg_balance": 640, "balance_stability": 0.34, \
"counterparties": 8, "airtime_regularity": 0.45, "requested_amount": 9000, \
"requested_term_days": 30}"""
TIER: Final = "B"
LOCKED: Final = "requested_amount"
WRONG: Final = b"""\
{"mm_months": "26", "stability_score": 58, "airtime_regulrity": 0.71, "gender": "F"}"""


def requests() -> dict[str, Any]:
    """Give the bodies of requests by name."""
    return {
        "full": json.loads(packaged.sample_application()),
        "compact": json.loads(COMPACT),
        "declined": json.loads(DECLINED),
    }


class Replies:
    """What the service says to the examples."""

    def __init__(self) -> None:
        """Lay out the built-in model and the default policy."""
        model = ReadyModel(packaged.builtin(), CURRENCY)
        self._desk = ActiveModel(model, ReadyPolicy(default_policy(CURRENCY), model))
        self._recourse = ReadyRecourse(self._desk.policy)
        self._languages = languages()
        self._intake = Intake(PRODUCT)

    def score(self, body: bytes) -> Any:  # noqa: ANN401  JSON has no better type
        """Give the reply of POST /v1/score."""
        return json.loads(render.score_reply(self._given(body)))

    def expanded(self, body: bytes) -> Any:  # noqa: ANN401  as above
        """Give the same with everything that `expand` can add."""
        everything = frozenset(render.EXPANSIONS)
        english, *_ = self._languages
        return json.loads(render.expanded(everything, english)(self._given(body)))

    def explained(self, body: bytes) -> Any:  # noqa: ANN401  as above
        """Give the reply of POST /v1/explain to a question without parameters."""
        english, *_ = self._languages
        return self._explained(body, Question(TARGET_DEFAULT, (), COUNT_DEFAULT, english))

    def without_recourse(self, body: bytes) -> Any:  # noqa: ANN401  as above
        """Give the reply where a good tier is asked for and what would help is locked."""
        _, swahili, *_ = self._languages
        return self._explained(body, Question(TIER, (LOCKED,), COUNT_DEFAULT, swahili))

    def _explained(self, body: bytes, question: Question) -> Any:  # noqa: ANN401  as above
        application = self._intake.read(body)
        sought = question.sought(self._desk)
        said = explain(self._recourse, application, sought, question.language, lambda: False)
        explained = Explained(REQUEST_ID, 4, question, application, said, self._desk)
        return json.loads(explain_reply(explained))

    def record(self, body: bytes) -> Any:  # noqa: ANN401  as above
        """Give the reply of GET /v1/scores/{request_id}."""
        sealed = Sealed(body, self._given(body).assessment)
        return json.loads(render.score_record(self._row(body), sealed, reviews_api.SEQUEL))

    def receipt(self, body: bytes) -> Any:  # noqa: ANN401  as above
        """Give the reply of GET /v1/scores/{request_id}/receipt, as verification would pass it."""
        row = self._row(body)
        columns = {name: getattr(row, name) for name in KeptScore.__struct_fields__}
        record = pack(Sealed(body, self._given(body).assessment, SALT))
        ours = Named(row.lender, row.mode, row.request_id, None, digest(SALT, row.in_clear, record))
        entry = chain.follow_with_scores(chain.start("8d1c5f60a2b37e94"), AT_US, [ours], _Signer())
        receipt = receipts.make(KeptScore(**columns), record, entry, _Signer.public)
        return json.loads(receipts.encode(receipt))

    def page(self, body: bytes) -> Any:  # noqa: ANN401  as above
        """Give the reply of GET /v1/scores, one line a page, with another page to come."""
        row = self._row(body)
        line = row.summary
        return json.loads(render.score_page([line, line], limit=1))

    @property
    def model_id(self) -> str:
        """The model that answers test keys."""
        return self._desk.model.model.id

    @property
    def policy_id(self) -> str:
        """The policy that answers test keys."""
        return self._desk.policy.id

    def _given(self, body: bytes) -> Given:
        application = self._intake.read(body)
        said = assess(self._desk.model, self._desk.policy, application)
        return Given(REQUEST_ID, 1, application, said, self._desk)

    def _row(self, body: bytes) -> ScoreRow:
        given = self._given(body)
        said = given.assessment
        return ScoreRow(
            lender="demo",
            mode="test",
            request_id=given.request_id,
            created_us=AT_US,
            key_id="key_4f1d2c7b9a035e68",
            model_id=self.model_id,
            policy_id=self._desk.policy.id,
            score=said.score,
            tier=said.tier,
            default_probability=said.default_probability,
            decision=said.decision.value,
            recommended_limit=float(said.offer.limit),
            recommended_term_days=said.offer.term_days,
            recommended_apr=said.offer.apr,
            processing_ms=given.processing_ms,
            seal_key_id=None,
            sealed=b"",
            expected_loss=said.offer.expected_loss,
            applicant_key_id=None,
        )


class _Signer:
    """Signs the example, with a key that is no secret."""

    id = "vk_example"
    _key = Ed25519PrivateKey.from_private_bytes(bytes(32))
    public = _key.public_key().public_bytes_raw()

    def sign(self, message: bytes) -> bytes:
        return self._key.sign(message)


def problem(kind: type[AlamaError]) -> Reply:
    """Give the reply to an error of this kind."""
    score = f"/v1/scores/{REQUEST_ID}"
    endpoint = f"/v1/webhook_endpoints/{examples.ENDPOINT_ID}"
    paths = {
        problems.InvalidRequest: "/v1/webhook_endpoints",
        errors.TooManyEndpoints: "/v1/webhook_endpoints",
        errors.UnknownEndpoint: endpoint,
        errors.EndpointDisabled: f"{endpoint}/test",
        errors.UnknownEvent: f"/v1/events/{examples.EVENT_ID}",
        lenders_records.UnknownModel: "/v1/monitoring",
        scoring_records.UnknownScore: score,
        platform_errors.Erased: score,
        protection_receipts.NoReceipt: f"{score}/receipt",
        reviews.AlreadyReviewed: f"{score}/review",
        platform_errors.Busy: "/v1/explain",
        **_ONBOARDING_PATHS,
    }
    reply = problems.reply(_happened(kind), paths.get(kind, "/v1/score"), REQUEST_ID)
    if kind is platform_errors.TooManyRequests:  # only a key that is known can be over its rate
        reply.headers.extend([(b"ratelimit", b""), (b"ratelimit-policy", b"")])
    return reply


_CANDIDATE: Final = f"/v1/onboarding/candidates/{examples_onboarding.CANDIDATE_ID}"
_ONBOARDING_PATHS: Final[Mapping[type[AlamaError], str]] = {
    onboarding.UnknownHistory: f"/v1/onboarding/histories/{examples_onboarding.HISTORY_ID}",
    onboarding.UnknownJob: f"/v1/onboarding/jobs/{examples_onboarding.JOB_ID}",
    onboarding.UnknownCandidate: _CANDIDATE,
    onboarding.FewerEyes: "/v1/onboarding/terms",
    onboarding.LawElsewhere: "/v1/onboarding/terms",
    onboarding.StepMissing: "/v1/onboarding/histories",
    onboarding.JobUnderWay: "/v1/onboarding/trainings",
    onboarding.HistoriesFull: "/v1/onboarding/histories",
    problems.InvalidFile: "/v1/onboarding/histories",
    onboarding.HistoryForgotten: "/v1/onboarding/trainings",
    onboarding.ApprovalBlocked: f"{_CANDIDATE}/signatures",
    onboarding.GateFailed: f"{_CANDIDATE}/signatures",
    onboarding.SignatureRefused: f"{_CANDIDATE}/signatures",
    onboarding.ModelWithdrawn: "/v1/onboarding/rollbacks",
    onboarding.NothingBefore: "/v1/onboarding/rollbacks",
}


def _happened(kind: type[AlamaError]) -> AlamaError:
    makers: Mapping[type[AlamaError], Callable[[], AlamaError]] = {
        MalformedDocument: partial(_raised, b'{"mm_months": 26,}', MalformedDocument),
        InvalidApplication: partial(_raised, WRONG, InvalidApplication),
        BadParameter: lambda: BadParameter(f"expand knows {', '.join(render.EXPANSIONS)}"),
        platform_errors.KeyRefused: _refused_key,
        platform_errors.KeyExpired: lambda: platform_errors.KeyExpired(
            "this key has expired", hint="ask for a new one, or rotate it in time"
        ),
        platform_errors.ScopeMissing: lambda: platform_errors.ScopeMissing(Scope.WRITE),
        lenders_records.OnboardingIncomplete: lambda: lenders_records.OnboardingIncomplete(
            "no model has been trained on its history and approved"
        ),
        platform_errors.ModelUnavailable: lambda: platform_errors.ModelUnavailable(
            InvalidModel("the content of the model does not match its id")
        ),
        platform_errors.Erased: lambda: platform_errors.Erased(AT_US),
        reviews.AlreadyReviewed: reviews_api.already_reviewed,
        errors.TooManyEndpoints: lambda: errors.TooManyEndpoints(ENDPOINTS_MAX),
        problems.InvalidFile: examples_onboarding.invalid_file,
        problems.InvalidRequest: examples.broken_rules,
        onboarding.LawElsewhere: examples_onboarding.law_elsewhere,
        onboarding.StepMissing: examples_onboarding.step_missing,
        onboarding.JobUnderWay: examples_onboarding.job_under_way,
        onboarding.ApprovalBlocked: examples_onboarding.approval_blocked,
        onboarding.GateFailed: examples_onboarding.gate_failed,
        onboarding.SignatureRefused: examples_onboarding.signature_refused,
        onboarding.ModelWithdrawn: examples_onboarding.model_withdrawn,
        onboarding.NothingBefore: examples_onboarding.nothing_before,
        MethodNotAllowed: lambda: MethodNotAllowed("POST"),
        BodyTooLarge: lambda: BodyTooLarge("the body is larger than 64 KiB"),
        UnsupportedMediaType: lambda: UnsupportedMediaType(
            "the body must be JSON", hint="send the header Content-Type: application/json"
        ),
        platform_errors.TooManyRequests: lambda: platform_errors.TooManyRequests(1),
        platform_errors.StoreUnavailable: lambda: platform_errors.StoreUnavailable(
            "the database did not answer in time"
        ),
        Mishap: lambda: Mishap("a defect"),
    }
    return makers.get(kind, kind)()


def _raised(body: bytes, kind: type[AlamaError]) -> AlamaError:
    try:
        Intake(PRODUCT).read(body)
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


def _refused_key() -> AlamaError:
    try:
        keys.check("alama_test_" + "0" * 36)
    except platform_errors.KeyRefused as error:
        return error
    raise AssertionError("the key was not refused")
