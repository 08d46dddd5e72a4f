"""What a piece of news makes of what is known of a loan.

Lenders send the same twice, and late, and in any order. So a loan has one row, and what it says
does not depend on the order in which news of different days arrived: the latest day has the word,
and a loan that was ever a default stays one.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.service.days import day_of
from alama.service.outcomes.records import DEFAULTS, Answer, Outcome

if TYPE_CHECKING:
    from alama.service.outcomes.records import News, Said

_HOUR_US: Final = 3_600 * 1_000_000

FIRST_TO_WAKE_US: Final = 14 * _HOUR_US
LAST_TO_SLEEP_US: Final = 12 * _HOUR_US
"""How far clocks on earth are before and behind UTC: a day is judged by the kindest of them."""

_MARK_DIGITS: Final = 12


class Heard(NamedTuple):
    """When news came, and by which key; None: by a person at a command line."""

    at_us: int
    key_id: str | None


class Verdict(NamedTuple):
    """What becomes of a piece of news. `outcome` is what is known from now on, if anything is.

    `is_written`: it is not what was known before, and has to be kept. `is_told`: others would want
    to hear of it.
    """

    answer: Answer
    outcome: Outcome | None
    is_written: bool = False
    is_told: bool = False


def judge(news: News, said: Said | None, known: Outcome | None, heard: Heard) -> Verdict:
    """Say what becomes of news about a loan.

    `said` is what its score said, None where the book has no such score; `known` is what was known
    of the loan before.
    """
    refused = _refused(news, said, heard.at_us)
    if refused is not None:
        return Verdict(refused, None)
    alone = _alone(news, heard)
    if known is None:
        return Verdict(Answer.RECORDED, alone, is_written=True, is_told=True)
    return _corrected(alone, known) if news.corrects else _compared(alone, known)


def _refused(news: News, said: Said | None, now_us: int) -> Answer | None:
    if said is None:
        return Answer.UNKNOWN_SCORE
    if news.happened_on > day_of(now_us + FIRST_TO_WAKE_US):
        return Answer.IN_THE_FUTURE
    if _earliest(news.happened_on, news.defaulted_on) < day_of(said.score_us - LAST_TO_SLEEP_US):
        return Answer.BEFORE_THE_LOAN
    return None


def _alone(news: News, heard: Heard) -> Outcome:
    """Give what would be known if nothing else had ever been said."""
    day = news.happened_on
    is_default = news.state in DEFAULTS
    return Outcome(
        request_id=news.request_id,
        state=news.state,
        happened_on=day,
        defaulted_on=_earliest(day, news.defaulted_on) if is_default else news.defaulted_on,
        disbursed_amount=news.disbursed_amount,
        repaid_amount=news.repaid_amount,
        recorded_us=heard.at_us,
        key_id=heard.key_id,
        settled_on=day if news.corrects else None,
        corrections=_mark(news) if news.corrects else "",
    )


def _mark(news: News) -> str:
    """Give what a correction is known by when it comes again."""
    return hashlib.sha256(repr(tuple(news[1:])).encode()).hexdigest()[:_MARK_DIGITS]


def _corrected(right: Outcome, known: Outcome) -> Verdict:
    """Let what is right stand alone, unless it was said before: later news may stand by now.

    What was wrong may be sent again by somebody who does not know of the correction. It says
    nothing of a later day than what was known, by which it can be told from news.
    """
    if right.corrections in known.corrections.split():
        return Verdict(Answer.UNCHANGED if _says(right, known) else Answer.OLDER, known)
    now = right._replace(
        settled_on=max(right.happened_on, known.happened_on, known.settled_on or 0),
        corrections=f"{known.corrections} {right.corrections}".strip(),
    )
    return Verdict(Answer.CORRECTED, now, is_written=True, is_told=_differs(now, known))


def _compared(alone: Outcome, known: Outcome) -> Verdict:
    is_settled = known.settled_on is not None and alone.happened_on <= known.settled_on
    if alone.happened_on == known.happened_on:
        return _of_one_day(alone, known, is_settled=is_settled)
    if is_settled:
        # What is later than the correction may be true, and is not dropped without a word.
        is_older = alone.happened_on < known.happened_on
        return Verdict(Answer.OLDER if is_older else Answer.CONFLICT, known)
    if alone.happened_on > known.happened_on:
        return _added(Answer.UPDATED, alone, alone, known)
    return _added(Answer.OLDER, known, alone, known)


def _of_one_day(alone: Outcome, known: Outcome, *, is_settled: bool) -> Verdict:
    whole = _joined(alone, known)
    if is_settled and (whole is None or alone.defaulted_on not in {None, known.defaulted_on}):
        return Verdict(Answer.CONFLICT, known)
    if whole is None:
        return _added(Answer.CONFLICT, known, alone, known)
    return _added(Answer.UPDATED, whole, alone, known)


def _added(answer: Answer, stands: Outcome, alone: Outcome, known: Outcome) -> Verdict:
    """Let something stand, as a default since the first day that news or what was known name."""
    if alone.defaulted_on is None:
        first = known.defaulted_on
    else:
        first = _earliest(alone.defaulted_on, known.defaulted_on)
    now = stands._replace(
        defaulted_on=first,
        recorded_us=alone.recorded_us,
        key_id=alone.key_id,
        settled_on=known.settled_on,
        corrections=known.corrections,
    )
    if _says(now, known):
        return Verdict(Answer.UNCHANGED if answer is Answer.UPDATED else answer, known)
    return Verdict(answer, now, is_written=True, is_told=_differs(now, known))


def _joined(alone: Outcome, known: Outcome) -> Outcome | None:
    """Give what two pieces of news of one day say together; None where they contradict.

    One may leave out an amount that the other has.
    """
    pairs = (
        (alone.disbursed_amount, known.disbursed_amount),
        (alone.repaid_amount, known.repaid_amount),
    )
    contradict = any(None not in pair and pair[0] != pair[1] for pair in pairs)
    if alone.state is not known.state or contradict:
        return None
    disbursed, repaid = (new if old is None else old for new, old in pairs)
    return known._replace(disbursed_amount=disbursed, repaid_amount=repaid)


def _earliest(one: int, other: int | None) -> int:
    return one if other is None else min(one, other)


def _says(one: Outcome, other: Outcome) -> bool:
    """Say whether two say the same of a loan, whoever said it, and when."""
    return _statement(one) == _statement(other)


def _statement(outcome: Outcome) -> tuple[object, ...]:
    return (
        outcome.state,
        outcome.happened_on,
        outcome.defaulted_on,
        outcome.disbursed_amount,
        outcome.repaid_amount,
    )


def _differs(now: Outcome, known: Outcome) -> bool:
    """Say whether others would learn something: they are told neither amounts nor first days."""
    told, before = ((one.state, one.happened_on, one.is_default) for one in (now, known))
    return told != before
