"""What can go wrong, one class a code of a problem. All are under `AlamaError`.

AlamaError
  InvalidArgument     what the caller got wrong, before anything was sent; a ValueError too
  ConnectionFailed    no answer came, or none of Alama
    TimedOut          not in time
  InvalidSignature    a webhook that is not to be trusted
  Problem             Alama has answered with a problem; itself where the code is not known
    InvalidApplication, KeyRefused, TooManyRequests, ...
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "AlamaError",
    "AlreadyReviewed",
    "ApprovalBlocked",
    "BodyTooLarge",
    "Busy",
    "ConnectionFailed",
    "Erased",
    "FewerEyes",
    "FieldError",
    "GateFailed",
    "HeadTooLarge",
    "HistoriesFull",
    "HistoryForgotten",
    "IdempotencyInFlight",
    "IdempotencyKeyReused",
    "InternalError",
    "InvalidApplication",
    "InvalidArgument",
    "InvalidFile",
    "InvalidParameter",
    "InvalidRequest",
    "InvalidSignature",
    "JobUnderWay",
    "KeyExpired",
    "KeyMissing",
    "KeyRefused",
    "LawElsewhere",
    "ListsFull",
    "MalformedHttp",
    "MalformedJson",
    "MappingNeeded",
    "MethodNotAllowed",
    "ModelUnavailable",
    "ModelWithdrawn",
    "NoReceipt",
    "NotFound",
    "NothingBefore",
    "OnboardingIncomplete",
    "PortfolioFull",
    "Problem",
    "RequestTimeout",
    "ScopeMissing",
    "SignatureRefused",
    "StatementPassword",
    "StatementTooCostly",
    "StatementUnreadable",
    "StepMissing",
    "TimedOut",
    "TooManyEndpoints",
    "TooManyRequests",
    "Unavailable",
    "UnderHold",
    "UnknownApplicant",
    "UnknownCandidate",
    "UnknownEvent",
    "UnknownHistory",
    "UnknownJob",
    "UnknownModel",
    "UnknownScore",
    "UnknownWebhookEndpoint",
    "UnsupportedMediaType",
    "WebhookEndpointDisabled",
]


@dataclass(frozen=True, slots=True)
class FieldError:
    """One broken rule of one field; never the value that was sent."""

    pointer: str
    """Where it is, such as `/mm_months` (RFC 6901)."""
    code: str
    """The rule that is broken, such as `out_of_range`."""
    detail: str
    """The rule in words."""

    @property
    def field(self) -> str:
        """The name of the field, as it was sent."""
        return self.pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")


class AlamaError(Exception):
    """Whatever went wrong. What is not known of it is None, or empty."""

    code: str | None = None
    status: int | None = None
    request_id: str | None = None
    errors: Sequence[FieldError] = ()
    retry_after: float | None = None
    """Seconds after which the same request may be sent again."""


class InvalidArgument(AlamaError, ValueError):
    """What the caller got wrong before anything was sent. Names the field, never the value."""


class ConnectionFailed(AlamaError):
    """No answer came, or what came is none of Alama; whether anything was done is not known."""

    was_sent = True
    """False where no connection was made, so that nothing can have been done."""


class TimedOut(ConnectionFailed):
    """No answer came in time; whether anything was done is not known."""


class InvalidSignature(AlamaError):
    """A webhook was not signed with the secret, was changed on its way, or is old."""


class Problem(AlamaError):
    """Alama, or what stands in front of it, has answered with a problem."""

    status: int

    def __init__(
        self,
        status: int,
        problem: Mapping[str, Any],
        request_id: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(status, problem, request_id, retry_after)
        said = {name: text for name, text in problem.items() if isinstance(text, str)}
        self.status = status
        self.code = said.get("code")
        self.title = said.get("title", "")
        self.detail = said.get("detail", "")
        self.request_id = said.get("request_id", request_id)
        self.retry_after = retry_after
        listed = problem.get("errors")
        self.errors = tuple(
            FieldError(*(str(each.get(name, "")) for name in ("pointer", "code", "detail")))
            for each in (listed if isinstance(listed, list) else ())
            if isinstance(each, dict)
        )

    def __str__(self) -> str:
        words = " ".join(filter(None, (str(self.status), self.code, self.detail)))
        named = f" ({self.request_id})" if self.request_id else ""
        broken = [f"\n  {error.pointer} {error.detail}" for error in self.errors]
        return words + named + "".join(broken)

    def __init_subclass__(cls) -> None:
        cls.code = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
        _BY_CODE[cls.code] = cls


_BY_CODE: dict[str, type[Problem]] = {}


def problem_of(
    status: int, problem: Mapping[str, Any], request_id: str | None, retry_after: float | None
) -> Problem:
    """Make the exception of an answer."""
    kind = _BY_CODE.get(str(problem.get("code")), Problem)
    return kind(status, problem, request_id, retry_after)


class MalformedJson(Problem):
    """The body is not one JSON object in UTF-8."""

    status = 400


class MalformedHttp(Problem):
    """What came is not a request of HTTP/1.1, or one that could be read in two ways."""

    status = 400


class InvalidParameter(Problem):
    """A query parameter or header is unknown, stands twice or breaks its rule."""

    status = 400


class KeyMissing(Problem):
    """No API key came with the request."""

    status = 401


class KeyRefused(Problem):
    """The key is mistyped, unknown here or revoked."""

    status = 401


class KeyExpired(Problem):
    """The key was good until its day came."""

    status = 403


class ScopeMissing(Problem):
    """The key may not do this."""

    status = 403


class OnboardingIncomplete(Problem):
    """A live key of a lender who has no approved model yet."""

    status = 403


class NotFound(Problem):
    """Nothing is served at this path."""

    status = 404


class UnknownScore(Problem):
    """There is no score with this `request_id` for this lender and mode."""

    status = 404


class UnknownApplicant(Problem):
    """Nothing is held on this applicant for this lender and mode."""

    status = 404


class NoReceipt(Problem):
    """The audit has no entry of this score, which was given before there was an audit."""

    status = 404


class UnknownWebhookEndpoint(Problem):
    """There is no webhook endpoint with this id for this lender and mode."""

    status = 404


class UnknownEvent(Problem):
    """There is no event with this id for this lender and mode, or none any more."""

    status = 404


class UnknownModel(Problem):
    """No such model gave scores for this lender and mode."""

    status = 404


class UnknownHistory(Problem):
    """There is no loan history with this id for this lender."""

    status = 404


class UnknownCandidate(Problem):
    """There is no candidate with this id for this lender."""

    status = 404


class UnknownJob(Problem):
    """There is no job with this id for this lender."""

    status = 404


class MethodNotAllowed(Problem):
    """The path is right, the method is not."""

    status = 405


class RequestTimeout(Problem):
    """The request took too long to come: its head 10 seconds, or its body 30."""

    status = 408


class Erased(Problem):
    """What the applicant of this score sent was erased."""

    status = 410


class UnderHold(Problem):
    """A legal hold stands on the applicant, so nothing of theirs is erased."""

    status = 409


class ListsFull(Problem):
    """The block list and the watch list have as many entries as a book may have, together."""

    status = 409


class AlreadyReviewed(Problem):
    """Somebody has reviewed this score before, and said something else."""

    status = 409


class PortfolioFull(Problem):
    """A cap of the policy's portfolio that declines has no room for the loan."""

    status = 409


class IdempotencyInFlight(Problem):
    """The first request under this `Idempotency-Key` is still being answered."""

    status = 409


class WebhookEndpointDisabled(Problem):
    """The webhook endpoint is disabled, so nothing is sent to it."""

    status = 409


class TooManyEndpoints(Problem):
    """There are twenty webhook endpoints already for this lender and mode."""

    status = 409


class FewerEyes(Problem):
    """Two people approve a model of this lender, and over HTTP that cannot become one."""

    status = 409


class LawElsewhere(Problem):
    """Nobody lends in the lender's currency under the law that `jurisdiction` names."""

    status = 409


class StepMissing(Problem):
    """A step of the onboarding before this one is not done."""

    status = 409


class JobUnderWay(Problem):
    """The same is being done for this lender already."""

    status = 409


class HistoriesFull(Problem):
    """The loan histories of this lender take 256 MiB already, and no more are taken."""

    status = 409


class HistoryForgotten(Problem):
    """The file of this loan history was erased."""

    status = 409


class GateFailed(Problem):
    """The candidate has failed a gate, so nobody can approve it."""

    status = 409


class ApprovalBlocked(Problem):
    """The model cannot answer as things stand."""

    status = 409


class SignatureRefused(Problem):
    """This signature does not count."""

    status = 409


class ModelWithdrawn(Problem):
    """The only models to go back to were themselves rolled back."""

    status = 409


class NothingBefore(Problem):
    """No other model of this lender ever answered live, so there is no way back."""

    status = 409


class BodyTooLarge(Problem):
    """The body is larger than 64 KiB."""

    status = 413


class UnsupportedMediaType(Problem):
    """The body is not said to be plain, uncompressed JSON."""

    status = 415


class InvalidApplication(Problem):
    """Fields of the application break rules."""

    status = 422


class MappingNeeded(Problem):
    """The columns of a table are not known, or its dates can be read in two ways."""

    status = 422


class StatementPassword(Problem):
    """A PDF is protected, and no password or a wrong one came with it."""

    status = 422


class StatementTooCostly(Problem):
    """A PDF takes more memory or time than one file may."""

    status = 422


class StatementUnreadable(Problem):
    """The file is no statement that can be read."""

    status = 422


class InvalidFile(Problem):
    """The file is no table by its first bytes, or has too many columns."""

    status = 422


class InvalidRequest(Problem):
    """Fields of a body that is no application break rules."""

    status = 422


class IdempotencyKeyReused(Problem):
    """This `Idempotency-Key` came with another body or query within the last 72 hours."""

    status = 422


class TooManyRequests(Problem):
    """The key is over its rate."""

    status = 429


class HeadTooLarge(Problem):
    """The request line and the headers have more than 32 KiB."""

    status = 431


class InternalError(Problem):
    """A defect of Alama."""

    status = 500


class Busy(Problem):
    """More is asked for at once than can be given; nothing was done."""

    status = 503


class ModelUnavailable(Problem):
    """A model, a policy or the report of a loan history that the answer needs cannot be used."""

    status = 503


class Unavailable(Problem):
    """The database cannot take or give anything right now."""

    status = 503
