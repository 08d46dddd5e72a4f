"""Terms of lenders, candidates and their signatures in a database.

The last signature and the deployment that it brings are one transaction: there is no moment in
which a model is approved and does not answer, or answers and nobody has approved it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from sqlalchemy import insert, select, update

from alama.lenders import acts
from alama.lenders import schema as lenders_schema
from alama.lenders import store as lenders_store
from alama.lenders.mappings import Mappings
from alama.lenders.records import Deployment, Signed, UnknownLender
from alama.lenders.store import Registry, lock_lender
from alama.onboarding import acts as pilot_acts
from alama.onboarding import schema
from alama.onboarding.histories import Histories
from alama.onboarding.jobs import Jobs
from alama.onboarding.records import (
    Candidate,
    Gate,
    Pilot,
    Signature,
    UnknownCandidate,
    UnknownHistory,
)
from alama.platform.book import Book, Mode
from alama.platform.database import tables
from alama.platform.database.statements import insert_new
from alama.platform.events import EventKind
from alama.platform.files.asis.inspection import Mapping

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Column, ColumnElement, Connection, Row

    from alama.lenders.installation import Installation
    from alama.platform.acts import Act, ActLog
    from alama.platform.database.database import Database


JudgeTerms = Callable[["Pilot | None"], None]
"""Raises where terms must not take the place of those before."""


def whatever_was_before(before: Pilot | None) -> None:
    """Let terms take the place of any."""


class Dossier(NamedTuple):
    """All that decides whether a signature counts, as it stands in the transaction of it.

    `document` is the artefact of the candidate, `signatures` are all that it ever got, and
    `deployments` all that ever answered live, oldest first.
    """

    pilot: Pilot | None
    candidate: Candidate
    signatures: Sequence[Signature]
    document: bytes
    deployments: Sequence[Deployment]

    @property
    def live(self) -> tuple[str | None, str | None]:
        """The model and the policy that answer live; None stands for what the package brings."""
        return self.deployments[-1][:2] if self.deployments else (None, None)


class Counted(NamedTuple):
    """The signatures that count for a candidate, a new one last, and how many are needed."""

    signatures: Sequence[Signature]
    needed: int

    @property
    def enough(self) -> bool:
        """Whether they put its model in force."""
        return len(self.signatures) >= self.needed


Judge = Callable[[Dossier], Counted]
"""Raises where a new signature does not count; else gives it with those that count beside it."""

Choose = Callable[["Sequence[Deployment]"], str]
"""Gives the model to go back to, of all that ever answered, oldest first; or raises."""


class Pilots:
    """Terms are replaced, and the audit remembers those before."""

    def __init__(self, database: Database, log: ActLog) -> None:
        self._database = database
        self._log = log

    def set(
        self, pilot: Pilot, judge: JudgeTerms = whatever_was_before, reason: str | None = None
    ) -> None:
        """Keep terms in the place of those before; a shadow that has begun goes on.

        One at a time for a lender: nobody else sets terms between the judgement and this.
        `reason` is for the audit. `UnknownLender`, and whatever the judge raises.
        """
        table = tables.pilots
        agreed = msgspec.structs.asdict(pilot)
        del agreed["shadow_us"]  # which no terms begin or end
        with self._database.writing() as connection:
            if not lock_lender(connection, pilot.lender):
                raise UnknownLender(pilot.lender)
            judge(pilot_of(connection, pilot.lender))
            if not insert_new(connection, table, agreed):
                connection.execute(
                    update(table).where(table.c.lender == pilot.lender).values(agreed)
                )
            self._log.append(connection, pilot_acts.pilot_set(pilot, reason))

    def find(self, lender: str) -> Pilot | None:
        """The terms of a lender, if they were ever set."""
        with self._database.reading() as connection:
            return pilot_of(connection, lender)

    def begin_shadow(self, lender: str, at_us: int, by: str) -> None:
        """Answer live applications without a model from now on; the first time stands.

        Does nothing where a lender has no terms.
        """
        table = tables.pilots
        first_time = (table.c.lender == lender) & table.c.shadow_us.is_(None)
        with self._database.writing() as connection:
            if connection.execute(update(table).where(first_time).values(shadow_us=at_us)).rowcount:
                self._log.append(connection, pilot_acts.shadow_begun(lender, at_us, by))


def pilot_of(connection: Connection, lender: str) -> Pilot | None:
    """Read the terms of a lender, if it has any."""
    table = tables.pilots
    row = connection.execute(select(table).where(table.c.lender == lender)).first()
    return None if row is None else Pilot(**row._mapping)  # noqa: SLF001  public in spite of it


_CANDIDATE: Final = [schema.candidates.c[name] for name in Candidate.__struct_fields__]
_encode_gates: Final = msgspec.json.Encoder().encode
_decode_gates: Final = msgspec.json.Decoder(tuple[Gate, ...]).decode


class Candidates:
    """Candidates in a database."""

    def __init__(self, database: Database, log: ActLog) -> None:
        self._database = database
        self._log = log

    def add(
        self, candidate: Candidate, document: bytes, pack: bytes, page: bytes | None = None
    ) -> None:
        """Keep a candidate, its artefact and its pack: as JSON, and as a page for people.

        One that is there already stays as it is. `UnknownHistory`.
        """
        histories = schema.histories
        history = select(histories.c.id).where(
            histories.c.lender == candidate.lender, histories.c.id == candidate.history_id
        )
        gates = _encode_gates(candidate.gates).decode()
        row = msgspec.structs.asdict(candidate) | {
            "gates": gates,
            "document": document,
            "pack": pack,
            "page": page,
        }
        with self._database.writing() as connection:
            if connection.execute(history).first() is None:
                raise UnknownHistory
            if insert_new(connection, schema.candidates, row):
                judgement = pilot_acts.judgement(gates, pack, page)
                self._log.append(connection, pilot_acts.candidate_made(candidate, judgement))

    def of(self, lender: str) -> Sequence[Candidate]:
        """Those of a lender, newest first."""
        table = schema.candidates
        query = select(*_CANDIDATE).where(table.c.lender == lender).order_by(table.c.id.desc())
        with self._database.reading() as connection:
            return [_candidate(row) for row in connection.execute(query)]

    def find(self, lender: str, candidate_id: str) -> Candidate:
        """One of them, or `UnknownCandidate`."""
        with self._database.reading() as connection:
            return _found(connection, lender, candidate_id)

    def pack(self, lender: str, candidate_id: str) -> bytes:
        """What was measured of it, as JSON, or `UnknownCandidate`."""
        with self._database.reading() as connection:
            return _column(connection, schema.candidates.c.pack, lender, candidate_id)

    def page(self, lender: str, candidate_id: str) -> bytes | None:
        """The same as a page (HTML), if one was kept; `UnknownCandidate`."""
        self.find(lender, candidate_id)
        query = select(schema.candidates.c.page).where(_one(lender, candidate_id))
        with self._database.reading() as connection:
            page: bytes | None = connection.execute(query).scalar()
        return page

    def document(self, lender: str, candidate_id: str) -> bytes:
        """Its artefact, or `UnknownCandidate`."""
        with self._database.reading() as connection:
            return _document(connection, lender, candidate_id)

    def signatures(self, lender: str, candidate_id: str) -> Sequence[Signature]:
        """Who has signed it, the first one first; none where there is no such candidate."""
        with self._database.reading() as connection:
            return _signatures(connection, lender, candidate_id)

    # -------------------------------------------------------------------------------- signing

    def sign(self, lender: str, candidate_id: str, signature: Signature, judge: Judge) -> Counted:
        """Keep a signature and give all that count; where they are enough the model answers live.

        All in one transaction, one at a time for a lender: the signature, the artefact, the
        deployment, its event and the entries of the audit stand together or not at all.
        `UnknownLender`, `UnknownCandidate`, and whatever the judge raises.
        """
        book = Book(lender, Mode.LIVE)
        with self._database.writing() as connection:
            _lock(connection, lender)
            dossier = _dossier(connection, book, candidate_id)
            counted = judge(dossier)
            candidate, number = dossier.candidate, len(dossier.signatures) + 1
            _write(connection, candidate, number, signature)
            done = [pilot_acts.candidate_signed(candidate, number, signature)]
            if counted.enough:
                done.append(_activate(connection, book, dossier, counted.signatures))
            # All that can wait for others is over: from here on nobody else can note an act.
            for act in done:
                self._log.append(connection, act)
        return counted

    def roll_back(self, lender: str, signed: Signed, choose: Choose) -> str:
        """Let a chosen earlier model answer live, with the policy of now; give its id.

        `UnknownLender`, and whatever is raised by who chooses.
        """
        book = Book(lender, Mode.LIVE)
        with self._database.writing() as connection:
            _lock(connection, lender)
            model_id = choose(lenders_store.deployments(connection, book))
            left, policy_id = lenders_store.deployed(connection, book) or (None, None)
            deployment = Deployment(model_id, policy_id, signed)
            lenders_store.deploy(connection, book, EventKind.MODEL_ACTIVATED, deployment)
            self._log.append(connection, pilot_acts.rolled_back(book, left, signed))
            self._log.append(connection, acts.deployed(book, deployment))
        return model_id


def _lock(connection: Connection, lender: str) -> None:
    if not lenders_store.lock_lender(connection, lender):
        raise UnknownLender(lender)


def _dossier(connection: Connection, book: Book, candidate_id: str) -> Dossier:
    lender = book.lender
    return Dossier(
        pilot=pilot_of(connection, lender),
        candidate=_found(connection, lender, candidate_id),
        signatures=_signatures(connection, lender, candidate_id),
        document=_document(connection, lender, candidate_id),
        deployments=lenders_store.deployments(connection, book),
    )


def _write(connection: Connection, candidate: Candidate, number: int, signature: Signature) -> None:
    row = msgspec.structs.asdict(signature) | {
        "candidate_id": candidate.id,
        "number": number,
        "lender": candidate.lender,
    }
    connection.execute(insert(schema.signatures), row)


def _activate(
    connection: Connection, book: Book, dossier: Dossier, signatures: Sequence[Signature]
) -> Act:
    """Let the model of a candidate answer, and give the act of it."""
    model_id, last = dossier.candidate.model_id, signatures[-1]
    _, policy_id = dossier.live
    people = ", ".join(dict.fromkeys(signature.person for signature in signatures))
    signed = Signed(last.signed_us, people, last.reason)
    deployment = Deployment(model_id, policy_id, signed)
    lenders_store.keep_document(
        connection, lenders_schema.models, model_id, dossier.document, last.signed_us
    )
    lenders_store.deploy(connection, book, EventKind.MODEL_ACTIVATED, deployment)
    return acts.deployed(book, deployment)


# ------------------------------------------------------------------------------- rows


def _one(lender: str, candidate_id: str) -> ColumnElement[bool]:
    table = schema.candidates
    return (table.c.lender == lender) & (table.c.id == candidate_id)


def _found(connection: Connection, lender: str, candidate_id: str) -> Candidate:
    row = connection.execute(select(*_CANDIDATE).where(_one(lender, candidate_id))).first()
    if row is None:
        raise UnknownCandidate
    return _candidate(row)


def _candidate(row: Row[Any]) -> Candidate:
    fields = dict(row._mapping)  # noqa: SLF001  public in spite of it
    return Candidate(**fields | {"gates": _decode_gates(row.gates)})


def _document(connection: Connection, lender: str, candidate_id: str) -> bytes:
    return _column(connection, schema.candidates.c.document, lender, candidate_id)


def _column(connection: Connection, column: Column[Any], lender: str, candidate_id: str) -> bytes:
    found: bytes | None = connection.execute(
        select(column).where(_one(lender, candidate_id))
    ).scalar()
    if found is None:
        raise UnknownCandidate
    return found


def _signatures(connection: Connection, lender: str, candidate_id: str) -> list[Signature]:
    table = schema.signatures
    query = (
        select(*(table.c[name] for name in Signature.__struct_fields__))
        .where(table.c.lender == lender, table.c.candidate_id == candidate_id)
        .order_by(table.c.number)
    )
    return [Signature(*row) for row in connection.execute(query)]


class Stores(NamedTuple):
    """What an onboarding is kept in."""

    registry: Registry
    pilots: Pilots
    histories: Histories
    candidates: Candidates
    jobs: Jobs
    mappings: Mappings[Mapping]

    @classmethod
    def at(cls, installed: Installation) -> Stores:
        """How far each lender of an installation has come on the way to a live key."""
        database, log = installed.database, installed.log
        return cls(
            installed.registry,
            Pilots(database, log),
            Histories(database, log, installed.vault),
            Candidates(database, log),
            Jobs(database, log),
            Mappings.at(installed, Mapping),
        )
