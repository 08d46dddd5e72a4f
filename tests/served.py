"""The application in this process, on a database of its own."""

from __future__ import annotations

import asyncio
import json
from typing import NamedTuple

from starlette.types import ASGIApp

from alama.app import openapi
from alama.app.served import Running, Served
from alama.lenders.installation import Installation
from alama.lenders.limits import RateLimit
from alama.memory.store import Memory
from alama.platform import clock
from alama.platform.addresses import Reach
from alama.platform.http.endpoint import application
from alama.platform.http.status import HealthCheck
from alama.platform.timeouts import WorkQueue
from alama.scoring.admission import Admission
from alama.scoring.directory import Directory
from alama.scoring.explaining import Explaining
from alama.scoring.group_commit import GroupCommit
from alama.scoring.scoring import Scoring
from alama.scoring.store import Scores
from alama.statements.desk import Desk, work
from tests.exchanges import Notes, Received, ask
from tests.factories import a_model

BODY = json.dumps(
    {
        "mobile_money_months": 24,
        "monthly_inflow": 18_500.0,
        "stability_score": 0.7,
        "airtime_regularity": 0.8,
    }
).encode()
MODEL = a_model()
REPORTS_MAX = 8


class HereAndNow(Desk):
    """Reads statements in this process, which spares a test the start of another."""

    async def _done(self, packed: bytes) -> bytes:
        return work(packed)


class Service(NamedTuple):
    """The application, and a key for it."""

    installed: Installation
    key: str

    def ask(
        self,
        target: str,
        *,
        body: bytes | None = None,
        method: str | None = None,
        headers: dict[str, str] | None = None,
        notes: Notes | None = None,
    ) -> Received:
        """POST where there is a body, else GET; a header that is empty is left out."""
        usual = {"authorization": f"Bearer {self.key}"}
        if body is not None:
            usual |= {"content-type": "application/json", "content-length": str(len(body))}
        sent = {name: value for name, value in (usual | (headers or {})).items() if value}
        notes = notes or Notes()
        method = method or ("GET" if body is None else "POST")
        received = asyncio.run(self._ask(notes, method, target, sent, [body or b""]))
        assert received is not None
        assert notes.defects == [], notes.defects
        return received

    def ask_in_pieces(
        self, target: str, pieces: list[bytes | None], headers: dict[str, str]
    ) -> Received | None:
        """POST a body that comes in pieces; one that is None is a caller who has left."""
        notes, sent = Notes(), {"authorization": f"Bearer {self.key}"} | headers
        received = asyncio.run(self._ask(notes, "POST", target, sent, pieces))
        assert notes.defects == [], notes.defects
        return received

    async def _ask(
        self,
        notes: Notes,
        method: str,
        target: str,
        headers: dict[str, str],
        pieces: list[bytes | None],
    ) -> Received | None:
        ledger = GroupCommit(Scores.at(self.installed), lambda _: None)
        explaining = Explaining(Memory(self.installed.database, self.installed.vault).of)
        reports = WorkQueue("reports", REPORTS_MAX, 4)
        ledger.start()
        try:
            served = self._application(ledger, explaining, reports, notes)
            return await ask(served, method, target, headers, pieces)
        finally:
            explaining.close()
            reports.close()
            await ledger.close()

    def _application(
        self, ledger: GroupCommit, explaining: Explaining, reports: WorkQueue, notes: Notes
    ) -> ASGIApp:
        registry, scores = self.installed.registry, Scores.at(self.installed)
        vault = self.installed.vault
        directory = Directory(
            registry,
            scores,
            self.installed.clock,
            clock.stopwatch_us,
            self.installed.pepper,
            lambda: MODEL,
            vault,
        )
        scoring = Scoring(ledger, vault, scores.find)
        health = HealthCheck(registry, ledger, vault, clock.stopwatch_us)
        admission = Admission(directory, RateLimit(3, 6))
        desk = HereAndNow()
        running = Running(admission, scores, scoring, explaining, reports, desk, health)
        served = Served.at(self.installed, running, Reach(), MODEL.id, openapi.document)
        return application(served, clock.wall_us, notes)
