"""From recent outcomes to a model on their level: made, kept, signed, gone back from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from sqlalchemy import delete, insert

from alama.core import model
from alama.core.monitoring.recalibration import Coverage, Pack, Recalibration
from alama.core.tally import CardTally, Tally, encode
from alama.lenders.records import UnknownLender
from alama.monitoring import schema
from alama.monitoring.recalibration import (
    Asked,
    NothingToRecalibrate,
    NothingToSign,
    Recalibrations,
)
from alama.monitoring.records import DayScore
from alama.monitoring.store import SqlMonitoring
from alama.onboarding.records import Candidate
from alama.platform.acts import ActKind
from alama.platform.book import Book
from alama.platform.database.database import Database
from alama.platform.days import DAY_US, first_day_of
from alama.platform.files.packaged import builtin
from alama.scoring import schema as scoring_schema
from tests.entries import DEMO, LIVE, NOON_US, an_entry
from tests.onboarded import MODEL, OTHER_MODEL, House, a_pilot, acts_of, announced
from tests.recalibrated import keep_loans
from tests.stores import scores_in

CHANCE = bytes(7)
PAGE = b"<!DOCTYPE html><title>pack</title>"


@pytest.fixture
def house(database: Database) -> House:
    """A lender whose own model answers."""
    house = House(database)
    house.begin()
    house.stores.pilots.set(a_pilot())
    assert house.signed(house.trained(), "W. Mutua")
    return house


def recalibrations(house: House) -> Recalibrations:
    store = SqlMonitoring(house.database)
    return Recalibrations(house.stores, store, lambda: house.now_us, builtin)


def made(house: House, book: Book = LIVE, days: int = 365) -> Recalibration:
    return recalibrations(house).make(Asked(book, days))


def kept(house: House, found: Recalibration) -> Candidate:
    return recalibrations(house).keep("demo", found, PAGE, "W. Mutua", CHANCE)


def live_model(house: House) -> str | None:
    return (house.stores.registry.deployed(LIVE) or (None, None))[0]


def test_what_passes_is_signed_like_every_candidate_and_answers(house: House) -> None:
    defaults = keep_loans(house.database, LIVE, MODEL.id, NOON_US, 0.6)
    found = made(house)
    assert found.pack.passed, found.pack.gates
    assert found.pack.defaults == defaults
    assert found.pack.shift == pytest.approx(0.6, abs=0.1)
    candidate = kept(house, found)
    assert live_model(house) == MODEL.id
    assert house.signed(candidate, "A. Njeri")
    assert live_model(house) == found.model.id
    document = house.stores.candidates.document("demo", candidate.id)
    assert model.decode(document) == found.model
    assert house.stores.registry.model(found.model.id) == document
    assert ("demo", "model.activated", found.model.id) in announced(house.database)
    assert [act.kind for act in acts_of(house.database)][-3:] == [
        ActKind.CANDIDATE_MADE,
        ActKind.CANDIDATE_SIGNED,
        ActKind.DEPLOYED,
    ]


def test_its_pack_and_page_are_kept_and_it_belongs_to_the_history_before(house: House) -> None:
    keep_loans(house.database, LIVE, MODEL.id, NOON_US, 0.6)
    found = made(house)
    candidate = kept(house, found)
    candidates = house.stores.candidates
    assert msgspec.json.decode(candidates.pack("demo", candidate.id), type=Pack) == found.pack
    assert candidates.page("demo", candidate.id) == PAGE
    first = next(one for one in candidates.of("demo") if one.model_id == MODEL.id)
    assert candidate.history_id == first.history_id


def test_it_can_be_gone_back_from(house: House) -> None:
    keep_loans(house.database, LIVE, MODEL.id, NOON_US, 0.6)
    assert house.signed(kept(house, made(house)), "A. Njeri")
    house.now_us += 1
    assert house.approval.roll_back("demo", "W. Mutua", "arrears") == MODEL.id


def test_a_model_that_is_on_its_level_is_let_be(house: House) -> None:
    keep_loans(house.database, LIVE, MODEL.id, NOON_US, 0.0)
    pack = made(house).pack
    assert "shift_no_chance" in {gate.name for gate in pack.gates if not gate.passed}


def test_only_mature_loans_of_the_model_in_force_and_of_the_time_count(house: House) -> None:
    keep_loans(house.database, LIVE, MODEL.id, NOON_US, 0.6, many=60)
    before = made(house).pack
    keep_loans(house.database, LIVE, OTHER_MODEL.id, NOON_US, -0.9)
    keep_loans(house.database, DEMO, MODEL.id, NOON_US, -0.9)
    young_us = NOON_US + 100 * 86_400 * 1_000_000
    keep_loans(house.database, LIVE, MODEL.id, young_us, -0.9, many=2)
    after = made(house).pack
    # Of the young ones half were scored long enough ago.
    assert (before.loans, after.loans - before.loans) == (9 * 60, 9)
    assert made(house, days=100).pack.loans < before.loans


@pytest.mark.parametrize(
    ("book", "words"),
    [
        (LIVE, "0 are mature"),
        (Book("umoja", LIVE.mode), "no model of its own"),
        (DEMO, "synthetic"),
    ],
    ids=["no outcomes", "no model", "built-in model"],
)
def test_where_there_is_nothing_to_go_by_it_says_so(house: House, book: Book, words: str) -> None:
    with pytest.raises(NothingToRecalibrate, match=words) as refused:
        made(house, book)
    assert refused.value.hint


def test_a_lender_that_nobody_knows_is_refused(house: House) -> None:
    with pytest.raises(UnknownLender):
        made(house, Book("nobody", LIVE.mode))


# ---------------------------------------------------------------------------- halves and months


def test_the_later_half_is_that_of_the_later_days(house: House) -> None:
    keep_loans(house.database, LIVE, MODEL.id, NOON_US, 0.6)
    pack = made(house).pack
    assert pack.later is not None
    assert pack.later.loans == pytest.approx(pack.loans / 2, abs=pack.loans / 100)


class Busy(SqlMonitoring):
    """As a database in which an outcome is recorded after every look at the loans."""

    def by_day(
        self, book: Book, model_id: str, due_before: int, first_day: int
    ) -> Sequence[DayScore]:
        found = super().by_day(book, model_id, due_before, first_day)
        keep_loans(self._database, book, model_id, NOON_US, 0.6, many=1)
        return found


def test_what_is_recorded_meanwhile_is_in_neither_half(house: House) -> None:
    keep_loans(house.database, LIVE, MODEL.id, NOON_US, 0.6)
    store = Busy(house.database)
    asked = Recalibrations(house.stores, store, lambda: house.now_us, builtin)
    assert asked.make(Asked(LIVE)).pack.loans == 9 * 120


def test_months_of_which_nothing_is_known_are_in_the_coverage(house: House) -> None:
    keep_loans(house.database, LIVE, MODEL.id, NOON_US, 0.6)
    known = dict.fromkeys((202602, 202603), 100000)
    silent = {202604: 100, 202605: 100}
    keep_approved(house.database, {202601: 1, **known, **silent})
    with house.database.writing() as connection:
        connection.execute(delete(schema.outcomes).where(MONTH.in_(silent)))
    coverage = made(house).pack.coverage
    assert coverage.approved == 1 + 200_000 + 200
    assert 0 < coverage.told < coverage.approved
    assert made(house).pack.questions


def test_what_is_known_of_a_month_makes_up_for_no_other(house: House) -> None:
    keep_loans(house.database, LIVE, MODEL.id, NOON_US, 0.6)
    keep_approved(house.database, {202603: 10, 202604: 10})
    assert made(house).pack.coverage == Coverage(20, 20)


MONTH: Any = schema.outcomes.c.score_month


def keep_approved(database: Database, approved: dict[int, int]) -> None:
    """Keep counts of months, and a score from before all of them."""
    scores_in(database).commit([an_entry(LIVE, at_us=NOON_US - 400 * DAY_US)])
    for month, count in approved.items():
        tally = Tally({"full": CardTally([[count]], [count], {"A": count}, {"APPROVED": count})})
        row = {
            "lender": LIVE.lender,
            "mode": LIVE.mode.value,
            "day": first_day_of(month) + 9,
            "model_id": MODEL.id,
            "writer": "w",
            "counts": encode(tally),
        }
        with database.writing() as connection:
            connection.execute(insert(scoring_schema.daily_counts), row)


# ------------------------------------------------------------------------------ who can sign


@pytest.mark.parametrize("changed", [{"days_past_due": 60}, {"gates": '{"auc_min":0.7}'}])
def test_where_the_terms_have_changed_nothing_is_kept(
    house: House, changed: dict[str, Any]
) -> None:
    keep_loans(house.database, LIVE, MODEL.id, NOON_US, 0.6)
    found = made(house)
    house.stores.pilots.set(a_pilot(**changed))
    with pytest.raises(NothingToSign, match="terms of demo have changed") as refused:
        kept(house, found)
    assert "alama onboard train demo" in (refused.value.hint or "")
    with pytest.raises(NothingToSign):
        recalibrations(house).require_signable("demo")
    assert len(house.stores.candidates.of("demo")) == 1


def test_what_the_terms_of_now_were_asked_of_can_be_signed(house: House) -> None:
    recalibrations(house).require_signable("demo")
    with pytest.raises(UnknownLender):
        recalibrations(house).require_signable("nobody")


def test_in_a_shadow_the_built_in_model_answers_and_nobody_could_sign_for_it(house: House) -> None:
    house.stores.pilots.set(a_pilot("umoja"))
    house.stores.pilots.begin_shadow("umoja", NOON_US, "W. Mutua")
    umoja = Book("umoja", LIVE.mode)
    keep_loans(house.database, umoja, builtin().id, NOON_US, 0.6)
    assert made(house, umoja).pack.from_model_id == builtin().id
    with pytest.raises(NothingToSign, match="never a candidate"):
        recalibrations(house).require_signable("umoja")
