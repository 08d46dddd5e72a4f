"""What is refused, where, and what is said to whoever wrote it."""

import pytest

from alama.core.errors import AlamaError, InvalidExpression
from alama.core.expressions.expression import parse
from alama.core.product import PRODUCT


def refusal(text: str) -> InvalidExpression:
    with pytest.raises(InvalidExpression) as caught:
        parse(text, PRODUCT)
    return caught.value


def test_a_refusal_says_what_is_wrong_and_where_and_what_to_write() -> None:
    refused = refusal("mm_months < 3 and avg_inflo < 5")
    assert isinstance(refused, AlamaError)
    assert str(refused) == "avg_inflo is not a field, at column 19"
    assert (refused.fault, refused.column) == ("avg_inflo is not a field", 19)
    assert refused.hint == "did you mean avg_inflow?"


@pytest.mark.parametrize(
    ("text", "column", "fault", "advice"),
    [
        ("MM_Months < 3", 1, "not a field", "did you mean mm_months?"),
        ("mobile_money_month < 3", 1, "not a field", "did you mean mobile_money_months?"),
        ("region == nairobi", 11, "nairobi is not a field", 'in quotes ("nairobi")'),
        ("xyzzy < 3", 1, "not a field", "the fields are mm_months, avg_inflow,"),
        ("score < 600", 1, "is what Alama answers", "use the tiers for that"),
        ("mm_months < 3 and Tier == 'D'", 19, "is what Alama answers", "use the tiers for that"),
        ("applicant_ref == 'a'", 1, "no fact about them", "what is known of the applicant"),
        ("Gender == 'f'", 1, "must never be part of a credit decision", "other fields"),
    ],
)
def test_a_name_that_cannot_be_used(text: str, column: int, fault: str, advice: str) -> None:
    check(text, column, fault, advice)


def test_quotes_are_advised_only_where_a_word_may_stand() -> None:
    assert "in quotes" in str(refusal("region == qwerty").hint)
    assert "in quotes" not in str(refusal("qwerty == 'nairobi'").hint)


@pytest.mark.parametrize(
    ("text", "column", "fault", "advice"),
    [
        ("mm_months = 3", 11, "'=' means nothing", "write =="),
        ("mm_months <> 3", 11, "'<>' means nothing", "write !="),
        ("mm_months =< 3", 11, "'=<' means nothing", "write <="),
        ("mm_months ≥ 3", 11, "'≥' means nothing", "write >="),
        ("mm_months < 3 && mm_months > 1", 15, "'&&' means nothing", "write and"),
        ("mm_months < 3 AND mm_months > 1", 15, "'AND' is out of place", "small letters"),
        ("Not mm_months < 3", 1, "Not is not a field", "write not in small letters"),
        ("balance_stability < 30%", 23, "'%' means nothing", "0.3 for 30 percent"),
        ("region == “nairobi”", 11, "'“' means nothing", "straight quotes"),
        ('region == "nairobi', 11, "means nothing", "close the word"),
        ("mm_months < 3;", 14, "';' means nothing", "leave it out"),
    ],
)
def test_a_sign_of_another_language(text: str, column: int, fault: str, advice: str) -> None:
    check(text, column, fault, advice)


def test_a_value_that_is_none(subtests: pytest.Subtests) -> None:
    for text, column, fault, advice in [
        ("avg_inflow < 10k", 16, "followed by 'k'", "without a unit"),
        ("avg_inflow < 5.", 15, "followed by '.'", "0.5"),
        ("avg_inflow < .5", 14, "'.' means nothing", "0.5"),
        ("avg_inflow < 1__0", 15, "followed by '_'", "1_500"),
        ("avg_inflow < 007", 14, "starts with a 0", "1500"),
        ("avg_inflow in [1,000]", 18, "starts with a 0", "write 1000 or 1_000"),
        ("avg_inflow < 20,000", 17, "starts with a 0", "write 20000 or 20_000"),
        ("avg_inflow < 1,500", 15, "',' is out of place", "write 1500 or 1_500"),
        ("balance_stability < 0,35", 22, "',' is out of place", "write 0.35, with a point"),
        ("avg_inflow < 1,5,250", 15, "',' is out of place", "commas stand only in lists"),
        ("avg_inflow < 1,500,250", 15, "',' is out of place", "write 1500250 or 1_500_250"),
        (
            "avg_inflow < 1,5 and mm_months < 3",
            15,
            "',' is out of place",
            "write 1.5, with a point",
        ),
        ("avg_inflow < 1e999", 14, "too large", "smaller"),
        ('region == " "', 11, "is empty", "is missing"),
        (f'region == "{"x" * 65}"', 11, "longer than 64 characters", "close its quotes"),
    ]:
        with subtests.test(text):
            check(text, column, fault, advice)


def test_kinds_that_do_not_fit(subtests: pytest.Subtests) -> None:
    for text, column, fault, advice in [
        ("mm_months", 1, "a number stands where a condition", "compare it"),
        ("not region", 5, "a word stands where a condition", "compare it"),
        ("mm_months < 3 and region", 19, "a word stands where a condition", "compare it"),
        ("1 or mm_months < 3", 1, "a number stands where a condition", "compare it"),
        ("region + 1 > 2", 1, "a word stands where a number", "compare words with =="),
        ("-region > 2", 2, "a word stands where a number", "compare words with =="),
        ('region < "nairobi"', 8, "words have no order that <", "compare words with =="),
        ("region == 3", 8, "a word is compared with a number", "in quotes"),
        ('mm_months != "3"', 11, "a number is compared with a word", "numbers without"),
        ("(mm_months < 3) == (mm_months > 1)", 1, "a condition stands", "and, or, not"),
        ('region == (region == "x")', 8, "a word is compared with a condition", "its like"),
        ("(mm_months < 3) in [1]", 1, "a condition stands", "and, or, not"),
        ('region in ["a", 2]', 17, "a word is looked up in a list with a number", "in quotes"),
        ("mm_months in [1, 'b']", 18, "a number is looked up in a list with a word", "without"),
        ("'region' == 'nairobi'", 1, "without reading a field", "without quotes"),
        ("1 < 2", 1, "without reading a field", "name a field"),
        ("3 in [3]", 1, "without reading a field", "name a field"),
        ("mm_months + 1 is missing", 1, "only a field", "one field before `is`"),
    ]:
        with subtests.test(text):
            check(text, column, fault, advice)


def test_a_sentence_that_is_none(subtests: pytest.Subtests) -> None:
    for text, column, fault, advice in [
        ("", 1, "is empty", "mm_months < 3"),
        (" \n ", 1, "is empty", "mm_months < 3"),
        ("1 < mm_months < 3", 15, "'<' is out of place", "write a < b and b < c"),
        ("mm_months == 1 in [1]", 16, "'in' is out of place", "two values at a time"),
        ("mm_months < 3 mm_months > 1", 15, "'mm_months' is out of place", "and, or"),
        ("mm_months <", 12, "ends too early", "a field, a number or a word"),
        ("mm_months < 3 and", 18, "ends too early", "a field, a number or a word"),
        ("(mm_months < 3", 15, "ends too early", "close what was opened"),
        ("mm_months < 3)", 14, "')' is out of place", "leave it out"),
        ("mm_months is not missing", 14, "'not' is out of place", "`is given`"),
        ("mm_months == missing", 14, "'missing' is out of place", "`is missing`"),
        ("mm_months not 3", 15, "'3' is out of place", "not in [..]"),
        ("mm_months in 3", 14, "'3' is out of place", "write a list"),
        ("mm_months in []", 15, "']' is out of place", "at least one"),
        ("mm_months in [-'a']", 16, "'a' is out of place", "a list holds"),
        ("mm_months in [avg_inflow]", 15, "'avg_inflow' is out of place", "a list holds"),
        ("mm_months in [1 2]", 17, "'2' is out of place", "commas"),
    ]:
        with subtests.test(text):
            check(text, column, fault, advice)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("(" * 33 + "mm_months < 3" + ")" * 33, 33),
        ("not " * 33 + "mm_months < 3", 129),
        ("-" * 33 + "mm_months < 3", 33),
        ("mm_months" + " + 1" * 33 + " < 3", 1),
        ("not (" * 16 + "mm_months" + " * 2" * 20 + " < 3" + ")" * 16, 26),
    ],
)
def test_an_expression_of_too_many_levels(text: str, column: int) -> None:
    check(text, column, "more than 32 levels", "split it into several rules")


@pytest.mark.parametrize(
    "text",
    [
        "(" * 32 + "mm_months < 3" + ")" * 32,
        "not " * 30 + "mm_months < 3",
        "mm_months" + " + 1" * 30 + " < 3",
        "mm_months < 3" + " and mm_months < 3" * 50,
    ],
)
def test_an_expression_of_as_many_levels_as_there_may_be_is_read(text: str) -> None:
    assert parse(text, PRODUCT).fields == {"mm_months"}


def test_an_expression_is_as_long_as_a_thousand_characters() -> None:
    longest = "mm_months < 3".ljust(1000)
    assert parse(longest, PRODUCT).text == longest
    check(longest + " ", 1001, "longer than 1000 characters", "several rules")


def check(text: str, column: int, fault: str, advice: str) -> None:
    refused = refusal(text)
    assert fault in refused.fault
    assert refused.column == column
    assert advice in (refused.hint or "")
