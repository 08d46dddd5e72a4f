"""What every store of scores lets go of, and when: see `alama.protection.retention`."""

import threading
from collections.abc import Iterator

import pytest
from sqlalchemy import ColumnElement, Connection, func, insert, select

from alama.core.lending import policy_text
from alama.core.lending.draft import draft, draft_text
from alama.core.lending.jurisdiction import Jurisdiction
from alama.lenders.records import Signed, UnknownLender
from alama.platform.acts import BEFORE_US, ActKind
from alama.platform.book import Book, Mode
from alama.platform.database import database as databases
from alama.platform.database import tables
from alama.platform.database.database import Database
from alama.platform.errors import InvalidName
from alama.platform.files.packaged import jurisdiction
from alama.policies.policies import activate
from alama.protection import retention
from alama.protection.applicants import LockedKey, lock_keys
from alama.protection.retention import LawUnknown, NoPeriod, PeriodTooShort, Retention
from alama.scoring import schema
from alama.scoring.records import UnknownScore
from tests.audited import verdict_on
from tests.clocks import HandClock
from tests.entries import DEMO, NOON_US
from tests.protected import DAY_US, House, the_active_model

LIVE = Book("demo", Mode.LIVE)
YEAR_DAYS = 365
AFTERMATH = ("outcomes", "reviews", "shadow_scores")


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


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "DELETED_AT_ONCE", 2)


def obey(house: House, code: str, book: Book = DEMO) -> None:
    """Let a policy of a jurisdiction answer in a book."""
    place = jurisdiction(code)
    currency = place.currencies[0]
    text = draft_text(draft(currency, place, "ours"), place).encode()
    activate(house.registry, book, text, Signed(NOON_US), lambda: the_active_model().model.model)


def run(house: House, days: int = YEAR_DAYS, book: Book = DEMO) -> list[int]:
    """Delete what has outlived so many days; how many scores went with each batch."""
    return list(house.retention.carry_out(house.retention.plan(book, days), "a test"))


def kept(house: House, book: Book = DEMO) -> list[str]:
    return [row.request_id for row in house.scores.page(book, None, 1_000)][::-1]


def count(house: House, table: str) -> int:
    rows = select(func.count()).select_from(tables.METADATA.tables[table])
    with house.database.reading() as connection:
        return connection.execute(rows).scalar_one()


def term_of(house: House, request_id: str) -> int:
    return house.scores.find(DEMO, request_id).row.recommended_term_days


# ------------------------------------------------------------------------------------- how long


def test_the_policy_in_force_says_by_its_jurisdiction_for_how_long(house: House) -> None:
    obey(house, "KE")
    law = house.retention.period(DEMO).law
    assert law is not None
    assert (law.place, law.days) == ("Kenya", 2557)
    assert "seven years" in law.rule
    assert "Anti-Money Laundering" in law.source
    assert house.retention.plan(DEMO).days == 2557


def test_where_no_law_says_anything_days_have_to_be_given(house: House) -> None:
    period = house.retention.period(DEMO)
    assert period.law is None
    assert period.reason == "its policy names no jurisdiction"
    with pytest.raises(NoPeriod, match="nothing says for how long demo keeps its scores of test"):
        house.retention.plan(DEMO)
    assert house.retention.plan(DEMO, 30).days == 30


def test_a_place_whose_law_is_silent_is_named(house: House, clock: HandClock) -> None:
    silent = Retention(house.registry, house.retention._store, clock, lambda _: jurisdiction("GH"))
    period = silent.period(DEMO)
    assert period.law is None
    assert period.reason == "no public rule of Ghana is known that says so"


def test_days_may_be_more_than_the_law_asks_for_and_never_fewer(house: House) -> None:
    obey(house, "KE")
    assert house.retention.plan(DEMO, 3000).days == 3000
    with pytest.raises(PeriodTooShort, match="2556 days are fewer than Kenya asks for, 2557: A r"):
        house.retention.plan(DEMO, 2556)


@pytest.mark.parametrize("days", [-1, 0, 3, 36_526])
def test_no_score_goes_while_a_retry_may_ask_for_it(house: House, days: int) -> None:
    with pytest.raises(InvalidName, match="4 to 36,525 days"):
        house.retention.plan(DEMO, days)


def test_a_jurisdiction_that_nobody_knows_says_nothing(house: House, clock: HandClock) -> None:
    obey(house, "KE")

    def nowhere(code: str) -> Jurisdiction:
        return jurisdiction(f"{code}-nowhere")

    lost = Retention(house.registry, house.retention._store, clock, nowhere)
    assert lost.period(DEMO).law is None
    assert "KE-nowhere" in lost.period(DEMO).reason


def test_another_policy_does_not_shorten_what_was_owed_before(
    house: House, clock: HandClock
) -> None:
    obey(house, "KE")
    house.score("A-1")
    house.registry.deploy_policy(DEMO, None, Signed(NOON_US))  # which names no jurisdiction
    law = house.retention.period(DEMO).law
    assert law is not None
    assert law.place == "Kenya"
    clock.now_us += 2 * YEAR_DAYS * DAY_US
    assert house.retention.plan(DEMO).scores == 0
    with pytest.raises(PeriodTooShort):
        house.retention.plan(DEMO, YEAR_DAYS)


def test_a_policy_that_only_scores_name_counts_too(house: House, clock: HandClock) -> None:
    place = jurisdiction("KE")
    text = draft_text(draft("KES", place, "ours"), place).encode()
    policy = policy_text.read(text)
    house.registry.keep_policy(policy.id, text, NOON_US)
    request_id = house.score("A-1")
    rename(house, request_id, policy.id)
    clock.now_us += 2 * YEAR_DAYS * DAY_US
    with pytest.raises(PeriodTooShort, match="Kenya"):
        house.retention.plan(DEMO, YEAR_DAYS)


def test_nothing_goes_by_days_where_a_policy_cannot_be_read(house: House, clock: HandClock) -> None:
    rename(house, house.score("A-1"), "sha256:lost")
    clock.now_us += 2 * YEAR_DAYS * DAY_US
    with pytest.raises(LawUnknown, match="sha256:lost"):
        house.retention.plan(DEMO, YEAR_DAYS)
    assert house.retention.due() == []


def rename(house: House, request_id: str, policy_id: str) -> None:
    """Have a score name another policy."""
    chosen = schema.scores.update().where(schema.scores.c.request_id == request_id)
    with house.database.writing() as connection:
        connection.execute(chosen.values(policy_id=policy_id))


def test_books_are_those_of_all_lenders_or_of_one(house: House) -> None:
    assert house.retention.books() == [DEMO, LIVE]
    assert house.retention.books("demo") == [DEMO, LIVE]
    with pytest.raises(UnknownLender):
        house.retention.books("umoja")


# ------------------------------------------------------------------------------------- what goes


def test_a_score_goes_when_its_loan_would_have_been_due_for_so_many_days(
    house: House, clock: HandClock
) -> None:
    request_id = house.score("A-1", requested_term_days=90)
    term_days = term_of(house, request_id)
    assert term_days >= 30
    midnight_us = NOON_US // DAY_US * DAY_US
    clock.now_us = midnight_us + (YEAR_DAYS + term_days + 1) * DAY_US - 1
    assert run(house) == []
    assert kept(house) == [request_id]
    clock.now_us += 1  # the next day
    assert run(house) == [1]
    assert kept(house) == []
    with pytest.raises(UnknownScore):
        house.scores.find(DEMO, request_id)


def test_nothing_of_a_score_is_left_but_what_was_counted(house: House, clock: HandClock) -> None:
    house.ask("A-1", "order-1")
    house.ask(None, "order-2")
    day = NOON_US // DAY_US
    counted = house.scores.tally(DEMO, day, day)
    clock.now_us += 2 * YEAR_DAYS * DAY_US
    assert run(house) == [2]
    assert house.scores.tally(DEMO, day, day) == counted
    for table in ("scores", "applicant_keys", "idempotency"):
        assert count(house, table) == 0


def test_the_key_of_an_applicant_stays_while_a_score_needs_it(
    house: House, clock: HandClock
) -> None:
    house.score("A-1")
    clock.now_us += 2 * YEAR_DAYS * DAY_US
    later = house.score("A-1")
    assert run(house) == [1]
    assert house.replayed(later) == ()
    clock.now_us += 2 * YEAR_DAYS * DAY_US
    assert run(house) == [1]
    assert count(house, "applicant_keys") == 0


def test_the_scores_of_one_who_was_erased_go_in_their_time(house: House, clock: HandClock) -> None:
    house.score("A-1")
    house.applicants.erase(DEMO, "A-1")
    clock.now_us += 2 * YEAR_DAYS * DAY_US
    assert run(house) == [1]
    assert count(house, "applicant_keys") == 0
    assert verdict_on(house.database).findings == []


def test_other_books_are_left_alone(house: House, clock: HandClock) -> None:
    house.score("A-1")
    live = house.score("A-1", LIVE)
    clock.now_us += 2 * YEAR_DAYS * DAY_US
    assert run(house) == [1]
    assert kept(house, LIVE) == [live]
    assert house.replayed(live, LIVE) == ()


@pytest.mark.usefixtures("small_batches")
def test_what_is_under_a_hold_stays_until_that_is_released(house: House, clock: HandClock) -> None:
    held = [house.score("A-1") for _ in range(3)]
    house.score("A-2")
    house.score()
    hold = house.applicants.hold(DEMO, "A-1", "complaint 7")
    clock.now_us += 2 * YEAR_DAYS * DAY_US
    assert run(house) == [2]
    assert kept(house) == held
    house.applicants.release(hold.number)
    assert run(house) == [2, 1]
    assert kept(house) == []
    assert count(house, "legal_holds") == 0


def test_a_hold_that_is_placed_while_scores_go_is_heard(
    house: House, another_process: House, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Either the hold comes first and the score stays, or nobody is known who could be held."""
    if house.database.embedded:
        pytest.skip("SQLite lets one write at a time")
    request_id = house.score("A-1")
    clock.now_us += 2 * YEAR_DAYS * DAY_US
    find_out, go_on = threading.Event(), threading.Event()

    def wait_for_the_hold(
        connection: Connection, condition: ColumnElement[bool]
    ) -> list[LockedKey]:
        find_out.set()
        assert go_on.wait(60)
        return lock_keys(connection, condition)

    monkeypatch.setattr(retention, "lock_keys", wait_for_the_hold)
    gone: list[int] = []
    deleting = threading.Thread(target=lambda: gone.extend(run(house)))
    deleting.start()
    assert find_out.wait(60)
    another_process.applicants.hold(DEMO, "A-1", "complaint 7")
    go_on.set()
    deleting.join()
    assert gone == []
    assert house.replayed(request_id) == ()


# ------------------------------------------------------------------------------------- the audit


@pytest.mark.usefixtures("small_batches")
def test_a_run_goes_in_batches_and_each_leaves_an_act(house: House, clock: HandClock) -> None:
    for number in range(5):
        house.score(f"A-{number % 2}")
    clock.now_us += 2 * YEAR_DAYS * DAY_US
    plan = house.retention.plan(DEMO, YEAR_DAYS)
    assert plan.scores == 5
    assert list(house.retention.carry_out(plan, "W. Mutua")) == [2, 2, 1]
    noted = house.acts(ActKind.RETENTION_RUN)
    assert [act.details["scores"] for act in noted] == [2, 2, 1]
    act = noted[0]
    assert act.details == {BEFORE_US: plan.before_us, "days": YEAR_DAYS, "scores": 2}
    assert (act.lender, act.mode, act.by) == ("demo", "test", "W. Mutua")
    verdict = verdict_on(house.database)
    assert (verdict.findings, verdict.deleted) == ([], 5)


@pytest.mark.usefixtures("small_batches")
def test_a_run_that_ends_in_the_middle_leaves_no_gap_and_is_done_the_next_time(
    house: House, clock: HandClock
) -> None:
    given = [house.score(f"A-{number}") for number in range(5)]
    clock.now_us += 2 * YEAR_DAYS * DAY_US
    assert next(house.retention.carry_out(house.retention.plan(DEMO, YEAR_DAYS))) == 2
    assert kept(house) == given[2:]
    assert verdict_on(house.database).findings == []
    assert run(house) == [2, 1]
    assert [act.details["scores"] for act in house.acts(ActKind.RETENTION_RUN)] == [2, 2, 1]
    assert verdict_on(house.database).findings == []


def test_the_day_is_done_with_the_first_run_and_the_second_writes_nothing(
    house: House, clock: HandClock
) -> None:
    obey(house, "KE")
    house.score("A-1")
    clock.now_us += 10 * YEAR_DAYS * DAY_US
    (plan,) = house.retention.due()
    assert (plan.book, plan.days, plan.scores) == (DEMO, 2557, 1)
    assert list(house.retention.carry_out(plan)) == [1]
    clock.now_us += DAY_US // 4
    assert house.retention.due() == []
    assert len(house.acts(ActKind.RETENTION_RUN)) == 1


def keep_aftermath(house: House, *request_ids: str) -> None:
    """Have all that can become of scores be kept of some; what it says does not matter here."""
    whose = {"lender": DEMO.lender, "mode": DEMO.mode.value, "model_id": "sha256:other"}
    with house.database.writing() as connection:
        for name in ("challengers", *AFTERMATH):
            table = tables.METADATA.tables[name]
            nothing = {column.name: column.type.python_type() for column in table.columns}
            rows = [nothing | whose | {"request_id": one} for one in request_ids]
            if name == "challengers":
                rows = [nothing | whose]
            connection.execute(insert(table), rows)


def test_what_became_of_a_score_goes_with_it_and_nothing_else_does(
    house: House, clock: HandClock
) -> None:
    old = house.score()
    clock.now_us += 2 * YEAR_DAYS * DAY_US
    new = house.score()
    keep_aftermath(house, old, new)
    assert run(house) == [1]
    for name in AFTERMATH:
        table = tables.METADATA.tables[name]
        with house.database.reading() as connection:
            left = connection.execute(select(table.c.request_id)).scalars().all()
        assert left == [new], name
