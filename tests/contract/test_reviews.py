"""What every store of reviews does: see `alama.monitoring.reviews.ReviewStore`."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pytest
from sqlalchemy import insert, select, update

from alama.core.errors import AlamaError
from alama.core.lending import draft
from alama.core.lending.circumstances import Segment
from alama.core.lending.draft import default_policy
from alama.core.lending.policy import Decision, Per, PortfolioCap
from alama.core.lending.policy_check import seal
from alama.core.monitoring.news import State
from alama.core.units import Money
from alama.lenders import keys
from alama.lenders import schema as lenders_schema
from alama.lenders.records import Signed
from alama.monitoring import schema
from alama.monitoring.reviews import NOTE_MAX, AlreadyReviewed, PortfolioFull, Reviewed
from alama.platform import event_bundles
from alama.platform.book import Book, Mode
from alama.platform.database import tables
from alama.platform.database.database import Database
from alama.platform.errors import Erased, InvalidName
from alama.platform.files.packaged import builtin
from alama.policies import policies
from alama.scoring.holds import HOUR_US, Approved, total
from alama.scoring.records import UnknownScore
from alama.scoring.sequels import (
    APPROVED,
    DECLINED,
    LEFT_OPEN,
    Judgement,
    Outcome,
    Review,
    ReviewReason,
    Said,
    Sequel,
)
from tests.audited import verdict_on
from tests.clocks import HandClock
from tests.entries import DEMO, LIVE, NOON_US, UMOJA, a_request_id, an_entry
from tests.protected import DAY_US, House
from tests.stores import scores_in

NOTE = "payslips of three months seen,\nher brother stands for her"
SAID = Judgement(APPROVED, ReviewReason.INCOME_VERIFIED, "W. Mutua", NOTE)
RICH: dict[str, Any] = {"monthly_inflow": 90_000.0, "mobile_money_months": 60}
OTHERWISE = [
    SAID._replace(decision=DECLINED),
    SAID._replace(reason=ReviewReason.OTHER),
    SAID._replace(person="J. Otieno"),
    SAID._replace(note="nothing seen"),
]


@pytest.fixture
def house(database: Database) -> House:
    return House(database, HandClock())


def payloads(house: House) -> list[tuple[str, dict[str, object]]]:
    """The subjects and the payloads of what was announced."""

    query = select(*event_bundles.COLUMNS).order_by(tables.bundles.c.id)
    with house.database.reading() as connection:
        rows = [event_bundles.Bundle._make(row) for row in connection.execute(query)]
    told = [event for row in rows for event in event_bundles.unfolded(row)]
    return [(event.subject_id, json.loads(event.payload)) for event in told]


# ----------------------------------------------------------------------------------- keeping


@pytest.mark.parametrize("applicant_ref", [None, "A-1"])
def test_a_review_is_kept_with_what_the_score_said(house: House, applicant_ref: str | None) -> None:
    request_id = house.score(applicant_ref)
    row = house.scores.find(DEMO, request_id).row
    house.clock.now_us += 7
    reviewed = house.reviews.review(DEMO, request_id, SAID, "key_1")
    kept = Review(
        request_id,
        APPROVED,
        ReviewReason.INCOME_VERIFIED,
        "W. Mutua",
        NOTE,
        NOON_US + 7,
        "key_1",
        row.decision,
    )
    assert reviewed == Reviewed(kept, is_new=True)
    assert house.reviews.sequel(DEMO, request_id) == (kept, None)
    with house.database.reading() as connection:
        stored = connection.execute(select(tables.reviews)).mappings().one()
    for name in ("model_id", "score", "tier", "default_probability"):
        assert stored[name] == getattr(row, name)
    assert stored["score_us"] == row.created_us
    assert b"payslips" not in stored["note"]
    assert verdict_on(house.database).findings == []


def test_decisions_are_written_as_policies_write_them() -> None:
    assert tuple(Decision) == (APPROVED, LEFT_OPEN, DECLINED)


@pytest.mark.parametrize(
    ("given", "decided", "overrides"),
    [
        (LEFT_OPEN, APPROVED, False),
        (LEFT_OPEN, DECLINED, False),
        (APPROVED, APPROVED, False),
        (APPROVED, DECLINED, True),
        (DECLINED, APPROVED, True),
    ],
)
def test_a_decision_of_the_service_is_overridden_and_one_left_open_is_not(
    given: str, decided: str, *, overrides: bool
) -> None:
    review = Review("", decided, ReviewReason.OTHER, "", "", 0, None, given)
    assert review.overrides is overrides


# ------------------------------------------------------------------------------------- caps


def in_force(house: House, cap: PortfolioCap) -> None:
    policy = seal(msgspec.structs.replace(default_policy("KES"), portfolio=(cap,)))
    text, signed = draft.write(policy).encode(), Signed(NOON_US)
    policies.activate(house.registry, DEMO, text, signed, builtin)


def waiting(house: House) -> str:
    """Leave a loan to a person."""
    house.vault.ring("demo")
    entry = an_entry(decision=Decision.REVIEW, limit=100.0, expected_loss=1.5)
    assert house.scores.commit([entry]) == [None]
    return entry.score.request_id


def used(house: House) -> dict[Segment, Approved]:
    return house.scores.approved(DEMO, 0)


def test_what_an_officer_approves_counts_when_they_do(house: House) -> None:
    first, second = waiting(house), waiting(house)
    assert used(house) == {}
    house.clock.now_us += DAY_US
    for _ in range(2):  # the second time it is a retry
        house.reviews.review(DEMO, first, SAID)
    house.reviews.review(DEMO, second, SAID._replace(decision=DECLINED))
    assert used(house) == {Segment(None, "B"): Approved(1, 100.0, 1.5, 0)}
    today = (NOON_US + DAY_US) // HOUR_US
    assert house.scores.approved(DEMO, today) == used(house)


def test_what_an_officer_takes_back_gives_its_room_back(house: House) -> None:
    given = house.score("A-1", **RICH)
    assert total(used(house)).number == 1
    house.clock.now_us += DAY_US
    house.reviews.review(DEMO, given, SAID._replace(decision=DECLINED))
    assert total(used(house)) == Approved()
    assert total(house.scores.approved(DEMO, (NOON_US + DAY_US) // HOUR_US)) == Approved()
    other = house.score("A-2", **RICH)
    before = used(house)
    house.reviews.review(DEMO, other, SAID)  # as the service had it
    assert used(house) == before


def test_a_cap_that_declines_binds_officers_and_one_that_asks_them_does_not(house: House) -> None:
    for decision, held in ((Decision.DECLINED, True), (Decision.REVIEW, False)):
        cap = PortfolioCap("two", Per.DAY, volume_max=Money(200.0), decision=decision)
        in_force(house, cap)
        house.clock.now_us += DAY_US
        for _ in range(2):
            house.reviews.review(DEMO, waiting(house), SAID)
        third = waiting(house)
        before = used(house)
        if held:
            with pytest.raises(PortfolioFull, match="cap two"):
                house.reviews.review(DEMO, third, SAID)
            assert house.reviews.sequel(DEMO, third).review is None
            assert used(house) == before
            house.clock.now_us += DAY_US
        house.reviews.review(DEMO, third, SAID)
        assert total(used(house)).number == total(before).number + 1


def test_a_review_is_kept_and_counted_where_the_policy_in_force_is_damaged(house: House) -> None:
    in_force(house, PortfolioCap("none", Per.DAY, 0, decision=Decision.DECLINED))
    left = waiting(house)
    with house.database.writing() as connection:
        connection.execute(update(lenders_schema.policies).values(document=b"damaged"))
    house.reviews.review(DEMO, left, SAID)
    assert total(used(house)).number == 1


def test_officers_count_in_the_region_of_the_loan(house: House) -> None:
    in_force(house, PortfolioCap("nyeri", Per.DAY, 5, regions=("Nyeri",)))
    regions: list[dict[str, Any]] = [{}, {"region": " NYERI"}, {"region": "mombasa"}]
    for region in regions:
        request_id = house.score(mobile_money_months=9, stability_score=0.35, **region)
        assert house.scores.find(DEMO, request_id).row.decision == LEFT_OPEN
        house.reviews.review(DEMO, request_id, SAID)
    assert {segment.region: one.number for segment, one in used(house).items()} == {
        None: 2,
        "nyeri": 1,
    }


def test_officers_count_in_the_product_of_the_loan_and_take_it_back_there(house: House) -> None:
    house.vault.ring("demo")
    for decision in (Decision.REVIEW, Decision.APPROVED):
        entry = an_entry(decision=decision, limit=100.0)
        entry = entry._replace(score=entry.score._replace(product="weekly"))
        assert house.scores.commit([entry]) == [None]
        given = {part.product: one.number for part, one in used(house).items()}
        turned = SAID if decision is Decision.REVIEW else SAID._replace(decision=DECLINED)
        house.reviews.review(DEMO, entry.score.request_id, turned)
        counted = {part.product: one.number for part, one in used(house).items()}
        assert (given, counted) in [({}, {"weekly": 1}), ({"weekly": 2}, {"weekly": 1})]


def test_officers_and_scores_at_once_exceed_no_cap_that_declines(
    house: House, elsewhere: Database
) -> None:
    cap = PortfolioCap("few", Per.DAY, 20, decision=Decision.DECLINED)
    in_force(house, cap)
    policy = seal(msgspec.structs.replace(default_policy("KES"), portfolio=(cap,)))
    left = [waiting(house) for _ in range(24)]
    scores = scores_in(elsewhere)

    def review(request_id: str) -> bool:
        try:
            house.reviews.review(DEMO, request_id, SAID)
        except PortfolioFull:
            return False
        return True

    def score(_: int) -> bool:
        return scores.commit([an_entry()._replace(bounds=policy)]) == [None]

    with ThreadPoolExecutor(8) as pool:
        both = [*pool.map(review, left[:12])], [*pool.map(score, range(4))]
        racing = [pool.submit(review, one) for one in left[12:]]
        racing += [pool.submit(score, number) for number in range(12)]
        approved = sum(map(sum, both)) + sum(one.result() for one in racing)
    assert approved == total(used(house)).number == 20


def test_the_same_said_again_gives_what_was_kept_the_first_time(house: House) -> None:
    request_id = house.score("A-1")
    first = house.reviews.review(DEMO, request_id, SAID, "key_1")
    house.clock.now_us += DAY_US
    same = SAID._replace(person=" W. Mutua ", note=NOTE + "\n")
    again = house.reviews.review(DEMO, request_id, same, "key_2")
    assert again == Reviewed(first.review, is_new=False)
    assert len(house.acts("score_reviewed")) == len(payloads(house)) == 1


@pytest.mark.parametrize("said", OTHERWISE)
def test_the_first_review_stands_whoever_says_otherwise(house: House, said: Judgement) -> None:
    request_id = house.score("A-1")
    first = house.reviews.review(DEMO, request_id, SAID)
    house.clock.now_us += DAY_US
    with pytest.raises(AlreadyReviewed, match="reviewed on 2026-11-15 at 12:00 UTC") as refused:
        house.reviews.review(DEMO, request_id, said)
    assert "Mutua" not in str(refused.value)
    assert house.reviews.sequel(DEMO, request_id).review == first.review
    assert len(house.acts("score_reviewed")) == 1


def test_a_score_of_another_book_is_as_unknown_as_none(house: House) -> None:
    keys.add_lender(house.registry, house.clock, "umoja", "Umoja", "KES")
    request_id = house.score("A-1")
    for book, asked in ((DEMO, a_request_id()), (LIVE, request_id), (UMOJA, request_id)):
        with pytest.raises(UnknownScore):
            house.reviews.review(book, asked, SAID)
        assert house.reviews.sequel(book, asked) == Sequel(None, None)
    assert house.acts("score_reviewed") == []


def test_reviews_of_two_books_do_not_meet(house: House) -> None:
    scored = {book: house.score("A-1", book) for book in (DEMO, LIVE)}
    for book, said in zip(scored, OTHERWISE, strict=False):
        house.reviews.review(book, scored[book], said)
    for book, said in zip(scored, OTHERWISE, strict=False):
        review = house.reviews.sequel(book, scored[book]).review
        assert review is not None
        assert review.judgement == said


@pytest.mark.parametrize("note", ["", "x" * NOTE_MAX, "line\r\nline\tand tab", "Ushahidi ✓"])
def test_a_note_may_be_any_plain_text_or_none(house: House, note: str) -> None:
    request_id = house.score()
    house.reviews.review(DEMO, request_id, SAID._replace(note=note))
    review = house.reviews.sequel(DEMO, request_id).review
    assert review is not None
    assert review.note == note


@pytest.mark.parametrize(
    "said",
    [
        SAID._replace(note="x" * (NOTE_MAX + 1)),
        SAID._replace(note="\x1b[2J"),
        SAID._replace(note="\udcff"),
        SAID._replace(person=" "),
        SAID._replace(person="two\nlines"),
    ],
)
def test_what_is_no_note_or_no_name_is_refused(house: House, said: Judgement) -> None:
    request_id = house.score()
    with pytest.raises(InvalidName):
        house.reviews.review(DEMO, request_id, said)
    assert house.reviews.sequel(DEMO, request_id) == Sequel(None, None)


# ------------------------------------------------------------------------- telling and noting


def test_the_event_says_what_was_decided_and_neither_who_nor_in_what_words(house: House) -> None:
    request_id = house.score("A-1")
    row = house.scores.find(DEMO, request_id).row
    said = SAID._replace(decision=DECLINED, reason=ReviewReason.FRAUD_SUSPECTED)
    house.reviews.review(DEMO, request_id, said)
    ((subject, told),) = payloads(house)
    assert (subject, told["type"]) == (request_id, "score.reviewed")
    assert told["data"] == {
        "mode": "test",
        "request_id": request_id,
        "decision": DECLINED,
        "given_decision": row.decision,
        "overrides": row.decision == APPROVED,
        "tier": row.tier,
        "model": row.model_id,
    }


def test_the_audit_names_who_decided_and_has_no_word_of_why(house: House) -> None:
    request_id = house.score("A-1")
    house.reviews.review(DEMO, request_id, SAID, "key_1")
    (act,) = house.acts("score_reviewed")
    assert (act.lender, act.mode, act.subject, act.by) == ("demo", "test", request_id, "W. Mutua")
    details = dict(act.details)
    assert len(str(details.pop("digest"))) == 64
    assert details == {
        "decision": APPROVED,
        "given_decision": house.scores.find(DEMO, request_id).row.decision,
        "reviewed_us": NOON_US,
        "key_id": "key_1",
    }


def test_the_same_said_of_two_scores_has_two_digests(house: House) -> None:
    for _ in range(2):
        house.reviews.review(DEMO, house.score("A-1"), SAID)
    first, second = house.acts("score_reviewed")
    assert first.details["digest"] != second.details["digest"]


# -------------------------------------------------------------------------------- at once


def test_of_two_officers_at_once_one_stands_and_the_other_is_told(
    house: House, elsewhere: Database
) -> None:
    houses = [house, House(elsewhere, house.clock)]
    for number in range(5):
        request_id = house.score(f"A-{number}" if number % 2 else None)
        begin = threading.Barrier(2)

        def decide(place: int, about: str = request_id, begun: threading.Barrier = begin) -> bool:
            begun.wait(60)
            try:
                houses[place].reviews.review(DEMO, about, OTHERWISE[place])
            except AlreadyReviewed:
                return False
            return True

        with ThreadPoolExecutor(2) as pool:
            stood = list(pool.map(decide, range(2)))
        assert sorted(stood) == [False, True]
        review = house.reviews.sequel(DEMO, request_id).review
        assert review is not None
        assert review.judgement == OTHERWISE[stood.index(True)]
    assert len(house.acts("score_reviewed")) == len(payloads(house)) == 5
    assert verdict_on(house.database).findings == []


def test_reviews_erasures_and_retention_at_once_end_and_leave_all_in_order(
    house: House, elsewhere: Database
) -> None:
    other = House(elsewhere, house.clock)
    scored = [(f"A-{n}", house.score(f"A-{n}")) for n in range(12)]
    house.clock.now_us += 400 * DAY_US

    def erase() -> None:
        for reference, _ in scored[:6]:
            other.applicants.erase(DEMO, reference)
        assert sum(other.retention.carry_out(other.retention.plan(DEMO, 100))) == 12

    with ThreadPoolExecutor(1) as pool:
        erasing = pool.submit(erase)
        errors = [_refused(house, request_id) for _, request_id in scored]
        erasing.result()
    assert set(errors) <= {None, Erased, UnknownScore}
    with house.database.reading() as connection:
        assert connection.execute(select(tables.reviews)).all() == []
    assert verdict_on(house.database).findings == []


def _refused(house: House, request_id: str) -> type[AlamaError] | None:
    try:
        house.reviews.review(DEMO, request_id, SAID)
    except (Erased, UnknownScore) as error:
        return type(error)
    return None


# ------------------------------------------------------------------------- what became of it


def test_what_became_of_a_score_has_the_outcome_of_the_loan_too(house: House) -> None:
    request_id = house.score("A-1")
    known = Outcome(request_id, State.WRITTEN_OFF, 20_800, 20_700, 9_000.0, None, NOON_US, None)
    said = Said(NOON_US, 202611, 20_500, "sha256:m", 661, "B", 0.05, APPROVED)
    row = {"lender": "demo", "mode": "test", **known._asdict(), **said._asdict()}
    with house.database.writing() as connection:
        connection.execute(insert(schema.outcomes), row)
    assert house.reviews.sequel(DEMO, request_id) == (None, known)
    assert known.is_default
    review = house.reviews.review(DEMO, request_id, SAID).review
    assert house.reviews.sequel(DEMO, request_id) == (review, known)
    assert house.reviews.sequel(Book("demo", Mode.LIVE), request_id) == Sequel(None, None)
    (exported,) = house.applicants.export(DEMO, "A-1").scores
    assert exported.review is not None
    assert exported.outcome is not None
    assert (exported.review.decision, exported.review.note) == (APPROVED, NOTE)
    assert (exported.outcome.outcome, str(exported.outcome.date)) == ("written_off", "2026-12-13")
