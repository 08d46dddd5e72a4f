"""What officers noted is sealed as what the applicant sent is, and nobody can rewrite a review."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select, text

from alama.core.chain import SALT_BYTES
from alama.monitoring.reviews import Noted, Reviews, ReviewStore
from alama.platform.book import Book
from alama.platform.database import tables
from alama.platform.database.database import Database
from alama.platform.errors import Erased, StoreUnfit
from alama.protection.audit import store as audit_store
from alama.protection.audit.records import Trouble
from alama.protection.rotation import Rotation, RotationStore
from alama.scoring.records import ScoreSummary
from alama.scoring.sequels import APPROVED, Judgement, ReviewReason
from alama.vault import envelope
from alama.vault.vault import Vault
from tests.audited import verdict_on
from tests.clocks import HandClock
from tests.entries import DEMO, LIVE
from tests.protected import DAY_US, House
from tests.vaults import vault_of

NOTE = "her brother stands for her"
SAID = Judgement(APPROVED, ReviewReason.GUARANTEED, "W. Mutua", NOTE)


@pytest.fixture
def house(database: Database) -> House:
    return House(database, HandClock())


@pytest.fixture
def rotation(house: House) -> Rotation:
    store = RotationStore(house.database, house.log, house.vault)
    return Rotation(store, house.vault, house.clock)


def reviewed(house: House, applicant_ref: str | None, book: Book = DEMO) -> str:
    request_id = house.score(applicant_ref, book)
    house.reviews.review(book, request_id, SAID)
    return request_id


def note_of(house: House, request_id: str, vault: Vault, book: Book = DEMO) -> str:
    """The note of a review as a process reads it that remembers no more keys than its vault."""
    store = ReviewStore(house.database, house.log, vault)
    review = Reviews(store, vault, house.clock).sequel(book, request_id).review
    assert review is not None
    return review.note


def keys_of_notes(database: Database) -> list[tuple[str | None, str | None]]:
    table = tables.reviews
    query = select(table.c.seal_key_id, table.c.applicant_key_id).order_by(table.c.request_id)
    with database.reading() as connection:
        return [tuple(row) for row in connection.execute(query)]


# ------------------------------------------------------------------------------------ keys


def test_a_note_is_under_the_key_of_the_applicant_or_else_under_one_of_its_own(
    house: House,
) -> None:
    named, unnamed = reviewed(house, "A-1"), reviewed(house, None)
    key_id = house.scores.find(DEMO, named).row.applicant_key_id
    seal_key_id = house.scores.find(DEMO, unnamed).row.seal_key_id
    assert keys_of_notes(house.database) == [(None, key_id), (seal_key_id, None)]


def test_notes_open_after_the_key_of_their_lender_was_replaced(
    house: House, rotation: Rotation
) -> None:
    scored = {ref: reviewed(house, ref) for ref in ("A-1", None)}
    expected = rotation.begin_lender("demo", None)
    assert expected == 1 + 1 + 1  # the applicant's key, the record and the note of nobody's score
    moved: list[int] = []
    new_id = rotation.finish_lender("demo", moved.append)
    assert sum(moved) == expected
    for request_id in scored.values():
        assert note_of(house, request_id, vault_of(house.database)) == NOTE
    assert keys_of_notes(house.database)[1] == (new_id, None)
    assert verdict_on(house.database).findings == []


def test_notes_open_after_the_key_of_their_applicant_was_replaced(
    house: House, rotation: Rotation
) -> None:
    mine, other = reviewed(house, "A-1"), reviewed(house, "A-2")
    with house.database.reading() as connection:
        before = connection.execute(select(tables.reviews.c.note)).scalars().all()
    assert rotation.applicant(DEMO, "A-1", None) == 3  # the record, the note, what is remembered
    with house.database.reading() as connection:
        after = connection.execute(select(tables.reviews.c.note)).scalars().all()
    assert len({*before, *after}) == 3
    for request_id in (mine, other):
        assert note_of(house, request_id, vault_of(house.database)) == NOTE


def test_an_erasure_takes_the_note_along_and_the_decision_stays(house: House) -> None:
    mine, other = reviewed(house, "A-1"), reviewed(house, "A-2")
    house.applicants.erase(DEMO, "A-1")
    with pytest.raises(Erased):
        house.reviews.sequel(DEMO, mine)
    assert note_of(house, other, house.vault) == NOTE
    with house.database.reading() as connection:
        decisions = connection.execute(select(tables.reviews.c.decision)).scalars().all()
    assert decisions == [APPROVED, APPROVED]
    assert verdict_on(house.database).findings == []


@pytest.mark.parametrize("is_reviewed", [False, True])
def test_nobody_can_review_what_nobody_can_read(house: House, *, is_reviewed: bool) -> None:
    request_id = reviewed(house, "A-1") if is_reviewed else house.score("A-1")
    house.applicants.erase(DEMO, "A-1")
    with pytest.raises(Erased) as refused:
        house.reviews.review(DEMO, request_id, SAID)
    assert isinstance(refused.value.remains, ScoreSummary)
    assert refused.value.remains.request_id == request_id


def test_a_note_that_was_moved_to_another_score_does_not_open(house: House) -> None:
    first, second = reviewed(house, None), reviewed(house, None)
    with house.database.writing() as connection:
        connection.execute(
            text(
                "UPDATE reviews SET note = (SELECT note FROM reviews WHERE request_id = :first) "
                "WHERE request_id = :second"
            ),
            {"first": first, "second": second},
        )
    assert note_of(house, first, house.vault) == NOTE
    with pytest.raises(StoreUnfit, match=second):
        note_of(house, second, house.vault)


def test_a_review_of_one_book_is_nothing_to_the_keys_of_another(
    house: House, rotation: Rotation
) -> None:
    reviewed(house, "A-1")
    live = reviewed(house, "A-1", LIVE)
    assert rotation.applicant(DEMO, "A-1", None) == 3
    house.applicants.erase(DEMO, "A-1")
    assert note_of(house, live, house.vault, LIVE) == NOTE


def test_notes_that_are_written_while_keys_are_replaced_all_open(
    house: House, elsewhere: Database
) -> None:
    other = House(elsewhere, house.clock)
    rotation = Rotation(RotationStore(elsewhere, other.log, other.vault), other.vault, other.clock)
    scored = [house.score("A-1" if place % 2 else None) for place in range(12)]

    def rotate() -> None:
        for _ in range(3):
            rotation.applicant(DEMO, "A-1", None)
            rotation.begin_lender("demo", None)
            rotation.finish_lender("demo", lambda _: None)

    with ThreadPoolExecutor(1) as pool:
        rotating = pool.submit(rotate)
        for request_id in scored:
            house.reviews.review(DEMO, request_id, SAID)
        rotating.result()
    late = vault_of(house.database)
    assert [note_of(house, one, late) for one in scored] == [NOTE] * len(scored)
    assert verdict_on(house.database).findings == []


# ------------------------------------------------------------------------------- the audit


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ("decision = 'DECLINED'", "decision is 'DECLINED', and was set to 'APPROVED'"),
        ("reason = 'other'", "its reason or its note is not what was said"),
        ("person = 'J. Otieno'", "person is 'J. Otieno', and was set to 'W. Mutua'"),
        ("given_decision = 'NONE'", "given_decision is 'NONE', and was set to"),
        ("score_us = 7", "score_us is not that of its score"),
        ("model_id = 'sha256:other'", "model_id is not that of its score"),
        ("score = 850", "score is not that of its score"),
        ("tier = 'Z'", "tier is not that of its score"),
        ("default_probability = 0.5", "default_probability is not that of its score"),
        ("applicant_key_id = NULL", "applicant_key_id is not that of its score"),
        ("applicant_key_id = 'apk_other'", "applicant_key_id is not that of its score"),
        ("note = (SELECT sealed FROM scores LIMIT 1)", "its note does not open"),
        ("reviewed_us = 7", "reviewed_us is 7, and was set to"),
        ("key_id = 'key_2'", "key_id is 'key_2', and was set to None"),
        ("mode = 'live'", "no act says that it was made"),
    ],
)
@pytest.mark.alike
def test_a_review_that_was_rewritten_is_found(house: House, change: str, what: str) -> None:
    request_id = reviewed(house, "A-1")
    reviewed(house, None)
    with house.database.writing() as connection:
        changed = f"UPDATE reviews SET {change} WHERE request_id = :id"  # noqa: S608  our own
        connection.execute(text(changed), {"id": request_id})
    found = verdict_on(house.database).findings
    assert {finding.trouble for finding in found} == {Trouble.STANDING}
    assert {finding.where for finding in found} == {f"review of {request_id}"}
    assert found[0].what.startswith(what)


def test_a_note_that_was_written_anew_with_the_right_key_is_found(house: House) -> None:
    """Somebody with the keys, who cannot know the salt of what the act has."""
    request_id = reviewed(house, "A-1")
    applicant = house.scores.find(DEMO, request_id).applicant
    assert applicant is not None
    data_key = house.vault.data_key("demo", "test", applicant)
    where = envelope.place_in(DEMO, request_id, envelope.REVIEW)
    for other in (Noted(bytes(SALT_BYTES), NOTE).packed, b"short"):
        with house.database.writing() as connection:
            changed = tables.reviews.update().values(note=envelope.seal(data_key, other, where))
            connection.execute(changed)
        (finding,) = verdict_on(house.database).findings
        assert finding.where == f"review of {request_id}"
        assert finding.what in {
            "its reason or its note is not what was said",
            "its note does not open",
        }


def test_a_reason_that_no_review_has_is_told_with_the_score(house: House) -> None:
    request_id = reviewed(house, None)
    with house.database.writing() as connection:
        connection.execute(tables.reviews.update().values(reason="whim"))
    with pytest.raises(StoreUnfit, match=request_id):
        house.reviews.sequel(DEMO, request_id)


def test_a_review_that_was_taken_away_is_found(house: House) -> None:
    request_id = reviewed(house, "A-1")
    with house.database.writing() as connection:
        connection.execute(tables.reviews.delete())
    (finding,) = verdict_on(house.database).findings
    assert (finding.trouble, finding.where) == (Trouble.STANDING, f"review of {request_id}")
    assert finding.what == "it was taken away"


def test_a_review_that_nobody_made_is_found(house: House) -> None:
    reviewed(house, None)
    other = house.score()
    with house.database.writing() as connection:
        row = dict(connection.execute(select(tables.reviews)).mappings().one())
        connection.execute(tables.reviews.insert(), row | {"request_id": other})
    (finding,) = verdict_on(house.database).findings
    assert (finding.where, finding.what) == (
        f"review of {other}",
        "no act says that it was made",
    )


def test_a_retention_run_accounts_for_the_reviews_that_went_with_their_scores(
    house: House,
) -> None:
    reviewed(house, "A-1")
    house.clock.now_us += 400 * DAY_US
    young = reviewed(house, "A-2")
    assert sum(house.retention.carry_out(house.retention.plan(DEMO, 100))) == 1
    with house.database.reading() as connection:
        left = connection.execute(select(tables.reviews.c.request_id)).scalars().all()
    assert left == [young]
    verdict = verdict_on(house.database)
    assert (verdict.findings, verdict.deleted) == ([], 1)


def test_more_reviews_than_are_read_at_a_time_are_all_looked_at(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_store, "_AT_ONCE", 2)
    for book in (DEMO, LIVE, DEMO):
        for reference in ("A-1", None):
            reviewed(house, reference, book)
    assert verdict_on(house.database).findings == []
