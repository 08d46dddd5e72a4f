"""Onboarding: /v1/onboarding, the way to a live key, a step at a time.

Nothing here needs the training libraries: a file is sealed as it comes, and workers do the rest.
"""

from __future__ import annotations

import asyncio
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import UNSET

from alama.api import fields, parameters, render_onboarding
from alama.api.bodies import file_parts, file_type, json_body, optional_json_body
from alama.api.exchange import Reply, private_json
from alama.api.html import VARIES, private_page, wants_page
from alama.api.problems import BadParameter, InvalidFile
from alama.api.wire_onboarding import (
    COLUMNS_MAX,
    FIELDS,
    PLACES,
    RULES,
    NewRollback,
    NewSignature,
    NewTerms,
    NewTraining,
)
from alama.core.characters import is_visible
from alama.core.errors import FileProblem
from alama.files.limits import PARQUET, SENT, SPREADSHEET, check_csv_head
from alama.service.keys import Scope
from alama.service.onboarding.approval import Signing
from alama.service.onboarding.orders import Decided, Wishes
from alama.service.onboarding.records import PART_BYTES, FileFormat
from alama.service.onboarding.terms import Terms
from alama.service.onboarding.words import is_line
from alama.service.patience import in_time

if TYPE_CHECKING:
    from collections.abc import Mapping

    from alama.api.admission import Admission
    from alama.api.exchange import Call, Headers
    from alama.api.fields import Check
    from alama.service.onboarding.approval import Approval
    from alama.service.onboarding.records import Job
    from alama.service.onboarding.remote import Arrival, Remote

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

    def __init__(self, admission: Admission, remote: Remote, approval: Approval) -> None:
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
        found = await in_time(lambda: self._remote.standing(caller.book.lender))
        return private_json(render_onboarding.standing(found), headers)

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
        agreed = await in_time(lambda: self._remote.set_terms(lender, terms, by))
        return private_json(render_onboarding.terms(agreed), headers)

    # -------------------------------------------------------------------------------- histories

    async def hand_in(self, call: Call) -> Reply:
        """POST /v1/onboarding/histories: a file of past loans, which a worker will read."""
        caller, headers = await self._admission.admit(call, Scope.PILOT_WRITE)
        wishes = _wishes(call)
        file_format = FILE_TYPES[file_type(call, FILE_TYPES)]
        arrival = await in_time(lambda: self._remote.arrival(caller.book.lender))
        try:
            job = await _received(call, arrival, file_format, wishes, caller.key.id)
        except BaseException:
            # Also where the caller has left, or the service stops: nobody would ever look for it.
            # Where the job was kept after all, and only the word of it came late, the file stays.
            await asyncio.shield(in_time(arrival.drop))
            raise
        return _accepted(job, headers)

    async def history(self, call: Call) -> Reply:
        """GET /v1/onboarding/histories/{history_id}: what was found in it."""
        caller, headers = await self._admission.admit(call, Scope.PILOT_READ)
        parameters.read(call, ())
        history_id = call.path_part("history_id")
        handed = await in_time(lambda: self._remote.history(caller.book.lender, history_id))
        return private_json(render_onboarding.history(handed), headers)

    # -------------------------------------------------------------------------------- training

    async def train(self, call: Call) -> Reply:
        """POST /v1/onboarding/trainings: a training run, which a worker will do."""
        caller, headers = await self._admission.admit(call, Scope.PILOT_WRITE)
        parameters.read(call, ())
        sent = fields.read(NewTraining, await optional_json_body(call), RULES)
        history_id = None if sent.history_id is UNSET else sent.history_id
        decided = Decided(region=sent.region, exclude=sent.exclude, keep=sent.keep, seed=sent.seed)
        lender, by = caller.book.lender, caller.key.id
        job = await in_time(lambda: self._remote.train(lender, history_id, decided, by))
        return _accepted(job, headers)

    async def job(self, call: Call) -> Reply:
        """GET /v1/onboarding/jobs/{job_id}: how far it has come."""
        caller, headers = await self._admission.admit(call, Scope.PILOT_READ)
        parameters.read(call, ())
        job_id = call.path_part("job_id")
        found = await in_time(lambda: self._remote.job(caller.book.lender, job_id))
        return private_json(render_onboarding.job(found), headers)

    # -------------------------------------------------------------------------------- candidates

    async def candidate(self, call: Call) -> Reply:
        """GET /v1/onboarding/candidates/{candidate_id}: its gates and its pack, or the page."""
        caller, headers = await self._admission.admit(call, Scope.PILOT_READ)
        parameters.read(call, ())
        lender, candidate_id = caller.book.lender, call.path_part("candidate_id")
        if wants_page(call):
            page = await in_time(lambda: self._remote.page(lender, candidate_id))
            if page is not None:
                return private_page(page, headers)
        judged = await in_time(lambda: self._remote.candidate(lender, candidate_id))
        return private_json(render_onboarding.candidate(judged), [VARIES, *headers])

    async def sign(self, call: Call) -> Reply:
        """POST /v1/onboarding/candidates/{candidate_id}/signatures: a person stands for it."""
        caller, headers = await self._admission.admit(call, Scope.PILOT_WRITE)
        parameters.read(call, ())
        lender, candidate_id = caller.book.lender, call.path_part("candidate_id")
        sent = fields.read(NewSignature, await json_body(call), RULES, self._checks)
        signing = Signing(sent.name, sent.reason, caller.key.id)
        approved = await in_time(lambda: self._approval.sign(lender, candidate_id, signing))
        return private_json(render_onboarding.signed(approved), headers, HTTPStatus.CREATED)

    async def roll_back(self, call: Call) -> Reply:
        """POST /v1/onboarding/rollbacks: the model before answers again."""
        caller, headers = await self._admission.admit(call, Scope.PILOT_WRITE)
        parameters.read(call, ())
        sent = fields.read(NewRollback, await json_body(call), RULES, self._checks)
        lender, key_id = caller.book.lender, caller.key.id
        model_id = await in_time(
            lambda: self._approval.roll_back(lender, sent.name, sent.reason, key_id)
        )
        return private_json(render_onboarding.rolled_back(model_id), headers, HTTPStatus.CREATED)


async def _received(
    call: Call, arrival: Arrival, file_format: FileFormat, wishes: Wishes, by: str
) -> Job:
    """Seal a file as it comes, and ask for it to be read."""
    is_empty = True
    async for part in file_parts(call, PART_BYTES, FILE_BYTES_MAX):
        if is_empty:
            await in_time(partial(_check_head, part, file_format))
        is_empty = False
        await in_time(partial(arrival.add, part))
    if is_empty:
        raise BadParameter(
            "the body is empty, and should be the file itself",
            hint="with curl: --data-binary @loans.csv",
        )
    return await in_time(lambda: arrival.finish(file_format, wishes, by))


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
    return private_json(render_onboarding.job(job), [place, *headers], HTTPStatus.ACCEPTED)


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
