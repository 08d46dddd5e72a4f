"""A stored model or policy that is damaged: what is refused, what is served, and what is told."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import update

from alama.core import document
from alama.core.lending import draft, policy_text
from alama.lenders import installation, schema
from alama.lenders.installation import Installation
from alama.onboarding import schema as onboarding_schema
from alama.onboarding.store import Stores
from alama.platform import clock, settings
from alama.platform.book import PILOT_SCOPES, USUAL_SCOPES, Book, Mode
from tests.callers import Lender
from tests.exchanges import Notes, Received
from tests.factories import a_model
from tests.onboarded import a_history
from tests.served import BODY
from tests.unit.onboarding.calls import candidate_of, signatures, with_terms

OLDER, NEWER = a_model(name="the older"), a_model(name="the newer")
TEXT = draft.default_text("KES").replace(b"0.35", b"0.36")  # the default is kept anew
POLICY_ID = policy_text.read(TEXT).id
LIVE = Book("demo", Mode.LIVE)
SIGNED = {"name": "A. Njeri", "reason": "it ranks well"}
REVIEW = {"decision": "DECLINED", "reason": "cannot_afford", "name": "W. Mutua", "note": "owes"}


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[Installation]:
    installed = installation.open_installation(settings.read({"ALAMA_HOME": str(tmp_path)}))
    yield installed
    installed.close()


@pytest.fixture
def lender(installed: Installation) -> Lender:
    return Lender(installed, LIVE, USUAL_SCOPES)


@pytest.fixture
def pilot(installed: Installation) -> Lender:
    """The same lender with a key that onboards it, as no live one does."""
    return Lender(installed, Book(LIVE.lender, Mode.TEST), PILOT_SCOPES)


@pytest.fixture
def given(lender: Lender) -> list[str]:
    """Two scores with outcomes, by the older model and by the one that answers now."""
    registry = lender.installed.registry
    registry.keep_policy(POLICY_ID, TEXT, clock.wall_us())
    found = []
    for model in (OLDER, NEWER):
        registry.keep_model(model.id, document.encode(model), clock.wall_us())
        registry.deploy(LIVE, model.id, POLICY_ID, clock.wall_us())
        found.append(lender.ask("POST", "/v1/score", BODY).json()["request_id"])
    day = datetime.now(UTC).date().isoformat()
    news = [{"request_id": one, "outcome": "repaid", "date": day} for one in found]
    assert lender.ask("POST", "/v1/outcomes", {"outcomes": news}).status == 200
    return found


def damage(lender: Lender, *model_ids: str) -> None:
    with lender.installed.database.writing() as connection:
        chosen = schema.models.c.id.in_(model_ids)
        connection.execute(update(schema.models).where(chosen).values(document=b"\0Zq7marked"))


def damage_policy(lender: Lender) -> None:
    with lender.installed.database.writing() as connection:
        connection.execute(update(schema.policies).values(document=b"\0Zq7marked"))


def refused(reply: Received) -> tuple[int, str]:
    assert b"Zq7marked" not in reply.body
    return reply.status, reply.json()["code"]


def served_still(lender: Lender, given: list[str]) -> None:
    """What is stored is read and answered for, whatever has made it."""
    assert lender.ask("GET", "/v1/scores").status == 200
    for one in given:
        assert lender.ask("GET", f"/v1/scores/{one}").status == 200
        assert lender.ask("GET", f"/v1/scores/{one}/receipt").status == 200
        assert lender.ask("POST", f"/v1/scores/{one}/review", REVIEW).status == 201
    assert lender.ask("GET", "/v1/events").status == 200


@pytest.mark.parametrize("accept", ["application/json", "text/html"])
def test_a_damaged_model_in_force_refuses_what_needs_it_and_nothing_else(
    lender: Lender, given: list[str], accept: str
) -> None:
    damage(lender, NEWER.id)
    for path in ("/v1/score", "/v1/explain"):
        assert refused(lender.ask("POST", path, BODY)) == (503, "model_unavailable")
    reply = lender.ask("GET", "/v1/monitoring", headers={"accept": accept})
    assert refused(reply) == (503, "model_unavailable")
    assert f"the stored model {NEWER.id} is damaged" in reply.json()["detail"]
    assert reply.headers["retry-after"] == "60"
    served_still(lender, given)


def test_a_damaged_older_model_refuses_the_report_on_its_loans_alone(
    lender: Lender, given: list[str]
) -> None:
    damage(lender, OLDER.id)
    for path in ("/v1/score", "/v1/explain"):
        assert lender.ask("POST", path, BODY).status == 200
    for query in ("", f"?model={OLDER.id}"):
        reply = lender.ask("GET", f"/v1/monitoring{query}")
        assert refused(reply) == (503, "model_unavailable")
        assert OLDER.id in reply.json()["detail"]
    served_still(lender, given)


def test_a_damaged_policy_refuses_scores_and_not_the_report(
    lender: Lender, given: list[str]
) -> None:
    damage_policy(lender)
    for path in ("/v1/score", "/v1/explain"):
        assert refused(lender.ask("POST", path, BODY)) == (503, "model_unavailable")
    assert lender.ask("GET", "/v1/monitoring").status == 200
    served_still(lender, given)


def test_nothing_is_gone_back_to_or_signed_that_could_not_answer(
    pilot: Lender, given: list[str]
) -> None:
    assert given
    with_terms(pilot)
    candidate, back = candidate_of(pilot), {"name": "A. Njeri", "reason": "it is damaged"}
    damage(pilot, OLDER.id)
    reply = pilot.ask("POST", "/v1/onboarding/rollbacks", back)
    assert refused(reply) == (409, "approval_blocked")
    assert "train it again" in reply.json()["detail"]
    damage_policy(pilot)
    reply = pilot.ask("POST", signatures(candidate), SIGNED)
    assert refused(reply) == (409, "approval_blocked")
    assert f"the stored policy {POLICY_ID} was changed or is damaged" in reply.json()["detail"]
    with pilot.installed.database.writing() as connection:
        connection.execute(update(onboarding_schema.candidates).values(document=b"\0Zq7marked"))
    reply = pilot.ask("POST", signatures(candidate), SIGNED)
    assert refused(reply) == (409, "approval_blocked")
    assert pilot.ask("GET", "/v1/onboarding").status == 200
    assert pilot.ask("GET", f"/v1/onboarding/candidates/{candidate.id}").status == 200


@pytest.mark.parametrize("report", [b"\0Zq7marked", b'{"suspects":"Zq7marked"}', b'{"a":"\xff"}'])
def test_a_damaged_report_of_a_history_refuses_what_needs_it_and_nothing_else(
    pilot: Lender, report: bytes
) -> None:
    with_terms(pilot)
    record = a_history(pilot.book.lender)
    Stores.at(pilot.installed).histories.keep(record, report, [b"rows"])
    place = f"/v1/onboarding/histories/{record.id}"
    for method, path, body in (
        ("GET", place, None),
        ("GET", "/v1/onboarding", None),
        ("POST", "/v1/onboarding/trainings", {"history_id": record.id}),
    ):
        reply = pilot.ask(method, path, body)
        assert refused(reply) == (503, "model_unavailable")
        assert f"the stored report of {record.id} is damaged" in reply.json()["detail"]
    with_terms(pilot)
    notes = Notes()
    pilot.service.ask(place, notes=notes)
    ((_, said),) = notes.unusable
    assert said == f"the stored report of {record.id} is damaged"


@pytest.mark.parametrize("path", ["/v1/score", "/v1/explain", "/v1/monitoring"])
def test_whoever_runs_the_service_is_told_when_damage_is_met(
    lender: Lender, given: list[str], path: str
) -> None:
    assert given
    damage(lender, NEWER.id)
    notes = Notes()
    lender.service.ask(path, body=None if path == "/v1/monitoring" else BODY, notes=notes)
    ((book, said),) = notes.unusable
    assert book == LIVE
    assert said.startswith(f"the stored model {NEWER.id} is damaged")
