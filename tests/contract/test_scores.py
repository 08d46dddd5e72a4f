"""What every store of scores does: see `alama.scoring.store.Scores`."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count, product
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import UNSET, UnsetType

from alama.core.errors import InvalidApplication
from alama.core.lending.circumstances import Segment
from alama.core.lending.draft import default_policy
from alama.core.lending.policy import Decision, Per, Policy, PortfolioCap, Product, Rule
from alama.core.lending.policy_check import seal
from alama.core.units import Money
from alama.platform.book import Book, Mode
from alama.platform.database import database as databases
from alama.platform.database.database import Database
from alama.platform.days import DAY_US
from alama.platform.errors import StoreUnavailable
from alama.scoring.holds import HOUR_US, Approved, NoRoom, total
from alama.scoring.records import (
    EVIDENCE,
    NOBODY,
    Earlier,
    Entry,
    Fate,
    ScoreSummary,
    UnknownScore,
)
from alama.scoring.replay import open_packed, open_reply
from alama.scoring.store import Scores
from tests.entries import DEMO, NOON_US, UMOJA, a_request_id, an_entry
from tests.policies import with_parts
from tests.stores import lenders_in, scores_in
from tests.tries import tries
from tests.vaults import vault_of

BOOKS = [Book(*pair) for pair in product(("demo", "umoja"), Mode)]
FAR_APART_US = 1_000_000
NOON_HOUR = NOON_US // HOUR_US
NOTHING: dict[Segment, Approved] = {}
_MONTHS = count(1)


@pytest.fixture
def scores(database: Database) -> Scores:
    lenders_in(database, "demo", "umoja")
    return scores_in(database)


@pytest.fixture
def another_process(address: str) -> Iterator[Scores]:
    """The same database, through connections of its own."""
    other = databases.connect(address)
    yield scores_in(other)
    other.close()


def kept(scores: Scores, book: Book) -> list[str]:
    return [row.request_id for row in scores.page(book, None, 1_000)]


def answer(entry: Entry) -> Earlier:
    assert entry.idempotency is not None
    assert entry.unsealed.reply is not None
    row = entry.idempotency
    return Earlier(row.request_digest, row.request_id, entry.unsealed.reply)


def committed(scores: Scores, entries: Sequence[Entry]) -> list[Earlier | None]:
    """Commit; gives the answers of before with their replies opened."""
    vault = vault_of(scores._database)
    opened: list[Earlier | None] = []
    for fate in scores.commit(entries):
        assert fate is None or isinstance(fate, Earlier)
        reply = b"" if fate is None else open_reply(vault, DEMO, fate)
        opened.append(fate and Earlier(fate.request_digest, fate.request_id, reply))
    return opened


# ------------------------------------------------------------------------------------- reading


def test_a_score_is_given_back_as_it_was_kept(scores: Scores) -> None:
    entry = an_entry()
    assert scores.commit([entry]) == [None]
    found = scores.find(DEMO, entry.score.request_id)
    assert (found.row.in_clear, found.applicant) == (entry.score.in_clear, None)
    assert open_packed(vault_of(scores._database), found) == entry.unsealed.record


@pytest.mark.parametrize("book", [book for book in BOOKS if book != DEMO], ids="-".join)
def test_no_other_book_has_the_score(scores: Scores, book: Book) -> None:
    entry = an_entry(DEMO)
    scores.commit([entry])
    with pytest.raises(UnknownScore):
        scores.find(book, entry.score.request_id)
    assert kept(scores, book) == []


def test_a_list_is_newest_first_and_shows_what_the_scores_say(scores: Scores) -> None:
    entries = [an_entry(at_us=NOON_US + number) for number in range(3)]
    scores.commit(entries)
    rows = [[getattr(e.score, name) for name in ScoreSummary._fields] for e in reversed(entries)]
    assert [list(row) for row in scores.page(DEMO, None, 10)] == rows


def pages(scores: Scores, book: Book, size: int) -> Iterator[Sequence[ScoreSummary]]:
    before = None
    while page := scores.page(book, before, size):
        yield page
        before = page[-1].request_id


@settings(tries(12), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.sampled_from(BOOKS), st.integers(0, FAR_APART_US)), max_size=30),
    st.integers(1, 12),
)
def test_pages_put_together_are_every_score_of_the_book_once_newest_first(
    scores: Scores, made: list[tuple[Book, int]], size: int
) -> None:
    scores.commit([an_entry(book, at_us=NOON_US + offset) for book, offset in made])
    for book in BOOKS:
        everything = kept(scores, book)
        assert everything == sorted(set(everything), reverse=True)
        gathered = [list(page) for page in pages(scores, book, size)]
        assert [row.request_id for page in gathered for row in page] == everything
        assert all(len(page) == size for page in gathered[:-1])


def test_scores_written_meanwhile_neither_repeat_nor_hide_older_ones(scores: Scores) -> None:
    old = [an_entry(at_us=NOON_US + number) for number in range(7)]
    scores.commit(old)
    seen: list[str] = []
    for page in pages(scores, DEMO, 2):
        seen += [row.request_id for row in page]
        scores.commit([an_entry(at_us=NOON_US + FAR_APART_US + len(seen))])
    assert seen == [entry.score.request_id for entry in reversed(old)]


def test_applications_are_what_was_sent_for_the_scores_of_a_page(scores: Scores) -> None:
    entries = [an_entry(at_us=NOON_US + number) for number in range(5)]
    told = [
        entry._replace(unsealed=entry.unsealed._replace(record=b'{"number": %d}' % number))
        for number, entry in enumerate(entries)
    ]
    scores.commit([*told, an_entry(Book("umoja", Mode.TEST), at_us=NOON_US)])
    everything = scores.applications(DEMO, None, 10)
    vault = vault_of(scores._database)
    assert [open_packed(vault, one) for one in everything] == [
        b'{"number": %d}' % n for n in (4, 3, 2, 1, 0)
    ]
    ids = [one.row.request_id for one in everything]
    for before, limit in ((None, 2), (ids[1], 2), (ids[3], 9)):
        page = scores.page(DEMO, before, limit)
        found = scores.applications(DEMO, before, limit)
        assert [one.row.request_id for one in found] == [one.request_id for one in page]
    assert scores.applications(DEMO, ids[-1], 9) == []


# ------------------------------------------------------------------------------------- writing


def test_entries_are_kept_all_or_none(scores: Scores) -> None:
    there = an_entry()
    scores.commit([there])
    new = an_entry(idempotency_key="order-1")
    with pytest.raises(StoreUnavailable):
        scores.commit([new, an_entry(request_id=there.score.request_id)])
    assert kept(scores, DEMO) == [there.score.request_id]
    assert scores.commit([new]) == [None]


def test_nothing_to_keep_is_no_trouble(scores: Scores) -> None:
    assert scores.commit([]) == []


def test_a_key_that_was_answered_gives_its_answer_and_keeps_no_second_score(
    scores: Scores,
) -> None:
    first = an_entry(idempotency_key="order-1", request="one")
    scores.commit([first])
    for request in ("one", "another"):
        retry = an_entry(idempotency_key="order-1", request=request)
        assert committed(scores, [retry]) == [answer(first)]
    assert kept(scores, DEMO) == [first.score.request_id]


def test_each_entry_of_a_group_gets_its_own_answer(scores: Scores) -> None:
    first, second = an_entry(idempotency_key="1"), an_entry(idempotency_key="2")
    scores.commit([first, second])
    group = [an_entry(idempotency_key=key) for key in ("2", "3", "1")]
    group.insert(1, an_entry())
    assert committed(scores, group) == [answer(second), None, None, answer(first)]
    new = [group[1].score.request_id, group[2].score.request_id]
    assert set(kept(scores, DEMO)) == {first.score.request_id, second.score.request_id, *new}


def test_a_key_of_one_book_means_nothing_in_another(scores: Scores) -> None:
    group = [an_entry(book, idempotency_key="order-1") for book in BOOKS]
    assert scores.commit(group) == [None] * len(BOOKS)


@pytest.mark.parametrize("days", [4, -4, 8 * 365, -8 * 365])
def test_a_key_that_is_kept_answers_whatever_time_a_retry_comes_at(
    scores: Scores, days: int
) -> None:
    first = an_entry(idempotency_key="order-1")
    scores.commit([first])
    retry = an_entry(at_us=NOON_US + days * DAY_US, idempotency_key="order-1")
    assert committed(scores, [retry]) == [answer(first)]


def test_forgetting_takes_old_keys_and_no_scores(scores: Scores) -> None:
    old = an_entry(idempotency_key="old")
    new = an_entry(at_us=NOON_US + 1, idempotency_key="new")
    scores.commit([old, new])
    scores.forget_idempotency(NOON_US + 1)
    again = [an_entry(idempotency_key=key, at_us=NOON_US + 2) for key in ("old", "new")]
    assert committed(scores, again) == [None, answer(new)]
    assert scores.find(DEMO, old.score.request_id).row.in_clear == old.score.in_clear


def test_forgetting_goes_on_in_small_steps_until_none_is_left(
    scores: Scores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alama.scoring.store.FORGOTTEN_AT_ONCE", 2)
    old = [an_entry(idempotency_key=f"old-{number}") for number in range(5)]
    new = an_entry(at_us=NOON_US + 1, idempotency_key="new")
    scores.commit([new, *old])
    assert [scores.forget_idempotency(NOON_US + 1) for _ in range(4)] == [True, True, False, False]
    again = [an_entry(idempotency_key=f"old-{number}", at_us=NOON_US + 2) for number in range(5)]
    assert scores.commit(again) == [None] * 5
    late = an_entry(at_us=NOON_US + 2, idempotency_key="new")
    assert committed(scores, [late]) == [answer(new)]


def test_two_processes_with_one_key_keep_one_score(scores: Scores, another_process: Scores) -> None:
    for number in range(10):
        groups = [[an_entry(idempotency_key=f"order-{number}")] for _ in range(2)]
        told = at_once([scores, another_process], groups)
        assert sum(outcome == [None] for outcome in told) == 1
    assert len(kept(scores, DEMO)) == 10


def test_two_processes_with_the_same_keys_in_another_order_do_not_block_each_other(
    scores: Scores, another_process: Scores
) -> None:
    for number in range(5):
        keys = [f"{number}-{place}" for place in range(40)]
        groups = [[an_entry(idempotency_key=key) for key in order] for order in (keys, keys[::-1])]
        told = at_once([scores, another_process], groups)
        assert sum(found is None for outcome in told for found in outcome) == len(keys)
    assert len(kept(scores, DEMO)) == 5 * 40


# ---------------------------------------------------------------------------------- whose evidence


def claiming(who: bytes, evidence: str = "statement") -> Entry:
    """A score with evidence that was given for nobody; `who` is whom it names, in a digest."""
    entry = an_entry(idempotency_key=evidence)
    assert entry.idempotency is not None
    claim = entry.idempotency._replace(operation=EVIDENCE, request_digest=who)
    return entry._replace(idempotency=None, claim=claim)


JANE, JOHN = b"j" * 32, b"k" * 32


def fates(*told: Fate) -> list[bool]:
    """Say of each whether it was kept; what was not has to say why."""
    assert all(fate is None or isinstance(fate, InvalidApplication) for fate in told)
    return [fate is None for fate in told]


def test_evidence_is_of_whom_it_first_came_with(scores: Scores, another_process: Scores) -> None:
    group = [claiming(JANE), claiming(JOHN), claiming(JANE), claiming(NOBODY)]
    assert fates(*scores.commit(group)) == [True, False, True, False]
    later = [claiming(JOHN), claiming(JANE), claiming(JOHN, "another"), claiming(NOBODY)]
    assert fates(*another_process.commit(later)) == [False, True, True, False]
    assert len(kept(scores, DEMO)) == 4


def test_evidence_for_nobody_serves_once(scores: Scores) -> None:
    group = [claiming(NOBODY), claiming(NOBODY), claiming(JANE), an_entry()]
    assert fates(*scores.commit(group)) == [True, False, False, True]
    assert fates(*scores.commit([claiming(NOBODY)])) == [False]


def test_of_two_processes_one_has_the_evidence(scores: Scores, another_process: Scores) -> None:
    for number in range(10):
        groups = [[claiming(who, f"{number}")] for who in (JANE, JOHN)]
        told = at_once([scores, another_process], groups)
        assert sum(fates(*(fate for outcome in told for fate in outcome))) == 1
    assert len(kept(scores, DEMO)) == 10


def at_once(processes: Sequence[Scores], groups: Sequence[Sequence[Entry]]) -> list[Sequence[Fate]]:
    start = threading.Barrier(len(processes))

    def commit(scores: Scores, group: Sequence[Entry]) -> Sequence[Fate]:
        start.wait()
        return scores.commit(group)

    with ThreadPoolExecutor(len(processes)) as pool:
        return list(pool.map(commit, processes, groups))


def test_ids_that_are_no_ids_find_nothing(scores: Scores) -> None:
    scores.commit([an_entry()])
    for guess in ("", "%", "req_%", "' OR 1=1 --", "é", a_request_id()):
        with pytest.raises(UnknownScore):
            scores.find(DEMO, guess)


# ------------------------------------------------------------------------------- what is approved


def test_limits_and_losses_of_what_was_approved_in_a_book_are_summed(scores: Scores) -> None:
    assert scores.approved(DEMO, 0) == NOTHING
    scores.commit([an_entry(limit=1_000.0, expected_loss=20.25), an_entry(limit=500.0)])
    scores.commit([an_entry(limit=0.5, expected_loss=0.25)])
    approved = total(scores.approved(DEMO, NOON_HOUR))
    assert approved == Approved(3, 1_500.5, 20.25 + 250.5 + 0.25, 0)
    for book in BOOKS:
        if book != DEMO:
            assert scores.approved(book, 0) == NOTHING


@pytest.mark.parametrize("decision", [Decision.REVIEW, Decision.DECLINED])
def test_what_was_not_approved_counts_for_nothing(scores: Scores, decision: Decision) -> None:
    scores.commit([an_entry(decision=decision), an_entry(limit=700.0, expected_loss=7.0)])
    assert total(scores.approved(DEMO, 0)) == Approved(1, 700.0, 7.0, 0)


def test_a_sum_begins_with_its_hour(scores: Scores) -> None:
    last_of_the_hour_us = (NOON_HOUR + 1) * HOUR_US - 1
    times_us = (NOON_US - 1, NOON_US, last_of_the_hour_us, last_of_the_hour_us + 1)
    scores.commit([an_entry(at_us=at_us, limit=10.0**n) for n, at_us in enumerate(times_us)])
    volumes = [total(scores.approved(DEMO, NOON_HOUR + hours)).volume for hours in (-1, 0, 1, 2)]
    assert volumes == [1_111.0, 1_110.0, 1_000.0, 0.0]


def test_what_several_processes_approve_is_summed_whoever_asks(
    scores: Scores, another_process: Scores
) -> None:
    for number in range(5):
        groups = [[an_entry(limit=100.0)], [an_entry(limit=1.0), an_entry(limit=1.0)]]
        at_once([scores, another_process], groups)
        for process in (scores, another_process):
            assert total(process.approved(DEMO, 0)).volume == 102.0 * (number + 1)


def test_a_retry_is_not_approved_a_second_time(scores: Scores, another_process: Scores) -> None:
    for process in (scores, another_process, scores):
        process.commit([an_entry(idempotency_key="order-1", limit=100.0), an_entry(limit=1.0)])
    assert total(scores.approved(DEMO, 0)).volume == 100.0 + 3.0
    at_once([scores, another_process], [[an_entry(idempotency_key="2", limit=50.0)]] * 2)
    assert total(scores.approved(DEMO, 0)).volume == 103.0 + 50.0


def bounded(policy: Policy, **said: Any) -> Entry:
    return an_entry(**said)._replace(bounds=policy)


def test_a_cap_holds_in_the_commit_whatever_a_process_knows(
    scores: Scores, another_process: Scores
) -> None:
    cap = PortfolioCap("some", Per.MONTH, number_max=3, tiers=("B",))
    policy = seal(msgspec.structs.replace(default_policy("KES"), portfolio=(cap,)))
    first, second, other, third, left = entries = [bounded(policy) for _ in range(5)]
    elsewhere = other._replace(score=other.score._replace(tier="C"))
    assert scores.commit([first, second]) == [None, None]
    *fates, refused = another_process.commit([elsewhere, third, left])
    assert fates == [None, None]
    assert isinstance(refused, NoRoom)
    assert refused.day.full(Segment(None, "B"), 1.0, 0.0) == ("some",)
    assert refused.day.full(Segment(None, "C"), 1.0, 0.0) == ()
    assert left.score.request_id not in kept(scores, DEMO)
    assert len(kept(scores, DEMO)) == len(entries) - 1
    assert scores.commit([left._replace(bounds=None)]) == [None]  # decided otherwise, say


SOME = st.sets(st.sampled_from(["B", "C"])).map(lambda some: tuple(sorted(some)))
PLACES = st.sampled_from([None, "nairobi", "nyeri"])
SOLD = st.sampled_from([None, "weekly", "monthly"])

SOLD_BY: st.SearchStrategy[tuple[str, ...] | UnsetType] = st.sampled_from(
    [UNSET, ("weekly",), ("monthly",), ("weekly", "monthly")]
)


@st.composite
def a_cap(draw: st.DrawFn, name: str) -> PortfolioCap:
    """A cap on some parts of the portfolio, with some bounds."""
    return PortfolioCap(
        name,
        draw(st.sampled_from(Per)),
        draw(st.none() | st.integers(0, 5)),
        draw(st.none() | st.integers(0, 50).map(lambda most: Money(10.0 * most))),
        draw(st.none() | st.integers(0, 50).map(lambda most: Money(float(most)))),
        regions=draw(st.sampled_from([(), ("nairobi",), ("Nairobi", "nyeri")])),
        tiers=draw(SOME),
        products=draw(SOLD_BY),
    )


def has_room(cap: PortfolioCap, one: Entry, given: Sequence[Entry]) -> bool:
    """Say whether a cap has room for a loan beside those that were given, loan by loan."""
    products = () if isinstance(cap.products, UnsetType) else cap.products

    def is_under(loan: Entry) -> bool:
        wanted = (
            ({region.casefold() for region in cap.regions}, loan.region),
            (set(cap.tiers), loan.score.tier),
            (set(products), loan.score.product),
        )
        return all(not some or said in some for some, said in wanted)

    if not is_under(one):
        return True
    rows = [loan.score for loan in (*given, one) if is_under(loan)]
    sums = (len(rows), sum(r.recommended_limit for r in rows), sum(r.expected_loss for r in rows))
    bounds = (cap.number_max, cap.volume_max, cap.expected_loss_max)
    return all(most is None or used <= most for used, most in zip(sums, bounds, strict=True))


@settings(tries(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.tuples(a_cap("first"), a_cap("second"), a_cap("third")),
    st.lists(
        st.tuples(
            st.tuples(PLACES, st.sampled_from("BC"), SOLD),
            st.integers(1, 20),
            st.integers(0, 10),
            st.booleans(),
        ),
        min_size=1,
        max_size=20,
    ),
)
def test_caps_by_region_tier_and_product_let_in_what_an_oracle_does(
    scores: Scores,
    another_process: Scores,
    caps: tuple[PortfolioCap, ...],
    asked: list[tuple[tuple[str | None, str, str | None], int, int, bool]],
) -> None:
    products = (Product("weekly"), Product("monthly", default=True))
    policy = msgspec.structs.replace(default_policy("KES"), portfolio=caps, products=products)
    at_us = NOON_US + next(_MONTHS) * 40 * DAY_US  # each try in a month of its own
    given: list[Entry] = []
    for (region, tier, sold), limit, loss, elsewhere in asked:
        said = bounded(policy, at_us=at_us, limit=10.0 * limit, expected_loss=float(loss))
        row = said.score._replace(tier=tier, product=sold)
        one = said._replace(score=row, region=region)
        (fate,) = (another_process if elsewhere else scores).commit([one])
        fits = all(has_room(cap, one, given) for cap in caps)
        assert (fate is None) == fits
        if fits:
            given.append(one)


def test_a_refused_approval_is_told_of_its_own_book_and_policy(scores: Scores) -> None:
    one, two = (
        with_parts(default_policy("KES"), daily={"volume_max": most}) for most in (10.0, 20.0)
    )
    asked = [
        bounded(one, limit=10.0),
        bounded(one, limit=10.0),
        bounded(two, limit=10.0),
        bounded(two, limit=10.0),
        bounded(one, book=UMOJA, limit=10.0),
    ]
    fates = scores.commit(asked)
    assert [fate is None for fate in fates] == [True, False, True, False, True]
    said = [fate.day.holds for fate in fates if isinstance(fate, NoRoom)]
    assert said == [(Rule.DAILY_VOLUME,)] * 2


def test_what_could_not_be_kept_is_not_approved_either(scores: Scores) -> None:
    there = an_entry(decision=Decision.DECLINED)
    scores.commit([there])
    with pytest.raises(StoreUnavailable):
        scores.commit([an_entry(), an_entry(request_id=there.score.request_id)])
    assert scores.approved(DEMO, 0) == NOTHING


@settings(tries(12), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.sampled_from(BOOKS),
            st.sampled_from(Decision),
            st.integers(-3 * HOUR_US, 3 * HOUR_US),
            st.integers(0, 10**6),
        ),
        max_size=40,
    )
)
def test_a_sum_is_that_of_the_scores_themselves(
    scores: Scores, made: list[tuple[Book, Decision, int, int]]
) -> None:
    before = {book: total(scores.approved(book, NOON_HOUR)).volume for book in BOOKS}
    scores.commit(
        [
            an_entry(book, at_us=NOON_US + offset, decision=decision, limit=float(limit))
            for book, decision, offset, limit in made
        ]
    )
    for book in BOOKS:
        added = sum(
            limit
            for where, decision, offset, limit in made
            if where == book and decision is Decision.APPROVED and offset >= 0
        )
        assert total(scores.approved(book, NOON_HOUR)).volume == before[book] + added


# ------------------------------------------------------------------------------- without waiting


def test_a_free_file_is_written_at_once_and_a_server_never(
    scores: Scores, database: Database
) -> None:
    entry = an_entry()
    assert scores.commit_now([entry]) == ([None] if database.embedded else None)
    assert kept(scores, DEMO) == ([entry.score.request_id] if database.embedded else [])


def test_nobody_waits_for_a_file_that_another_process_writes(
    scores: Scores, another_process: Scores, database: Database
) -> None:
    entry = an_entry()
    with database.writing():
        assert another_process.commit_now([entry]) is None
    assert kept(scores, DEMO) == []
