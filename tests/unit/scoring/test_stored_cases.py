"""The applications that were scored, read back page by page."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from alama.core.assess import Assessment, assess
from alama.core.intake import Intake
from alama.core.lending.draft import default_policy
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel
from alama.core.product import PRODUCT
from alama.platform.database import database as databases
from alama.platform.database import migrate
from alama.platform.errors import StoreUnfit
from alama.platform.files.packaged import builtin, sample_application
from alama.scoring import replay
from alama.scoring.records import Sealed, pack
from alama.scoring.replay import StoredCases
from alama.scoring.store import Scores
from alama.vault import schema
from tests.databases import sqlite_url
from tests.entries import DEMO, NOON_US, an_entry
from tests.stores import insert_scores, lenders_in, scores_in, sealed_row
from tests.vaults import an_entry_of, vault_of

COMPACT = (
    b'{"mm_months": 24, "avg_inflow": 18500, "balance_stability": 0.6, "airtime_regularity": 0.7}'
)


@pytest.fixture
def scores(tmp_path: Path) -> Scores:
    database = databases.connect(sqlite_url(tmp_path))
    migrate.upgrade(database)
    lenders_in(database, "demo")
    return scores_in(database)


@cache
def assessment() -> Assessment:
    """What was said to somebody; it does not matter here to whom."""
    model = ReadyModel(builtin(), "KES")
    application = Intake(PRODUCT).read(sample_application())
    return assess(model, ReadyPolicy(default_policy("KES"), model), application)


def sealed(application: bytes) -> bytes:
    return pack(Sealed(application, assessment()))


def keep(scores: Scores, *records: bytes) -> list[str]:
    """Keep records, the first one oldest; gives the request ids of the newest first."""
    entries = [an_entry(at_us=NOON_US + number) for number in range(len(records))]
    vault = vault_of(scores._database)
    rows = [sealed_row(vault, entry.score, r) for entry, r in zip(entries, records, strict=True)]
    insert_scores(scores._database, *rows)
    return [entry.score.request_id for entry in reversed(entries)]


@pytest.mark.parametrize("page", [1, 2, 3, 100])
def test_applications_come_newest_first_however_they_are_fetched(
    scores: Scores, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "PAGE", page)
    ids = keep(scores, *[sealed(COMPACT)] * 4, sealed(sample_application()))
    cases = StoredCases(scores, vault_of(scores._database), DEMO, PRODUCT)
    found = list(cases.first(10))
    assert [case.reference for case in found] == ids
    intake = Intake(PRODUCT)
    assert found[0].application.values == intake.read(sample_application()).values
    assert found[1].application.values == intake.read(COMPACT).values
    assert [case.reference for case in cases.first(3)] == ids[:3]
    assert cases.unfit == 0


def test_what_the_catalogue_cannot_read_is_left_out_and_counted(scores: Scores) -> None:
    ids = keep(scores, sealed(COMPACT), sealed(b'{"other_field": 3}'), sealed(COMPACT))
    cases = StoredCases(scores, vault_of(scores._database), DEMO, PRODUCT)
    assert [case.reference for case in cases.first(10)] == [ids[0], ids[2]]
    assert cases.unfit == 1


def test_a_word_of_the_days_when_any_character_would_do_is_read(scores: Scores) -> None:
    keep(scores, sealed(COMPACT[:-1] + b', "region": "a\\u001b[2Jb"}'))
    cases = StoredCases(scores, vault_of(scores._database), DEMO, PRODUCT)
    (case,) = cases.first(10)
    assert case.application.values[PRODUCT.position["region"]] == "a\x1b[2Jb"
    assert cases.unfit == 0


def test_a_damaged_record_is_told(scores: Scores) -> None:
    (request_id,) = keep(scores, b"{")
    with pytest.raises(StoreUnfit, match=f"the record of {request_id} is damaged"):
        list(StoredCases(scores, vault_of(scores._database), DEMO, PRODUCT).first(10))


def test_those_who_were_erased_are_left_out_and_counted(scores: Scores) -> None:
    database = scores._database
    vault = vault_of(database)
    scores.commit([an_entry_of(vault.ring("demo"), "A-1")])
    (kept,) = keep(scores, sealed(COMPACT))
    with database.writing() as connection:
        gone = {"subject": None, "wrapped": None, "erased_us": NOON_US}
        connection.execute(schema.applicant_keys.update().values(gone))
    cases = StoredCases(scores, vault, DEMO, PRODUCT)
    assert [case.reference for case in cases.first(10)] == [kept]
    assert cases.remarks() == ["1 that were erased are not among them"]
