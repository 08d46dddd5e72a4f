"""What every store of applicants does: see `alama.scoring.group_commit.ApplicantStore`."""

import json
import threading
from collections.abc import Iterator
from datetime import date

import msgspec
import pytest
from sqlalchemy import select, update

from alama.core.assess import Assessment
from alama.core.document import encode
from alama.core.monitoring.news import News, State
from alama.monitoring.challengers import Challengers, Progress, Shadow
from alama.monitoring.outcomes import Outcomes, OutcomeStore, Sent
from alama.platform.acts import ActKind
from alama.platform.book import Book, Mode
from alama.platform.database import database as databases
from alama.platform.database import tables
from alama.platform.database.database import Database
from alama.platform.days import day_number
from alama.platform.errors import Erased, InvalidName, StoreUnfit
from alama.protection import applicants
from alama.protection.applicants import UnderHold, UnknownApplicant, UnknownHold
from alama.protection.schema import legal_holds
from alama.scoring import schema as scoring_schema
from alama.scoring.records import IdempotencyKeyReused
from alama.scoring.replay import open_score
from alama.vault import schema
from tests.audited import verdict_on
from tests.challenged import MODEL, a_challenger
from tests.clocks import HandClock
from tests.entries import DEMO, NOON_US
from tests.protected import APPLICATION, DAY_US, House
from tests.vaults import vault_of

LIVE = Book("demo", Mode.LIVE)
TODAY = NOON_US // DAY_US


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def house(database: Database, clock: HandClock) -> House:
    return House(database, clock)


@pytest.fixture
def another_process(house: House, address: str, clock: HandClock) -> Iterator[House]:
    assert house.registry.lenders()  # it stands before the other process looks
    other = databases.connect(address)
    yield House(other, clock)
    other.close()


def key_rows(database: Database) -> list[tuple[bytes | None, bytes | None, int | None]]:
    """Subject, wrapped key and time of erasure of every applicant, oldest first."""
    table = schema.applicant_keys
    query = select(table.c.subject, table.c.wrapped, table.c.erased_us).order_by(table.c.id)
    with database.reading() as connection:
        return [tuple(row) for row in connection.execute(query)]


# ------------------------------------------------------------------------------------- erasing


def test_after_an_erasure_nothing_of_the_applicant_opens(house: House) -> None:
    mine = [house.score("A-1"), house.score("A-1", monthly_inflow=9_000)]
    others = [house.score("A-2"), house.score(), house.score("A-1", LIVE)]
    erasure = house.applicants.erase(DEMO, " A-1 ")
    assert (erasure.scores, erasure.replies, erasure.erased_us) == (2, 0, NOON_US)
    assert erasure.journal_emptied
    for request_id in mine:
        with pytest.raises(Erased, match="was erased on 2026-11-15"):
            house.replayed(request_id)
    assert house.replayed(others[0]) == house.replayed(others[1]) == ()
    assert house.replayed(others[2], LIVE) == ()
    gone = [row for row in key_rows(house.database) if row[2] is not None]
    assert gone == [(None, None, NOON_US)]


def test_what_was_decided_is_still_listed_after_an_erasure(house: House) -> None:
    request_id = house.score("A-1")
    before = house.scores.page(DEMO, None, 10)
    house.applicants.erase(DEMO, "A-1")
    assert house.scores.page(DEMO, None, 10) == before
    assert before[0].request_id == request_id


def test_the_statistics_of_the_day_outlive_an_erasure(house: House) -> None:
    house.score("A-1")
    house.score("A-2")
    counted = house.scores.tally(DEMO, TODAY, TODAY)
    assert counted
    house.applicants.erase(DEMO, "A-1")
    assert house.scores.tally(DEMO, TODAY, TODAY) == counted


def test_an_erasure_is_noted_by_the_key_and_counts_and_the_audit_holds(house: House) -> None:
    request_id = house.ask("A-1", "order-1").reply.decode()
    erasure = house.applicants.erase(DEMO, "A-1", by="W. Mutua")
    stored = house.scores.find(DEMO, request_id)
    (act,) = house.acts(ActKind.APPLICANT_ERASED)
    assert act.subject == erasure.key_id == stored.row.applicant_key_id
    assert act.details == {"scores": 1, "replies": 1, "erased_us": erasure.erased_us}
    assert act.by == "W. Mutua"
    verdict = verdict_on(house.database)
    assert (verdict.findings, verdict.erased, verdict.proved) == ([], 1, 0)


def test_one_who_was_erased_is_not_known_any_more(house: House) -> None:
    house.score("A-1")
    house.applicants.erase(DEMO, "A-1")
    with pytest.raises(UnknownApplicant, match="demo holds nothing on this applicant in test mode"):
        house.applicants.erase(DEMO, "A-1")
    with pytest.raises(UnknownApplicant):
        house.applicants.export(DEMO, "A-1")
    assert len(house.acts(ActKind.APPLICANT_ERASED)) == 1
    assert house.acts(ActKind.APPLICANT_EXPORTED) == []


def test_a_new_application_after_an_erasure_is_one_of_somebody_new(house: House) -> None:
    before = house.score("A-1")
    house.applicants.erase(DEMO, "A-1")
    after = house.score("A-1")
    assert house.is_erased(before)
    assert house.replayed(after) == ()
    exported = house.applicants.export(DEMO, "A-1")
    assert [score.request_id for score in exported.scores] == [after]
    house.applicants.erase(DEMO, "A-1")
    assert house.is_erased(after)
    assert verdict_on(house.database).findings == []


def test_a_retry_after_an_erasure_is_told_so_and_is_not_scored_anew(house: House) -> None:
    first = house.ask("A-1", "order-1")
    assert house.ask("A-1", "order-1") == first._replace(replayed=True)
    house.applicants.erase(DEMO, "A-1")
    with pytest.raises(Erased):
        house.ask("A-1", "order-1")
    with pytest.raises(Erased):  # nobody knows any more what was sent
        house.ask("A-1", "order-1", monthly_inflow=9_000)
    assert len(house.scores.page(DEMO, None, 10)) == 1


def test_of_the_replies_for_retries_nothing_is_left_to_hold_a_guess_against(house: House) -> None:
    house.ask("A-1", "order-1")
    house.ask("A-2", "order-2")
    house.applicants.erase(DEMO, "A-1")
    table = scoring_schema.idempotency
    with house.database.reading() as connection:
        rows = connection.execute(select(table).order_by(table.c.request_id)).all()
    assert (rows[0].reply, rows[0].request_digest) == (b"", bytes(32))
    assert rows[1].reply
    with pytest.raises(IdempotencyKeyReused):
        house.ask("A-2", "order-2", monthly_inflow=9_000)


def test_a_score_that_is_being_sealed_is_erased_too_or_is_somebody_new(
    house: House, another_process: House
) -> None:
    """Whichever comes first: no score is ever sealed under a key that is no more."""
    house.score("A-1")
    given: list[str] = []

    def go_on_scoring() -> None:
        given.extend(another_process.score("A-1") for _ in range(30))

    other = threading.Thread(target=go_on_scoring)
    other.start()
    erased = 0
    while other.is_alive():
        try:
            house.applicants.erase(DEMO, "A-1")
            erased += 1
        except UnknownApplicant:
            continue
    other.join()
    assert erased
    for request_id in given:
        assert house.is_erased(request_id) or house.replayed(request_id) == ()
    assert verdict_on(house.database).findings == []


# ------------------------------------------------------------------------------------- holds


def test_an_erasure_is_refused_while_a_hold_stands_and_says_why(
    house: House, clock: HandClock
) -> None:
    request_id = house.score("A-1")
    first = house.applicants.hold(DEMO, "A-1", "Milimani civil suit 12 of 2026")
    clock.now_us += DAY_US
    second = house.applicants.hold(DEMO, "A-1", "complaint 7")
    with pytest.raises(UnderHold, match=r"2026-11-15: Milimani .* of 2026-11-16: complaint 7"):
        house.applicants.erase(DEMO, "A-1")
    house.applicants.release(first.number)
    with pytest.raises(UnderHold, match=r"\(hold \d+ of 2026-11-16: complaint 7\)"):
        house.applicants.erase(DEMO, "A-1")
    assert house.replayed(request_id) == ()
    house.applicants.release(second.number)
    house.applicants.erase(DEMO, "A-1")
    assert house.is_erased(request_id)


def test_a_hold_is_on_one_applicant_in_one_book(house: House) -> None:
    house.score("A-1")
    house.score("A-2")
    house.score("A-1", LIVE)
    house.applicants.hold(DEMO, "A-1", "complaint 7")
    house.applicants.erase(DEMO, "A-2")
    house.applicants.erase(LIVE, "A-1")


def test_holds_that_stand_are_listed_by_the_keys_of_their_applicants(house: House) -> None:
    request_id = house.score("A-1")
    house.score("A-2", LIVE)
    first = house.applicants.hold(DEMO, "A-1", " complaint 7 ")
    second = house.applicants.hold(LIVE, "A-2", "complaint 8")
    assert list(house.applicants.holds()) == [first, second]
    assert (first.book, first.reason, first.placed_us) == (DEMO, "complaint 7", NOON_US)
    assert first.key_id == house.scores.find(DEMO, request_id).row.applicant_key_id
    ended = house.applicants.release(first.number)
    assert ended == first._replace(released_us=NOON_US)
    assert list(house.applicants.holds()) == [second]


def test_a_hold_ends_once(house: House) -> None:
    house.score("A-1")
    hold = house.applicants.hold(DEMO, "A-1", "complaint 7")
    house.applicants.release(hold.number)
    for number in (hold.number, hold.number + 1):
        with pytest.raises(UnknownHold, match=f"no hold {number} stands"):
            house.applicants.release(number)


def test_nobody_is_held_who_is_not_known(house: House) -> None:
    with pytest.raises(UnknownApplicant):
        house.applicants.hold(DEMO, "A-1", "complaint 7")
    assert house.applicants.holds() == []


@pytest.mark.parametrize("reason", ["", " ", "two\nlines", "x" * 201, "the file of a-1"])
def test_a_reason_is_one_line_that_does_not_name_the_applicant(house: House, reason: str) -> None:
    house.score("A-1")
    with pytest.raises(InvalidName):
        house.applicants.hold(DEMO, "A-1", reason)


@pytest.mark.parametrize("reference", ["", " ", "two\nlines", "x" * 65])
def test_what_cannot_be_a_reference_is_refused(house: House, reference: str) -> None:
    with pytest.raises(InvalidName, match="1 to 64 characters"):
        house.applicants.erase(DEMO, reference)


def test_holds_are_noted_and_what_stood_once_goes_with_the_applicant(house: House) -> None:
    house.score("A-1")
    hold = house.applicants.hold(DEMO, "A-1", "complaint 7", by="W. Mutua")
    house.applicants.release(hold.number, by="A. Otieno")
    (placed,), (released,) = house.acts(ActKind.HOLD_PLACED), house.acts(ActKind.HOLD_RELEASED)
    assert placed.details == {
        "hold": hold.number,
        "reason": "complaint 7",
        "placed_us": hold.placed_us,
    }
    assert (placed.subject, placed.by) == (hold.key_id, "W. Mutua")
    assert (released.subject, released.by) == (hold.key_id, "A. Otieno")
    house.applicants.erase(DEMO, "A-1")
    with house.database.reading() as connection:
        assert connection.execute(select(legal_holds)).all() == []
    assert verdict_on(house.database).findings == []


# ------------------------------------------------------------------------------------- exporting


def test_an_export_holds_everything_on_one_applicant_and_reads_again(
    house: House, clock: HandClock
) -> None:
    mine = [house.score("A-1", monthly_inflow=1e3 + 1 / 3)]
    house.score("A-2")
    house.score("A-1", LIVE)
    clock.now_us += DAY_US
    mine.append(house.ask("A-1", "order-1").reply.decode())
    hold = house.applicants.hold(DEMO, "A-1", "complaint 7")
    house.applicants.release(hold.number)
    exported = house.applicants.export(DEMO, "A-1", by="W. Mutua")
    again = msgspec.json.decode(applicants.encode(exported), type=applicants.ApplicantExport)
    assert [score.request_id for score in again.scores] == mine
    for score in again.scores:
        stored = house.scores.find(DEMO, score.request_id)
        opened = open_score(house.vault, stored)
        assert json.loads(bytes(score.application)) == json.loads(opened.application)
        assert msgspec.convert(score.assessment, Assessment) == opened.assessment
        columns = msgspec.structs.asdict(score)
        for name in ("score", "tier", "decision", "recommended_limit", "expected_loss"):
            assert columns[name] == getattr(stored.row, name)
    assert json.loads(bytes(again.scores[0].application))["monthly_inflow"] == 1e3 + 1 / 3
    (held,) = again.legal_holds
    assert (held.reason, held.released_at) == ("complaint 7", held.placed_at)
    assert (again.applicant_ref, again.lender, again.mode) == ("A-1", "demo", "test")
    (act,) = house.acts(ActKind.APPLICANT_EXPORTED)
    assert (act.subject, act.details, act.by) == (hold.key_id, {"scores": 2}, "W. Mutua")


def test_an_export_tells_how_the_loan_went_and_what_other_models_would_have_said(
    house: House,
) -> None:
    request_id = house.score("A-1")
    other, live = house.score("A-2"), house.score("A-1", LIVE)
    late, later = date(2026, 12, 20), date(2027, 1, 5)
    news = [
        News(request_id, State.DEFAULTED, day_number(late)),
        News(request_id, State.REPAID, day_number(later), repaid_amount=900.0),
    ]
    store = OutcomeStore(house.database, house.log, vault_of(house.database))
    Outcomes(store, lambda: NOON_US + 99 * DAY_US).record(DEMO, news, Sent())
    challenger = a_challenger()
    given = ("sha256:decides", 600, "C", 0.1, "REVIEW")
    shadows = [Shadow(one, 512, "D", 0.25, "DECLINED", *given) for one in (request_id, other)]
    challengers = Challengers(house.database, house.log)
    challengers.begin(challenger, encode(MODEL))
    assert challengers.advance(challenger, Progress(live, shadows))
    (score,) = house.applicants.export(DEMO, "A-1").scores
    assert score.outcome is not None
    assert (score.outcome.outcome, score.outcome.date) == ("repaid", later)
    assert (score.outcome.is_default, score.outcome.defaulted_on) == (True, late)
    (shadow,) = score.shadow_scores
    assert msgspec.structs.astuple(shadow) == (MODEL.id, 512, "D", 0.25, "DECLINED")


def test_an_export_gives_what_was_sent_to_the_digit(house: House) -> None:
    house.score("A-1")
    document = applicants.encode(house.applicants.export(DEMO, "A-1"))
    sent = json.loads(document)["scores"][0]["application"]
    assert sent == APPLICATION | {"applicant_ref": "A-1"}


def test_an_export_says_what_it_cannot_hold(house: House) -> None:
    house.score("A-1")
    house.applicants.erase(DEMO, "A-1")
    house.score("A-1")
    exported = house.applicants.export(DEMO, "A-1")
    assert len(exported.scores) == 1
    assert any("erased before" in remark for remark in exported.remarks)


def test_an_export_of_a_damaged_record_is_none(house: House) -> None:
    request_id = house.score("A-1")
    with house.database.writing() as connection:
        connection.execute(update(scoring_schema.scores).values(sealed=b"nothing"))
    with pytest.raises(StoreUnfit, match=f"the record of {request_id} is damaged"):
        house.applicants.export(DEMO, "A-1")


def test_neither_the_reference_nor_the_subject_is_in_the_audit(house: House) -> None:
    house.score("applicant-77")
    hold = house.applicants.hold(DEMO, "applicant-77", "complaint 7")
    house.applicants.release(hold.number)
    house.applicants.export(DEMO, "applicant-77")
    ((subject, _, _),) = key_rows(house.database)
    house.applicants.erase(DEMO, "applicant-77")
    with house.database.reading() as connection:
        bodies = connection.execute(select(tables.audit_entries.c.body)).scalars().all()
    assert subject is not None
    for body in bodies:
        assert b"applicant-77" not in body
        assert subject not in body
        assert subject.hex().encode() not in body
