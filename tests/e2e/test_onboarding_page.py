"""The commands of docs/onboarding-http.md do what the page says, in its order."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from alama.core import document
from alama.onboarding.store import Stores
from alama.platform.book import PILOT_SCOPES, Book, Mode
from tests.databases import sqlite_url
from tests.e2e.service import Service
from tests.e2e.walks import ADDRESS
from tests.lending import open_live
from tests.onboarded import MODEL, a_candidate, a_history

pytestmark = pytest.mark.long

PAGE = (Path(__file__).parents[2] / "docs" / "onboarding-http.md").read_text("utf-8")
COMMANDS = re.findall(r"^    (curl .*?)$(?!\n      )", PAGE, re.MULTILINE | re.DOTALL)
LIVE = Book("demo", Mode.LIVE)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with Service(sqlite_url(tmp_path), tmp_path, 1, None).running() as running:
        yield running


def test_every_command_of_the_page_is_answered(service: Service, tmp_path: Path) -> None:
    stores = Stores.at(service.installed)
    history = a_history()
    stores.histories.keep(history, b"{}", [b"rows"])
    candidate = a_candidate(history)
    stores.candidates.add(candidate, document.encode(MODEL), b"{}", b"<p>pack</p>")
    open_live(service.installed.registry, LIVE)
    (tmp_path / "loans.csv").write_text("borrower_id\nb1\n")
    known = {
        "KEY": service.key(Book("demo", Mode.TEST), PILOT_SCOPES),
        "HISTORY": history.id,
        "CANDIDATE": candidate.id,
    }
    for written in COMMANDS:
        command = written.replace(ADDRESS, service.server.url)
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=tmp_path,
            env=service.server.environment | known,
            capture_output=True,
            check=True,
        )
        if "-o pack.html" in command:
            assert (tmp_path / "pack.html").read_text() == "<p>pack</p>"
            continue
        said: dict[str, Any] = json.loads(done.stdout)
        assert "code" not in said, (command, said)
        if said.get("kind") == "read":
            known["JOB"] = said["id"]
    assert len(COMMANDS) == 10
    # With the terms a policy was put in force, beside the model that answered then.
    steps = service.installed.registry.deployments(LIVE)
    models = [model_id for model_id, _ in groupby(step.model_id for step in steps)]
    assert models == [models[0], MODEL.id, models[0]]
