"""Onboarding over HTTP: loan histories, training runs and the jobs that do them."""

from __future__ import annotations

import asyncio
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from alama.core.application import is_visible
from alama.core.errors import FileProblem
from alama.core.product import PRODUCT
from alama.onboarding import records
from alama.onboarding.records import (
    PART_BYTES,
    SEED_MAX,
    Decided,
    FileFormat,
    JobKind,
    JobState,
    Wishes,
)
from alama.platform.book import Scope
from alama.platform.days import moment, moment_if
from alama.platform.errors import ModelUnavailable
from alama.platform.files.table import PARQUET, SENT, SPREADSHEET, TooLarge, check_csv_head
from alama.platform.http import fields, parameters
from alama.platform.http.bodies import file_parts, file_type, optional_json_body
from alama.platform.http.exchange import (
    Call,
    Headers,
    Moment,
    Reply,
    Utc,
    encode_json,
    private_json,
)
from alama.platform.http.fields import Rule
from alama.platform.http.operation import (
    BODY,
    FILE,
    RATE,
    Json,
    Link,
    Operation,
    Success,
    path_parameter,
    reference,
)
from alama.platform.http.problems import (
    BadParameter,
    BodyTooLarge,
    InvalidFile,
    UnsupportedMediaType,
)
from alama.platform.timeouts import run_with_timeout

if TYPE_CHECKING:
    from alama.onboarding.remote import Arrival, Handed, OnboardingApi
    from alama.scoring.admission import Admission

TAG: Final = "Onboarding"
HISTORIES: Final = "/v1/onboarding/histories"
TRAININGS: Final = "/v1/onboarding/trainings"
JOBS: Final = "/v1/onboarding/jobs"

HISTORY_ID: Final = "^his_[0-9a-f]{28}$"
CANDIDATE_ID: Final = "^can_[0-9a-f]{28}$"
JOB_ID: Final = "^job_[0-9a-f]{28}$"

FILE_BYTES_MAX: Final = 64 << 20
FILE_TYPES: Final = {
    "text/csv": FileFormat.CSV,
    "application/vnd.apache.parquet": FileFormat.PARQUET,
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": FileFormat.XLSX,
}
WISHES: Final = ("region", "exclude", "keep", "groups")
COLUMNS_MAX: Final = 50
COLUMN_MAX: Final = 128
"""Letters of a column's name."""

FIELDS: Final = tuple(PRODUCT.position)

HistoryId = Annotated[str, Meta(pattern=HISTORY_ID, description="Names the loan history.")]
JobId = Annotated[str, Meta(pattern=JOB_ID, description="Names the job.")]
FieldName = Annotated[str, Meta(extra_json_schema={"enum": list(FIELDS)})]
Words = Annotated[
    tuple[FieldName, ...],
    Meta(
        max_length=COLUMNS_MAX,
        description="Fields of a request, in either spelling.",
        examples=[["avg_balance"]],
    ),
]

RULES: Final = {
    "history_id": Rule(str, "must be the id of a loan history"),
    "region": Rule(bool, "must be true or false"),
    "exclude": Rule(list, f"must be a list of at most {COLUMNS_MAX} fields of a request", FIELDS),
    "keep": Rule(list, f"must be a list of at most {COLUMNS_MAX} fields of a request", FIELDS),
    "seed": Rule(int, f"must be a whole number from 0 to {SEED_MAX}"),
    "refit": Rule(bool, "must be true or false"),
}
"""What the fields of bodies must be, by their names."""


# ------------------------------------------------------------------------------- requests


class NewTraining(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A training run that is asked for. What is left out stays as the history was read."""

    history_id: (
        Annotated[
            str,
            Meta(
                pattern=HISTORY_ID,
                description="Which history to train on; left out: the newest that counts.",
            ),
        ]
        | UnsetType
    ) = UNSET
    region: Annotated[
        bool, Meta(description="Let `region` be an input. The pack shows what that buys and does.")
    ] = False
    exclude: Words = ()
    keep: Annotated[
        tuple[FieldName, ...],
        Meta(
            max_length=COLUMNS_MAX,
            description="Inputs that give the outcome away and stay all the same: the pack shows "
            "what they do, and nobody can approve the model.",
        ),
    ] = ()
    seed: Annotated[
        int, Meta(ge=0, le=SEED_MAX, description="Equal seed and history, equal model.")
    ] = 0
    refit: Annotated[
        bool,
        Meta(
            description="Where every gate is passed, fit the model once more on every loan: that "
            "one is the candidate, and the pack shows both."
        ),
    ] = False


REQUESTS: Final = (NewTraining,)


# -------------------------------------------------------------------------------- replies


class Job(msgspec.Struct, frozen=True):
    """Something that a worker does, and how far it has come."""

    id: JobId
    kind: Annotated[str, Meta(description="`read` or `train`. An open set: expect more.")]
    state: Annotated[
        str,
        Meta(
            description="`waiting` for a worker that has the training libraries, `running`, `done` "
            "or `failed`."
        ),
    ]
    share: Annotated[float, Meta(ge=0, le=1, description="How much of it is done.")]
    step: Annotated[str, Meta(description="What is being done, in words.")]
    error: Annotated[str | None, Meta(description="Why it failed; null: it has not.")]
    asked_by: Annotated[str, Meta(description="Who asked for it: a person, or the id of a key.")]
    created_at: Moment
    ended_at: Annotated[Utc | None, Meta(description="In UTC; null: it is not over.")]
    history_id: Annotated[str | None, Meta(description="The history that it reads, or trains on.")]
    candidate_id: Annotated[
        str | None, Meta(description="The candidate that it has made; null: it has made none.")
    ]


class LoanHistory(msgspec.Struct, frozen=True):
    """A file of past loans that was handed in, and what was found in it."""

    id: HistoryId
    state: Annotated[
        str,
        Meta(
            description="`unread`: the job is not over, or has failed; `read`; `forgotten`: the "
            "file was erased, its report was not."
        ),
    ]
    job_id: Annotated[
        str | None, Meta(description="The job that reads it; null: it did not come over HTTP.")
    ]
    file: Annotated[str, Meta(description="`sha256:` and the hash of the file.")]
    rows: Annotated[int | None, Meta(description="Rows without the header; null: unread.")]
    enough: Annotated[
        str | None,
        Meta(
            description="What its defaults are enough for: `nothing`, or a `model`; null: unread."
        ),
    ]
    created_at: Moment
    by: Annotated[str, Meta(description="Who handed it in: a person, or the id of a key.")]
    report: Annotated[
        msgspec.Raw,
        Meta(
            description="What is wrong where, what is missing, columns that give the outcome away, "
            "duplicates, months, drift, and advice. It holds counts, columns, rows and rates, and "
            "no value of a borrower. null: unread.",
            extra_json_schema={"type": ["object", "null"]},
        ),
    ]


REPLIES: Final = (Job, LoanHistory)

_NOTHING: Final = msgspec.Raw(b"null")


def job_reply(found: records.Job) -> bytes:
    """Say how far a job has come."""
    return encode_json(
        Job(
            id=found.id,
            kind=found.kind.value,
            state=found.state.value,
            share=found.share,
            step=found.step,
            error=found.error,
            asked_by=found.asked_by,
            created_at=moment(found.created_us),
            ended_at=moment_if(found.ended_us),
            **_made(found),
        )
    )


def history_reply(handed: Handed) -> bytes:
    """Give a history with its report, or say that nobody has read it yet."""
    record, asked = handed.record, handed.job
    if record is None:
        assert asked is not None
        return encode_json(_unread(handed.id, asked))
    report = _NOTHING if handed.report is None else msgspec.Raw(handed.report)
    return encode_json(
        LoanHistory(
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


def _made(found: records.Job) -> dict[str, Any]:
    if found.kind is JobKind.READ:
        return {"history_id": found.makes, "candidate_id": None}
    made = found.makes if found.state is JobState.DONE else None
    return {"history_id": records.decode_train_order(found.order).history_id, "candidate_id": made}


def _unread(history_id: str, asked: records.Job) -> LoanHistory:
    return LoanHistory(
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


# ------------------------------------------------------------------------------ operations


HISTORY_ID_EXAMPLE: Final = "his_065bfe03923c009b20c7d4e11f83"
JOB_ID_EXAMPLE: Final = "job_065bfe6edc0e005d1f0a9c3b7e42"
CANDIDATE_ID_EXAMPLE: Final = "can_065bfe6edc0e005d1f0a9c3b7e42"


def _column_parameters(name: str, told: str, items: Json, example: list[str]) -> Json:
    return {
        "name": name,
        "in": "query",
        "description": f"{told} Separated by commas, or each as a parameter of its own.",
        "style": "form",
        "explode": True,
        "schema": {"type": "array", "maxItems": COLUMNS_MAX, "items": items},
        "example": example,
    }


_FIELD: Final = {"type": "string", "enum": list(FIELDS)}
_COLUMN: Final = {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,127}$"}

PARAMETERS: Final[dict[str, Json]] = {
    "history_id": path_parameter(
        "history_id",
        "The `history_id` of the job that reads it.",
        HISTORY_ID,
        HISTORY_ID_EXAMPLE,
    ),
    "job_id": path_parameter(
        "job_id",
        "The `id` of the job.",
        JOB_ID,
        JOB_ID_EXAMPLE,
    ),
    "candidate_id": path_parameter(
        "candidate_id",
        "The `candidate_id` of the job that trained it.",
        CANDIDATE_ID,
        CANDIDATE_ID_EXAMPLE,
    ),
    "use_region": {
        "name": "region",
        "in": "query",
        "description": "Whether `region` may be an input.",
        "schema": {"type": "boolean", "default": False},
        "example": False,
    },
    "exclude": _column_parameters(
        "exclude", "Fields of an application that are no inputs.", _FIELD, ["avg_balance"]
    ),
    "keep": _column_parameters(
        "keep",
        "Inputs that give the outcome away and stay all the same; nobody can then approve.",
        _FIELD,
        ["avg_balance"],
    ),
    "groups": _column_parameters(
        "groups",
        "Columns of the file that are looked at for fairness and are never inputs.",
        _COLUMN,
        ["gender"],
    ),
}
"""All of the room, in the order of the document."""

GET_JOB: Final = Link("getJob", "Ask how far it has come.", "job_id", "id")
GET_HISTORY: Final = Link("getHistory", "Read the report.", "history_id", "history_id")


class JobEndpoints:
    """Histories that are handed in, training runs, and the jobs in which workers do the work.

    Nothing here needs the training libraries: a file is sealed as it comes.
    """

    def __init__(self, admission: Admission, remote: OnboardingApi) -> None:
        self._admission = admission
        self._remote = remote

    @Operation(
        path=HISTORIES,
        method="POST",
        id="handInHistory",
        tag=TAG,
        summary="Hand in a loan history",
        description="Takes a file of past loans, sealed under the lender's own key as it comes, "
        "and answers with the job that reads it: a worker that has the training libraries checks "
        "each row, and looks for duplicates, drift and columns that give the outcome away. The "
        "reply names the history; read its report when the job is done. One file of a lender is "
        "read at a time, and lenders take turns.",
        scope=Scope.PILOT_WRITE,
        parameters=("use_region", "exclude", "keep", "groups"),
        files=dict.fromkeys(FILE_TYPES, FILE),
        body_told="The file itself, at most 64 MiB, also where it came packed, with "
        "`Content-Encoding: gzip`; CSV may be a gzip file. Text with other separators and "
        "encodings, other ways to write days and amounts, and an Excel workbook are read where "
        "they can be read in one way only. At most 1,000 columns and 5,000,000 rows, 1 GiB once it "
        "is unpacked. Its columns: the fields of an application in either spelling, "
        "`borrower_id`, `applied_on`, `disbursed_on`, `due_on`, `amount`, `term_days`, "
        "`largest_days_past_due`, `observed_on` and `restructured`.",
        replies={
            202: Success(
                "It is kept, and waits to be read.",
                reference("Job"),
                headers=("Location", *RATE),
                examples=("reading_job",),
                links=(GET_JOB, GET_HISTORY),
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
    )
    async def hand_in(self, call: Call) -> Reply:
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

    @Operation(
        path=f"{HISTORIES}/{{history_id}}",
        method="GET",
        id="getHistory",
        tag=TAG,
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
                examples=("history", "unread_history"),
            )
        },
        refusals=(BadParameter, records.UnknownHistory, ModelUnavailable),
    )
    async def history(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.PILOT_READ)
        parameters.read(call, ())
        history_id = call.path_part("history_id")
        handed = await run_with_timeout(
            lambda: self._remote.history(caller.book.lender, history_id)
        )
        return private_json(history_reply(handed), headers)

    @Operation(
        path=TRAININGS,
        method="POST",
        id="startTraining",
        tag=TAG,
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
                links=(GET_JOB,),
            )
        },
        refusals=(
            *BODY,
            records.HistoryForgotten,
            records.StepMissing,
            records.JobUnderWay,
            ModelUnavailable,
        ),
    )
    async def train(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.PILOT_WRITE)
        parameters.read(call, ())
        sent = fields.read(NewTraining, await optional_json_body(call), RULES)
        history_id = None if sent.history_id is UNSET else sent.history_id
        decided = Decided(
            region=sent.region,
            exclude=sent.exclude,
            keep=sent.keep,
            seed=sent.seed,
            refit=sent.refit,
        )
        lender, by = caller.book.lender, caller.key.id
        job = await run_with_timeout(lambda: self._remote.train(lender, history_id, decided, by))
        return _accepted(job, headers)

    @Operation(
        path=f"{JOBS}/{{job_id}}",
        method="GET",
        id="getJob",
        tag=TAG,
        summary="Ask how far a job has come",
        description="Progress is written down once a second at most. A job whose worker died is "
        "begun anew by another, after two minutes; after three such it has failed.",
        scope=Scope.PILOT_READ,
        parameters=("job_id",),
        replies={
            200: Success("The job.", reference("Job"), examples=("job_under_way_now", "failed_job"))
        },
        refusals=(BadParameter, records.UnknownJob),
    )
    async def job(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.PILOT_READ)
        parameters.read(call, ())
        job_id = call.path_part("job_id")
        found = await run_with_timeout(lambda: self._remote.job(caller.book.lender, job_id))
        return private_json(job_reply(found), headers)


async def _received(
    call: Call, arrival: Arrival, file_format: FileFormat, wishes: Wishes, by: str
) -> records.Job:
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
    is_parquet, is_workbook = part.startswith(PARQUET), part.startswith(SPREADSHEET)
    told = (is_parquet, is_workbook)
    if told != (file_format is FileFormat.PARQUET, file_format is FileFormat.XLSX):
        said = next(name for name, known in FILE_TYPES.items() if known is file_format)
        raise InvalidFile(
            f"by its first bytes the file is not what its Content-Type says, {said}",
            hint=f"send it as one of {', '.join(FILE_TYPES)}",
        )
    if is_parquet or is_workbook:
        return
    try:
        check_csv_head("the file", part, SENT)
    except TooLarge as error:
        raise InvalidFile(str(error), hint=error.hint) from None
    except FileProblem:
        return  # whoever reads it looks how its values are separated


def _accepted(job: records.Job, headers: Headers) -> Reply:
    place = (b"location", f"{JOBS}/{job.id}".encode())
    return private_json(job_reply(job), [place, *headers], HTTPStatus.ACCEPTED)


def _wishes(call: Call) -> Wishes:
    region, *lists = WISHES
    asked = parameters.read(call, WISHES, lists)
    named = {name: _columns(name, asked.get(name)) for name in lists}
    for name in ("exclude", "keep"):
        if not set(named[name]) <= set(FIELDS):
            raise parameters.no_field(name, named[name], FIELDS)
    return Wishes(parameters.switch(region, asked.get(region)), **named)


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
