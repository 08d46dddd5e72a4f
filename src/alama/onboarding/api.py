"""Onboarding over HTTP: /v1/onboarding, the way to a live key, a step at a time."""

from __future__ import annotations

import asyncio
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import UNSET

from alama.core.application import is_visible
from alama.core.errors import FileProblem, MalformedDocument
from alama.onboarding import records, wire
from alama.onboarding.approval import Approval, Approved, Signing
from alama.onboarding.commands import COMMANDS
from alama.onboarding.records import (
    PART_BYTES,
    Decided,
    FileFormat,
    Job,
    JobKind,
    JobState,
    Wishes,
    is_line,
)
from alama.onboarding.steps import Progress, Step, StepProgress
from alama.onboarding.terms import Agreed, Terms
from alama.onboarding.wire import (
    COLUMNS_MAX,
    FIELDS,
    PLACES,
    RULES,
    NewRollback,
    NewSignature,
    NewTerms,
    NewTraining,
)
from alama.platform.book import Scope
from alama.platform.days import moment
from alama.platform.errors import ModelUnavailable
from alama.platform.files.table import PARQUET, SENT, SPREADSHEET, check_csv_head
from alama.platform.http import fields, parameters
from alama.platform.http.bodies import file_parts, file_type, json_body, optional_json_body
from alama.platform.http.exchange import Call, Headers, Reply, private_json
from alama.platform.http.html import VARIES, private_page, wants_page
from alama.platform.http.operation import HTML, RATE, Operation, Success, reference
from alama.platform.http.problems import (
    BadParameter,
    BodyTooLarge,
    InvalidFile,
    InvalidRequest,
    UnsupportedMediaType,
)
from alama.platform.timeouts import run_with_timeout

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from alama.onboarding.remote import Arrival, Handed, Judged, OnboardingApi
    from alama.platform.http.fields import Check
    from alama.scoring.admission import Admission


CANDIDATE: Final = "/v1/onboarding/candidates/{candidate_id}"
HOW: Final = {
    Step.LENDER: "PUT /v1/onboarding/terms",
    Step.HISTORY: "POST /v1/onboarding/histories",
    Step.TRAIN: "POST /v1/onboarding/trainings",
    Step.VALIDATE: f"GET {CANDIDATE}",
    Step.APPROVE: f"POST {CANDIDATE}/signatures",
}
"""What does each step over HTTP; the last is for who runs the service."""

_NOTHING: Final = msgspec.Raw(b"null")
_encode: Final = msgspec.json.Encoder().encode


def standing_reply(found: Progress) -> bytes:
    """Give the six steps, and what each has left."""
    following = found.next
    return _encode(
        wire.Onboarding(
            lender=found.lender,
            steps=[_step(step, found.lender) for step in found.steps],
            next=None if following is None else following.step.value,
            terms=None if found.pilot is None else _terms(found.pilot),
            history_id=None if found.history is None else found.history.id,
            candidate_id=None if found.candidate is None else found.candidate.id,
            reading_job_id=None if found.reading is None else found.reading.id,
            training_job_id=None if found.job is None else found.job.id,
        )
    )


def terms_reply(agreed: Agreed) -> bytes:
    """Give the terms of a lender as they were just set."""
    said = msgspec.structs.asdict(_terms(agreed.pilot))
    told = wire.AgreedTerms(**said, policy_drafted=agreed.drafted, other_law=agreed.other_law)
    return _encode(told)


def job_reply(found: records.Job) -> bytes:
    """Say how far a job has come."""
    return _encode(
        wire.Job(
            id=found.id,
            kind=found.kind.value,
            state=found.state.value,
            share=found.share,
            step=found.step,
            error=found.error,
            asked_by=found.asked_by,
            created_at=moment(found.created_us),
            ended_at=_time(found.ended_us),
            **_made(found),
        )
    )


def history_reply(handed: Handed) -> bytes:
    """Give a history with its report, or say that nobody has read it yet."""
    record, asked = handed.record, handed.job
    if record is None:
        assert asked is not None
        return _encode(_unread(handed.id, asked))
    report = _NOTHING if handed.report is None else msgspec.Raw(handed.report)
    return _encode(
        wire.LoanHistory(
            id=record.id,
            state="read" if record.forgotten_us is None else "forgotten",
            job_id=None if asked is None else asked.id,
            file=record.digest,
            rows=record.row_count,
            enough=record.enough.value,
            created_at=moment(record.created_us),
            by=record.kept_by,
            report=report,
        )
    )


def candidate_reply(judged: Judged) -> bytes:
    """Give a candidate with its pack."""
    found = judged.candidate
    return _encode(
        wire.Candidate(
            candidate_id=found.id,
            model=found.model_id,
            signatures=_signatures(judged.signatures),
            needed=judged.needed,
            live=judged.live,
            history_id=found.history_id,
            passed=found.passed,
            gates=[wire.GateOutcome(one.name, one.passed, one.words) for one in found.gates],
            created_at=moment(found.created_us),
            by=found.made_by,
            pack=msgspec.Raw(judged.pack),
        )
    )


def signed_reply(approved: Approved) -> bytes:
    """Say who has signed, and whether the model answers now."""
    found = approved.candidate
    signatures = _signatures(approved.signatures)
    return _encode(
        wire.Signatures(found.id, found.model_id, signatures, approved.needed, approved.live)
    )


def rolled_back_reply(model_id: str) -> bytes:
    """Name the model that answers again."""
    return _encode(wire.RolledBack(model_id))


def _step(step: StepProgress, lender: str) -> wire.OnboardingStep:
    how = HOW.get(step.step) or COMMANDS[step.step].format(lender=lender)
    return wire.OnboardingStep(
        step.step.value, step.state.value, step.words, how, step.by, _time(step.at_us)
    )


def _terms(pilot: records.Pilot) -> wire.OnboardingTerms:
    return wire.OnboardingTerms(
        days_past_due=pilot.days_past_due,
        approvers=pilot.approvers,
        jurisdiction=pilot.jurisdiction,
        gates=msgspec.json.decode(pilot.gates, type=dict[str, float]),
        set_by=pilot.set_by,
        set_at=moment(pilot.set_us),
    )


def _made(found: records.Job) -> dict[str, Any]:
    if found.kind is JobKind.READ:
        return {"history_id": found.makes, "candidate_id": None}
    made = found.makes if found.state is JobState.DONE else None
    return {"history_id": records.decode_train_order(found.order).history_id, "candidate_id": made}


def _unread(history_id: str, asked: records.Job) -> wire.LoanHistory:
    return wire.LoanHistory(
        id=history_id,
        state="unread",
        job_id=asked.id,
        file=records.decode_read_order(asked.order).digest,
        rows=None,
        enough=None,
        created_at=moment(asked.created_us),
        by=asked.asked_by,
        report=_NOTHING,
    )


def _signatures(signatures: Sequence[records.Signature]) -> list[wire.Signature]:
    return [wire.Signature(one.person, one.reason, moment(one.signed_us)) for one in signatures]


def _time(moment_us: int | None) -> datetime | None:
    return None if moment_us is None else moment(moment_us)


# Onboarding: /v1/onboarding, the way to a live key, a step at a time.
#
# Nothing here needs the training libraries: a file is sealed as it comes, and workers do the rest.


FILE_BYTES_MAX: Final = 64 << 20
FILE_TYPES: Final = {
    "text/csv": FileFormat.CSV,
    "application/vnd.apache.parquet": FileFormat.PARQUET,
}
WISHES: Final = ("region", "exclude", "keep", "groups")
COLUMN_MAX: Final = 128
"""Letters of a column's name."""


class OnboardingEndpoints:
    """What a lender can do for itself. Everything is of the lender of the key, and of no other."""

    def __init__(self, admission: Admission, remote: OnboardingApi, approval: Approval) -> None:
        """Use the use cases."""
        self._admission = admission
        self._remote = remote
        self._approval = approval
        self._checks: Mapping[str, Check] = {
            "name": _line,
            "reason": _line,
            "jurisdiction": _place,
        }

    async def standing(self, call: Call) -> Reply:
        """GET /v1/onboarding: the six steps."""
        caller, headers = await self._admission.admit(call, Scope.PILOT_READ)
        parameters.read(call, ())
        found = await run_with_timeout(lambda: self._remote.progress(caller.book.lender))
        return private_json(standing_reply(found), headers)

    async def set_terms(self, call: Call) -> Reply:
        """PUT /v1/onboarding/terms: what a default is, and how many must approve a model."""
        caller, headers = await self._admission.admit(call, Scope.PILOT_WRITE)
        parameters.read(call, ())
        sent = fields.read(NewTerms, await json_body(call), RULES, self._checks)
        lender, by = caller.book.lender, caller.key.id
        terms = Terms(
            days_past_due=sent.days_past_due,
            approvers=sent.approvers,
            jurisdiction=None if sent.jurisdiction is UNSET else sent.jurisdiction,
            gates=msgspec.json.encode(sent.gates, order="sorted").decode(),
        )
        agreed = await run_with_timeout(lambda: self._remote.set_terms(lender, terms, by))
        return private_json(terms_reply(agreed), headers)

    # -------------------------------------------------------------------------------- histories

    async def hand_in(self, call: Call) -> Reply:
        """POST /v1/onboarding/histories: a file of past loans, which a worker will read."""
        caller, headers = await self._admission.admit(call, Scope.PILOT_WRITE)
        wishes = _wishes(call)
        file_format = FILE_TYPES[file_type(call, FILE_TYPES)]
        arrival = await run_with_timeout(lambda: self._remote.arrival(caller.book.lender))
        try:
            job = await _received(call, arrival, file_format, wishes, caller.key.id)
        except BaseException:
            # Also where the caller has left, or the service stops: nobody would ever look for it.
            # Where the job was kept after all, and only the word of it came late, the file stays.
            await asyncio.shield(run_with_timeout(arrival.drop))
            raise
        return _accepted(job, headers)

    async def history(self, call: Call) -> Reply:
        """GET /v1/onboarding/histories/{history_id}: what was found in it."""
        caller, headers = await self._admission.admit(call, Scope.PILOT_READ)
        parameters.read(call, ())
        history_id = call.path_part("history_id")
        handed = await run_with_timeout(
            lambda: self._remote.history(caller.book.lender, history_id)
        )
        return private_json(history_reply(handed), headers)

    # -------------------------------------------------------------------------------- training

    async def train(self, call: Call) -> Reply:
        """POST /v1/onboarding/trainings: a training run, which a worker will do."""
        caller, headers = await self._admission.admit(call, Scope.PILOT_WRITE)
        parameters.read(call, ())
        sent = fields.read(NewTraining, await optional_json_body(call), RULES)
        history_id = None if sent.history_id is UNSET else sent.history_id
        decided = Decided(region=sent.region, exclude=sent.exclude, keep=sent.keep, seed=sent.seed)
        lender, by = caller.book.lender, caller.key.id
        job = await run_with_timeout(lambda: self._remote.train(lender, history_id, decided, by))
        return _accepted(job, headers)

    async def job(self, call: Call) -> Reply:
        """GET /v1/onboarding/jobs/{job_id}: how far it has come."""
        caller, headers = await self._admission.admit(call, Scope.PILOT_READ)
        parameters.read(call, ())
        job_id = call.path_part("job_id")
        found = await run_with_timeout(lambda: self._remote.job(caller.book.lender, job_id))
        return private_json(job_reply(found), headers)

    # -------------------------------------------------------------------------------- candidates

    async def candidate(self, call: Call) -> Reply:
        """GET /v1/onboarding/candidates/{candidate_id}: its gates and its pack, or the page."""
        caller, headers = await self._admission.admit(call, Scope.PILOT_READ)
        parameters.read(call, ())
        lender, candidate_id = caller.book.lender, call.path_part("candidate_id")
        if wants_page(call):
            page = await run_with_timeout(lambda: self._remote.page(lender, candidate_id))
            if page is not None:
                return private_page(page, headers)
        judged = await run_with_timeout(lambda: self._remote.candidate(lender, candidate_id))
        return private_json(candidate_reply(judged), [VARIES, *headers])

    async def sign(self, call: Call) -> Reply:
        """POST /v1/onboarding/candidates/{candidate_id}/signatures: a person stands for it."""
        caller, headers = await self._admission.admit(call, Scope.PILOT_WRITE)
        parameters.read(call, ())
        lender, candidate_id = caller.book.lender, call.path_part("candidate_id")
        sent = fields.read(NewSignature, await json_body(call), RULES, self._checks)
        signing = Signing(sent.name, sent.reason, caller.key.id)
        approved = await run_with_timeout(
            lambda: self._approval.sign(lender, candidate_id, signing)
        )
        return private_json(signed_reply(approved), headers, HTTPStatus.CREATED)

    async def roll_back(self, call: Call) -> Reply:
        """POST /v1/onboarding/rollbacks: the model before answers again."""
        caller, headers = await self._admission.admit(call, Scope.PILOT_WRITE)
        parameters.read(call, ())
        sent = fields.read(NewRollback, await json_body(call), RULES, self._checks)
        lender, key_id = caller.book.lender, caller.key.id
        model_id = await run_with_timeout(
            lambda: self._approval.roll_back(lender, sent.name, sent.reason, key_id)
        )
        return private_json(rolled_back_reply(model_id), headers, HTTPStatus.CREATED)


async def _received(
    call: Call, arrival: Arrival, file_format: FileFormat, wishes: Wishes, by: str
) -> Job:
    """Seal a file as it comes, and ask for it to be read."""
    is_empty = True
    async for part in file_parts(call, PART_BYTES, FILE_BYTES_MAX):
        if is_empty:
            await run_with_timeout(partial(_check_head, part, file_format))
        is_empty = False
        await run_with_timeout(partial(arrival.add, part))
    if is_empty:
        raise BadParameter(
            "the body is empty, and should be the file itself",
            hint="with curl: --data-binary @loans.csv",
        )
    return await run_with_timeout(lambda: arrival.finish(file_format, wishes, by))


def _check_head(part: bytes, file_format: FileFormat) -> None:
    """Refuse what a worker would refuse, where the first part of the file shows it."""
    is_parquet = part.startswith(PARQUET)
    if is_parquet != (file_format is FileFormat.PARQUET):
        said = next(name for name, known in FILE_TYPES.items() if known is file_format)
        raise InvalidFile(
            f"by its first bytes the file is not what its Content-Type says, {said}",
            hint=f"send it as one of {', '.join(FILE_TYPES)}",
        )
    if part.startswith(SPREADSHEET):
        raise InvalidFile(
            "the file is a spreadsheet or a ZIP archive", hint="export the sheet as CSV (UTF-8)"
        )
    if is_parquet:
        return
    try:
        check_csv_head("the file", part, SENT)
    except FileProblem as error:
        raise InvalidFile(str(error), hint=error.hint) from None


def _accepted(job: Job, headers: Headers) -> Reply:
    place = (b"location", f"/v1/onboarding/jobs/{job.id}".encode())
    return private_json(job_reply(job), [place, *headers], HTTPStatus.ACCEPTED)


def _wishes(call: Call) -> Wishes:
    asked = parameters.read(call, WISHES)
    region = asked.get("region", "false")
    if region not in {"true", "false"}:
        raise BadParameter("region must be true or false")
    named = {name: _columns(name, asked.get(name)) for name in WISHES[1:]}
    for name in ("exclude", "keep"):
        if not set(named[name]) <= set(FIELDS):
            raise parameters.no_field(name, named[name], FIELDS)
    return Wishes(region == "true", **named)


def _columns(name: str, asked: str | None) -> tuple[str, ...]:
    columns = parameters.listed(asked)
    if len(columns) > COLUMNS_MAX or any(
        len(column) > COLUMN_MAX or not is_visible(column) for column in columns
    ):
        raise BadParameter(
            f"{name} must be at most {COLUMNS_MAX} names of columns, each of at most {COLUMN_MAX} "
            "letters on one line, separated by commas"
        )
    return columns


def _line(text: str) -> None:
    if not is_line(text):
        raise ValueError


def _place(code: str) -> None:
    if code not in PLACES:
        raise ValueError


_TAG: Final = "Onboarding"
_FIELDS: Final = "The fields. At most 64 KiB of UTF-8, not compressed."
_BODY: Final = (
    MalformedDocument,
    BadParameter,
    BodyTooLarge,
    UnsupportedMediaType,
    InvalidRequest,
)
_CANDIDATE: Final = "/v1/onboarding/candidates/{candidate_id}"

ONBOARDING_OPERATIONS: Final = (
    Operation(
        path="/v1/onboarding",
        method="GET",
        id="getOnboarding",
        tag=_TAG,
        summary="See how far the onboarding has come",
        description="Gives the six steps on the way to a live key: lender, history, train, "
        "validate, approve and key; of each whether it is done, by whom and when, or what is in "
        "its way, and what does it. All steps but the last are operations here, for a test key "
        "that was given the scopes of pilot; live keys are issued by who runs the service.",
        scope=Scope.PILOT_READ,
        replies={
            200: Success(
                "All six steps.",
                reference("Onboarding"),
                headers=RATE,
                examples=("onboarding",),
            )
        },
        refusals=(BadParameter, ModelUnavailable),
    ),
    Operation(
        path="/v1/onboarding/terms",
        method="PUT",
        id="setOnboardingTerms",
        tag=_TAG,
        summary="Set the terms of the lender",
        description="Says what a default is, whose law holds, how many people approve a model, "
        "and what is asked of it beyond what is asked of every model. It takes the place of the "
        "terms before. Where a law is named and the lender has no live policy yet, one is drafted "
        "from the pack of that law and put in force; one that is in force stays. After another "
        "definition of default the history is to be handed in again; after other gates a model is "
        "to be trained again.",
        scope=Scope.PILOT_WRITE,
        body="NewTerms",
        body_told=_FIELDS,
        requests=("new_terms",),
        replies={
            200: Success(
                "The terms of now, and what became of the live policy.",
                reference("AgreedTerms"),
                headers=RATE,
                examples=("terms",),
            )
        },
        refusals=(*_BODY, records.FewerEyes, records.LawElsewhere),
    ),
    Operation(
        path="/v1/onboarding/histories",
        method="POST",
        id="handInHistory",
        tag=_TAG,
        summary="Hand in a loan history",
        description="Takes a file of past loans, sealed under the lender's own key as it comes, "
        "and answers with the job that reads it: a worker that has the training libraries checks "
        "each row, and looks for duplicates, drift and columns that give the outcome away. The "
        "reply names the history; read its report when the job is done. One file of a lender is "
        "read at a time, and lenders take turns.",
        scope=Scope.PILOT_WRITE,
        parameters=("use_region", "exclude", "keep", "groups"),
        file_types=("text/csv", "application/vnd.apache.parquet"),
        body_told="The file itself, at most 64 MiB, without a Content-Encoding; CSV may be a gzip "
        "file. At most 1,000 columns and 5,000,000 rows, 1 GiB once it is unpacked. Its "
        "columns: the fields of an application in either spelling, `borrower_id`, `applied_on`, "
        "`disbursed_on`, `due_on`, `amount`, `term_days`, `largest_days_past_due`, `observed_on` "
        "and `restructured`.",
        replies={
            202: Success(
                "It is kept, and waits to be read.",
                reference("Job"),
                headers=("Location", *RATE),
                examples=("reading_job",),
                links=("getJob", "getHistory"),
            )
        },
        refusals=(
            BadParameter,
            BodyTooLarge,
            UnsupportedMediaType,
            InvalidFile,
            records.StepMissing,
            records.JobUnderWay,
            records.HistoriesFull,
        ),
    ),
    Operation(
        path="/v1/onboarding/histories/{history_id}",
        method="GET",
        id="getHistory",
        tag=_TAG,
        summary="Read what was found in a loan history",
        description="Gives the report: what is wrong in which rows, what is missing, what gives "
        "the outcome away, whether there are defaults enough, and what to do. It holds no value of "
        "a borrower. The file itself is never given back.",
        scope=Scope.PILOT_READ,
        parameters=("history_id",),
        replies={
            200: Success(
                "The history, with its report once it was read.",
                reference("LoanHistory"),
                headers=RATE,
                examples=("history", "unread_history"),
            )
        },
        refusals=(BadParameter, records.UnknownHistory, ModelUnavailable),
    ),
    Operation(
        path="/v1/onboarding/trainings",
        method="POST",
        id="startTraining",
        tag=_TAG,
        summary="Train a model on a loan history",
        description="Asks for a training run, which a worker does that has the training libraries: "
        "minutes, behind all else that the machine does. It learns from the earlier loans, judges "
        "on the later ones and on borrowers that it never met, and makes a candidate with its "
        "validation pack. One run of a lender is done at a time; sent again meanwhile, the request "
        "is refused with the job that is open.",
        scope=Scope.PILOT_WRITE,
        body="NewTraining",
        body_told="May be left out, with all its fields.",
        body_required=False,
        requests=("new_training", "new_training_without"),
        replies={
            202: Success(
                "It waits for a worker.",
                reference("Job"),
                headers=("Location", *RATE),
                examples=("training_job",),
                links=("getJob",),
            )
        },
        refusals=(
            *_BODY,
            records.HistoryForgotten,
            records.StepMissing,
            records.JobUnderWay,
            ModelUnavailable,
        ),
    ),
    Operation(
        path="/v1/onboarding/jobs/{job_id}",
        method="GET",
        id="getJob",
        tag=_TAG,
        summary="Ask how far a job has come",
        description="Progress is written down once a second at most. A job whose worker died is "
        "begun anew by another, after two minutes; after three such it has failed.",
        scope=Scope.PILOT_READ,
        parameters=("job_id",),
        replies={
            200: Success(
                "The job.",
                reference("Job"),
                headers=RATE,
                examples=("job_under_way_now", "failed_job"),
            )
        },
        refusals=(BadParameter, records.UnknownJob),
    ),
    Operation(
        path=_CANDIDATE,
        method="GET",
        id="getCandidate",
        tag=_TAG,
        summary="Read a candidate and its validation pack",
        description="Gives the gates, who has signed, and the pack: everything that was measured. "
        "With `Accept: text/html` it is the page that a risk committee reads, which needs nothing "
        "from elsewhere.",
        scope=Scope.PILOT_READ,
        parameters=("candidate_id",),
        replies={
            200: Success(
                "The candidate.",
                reference("Candidate"),
                headers=("Vary", *RATE),
                examples=("candidate",),
                also=HTML,
            )
        },
        refusals=(BadParameter, records.UnknownCandidate),
    ),
    Operation(
        path=f"{_CANDIDATE}/signatures",
        method="POST",
        id="signCandidate",
        tag=_TAG,
        summary="Sign a candidate",
        description="A named person stands for the model, with a reason. With the last signature "
        "that the terms ask for it answers live applications, in every process within a second; a "
        "request is answered by one model from its beginning to its end. Four eyes are two names "
        "and two keys. Nobody can sign a candidate that has failed a gate.",
        scope=Scope.PILOT_WRITE,
        parameters=("candidate_id",),
        body="NewSignature",
        body_told=_FIELDS,
        requests=("new_signature",),
        replies={
            201: Success(
                "It is signed.",
                reference("Signatures"),
                headers=RATE,
                examples=("signed",),
            )
        },
        refusals=(
            *_BODY,
            records.UnknownCandidate,
            records.ApprovalBlocked,
            records.GateFailed,
            records.SignatureRefused,
        ),
    ),
    Operation(
        path="/v1/onboarding/rollbacks",
        method="POST",
        id="rollBackModel",
        tag=_TAG,
        summary="Go back to the model before",
        description="The lender's own model that answered live before this one answers again, "
        "under the policy of now. A model that was "
        "itself rolled back answers again only when its candidate is signed again.",
        scope=Scope.PILOT_WRITE,
        body="NewRollback",
        body_told=_FIELDS,
        requests=("new_rollback",),
        replies={
            201: Success(
                "It answers again.",
                reference("RolledBack"),
                headers=RATE,
                examples=("rolled_back",),
            )
        },
        refusals=(*_BODY, records.ModelWithdrawn, records.NothingBefore, records.ApprovalBlocked),
    ),
)
