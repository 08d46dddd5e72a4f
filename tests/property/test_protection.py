"""Whatever happens to a database, and in whatever order, three things stay true.

Everything that was not erased replays identically; everything that was erased is unreadable, with
every key at hand; and the audit verifies. Scores, retries, erasures, holds, rotations of every key,
retention runs and crashes come in random order, on a real SQLite file.
"""

from __future__ import annotations

import functools
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import event, select

from alama.platform.acts import Act
from alama.platform.database import database
from alama.platform.database.database import Database
from alama.platform.errors import Erased, StoreUnavailable
from alama.protection import retention
from alama.protection.applicants import UnderHold, UnknownApplicant
from alama.protection.audit.store import Trail
from alama.protection.audit.verify import verify
from alama.protection.rotation import Rotation, RotationStore
from alama.scoring.records import IdempotencyKeyReused, UnknownScore
from alama.vault import schema
from alama.vault.keys import Masters, VaultKey, master
from alama.vault.ring import Ring
from tests.audited import unwatched
from tests.clocks import HandClock
from tests.entries import DEMO
from tests.property.happenings import Given, Retry, new_database
from tests.protected import DAY_US, House
from tests.tries import tries
from tests.vaults import MASTERS


class Faults:
    """Watches every connection of a database that has made none yet."""

    def __init__(self, database: Database) -> None:
        self._connections: list[Any] = []
        self._left: int | None = None
        self.struck = False
        for engine in (database.engine, database._hot):
            event.listen(engine, "connect", self._connected)

    def strike(self, statement: int) -> None:
        """Let so many statements pass, and have the next one fail in its middle; once."""
        self.struck, self._left = False, statement
        for connection in self._connections:
            self._watch(connection)

    def cease(self) -> None:
        """Let everything pass."""
        self._left = None

    def _connected(self, connection: Any, _: object) -> None:
        self._connections.append(connection)
        if self._left is not None:
            self._watch(connection)

    def _watch(self, connection: Any) -> None:
        connection.set_trace_callback(self._statement_begins)
        connection.set_progress_handler(self._fails_now, 1)

    def _statement_begins(self, _: str) -> None:
        if self._left is not None:
            self._left -= 1

    def _fails_now(self) -> bool:
        if self._left is None or self._left >= 0:
            return False
        self.struck, self._left = True, None
        return True


RETENTION_DAYS = 30
STATEMENTS_MAX = 40

references = st.sampled_from(["A-1", "A-2", "A-3"])
inflows = st.sampled_from([9_000, 18_500, 40_000])


class Protection(RuleBasedStateMachine):
    """One installation, and what is known to have happened to it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.file = self.folder / "alama.db"
        self.file.write_bytes(new_database())
        self.clock = HandClock()
        self.masters = MASTERS
        self.given: dict[str, Given] = {}
        self.erased: dict[str, Given] = {}
        self.deleted: set[str] = set()
        self.retries: dict[str, Retry] = {}
        self.holds: dict[int, str] = {}
        self.destroyed: set[bytes] = set()
        self.number = 0
        self.open()

    # ----------------------------------------------------------------------------- the machine

    @initialize()
    def open(self) -> None:
        if hasattr(self, "house"):
            return
        self.database = database.connect(f"sqlite:///{self.file}")
        self.faults = Faults(self.database)
        self.house = House(self.database, self.clock, self.masters)

    def close(self) -> None:
        self.database.close()
        del self.house

    @rule()
    def restart(self) -> None:
        self.close()
        self.open()

    @rule(hours=st.integers(1, 90))
    def time_goes_on(self, hours: int) -> None:
        self.clock.now_us += hours * DAY_US // 24

    def crash_in(self, statement: int, work: Callable[[], object]) -> bool:
        """Do something, and have it fail at one of its statements; say whether it did."""
        self.faults.strike(statement)
        try:
            work()
        except StoreUnavailable:
            crashed = True
        else:
            crashed = False
        assert crashed == self.faults.struck
        self.faults.cease()
        self.restart()
        return crashed

    # ----------------------------------------------------------------------------- scores

    @rule(reference=st.none() | references, inflow=inflows)
    def score(self, reference: str | None, inflow: int) -> None:
        self.clock.now_us += 1_000_000
        self._note(self.house.score(reference, monthly_inflow=inflow), reference)

    @rule(reference=st.none() | references, inflow=inflows, key=st.sampled_from("xyz"))
    def score_once(self, reference: str | None, inflow: int, key: str) -> None:
        self.clock.now_us += 1_000_000
        first = self.retries.get(key)
        known = first is not None and first.request_id not in self.deleted
        try:
            answer = self.house.ask(reference, key, monthly_inflow=inflow)
        except Erased:
            assert first is not None
            assert known
            assert first.request_id in self.erased
        except IdempotencyKeyReused:
            assert first is not None
            assert known
            assert first.sent != (reference, inflow)
            assert first.request_id in self.given
        else:
            request_id = answer.reply.decode()
            assert answer.replayed == known
            if first is not None and known:
                assert (request_id, (reference, inflow)) == first[:2]
            else:
                self._note(request_id, reference)
                self.retries[key] = Retry(request_id, (reference, inflow), self.clock.now_us)

    @rule(reference=st.none() | references, statement=st.integers(0, STATEMENTS_MAX))
    def score_and_crash(self, reference: str | None, statement: int) -> None:
        self.clock.now_us += 1_000_000
        before = self._listed()
        answers: list[str] = []
        if self.crash_in(statement, lambda: answers.append(self.house.score(reference))):
            assert self._listed() == before
        else:
            self._note(answers[0], reference)

    def _note(self, request_id: str, reference: str | None) -> None:
        row = self.house.scores.find(DEMO, request_id).row
        self.given[request_id] = Given(reference, row.created_us, row.recommended_term_days)

    def _listed(self) -> set[str]:
        return {row.request_id for row in self.house.scores.page(DEMO, None, 1_000)}

    # ----------------------------------------------------------------------------- applicants

    @rule(reference=references)
    def erase(self, reference: str) -> None:
        self.clock.now_us += 1_000_000
        wrapped = self._wrapped()
        try:
            erasure = self.house.applicants.erase(DEMO, reference)
        except UnknownApplicant:
            assert not self._scores_of(reference)
        except UnderHold:
            assert reference in self.holds.values()
        else:
            assert erasure.scores == len(self._scores_of(reference))
            assert reference not in self.holds.values()
            assert erasure.journal_emptied
            self._forget(reference, wrapped)
            gone, files = wrapped - self._wrapped(), self._files()  # while the journal is open
            assert not [one for one in gone if one in files]

    @precondition(lambda self: self.given)
    @rule(reference=references, statement=st.integers(0, STATEMENTS_MAX))
    def erase_and_crash(self, reference: str, statement: int) -> None:
        if reference in self.holds.values() or not self._scores_of(reference):
            return
        self.clock.now_us += 1_000_000
        wrapped = self._wrapped()
        self.crash_in(statement, lambda: self.house.applicants.erase(DEMO, reference))
        if self._wrapped() != wrapped:  # it stands: the crash came later, or not at all
            self._forget(reference, wrapped)

    @rule(reference=references)
    def hold(self, reference: str) -> None:
        try:
            hold = self.house.applicants.hold(DEMO, reference, "a case")
        except UnknownApplicant:
            assert not self._scores_of(reference)
        else:
            self.holds[hold.number] = reference

    @precondition(lambda self: self.holds)
    @rule()
    def release(self) -> None:
        number = min(self.holds)
        self.house.applicants.release(number)
        del self.holds[number]

    def _scores_of(self, reference: str) -> list[str]:
        return [name for name, one in self.given.items() if one.applicant_ref == reference]

    def _wrapped(self) -> set[bytes]:
        query = select(schema.applicant_keys.c.wrapped)
        with self.database.reading() as connection:
            return {one for one in connection.execute(query).scalars() if one is not None}

    def _forget(self, reference: str, wrapped_before: set[bytes]) -> None:
        for request_id in self._scores_of(reference):
            self.erased[request_id] = self.given.pop(request_id)
        self.destroyed |= wrapped_before - self._wrapped()

    # ----------------------------------------------------------------------------- retention

    @rule(days=st.integers(20, 60))
    def retain(self, days: int) -> None:
        self.clock.now_us += days * DAY_US
        due = self._due()
        plan = self.house.retention.plan(DEMO, RETENTION_DAYS)
        assert plan.scores == len(due)
        if due:
            assert sum(self.house.retention.carry_out(plan)) == len(due)
        self._let_go(due)

    @rule(days=st.integers(20, 60), statement=st.integers(0, STATEMENTS_MAX))
    def retain_and_crash(self, days: int, statement: int) -> None:
        self.clock.now_us += days * DAY_US
        due = self._due()
        plan = self.house.retention.plan(DEMO, RETENTION_DAYS)
        if due:
            self.crash_in(statement, lambda: list(self.house.retention.carry_out(plan)))
        self._let_go(due - self._listed())

    def _due(self) -> set[str]:
        before_us = self.clock.now_us // DAY_US * DAY_US - RETENTION_DAYS * DAY_US
        held = set(self.holds.values())
        return {
            request_id
            for request_id, one in (self.given | self.erased).items()
            if one.at_us + one.term_days * DAY_US < before_us
            and not (request_id in self.given and one.applicant_ref in held)
        }

    def _let_go(self, gone: set[str]) -> None:
        self.deleted |= gone
        for request_id in gone:
            self.given.pop(request_id, None)
            self.erased.pop(request_id, None)

    # ----------------------------------------------------------------------------- rotations

    @property
    def rotation(self) -> Rotation:
        return self._rotation_of(self.house)

    def _rotation_of(self, house: House) -> Rotation:
        store = RotationStore(self.database, house.log, house.vault)
        return Rotation(store, house.vault, self.clock)

    @rule(statement=st.none() | st.integers(0, STATEMENTS_MAX))
    def rotate_master(self, statement: int | None) -> None:
        if self.masters.old is None:  # else the last one was interrupted, and is finished first
            self.number += 1
            new = master(f"{self.number:064x}")
            self.masters = Masters(new, self.masters.current)
        self.restart()
        self.clock.now_us += 1_000_000
        if not self._crashed(statement, lambda: self.rotation.master("a test")):
            self.masters = Masters(self.masters.current)
            self.restart()

    @rule(statement=st.none() | st.integers(0, STATEMENTS_MAX))
    def rotate_lender(self, statement: int | None) -> None:
        def work() -> None:
            rotation = self.rotation
            rotation.begin_lender("demo", "a test")
            rotation.finish_lender("demo", lambda _: None)

        self.clock.now_us += 1_000_000
        self._crashed(statement, work)

    @rule(reference=references, statement=st.none() | st.integers(0, STATEMENTS_MAX))
    def rotate_applicant(self, reference: str, statement: int | None) -> None:
        if self._scores_of(reference):
            self.clock.now_us += 1_000_000
            work = functools.partial(self.rotation.applicant, DEMO, reference, "a test")
            self._crashed(statement, work)

    @rule(reference=references)
    def rotate_applicant_while_the_lender_is(self, reference: str) -> None:
        """Another process replaces the lender's key right after it was looked up."""
        if not self._scores_of(reference):
            return
        self.clock.now_us += 1_000_000
        look_up, other = self.house.vault.ring, House(self.database, self.clock, self.masters)
        in_between = iter([True])

        def ring(lender: str) -> Ring:
            found = look_up(lender)
            if next(in_between, False):
                self.clock.now_us += 1_000_000
                rotation = self._rotation_of(other)
                rotation.begin_lender(lender, "a test")
                rotation.finish_lender(lender, lambda _: None)
            return found

        with patch.object(self.house.vault, "ring", ring):
            assert self.rotation.applicant(DEMO, reference, "a test")

    @rule()
    def rotate_signing_twice_at_once(self) -> None:
        """Another process replaces the key that signs right before this one would."""
        self.clock.now_us += 1_000_000
        store = RotationStore(self.database, self.house.log, self.house.vault)
        other = House(self.database, self.clock, self.masters)
        replace, in_between = store.replace_key, iter([True])

        def replace_key(new: VaultKey, retires: str, act: Act) -> bool:
            if next(in_between, False):
                self.clock.now_us += 1_000_000
                self._rotation_of(other).signing("a test")
            return replace(new, retires, act)

        with patch.object(store, "replace_key", replace_key):
            Rotation(store, self.house.vault, self.clock).signing("a test")

    @rule(statement=st.none() | st.integers(0, STATEMENTS_MAX))
    def rotate_signing(self, statement: int | None) -> None:
        self.clock.now_us += 1_000_000
        self._crashed(statement, lambda: self.rotation.signing("a test"))

    def _crashed(self, statement: int | None, work: Callable[[], object]) -> bool:
        if statement is not None:
            return self.crash_in(statement, work)
        work()
        return False

    # ----------------------------------------------------------------------------- what is true

    def teardown(self) -> None:
        try:
            self.restart()  # nothing is remembered
            self._everything_is_as_it_should_be()
            self.close()
            files = self._files()
            assert not [wrapped for wrapped in self.destroyed if wrapped in files]
        finally:
            shutil.rmtree(self.folder)

    def _files(self) -> bytes:
        """All that stands on the disk: the database, its journal, and what helps to read that."""
        return b"".join(file.read_bytes() for file in self.folder.iterdir())

    def _everything_is_as_it_should_be(self) -> None:
        house = self.house
        for request_id in self.given:
            assert house.replayed(request_id) == ()
        for request_id in self.erased:
            assert house.is_erased(request_id)
        for request_id in self.deleted:
            try:
                house.scores.find(DEMO, request_id)
            except UnknownScore:
                continue
            raise AssertionError(f"{request_id} is still there")
        assert self._listed() == self.given.keys() | self.erased.keys()
        verdict = verify(
            Trail(self.database),
            house.vault,
            house.registry.lenders(),
            frozenset(),
            unwatched,
        )
        assert verdict.findings == []
        assert verdict.proved == len(self.given)
        assert verdict.erased == len(self.erased)
        assert verdict.deleted == len(self.deleted)


@pytest.mark.hypothesis
def test_whatever_happens_what_was_kept_replays_and_what_was_erased_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(retention, "DELETED_AT_ONCE", 2)  # so that a run has several batches
    run_state_machine_as_test(Protection, settings=settings(tries(24), stateful_step_count=20))
