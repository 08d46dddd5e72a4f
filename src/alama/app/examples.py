"""Examples for the OpenAPI document. None is typed by hand: the service itself has made each.

The sample application is assessed by the built-in model under the default policy of the lender
`demo`, and its replies and problems are written by the code that writes them for callers.
"""

from __future__ import annotations

import json
from functools import cache
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
from alama.monitoring import reviews_api
from alama.onboarding import examples as onboarding_examples
from alama.platform import errors as platform_errors
from alama.platform.book import Scope
from alama.platform.days import moment
from alama.platform.files import packaged
from alama.platform.files.packaged import languages
from alama.platform.http import documents, operation, problems
from alama.platform.http.operation import Json, Mishap
from alama.platform.http.problems import (
    BadParameter,
    BodyTooLarge,
    MethodNotAllowed,
    UnsupportedMediaType,
)
from alama.protection import applicants, applicants_api
from alama.protection import receipts as protection_receipts
from alama.scoring import api as scoring_api
from alama.scoring import lists_api, scores_api
from alama.scoring import records as scoring_records
from alama.scoring.directory import ActiveModel
from alama.scoring.explain_api import explain_reply
from alama.scoring.explaining import TARGET_DEFAULT, Explained, Question
from alama.scoring.records import ScoreRow, Sealed, pack
from alama.scoring.scoring import Given
from alama.statements import examples as statements_examples
from alama.webhooks import examples as webhooks_examples

if TYPE_CHECKING:
    from collections.abc import Mapping

    from alama.platform.http.exchange import Reply


AT_US: Final = operation.AT_US
REQUEST_ID: Final = operation.REQUEST_ID
CURRENCY: Final = "KES"
SALT: Final = bytes(range(SALT_BYTES))
COMPACT: Final = b"""\
{"mobile_money_months": 24, "monthly_inflow": 18500, "stability_score": 0.62, \
"airtime_regularity": 0.71}"""
NAMED: Final = COMPACT[:-1] + b', "applicant_ref": "customer-7f3a"}'
DECLINED: Final = b"""\
{"mm_months": 9, "avg_inflow": 14200, "avg_balance": 640, "balance_stability": 0.34, \
"counterparties": 8, "airtime_regularity": 0.45, "requested_amount": 9000, \
"requested_term_days": 30}"""
TIER: Final = "B"
LOCKED: Final = "requested_amount"
WRONG: Final = b"""\
{"mm_months": "26", "stability_score": 58, "airtime_regulrity": 0.71, "gender": "F"}"""


def requests() -> dict[str, Json]:
    """Give the bodies of requests by name, each with what it is for."""
    full = json.loads(packaged.sample_application())
    return {
        "full": {"summary": "Everything the model reads", "value": full},
        "compact": {"summary": "The four required fields", "value": json.loads(COMPACT)},
        "declined": {"summary": "An application that is declined", "value": json.loads(DECLINED)},
    }


class Replies:
    """What the service says to the examples."""

    def __init__(self) -> None:
        model = ReadyModel(packaged.builtin(), CURRENCY)
        self._active = ActiveModel(model, ReadyPolicy(default_policy(CURRENCY), model))
        self._recourse = ReadyRecourse(self._active.policy)
        self._languages = languages()
        self._intake = Intake(PRODUCT)

    def named(self) -> dict[str, Json]:
        """Give the bodies of replies about scores by name."""
        full = packaged.sample_application()
        return {
            "full_reply": {"summary": "Reply to the full request", "value": self.score(full)},
            "compact_reply": {
                "summary": "Reply to the compact request",
                "value": self.score(COMPACT),
            },
            "expanded_reply": {
                "summary": "Reply with everything that `expand` can add",
                "value": self.expanded(COMPACT),
            },
            "declined_explained": {
                "summary": "Explanation of the request that is declined",
                "value": self.explained(DECLINED),
            },
            "compact_explained": {
                "summary": "Explanation of the compact request, which is approved",
                "value": self.explained(COMPACT),
            },
            "locked_explained": {
                "summary": "Where nothing leads to the target: "
                f"`target={TIER}&locked={LOCKED}&language=sw`",
                "value": self.without_recourse(DECLINED),
            },
            "page": {"summary": "One score a page", "value": self.page(full)},
            "record": {"summary": "A stored score", "value": self.record(COMPACT)},
            "receipt": {"summary": "Proof of a score", "value": self.receipt(COMPACT)},
            "applicant_export": {
                "summary": "All that is held on one applicant",
                "value": self.export(NAMED),
            },
        }

    def score(self, body: bytes) -> Any:  # noqa: ANN401  JSON has no better type
        """Give the reply of POST /v1/score."""
        return json.loads(scoring_api.score_reply(self._given(body)))

    def expanded(self, body: bytes) -> Any:  # noqa: ANN401  as above
        """Give the same with everything that `expand` can add."""
        everything = frozenset(scoring_api.EXPANSIONS)
        english, *_ = self._languages
        return json.loads(scoring_api.expanded(everything, english)(self._given(body)))

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
        sought = question.sought(self._active)
        said = explain(self._recourse, application, sought, question.language, lambda: False)
        explained = Explained(REQUEST_ID, 4, question, application, said, self._active)
        return json.loads(explain_reply(explained))

    def record(self, body: bytes) -> Any:  # noqa: ANN401  as above
        """Give the reply of GET /v1/scores/{request_id}."""
        sealed = Sealed(body, self._given(body).assessment)
        return json.loads(scores_api.score_record(self._row(body), sealed, reviews_api.SEQUEL))

    def receipt(self, body: bytes) -> Any:  # noqa: ANN401  as above
        """Give the reply of GET /v1/scores/{request_id}/receipt, as verification would pass it."""
        row = self._row(body)
        columns = {name: getattr(row, name) for name in KeptScore.__struct_fields__}
        record = pack(Sealed(body, self._given(body).assessment, SALT))
        ours = Named(row.lender, row.mode, row.request_id, None, digest(SALT, row.in_clear, record))
        entry = chain.follow_with_scores(chain.start("8d1c5f60a2b37e94"), AT_US, [ours], _Signer())
        receipt = receipts.make(KeptScore(**columns), record, entry, _Signer.public)
        return json.loads(receipts.encode(receipt))

    def export(self, body: bytes) -> Any:  # noqa: ANN401  as above
        """Give the reply of POST /v1/applicants/export."""
        sealed = Sealed(body, self._given(body).assessment)
        score = applicants.exported_score(self._row(body), sealed, reviews_api.SEQUEL, ())
        exported = applicants.ApplicantExport(
            format=applicants.FORMAT,
            lender="demo",
            mode="test",
            applicant_ref=json.loads(body)["applicant_ref"],
            exported_at=moment(AT_US),
            held_since=moment(AT_US),
            scores=[score],
            legal_holds=[],
            remarks=list(applicants.REMARKS),
        )
        return json.loads(applicants.encode(exported))

    def page(self, body: bytes) -> Any:  # noqa: ANN401  as above
        """Give the reply of GET /v1/scores, one line a page, with another page to come."""
        row = self._row(body)
        line = row.summary
        return json.loads(scores_api.score_page([line, line], limit=1))

    @property
    def model_id(self) -> str:
        """The model that answers test keys."""
        return self._active.model.model.id

    @property
    def policy_id(self) -> str:
        """The policy that answers test keys."""
        return self._active.policy.id

    def _given(self, body: bytes) -> Given:
        application = self._intake.read(body)
        said = assess(self._active.model, self._active.policy, application)
        return Given(REQUEST_ID, 1, application, said, self._active)

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
            policy_id=self._active.policy.id,
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
    path, error = _met()[kind]
    reply = problems.reply(error, path, REQUEST_ID)
    if kind is platform_errors.TooManyRequests:  # only a key that is known can be over its rate
        reply.headers.extend([(b"ratelimit", b""), (b"ratelimit-policy", b"")])
    return reply


@cache
def _met() -> Mapping[type[AlamaError], tuple[str, AlamaError]]:
    """Give an error of each kind, and the path that it is met at."""
    score = f"/v1/scores/{REQUEST_ID}"
    by_path = {
        "/v1/score": _met_by_scores(),
        "/v1/explain": (platform_errors.Busy(),),
        "/v1/monitoring": (lenders_records.UnknownModel(),),
        f"{problems.PAGES}/no_such_code": (documents.no_such_code(),),
        score: (scoring_records.UnknownScore(), platform_errors.Erased(AT_US)),
        f"{score}/receipt": (protection_receipts.NoReceipt(),),
        **reviews_api.refusals(),
        **applicants_api.refusals(),
        **lists_api.refusals(),
        **statements_examples.refusals(),
        **webhooks_examples.refusals(),
        **onboarding_examples.refusals(),
    }
    return {type(error): (path, error) for path, errors in by_path.items() for error in errors}


def _met_by_scores() -> tuple[AlamaError, ...]:
    return (
        _raised(b'{"mm_months": 26,}', MalformedDocument),
        _raised(WRONG, InvalidApplication),
        BadParameter(f"expand knows {', '.join(scoring_api.EXPANSIONS)}"),
        platform_errors.KeyMissing(),
        _refused_key(),
        platform_errors.KeyExpired(
            "this key has expired", hint="ask for a new one, or rotate it in time"
        ),
        platform_errors.ScopeMissing(Scope.WRITE),
        lenders_records.OnboardingIncomplete(
            "no model has been trained on its history and approved"
        ),
        platform_errors.ModelUnavailable(
            InvalidModel("the content of the model does not match its id")
        ),
        scoring_records.IdempotencyInFlight(),
        scoring_records.IdempotencyKeyReused(),
        MethodNotAllowed("POST"),
        BodyTooLarge("the body is larger than 64 KiB"),
        UnsupportedMediaType(
            "the body must be JSON", hint="send the header Content-Type: application/json"
        ),
        platform_errors.TooManyRequests(1),
        platform_errors.StoreUnavailable("the database did not answer in time"),
        Mishap("a defect"),
    )


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
