"""Whether a database holds what a client was promised: all of it, once, and nothing else."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from alama.platform.database import database as databases
from alama.scoring.records import ScoreRow, Sealed
from alama.scoring.replay import open_score
from alama.scoring.store import stored_score, whole_scores
from tests.audited import verdict_on
from tests.reliability.client import Client, Reply
from tests.reliability.load import OK, Load, Sent
from tests.vaults import vault_of

COLUMNS = (
    "request_id",
    "score",
    "tier",
    "default_probability",
    "decision",
    "recommended_limit",
    "recommended_term_days",
    "recommended_apr",
    "processing_ms",
)


class Kept(NamedTuple):
    """A score, and the applicant_ref that was sent for it."""

    row: ScoreRow
    ref: str


def assert_kept(load: Load, database_url: str) -> None:
    """Everything acknowledged is there as it was told, nothing twice, nothing that nobody sent."""
    for refused in load.refused:
        assert_told_to_come_back(refused)
    kept = stored(database_url)
    refs = Counter(one.ref for one in kept)
    assert refs.keys() <= load.sent.keys(), "a score that nobody asked for"
    # A request without an idempotency key was sent once, so this holds for all of them.
    assert [ref for ref, times in refs.items() if times > 1] == []
    assert_acknowledged_are_among(load.sent.values(), {one.row.request_id: one for one in kept})
    assert_audited(database_url)


def assert_audited(database_url: str) -> None:
    """Every chain of the audit holds, and proves every score there is."""
    database = databases.connect(database_url)
    try:
        verdict = verdict_on(database)
    finally:
        database.close()
    assert verdict.findings == []
    assert (verdict.erased, verdict.deleted) == (0, 0)


def assert_told_to_come_back(refused: Reply) -> None:
    """The reply is a problem for the time being, and says when to try again."""
    assert refused.json["code"] in {"unavailable", "idempotency_in_flight"}, refused.body
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert int(refused.headers["Retry-After"]) >= 1


def assert_acknowledged_are_among(sent: Iterable[Sent], rows: Mapping[str, Kept]) -> None:
    for request in sent:
        if request.idempotency_key is not None:
            assert request.replies, f"{request.ref} was asked again and again and never answered"
            assert len(set(request.replies)) == 1, f"{request.ref} got different answers"
        for reply in request.replies:
            told = json.loads(reply)
            kept = rows.get(told["request_id"])
            assert kept is not None, f"{request.ref} was acknowledged and is missing"
            assert kept.ref == request.ref
            assert [getattr(kept.row, name) for name in COLUMNS] == [told[name] for name in COLUMNS]


def assert_readable(load: Load, client: Client, newest: int = 20) -> None:
    """The newest acknowledged scores are read over HTTP as they were told, field by field."""
    acknowledged = [sent for sent in load.sent.values() if sent.replies]
    for sent in acknowledged[-newest:]:
        told = json.loads(sent.replies[0])
        found = client.get(f"/v1/scores/{told['request_id']}")
        assert found.status == OK, found.body
        assert told.items() <= found.json.items()
        assert found.json["application"] == json.loads(sent.body)


def stored(database_url: str) -> list[Kept]:
    """Every score in a database, whatever lender it belongs to."""
    database = databases.connect(database_url)
    vault = vault_of(database)
    try:
        with database.reading() as connection:
            found = [stored_score(row) for row in connection.execute(whole_scores())]
        return [Kept(one.row, _ref(open_score(vault, one))) for one in found]
    finally:
        database.close()


def _ref(sealed: Sealed) -> str:
    said: dict[str, Any] = msgspec.json.decode(sealed.application)
    return str(said["applicant_ref"])
