"""The page that an applicant takes home."""

from __future__ import annotations

import html
import re
from decimal import Decimal
from string import Formatter
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pytest

from alama.core.lending.draft import default_policy
from alama.core.lending.policy import Decision, Policy
from alama.core.lending.policy_check import seal
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel
from alama.core.reasons.dictionary import Language
from alama.core.recourse.answer import Recourse, ScoreAtLeast, Sought, Status, TierAtLeast
from alama.core.recourse.ready import ReadyRecourse
from alama.platform.files.packaged import builtin, languages
from alama.scoring.page import explanation_page
from tests.explanations import (
    APPROVED,
    ASKING_MUCH,
    BEYOND_HELP,
    COMPACT,
    DECLINED,
    DECLINED_FOR_MUCH,
    INDEBTED,
    PENNILESS,
    REVIEWED,
    Explained,
    explained,
)
from tests.factories import a_model

LANGUAGES = languages()
ENGLISH, SWAHILI, FRENCH = LANGUAGES
CASES = {
    "approved": APPROVED,
    "declined": DECLINED,
    "reviewed": REVIEWED,
    "compact": COMPACT,
    "beyond help": BEYOND_HELP,
    "indebted": INDEBTED,
    "penniless": PENNILESS,
    "asking much": ASKING_MUCH,
    "declined for much": DECLINED_FOR_MUCH,
}


def shown(case: Explained, language: Language = ENGLISH, made_on: str = "2026-11-15") -> str:
    return explanation_page(
        case.ready, case.application, case.sought.goal, case.explanation, language, made_on
    )


def page_of(sent: dict[str, Any], language: Language = ENGLISH, **sought: Any) -> str:
    return shown(explained(sent, language, Sought(**sought)), language)


def strong_words() -> ReadyRecourse:
    """A model in which words, and what is not given, count for much."""
    return ReadyRecourse(ReadyPolicy(default_policy("KES"), ReadyModel(a_model(seed=2), "KES")))


def tree(page: str) -> ET.Element:
    return ET.fromstring(page.removeprefix("<!DOCTYPE html>\n"))  # noqa: S314 our own page


def words(page: str) -> str:
    """What the page says; money is on one line, which is told elsewhere."""
    return html.unescape(re.sub(r"<[^>]+>", " ", page)).replace("KES\u00a0", "KES ")


def text_of(element: ET.Element) -> str:
    return "".join(element.itertext()).replace("KES\u00a0", "KES ")


# -------------------------------------------------------------------------------------- labels


def placeholders(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name}


def test_every_language_has_the_same_labels_with_the_same_placeholders() -> None:
    for language in (SWAHILI, FRENCH):
        assert list(language.page) == list(ENGLISH.page)
        for key, template in ENGLISH.page.items():
            assert placeholders(language.page[key]) == placeholders(template), key


class _Asked(dict[str, str]):
    """Labels that remember which of them were asked for."""

    def __init__(self, labels: dict[str, str]) -> None:
        super().__init__(labels)
        self.keys_asked: set[str] = set()

    def __getitem__(self, key: str) -> str:
        self.keys_asked.add(key)
        return super().__getitem__(key)


def test_the_page_uses_every_label() -> None:
    asked = _Asked(ENGLISH.page)
    english = msgspec.structs.replace(ENGLISH, page=asked)
    goals = [TierAtLeast("A"), TierAtLeast("D"), ScoreAtLeast(700), ScoreAtLeast(500)]
    for sent in CASES.values():
        page_of(sent, english)
        for goal in goals:
            page_of(sent, english, goal=goal)
    shown(out_of_time(explained(DECLINED, english)), english)
    shown(explained({**COMPACT, "region": "Nairobi"}, english, ready=strong_words()), english)
    assert set(ENGLISH.page) - asked.keys_asked == set()


# --------------------------------------------------------------------------------- the whole page


def test_it_is_well_formed_in_its_language_and_asks_for_nothing(subtests: pytest.Subtests) -> None:
    for sent in CASES.values():
        for language in LANGUAGES:
            with subtests.test(language.code, sent=sent):
                page = page_of(sent, language)
                assert tree(page).get("lang") == language.code
                assert "<script" not in page
                assert not re.search(r"(src|href)=|url\(|@import|https?:", page)
                assert not re.search(r"\b(nan|inf)\b", page)
                assert "{" not in page.split("</style>")[1]


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (APPROVED, "We can lend you up to KES 13,000."),
        (DECLINED, "We cannot lend to you at the moment."),
        (REVIEWED, "A member of our staff will decide on your application."),
    ],
    ids=["approved", "declined", "reviewed"],
)
def test_the_answer_is_the_headline(sent: dict[str, Any], answer: str) -> None:
    assert [text_of(title) for title in tree(page_of(sent)).iter("h1")] == [answer]


def test_the_price_of_what_is_approved_stands_below_the_headline() -> None:
    offer = explained(APPROVED, FRENCH).explanation.assessment.offer
    apr = f"{offer.apr}".replace(".", ",")
    assert f"Sur 60\u00a0jours, à {apr}\u00a0% par an, tous frais compris." in words(
        page_of(APPROVED, FRENCH)
    )


@pytest.mark.parametrize(
    ("language", "told"),
    [
        (ENGLISH, "You asked for KES 47,000. You asked for a term of 25 days."),
        (SWAHILI, "Uliomba KES 47,000. Uliomba muda wa siku 25."),
        (
            FRENCH,
            "Vous avez demandé 47\u202f000\u00a0KES. Vous avez demandé une durée de 25\u00a0jours.",
        ),
    ],
    ids=["en", "sw", "fr"],
)
def test_an_approval_for_another_loan_than_was_asked_for_says_so(
    language: Language, told: str
) -> None:
    lead = tree(page_of(ASKING_MUCH, language)).find(".//p[@class='lead']")
    assert lead is not None
    assert text_of(lead).endswith(told)
    as_asked = tree(page_of(APPROVED, language)).find(".//p[@class='lead']")
    assert as_asked is not None
    assert text_of(as_asked).endswith(f"{language.page['approved_terms'].rsplit('}', 1)[1]}")


def test_money_does_not_break_across_lines() -> None:
    for language in (ENGLISH, SWAHILI):
        for sent in (DECLINED, ASKING_MUCH):
            page = html.unescape(page_of(sent, language))
            assert "KES\u00a0" in page
            assert not re.search(r"KES \d", page)


def test_the_reference_and_the_day_are_filled_in_where_they_are_known() -> None:
    filled = [text_of(blank) for blank in tree(page_of(DECLINED)).iter("dd")]
    assert filled == ["", "L-20931", "2026-11-15"]
    empty = shown(explained(COMPACT, ENGLISH), made_on="")
    assert [text_of(blank) for blank in tree(empty).iter("dd")] == ["", "", ""]


def test_what_was_sent_cannot_forge_the_page() -> None:
    sent = {**DECLINED, "loan_purpose": "<b>{title}</b>", "applicant_ref": "<i>{kicker}"}
    page = shown(explained(sent, ENGLISH, ready=strong_words()))
    assert not re.search("<[bi]>", page)
    told = text_of(next(tree(page).iter("body")))
    assert "The purpose of the loan: “<b>{title}</b>”" in told
    assert "<i>{kicker}" in told


def test_model_and_policy_are_named_at_the_foot() -> None:
    foot = text_of(next(tree(page_of(COMPACT)).iter("footer")))
    assert builtin().id in foot
    assert default_policy("KES").id in foot


# --------------------------------------------------------------------------------------- the why


@pytest.mark.parametrize("sent", CASES.values(), ids=CASES)
def test_every_reason_is_told(sent: dict[str, Any]) -> None:
    case = explained(sent, ENGLISH)
    page = words(shown(case))
    assert all(reason.text in page for reason in case.explanation.reasons)
    is_approved = case.explanation.assessment.decision is Decision.APPROVED
    assert (ENGLISH.page["strengths"] in page) is is_approved


@pytest.mark.parametrize("sent", CASES.values(), ids=CASES)
def test_the_points_of_the_rows_lead_from_the_average_to_the_score(sent: dict[str, Any]) -> None:
    said = explained(sent, ENGLISH).explanation.assessment
    rows = [[text_of(cell) for cell in row] for row in tree(page_of(sent)).iter("tr")]
    (_, start, _), *fields, (named, end, _) = rows
    points = [Decimal(row[1].replace("\N{MINUS SIGN}", "-")) for row in fields]
    assert Decimal(start) + sum(points) == Decimal(end)
    assert Decimal(start) == Decimal(f"{said.base:.1f}")
    assert abs(Decimal(end) - said.score) <= Decimal("0.5")
    assert named == f"Total, shown as a score of {said.score}"
    noticed = [one for one in said.contributions if abs(one.points) >= 1.0]
    assert len(noticed) <= len(fields) <= len(noticed) + 1
    for one, shown_points in zip(noticed, points, strict=False):
        assert abs(float(shown_points) - one.points) < 0.1


def test_the_average_has_the_mark_of_the_language() -> None:
    base = f"{explained(COMPACT, FRENCH).explanation.assessment.base:.1f}".replace(".", ",")
    assert f"Le score moyen est de {base}." in words(page_of(COMPACT, FRENCH))


def test_values_are_written_in_the_applicants_language() -> None:
    page = words(page_of({**DECLINED, "avg_balance": 1_239.57}, FRENCH))
    assert re.search("Votre solde moyen\u00a0: +1\u202f240\u00a0KES", page)
    assert re.search("appareil que vous utilisez\u00a0: +un smartphone", page)


def test_a_loan_that_was_not_named_is_told_to_be_the_standard_one() -> None:
    sent = {name: value for name, value in DECLINED.items() if name != "requested_amount"}
    amount = default_policy("KES").standard_loan.amount
    page = words(page_of(sent))
    assert f"KES {amount:,.0f}, our usual figure when none is given" in page


# -------------------------------------------------------------------------------------- the ways


def out_of_time(case: Explained) -> Explained:
    recourse = msgspec.structs.replace(case.explanation.recourse, optimal=False)
    late = msgspec.structs.replace(case.explanation, recourse=recourse)
    return case._replace(explanation=late)


@pytest.mark.parametrize("sent", [DECLINED, REVIEWED, COMPACT], ids=["full", "review", "compact"])
def test_each_way_has_its_changes_and_what_they_lead_to(sent: dict[str, Any]) -> None:
    case = explained(sent, ENGLISH)
    found = case.explanation.recourse.counterfactuals
    ways = list(tree(shown(case)).iter("article"))
    assert len(ways) == len(found) > 1
    for way, one in zip(ways, found, strict=True):
        told = text_of(way)
        assert f"Your score would be {one.assessment.score}." in told
        assert f"We could lend you up to KES {one.assessment.offer.limit:,}, over " in told
        assert len(list(way.iter("li"))) == len(one.changes)


def test_a_way_to_another_loan_than_is_asked_for_says_so() -> None:
    ways = explained(DECLINED_FOR_MUCH, ENGLISH).explanation.recourse.counterfactuals
    told = [text_of(way) for way in tree(page_of(DECLINED_FOR_MUCH)).iter("article")]
    for way, article in zip(ways, told, strict=True):
        after = {change.field: change.after for change in way.changes}
        amount = after.get("requested_amount", 40_000)
        assert isinstance(amount, int | float)
        asks = "You would be asking for" if "requested_amount" in after else "You asked for"
        is_less = way.assessment.offer.limit < amount
        assert (f"{asks} KES {amount:,.0f}." in article) is is_less
        term = after.get("requested_term_days", 200)
        asks = "You would be asking for" if "requested_term_days" in after else "You asked for"
        is_other = way.assessment.offer.term_days != term
        assert (f"{asks} a term of {term} days." in article) is is_other
    assert "You would be asking for KES " in " ".join(told)
    assert "You asked for KES 40,000." in " ".join(told)


def test_a_loan_that_was_assumed_is_told_as_such() -> None:
    page = words(page_of(COMPACT))
    assert "You named no term, so we assumed 30 days." in page
    assert "You asked for" not in page


def test_a_way_that_may_not_be_the_easiest_is_told_as_such() -> None:
    case = explained(DECLINED, ENGLISH)
    assert ENGLISH.page["unproven"] not in shown(case)
    assert ENGLISH.page["unproven"] in shown(out_of_time(case))


def test_one_way_alone_is_not_called_the_easiest() -> None:
    one = page_of(DECLINED, count=1)
    assert ENGLISH.page["ways_note"] not in one
    assert "Way 1" in one


def test_ways_promise_no_more_than_they_can_and_where_there_is_none_nothing() -> None:
    assert ENGLISH.advice.notice in page_of(DECLINED)
    assert ENGLISH.advice.notice not in page_of(BEYOND_HELP)
    assert ENGLISH.advice.notice not in page_of(APPROVED)


def test_where_nothing_helps_it_says_what_stands_in_the_way() -> None:
    page = words(page_of(PENNILESS))
    assert "nothing that you could change within 180 days and that would be enough" in page
    assert "is too little even for our smallest loan." in page
    assert "<article" not in page_of(PENNILESS)


def test_what_stands_in_the_way_twice_is_told_once() -> None:
    case = explained(PENNILESS, ENGLISH)
    (bound,) = case.explanation.recourse.binding
    twice = Recourse(Status.NO_RECOURSE, binding=(bound, bound))
    told = msgspec.structs.replace(case.explanation, recourse=twice)
    *_, section = tree(shown(case._replace(explanation=told))).iter("section")
    assert len(list(section.iter("li"))) == 1


def test_a_goal_beyond_approval_has_its_own_heading() -> None:
    assert "What you can do to reach tier A" in page_of(APPROVED, goal=TierAtLeast("A"))
    met = page_of(APPROVED, goal=ScoreAtLeast(600))
    assert "Your score is 600 or more: nothing needs to change." in met


def test_a_way_that_leaves_the_decision_to_a_person_promises_no_loan() -> None:
    page = words(page_of(DECLINED, goal=ScoreAtLeast(560)))
    assert "A member of our staff would then decide." in page
    assert "We could lend you" not in page


def policy_of(**changed: Any) -> Policy:
    return seal(msgspec.structs.replace(default_policy("KES"), id="", **changed))


def test_a_policy_with_other_tiers_has_its_own_scale() -> None:
    tiers = default_policy("KES").tiers
    kept = (tiers[0], msgspec.structs.replace(tiers[-1], name="Z"))
    ready = ReadyRecourse(ReadyPolicy(policy_of(tiers=kept), ReadyModel(builtin(), "KES")))
    page = shown(explained(COMPACT, ENGLISH, ready=ready))
    scale = next(tree(page).iter("figure"))
    labels = [label.text for label in scale.iter("text")]
    assert labels == ["Z", "A", "690", "563"]
    assert ENGLISH.page["tier_review"] not in page


def test_a_change_of_what_the_card_does_not_read_has_words_and_no_picture() -> None:
    case = explained(COMPACT, ENGLISH)
    way = case.explanation.recourse.counterfactuals[0]
    change = msgspec.structs.replace(
        way.changes[0], field="requested_term_days", before=60, after=30
    )
    recourse = Recourse(Status.FOUND, (msgspec.structs.replace(way, changes=(change,)),))
    told = msgspec.structs.replace(case.explanation, recourse=recourse)
    article = next(tree(shown(case._replace(explanation=told))).iter("article"))
    assert "Ask for a shorter term" in text_of(article)
    assert len(list(next(article.iter("ul")).iter("svg"))) == 0
