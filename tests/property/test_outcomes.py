"""What is known of a loan does not depend on when, how often or in what order it was said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import permutations

from hypothesis import assume, given
from hypothesis import strategies as st

from alama.core.monitoring.news import News, State
from alama.monitoring.outcomes import Heard, Verdict, judge
from alama.platform.days import DAY_US, day_of
from alama.scoring.sequels import DEFAULTS, Answer, Outcome, Said
from tests.entries import NOON_US, a_request_id

REQUEST_ID = a_request_id()
FIRST_DAY = day_of(NOON_US)
DAYS = 400
SAID = Said(NOON_US, 202611, FIRST_DAY + 60, "sha256:model", 661, "B", 0.049, "APPROVED")
NOW_US = NOON_US + DAYS * DAY_US
HEARD = Heard(NOW_US, None)

amounts = st.none() | st.floats(0, 1e12)
days = st.integers(FIRST_DAY, FIRST_DAY + DAYS)


def some_news(corrects: st.SearchStrategy[bool]) -> st.SearchStrategy[News]:
    whole = st.builds(
        News,
        st.just(REQUEST_ID),
        st.sampled_from(State),
        days,
        amounts,
        amounts,
        corrects,
        st.none() | days,
    )
    return whole.filter(lambda one: one.defaulted_on is None or one.defaulted_on <= one.happened_on)


def defaults_of(news: Iterable[News]) -> list[int]:
    """The days on which news have it that the loan was a default."""
    named = [one.defaulted_on for one in news if one.defaulted_on is not None]
    return [*named, *(one.happened_on for one in news if one.state in DEFAULTS)]


plain = some_news(st.just(value=False))
any_news = some_news(st.booleans())
of_different_days = st.lists(plain, min_size=1, max_size=5, unique_by=lambda one: one.happened_on)


def told(news: Iterable[News], known: Outcome | None = None) -> tuple[list[Verdict], Outcome]:
    """Say one thing after the other, a second apart; what is known in the end."""
    verdicts = []
    for second, one in enumerate(news):
        verdict = judge(one, SAID, known, Heard(NOW_US + second * 1_000_000, f"key_{second}"))
        verdicts.append(verdict)
        known = verdict.outcome
    assert known is not None
    return verdicts, known


def said(outcome: Outcome) -> Outcome:
    """What it says of the loan, however it was corrected."""
    return content(outcome)._replace(settled_on=None, corrections="")


def content(outcome: Outcome) -> Outcome:
    """What it says, whoever said it, and when."""
    return outcome._replace(recorded_us=0, key_id=None)


@given(of_different_days)
def test_any_order_of_arrival_leaves_the_same_row(news: list[News]) -> None:
    rows = {content(told(order)[1]) for order in permutations(news)}
    assert len(rows) == 1


@given(of_different_days)
def test_the_latest_has_the_word_and_the_first_default_its_day(news: list[News]) -> None:
    _, known = told(news)
    latest = max(news, key=lambda one: one.happened_on)
    defaults = defaults_of(news)
    assert (known.state, known.happened_on) == (latest.state, latest.happened_on)
    assert known.disbursed_amount == latest.disbursed_amount
    assert known.repaid_amount == latest.repaid_amount
    assert known.defaulted_on == min(defaults, default=None)
    assert known.is_default is bool(defaults)


@given(st.lists(any_news, min_size=1, max_size=6), st.data())
def test_whatever_was_said_changes_nothing_when_it_is_said_again(
    news: list[News], data: st.DataObject
) -> None:
    _, known = told(news)
    again: Sequence[News] = data.draw(st.permutations(news))
    verdicts, still = told(again, known)
    assert still == known
    assert not any(verdict.is_written or verdict.is_announced for verdict in verdicts)
    assert {verdict.answer for verdict in verdicts} <= {
        Answer.UNCHANGED,
        Answer.OLDER,
        Answer.CONFLICT,
    }


@given(of_different_days)
def test_news_of_different_days_are_never_in_conflict(news: list[News]) -> None:
    verdicts, known = told(news)
    verdicts += told(news, known)[0]
    assert Answer.CONFLICT not in {verdict.answer for verdict in verdicts}


@given(st.lists(any_news, min_size=1, max_size=8))
def test_what_is_unchanged_was_said_before(news: list[News]) -> None:
    verdicts, _ = told(news)
    assert not any(one.is_written for one in verdicts if one.answer is Answer.UNCHANGED)


@given(st.lists(plain, min_size=1, max_size=5), st.data())
def test_whether_a_loan_is_a_default_never_depends_on_the_order(
    news: list[News], data: st.DataObject
) -> None:
    _, known = told(news)
    _, other = told(data.draw(st.permutations(news)))
    assert known.defaulted_on == other.defaulted_on == min(defaults_of(news), default=None)


@given(plain, st.data())
def test_what_leaves_out_an_amount_contradicts_nobody(news: News, data: st.DataObject) -> None:
    less = data.draw(
        st.sampled_from(
            [
                news._replace(disbursed_amount=None),
                news._replace(repaid_amount=None),
                news._replace(disbursed_amount=None, repaid_amount=None),
            ]
        )
    )
    for order in ([news, less], [less, news]):
        verdicts, known = told(order)
        assert content(known) == content(told([news])[1])
        assert verdicts[1].answer in {Answer.UNCHANGED, Answer.UPDATED}


@given(st.lists(any_news, max_size=6), any_news)
def test_a_correction_is_all_that_is_known(before: list[News], last: News) -> None:
    right = last._replace(corrects=True)
    assume(right not in before)
    _, corrected = told([*before, right])
    _, alone = told([last])
    assert said(corrected) == said(alone)


@given(st.lists(plain, max_size=6), any_news, plain)
def test_what_happens_after_a_correction_is_news(
    before: list[News], right: News, later: News
) -> None:
    _, known = told([*before, right._replace(corrects=True)])
    assert known.settled_on is not None
    after = later._replace(happened_on=known.settled_on + 1, defaulted_on=None)
    (verdict,), now = told([after], known)
    assert (verdict.answer, now.state) == (Answer.UPDATED, after.state)
    assert now.is_default is (known.is_default or after.state in DEFAULTS)


@given(st.lists(plain, min_size=2, max_size=8))
def test_a_default_stays_one_whatever_comes(news: list[News]) -> None:
    seen = False
    known = None
    for one in news:
        verdict = judge(one, SAID, known, HEARD)
        known = verdict.outcome
        assert known is not None
        seen = seen or bool(defaults_of([one]))
        assert known.is_default is seen


@given(st.lists(any_news, min_size=1, max_size=8))
def test_what_is_written_is_what_has_changed(news: list[News]) -> None:
    known: Outcome | None = None
    for one in news:
        verdict = judge(one, SAID, known, HEARD)
        assert verdict.is_written is (verdict.outcome != known)
        assert verdict.is_written or not verdict.is_announced
        known = verdict.outcome


@given(plain, st.integers(1, 10_000))
def test_no_day_is_taken_that_has_not_begun_anywhere(news: News, days_ahead: int) -> None:
    ahead = news._replace(happened_on=day_of(NOW_US) + 1 + days_ahead)
    assert judge(ahead, SAID, None, HEARD) == Verdict(Answer.IN_THE_FUTURE, None)


@given(plain, st.integers(1, 10_000))
def test_no_day_is_taken_before_the_score(news: News, days_before: int) -> None:
    before = news._replace(happened_on=FIRST_DAY - days_before)
    assert judge(before, SAID, None, HEARD) == Verdict(Answer.BEFORE_THE_LOAN, None)


@given(plain, st.integers(1, 10_000))
def test_nor_as_the_first_day_of_a_default(news: News, days_before: int) -> None:
    before = news._replace(defaulted_on=FIRST_DAY - days_before)
    assert judge(before, SAID, None, HEARD) == Verdict(Answer.BEFORE_THE_LOAN, None)
