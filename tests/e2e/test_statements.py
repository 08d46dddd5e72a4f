"""From drawn statements to a decision over the wire: figures as they are known, nothing kept."""

from __future__ import annotations

import csv
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import inspect, text

from alama.app.cli import main
from alama.training.population.formats import FORMATS, HOLDER
from alama.training.population.people import KNOWN
from tests.e2e.service import Service

ROWS = 12
OF_ANY_CALL = {"keys", "rates", "facts"}
"""Say when a key was last used, and how often; and what the service notes of itself."""


@pytest.fixture(scope="module")
def loans(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str]]:
    """Loans with a statement each, of which the last was applied for today."""
    folder = tmp_path_factory.mktemp("population")
    closed_on = date(2026, 1, 1)
    latest = max(date.fromisoformat(one["applied_on"]) for one in drawn(folder, closed_on))
    return drawn(folder, closed_on + (datetime.now(UTC).date() - latest))


def drawn(folder: Path, closed_on: date) -> list[dict[str, str]]:
    out = folder / f"{closed_on}.csv"
    asked = f"--rows {ROWS} --seed 5 --history --closed-on {closed_on}".split()
    ledgers = folder / f"{closed_on}"
    assert main(["population", *asked, "--ledgers", str(ledgers), "--out", str(out)]) == 0
    with out.open(newline="") as file:
        found = list(csv.DictReader(file))
    for one in found:
        one["statement"] = str(ledgers / one["statement"])
    return found


def fields_of(service: Service, loan: dict[str, str], **more: str) -> httpx.Response:
    statement = Path(loan["statement"])
    return service.send(
        "POST",
        "/v1/fields",
        headers=service.credentials(),
        files={"file": (statement.name, statement.read_bytes())},
        data={"as_of": loan["applied_on"], "country": "KE", "applicant_ref": "c-1", **more},
    )


def known(loan: dict[str, str]) -> dict[str, float]:
    return {
        name.removeprefix(KNOWN): float(value)
        for name, value in loan.items()
        if name.startswith(KNOWN)
    }


def everything(service: Service) -> dict[str, list[str]]:
    with service.installed.database.engine.connect() as connection:
        return {
            name: sorted(str(row) for row in connection.execute(text(f"SELECT * FROM {name}")))  # noqa: S608
            for name in inspect(connection).get_table_names()
        }


def test_every_drawn_statement_comes_to_its_known_figures_and_none_is_kept(
    service: Service, loans: list[dict[str, str]]
) -> None:
    assert {Path(one["statement"]).name.partition("-")[2] for one in loans} == {
        f"{one.name}{one.suffix}" for one in FORMATS if one.currency != "UGX"
    }
    service.get("/v1/scores")
    before, found = everything(service), {}
    for loan in loans:
        reply = fields_of(service, loan)
        assert reply.status_code == 200, reply.text
        found = reply.json()
        assert found["fields"] == pytest.approx(known(loan), rel=0, abs=1e-9), loan["statement"]
        assert found["doubtful"] is False
        assert found["read"]["unread"] == []
    after = everything(service)
    changed = {name for name in before if before[name] != after[name]}
    assert changed <= OF_ANY_CALL
    log = service.server.output()
    for mark in (*HOLDER.split(), found["digest"], found["evidence"] or "no token"):
        assert mark not in log
        assert mark not in str(after)


def test_what_was_derived_is_decided_on_and_altered_figures_are_refused(
    service: Service, loans: list[dict[str, str]]
) -> None:
    loan = max(loans, key=lambda one: one["applied_on"])
    found = fields_of(service, loan, applicant_name=HOLDER).json()
    asked: dict[str, Any] = {
        "applicant_ref": "c-1",
        "requested_amount": 2_000,
        "requested_term_days": 30,
    }
    told = {**found["fields"], **asked, "evidence": found["evidence"]}
    decided = service.score(told)
    assert decided.status_code == 200, decided.text
    truth = {name: known(loan)[name] for name in found["fields"]}
    by_truth = service.score({**truth, **asked}).json()
    for name in ("score", "tier", "default_probability"):
        assert decided.json()[name] == by_truth[name]
    record = service.get(f"/v1/scores/{decided.json()['request_id']}").json()
    assert record["evidence"]["digest"] == found["digest"]
    assert set(record["evidence"]["fields"]) == found["fields"].keys()
    for name in found["fields"]:
        refused = service.score(told | {name: told[name] + 1})
        assert refused.status_code == 422
        (fault,) = refused.json()["errors"]
        assert (fault["pointer"], fault["code"]) == (f"/{name}", "evidence_differs")
