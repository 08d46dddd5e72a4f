import pytest

from alama.core.application import Value
from alama.core.expressions.certainty import Slope
from alama.core.expressions.expression import Expression, parse
from alama.core.product import PRODUCT


def rule(text: str) -> Expression:
    return parse(text, PRODUCT)


def fires(text: str, **given: Value) -> bool:
    """Whether a rule fires for an application that says this and no more."""
    values: list[Value] = [None] * len(PRODUCT.fields)
    for name, value in given.items():
        values[PRODUCT.position[name]] = value
    return rule(text).fires(values)


# ------------------------------------------------------------------------------------- reading


def test_a_rule_keeps_its_text_and_names_the_fields_it_reads() -> None:
    text = 'monthly_inflow < 5_000 and region == "nairobi"'
    assert rule(text).text == text
    assert rule(text).fields == {"avg_inflow", "region"}
    assert text in repr(rule(text))


def test_numbers_are_calculated_and_compared(subtests: pytest.Subtests) -> None:
    for text, months, fired in [
        ("mm_months < 3", 2, True),
        ("mm_months < 3", 3, False),
        ("mm_months <= 3", 3, True),
        ("mm_months > 3", 3, False),
        ("mm_months >= 3", 3, True),
        ("mm_months == 3", 3, True),
        ("mm_months != 3", 3, False),
        ("3 > mm_months", 2, True),
        ("mm_months in [1, 3]", 3, True),
        ("mm_months in [1, -3,]", 3, False),
        ("mm_months not in [1, 3]", 3, False),
        ("not mm_months in [1, 3]", 2, True),
        ("mm_months is given", 3, True),
        ("mm_months is missing", 3, False),
        ("-mm_months < -2", 3, True),
        ("mm_months == 1_000 / 1e2 - 2.5 * 2", 5, True),
        ("mm_months - 2 - 1 == 0", 3, True),
        ("12 / mm_months / 2 == 2", 3, True),
        ("mm_months - (2 - 1) == 2", 3, True),
        ("--mm_months == 3", 3, True),
        ("mm_months\n  < 3\tand\r\nmm_months > 1", 2, True),
    ]:
        with subtests.test(text):
            assert fires(text, mm_months=months) is fired


@pytest.mark.parametrize(
    ("text", "fired"),
    [
        ('region == "nairobi"', True),
        ("region == ' NAIROBI'", True),
        ('region != "nairobi"', False),
        ('"nairobi" == region', True),
        ('region in ["Mombasa", "Nairobi"]', True),
        ('region not in ["mombasa"]', True),
        ("region == loan_purpose", False),
        ('region == "and"', False),
        ("region == 'the \"city\"'", False),
    ],
)
def test_words_are_compared_without_regard_to_case_and_space(text: str, *, fired: bool) -> None:
    assert fires(text, region="Nairobi ", loan_purpose="trade") is fired


@pytest.mark.parametrize(
    ("text", "fired"),
    [
        ("mm_months < 3 or mm_months > 1 and mm_months > 9", True),
        ("(mm_months < 3 or mm_months > 1) and mm_months > 9", False),
        ("not mm_months > 9 and mm_months < 3", True),
        ("not (mm_months > 9 or mm_months < 3)", False),
        ("not not mm_months < 3", True),
        ("(((mm_months))) < (3)", True),
    ],
)
def test_not_binds_closer_than_and_and_and_closer_than_or(text: str, *, fired: bool) -> None:
    assert fires(text, mm_months=2) is fired


# ------------------------------------------------------------------------------- what is missing


def test_what_is_not_known_to_be_true_does_not_fire(subtests: pytest.Subtests) -> None:
    for text, fired in [
        ("existing_repayments > 100", False),
        ("not (existing_repayments > 100)", False),
        ("existing_repayments != 100", False),
        ("existing_repayments not in [100]", False),
        ("0 * existing_repayments == 0", False),
        ("-existing_repayments < 1", False),
        ("mm_months > existing_repayments", False),
        ('region != "nairobi"', False),
        ("region != loan_purpose", False),
        ('not (region in ["nairobi"])', False),
        ("existing_repayments > 100 or mm_months < 3", True),
        ("mm_months < 3 and existing_repayments > 100", False),
        ("not (mm_months > 3 and existing_repayments > 100)", True),
        ("not (mm_months < 3 and existing_repayments > 100)", False),
        ("existing_repayments is missing", True),
        ("region is missing and mm_months is given", True),
        ("not (existing_repayments is given)", True),
    ]:
        with subtests.test(text):
            assert fires(text, mm_months=2) is fired


@pytest.mark.parametrize(
    ("text", "fired"),
    [
        ("avg_outflow / avg_inflow > 1e308", True),
        ("-avg_outflow / avg_inflow < -1e308", True),
        ("avg_balance / avg_inflow == 0", True),
        ("avg_balance * (avg_outflow / avg_inflow) == 0", True),
        ("avg_outflow / avg_inflow - avg_outflow / avg_inflow < 1", False),
        ("avg_outflow / avg_inflow - avg_outflow / avg_inflow >= 1", False),
        ("avg_outflow / avg_inflow / (avg_outflow / avg_inflow) >= 0", False),
        ("avg_outflow / avg_inflow + avg_outflow / avg_inflow > 1e308", True),
        ("avg_outflow / (avg_outflow / avg_inflow) == 0", True),
        ("avg_outflow / -avg_inflow > 1", True),
        ("avg_outflow * 1e308 * 1e308 > 1e308", True),
    ],
)
def test_a_ratio_does_not_jump_back_as_its_divisor_reaches_zero(text: str, *, fired: bool) -> None:
    assert fires(text, avg_outflow=500.0, avg_inflow=0.0, avg_balance=0.0) is fired


def test_whole_numbers_of_any_size_are_calculated_with_as_doubles() -> None:
    assert fires("mm_months * mm_months * 2.0 > 1e308", mm_months=10**300)


# --------------------------------------------------------------------------------------- slopes


def test_a_slope_says_how_firing_moves_with_a_field(subtests: pytest.Subtests) -> None:
    for text, field, slope in [
        ("mm_months < 3", "mm_months", Slope.FALLS),
        ("mm_months < 3", "avg_inflow", Slope.CONSTANT),
        ("not mm_months <= 3", "mm_months", Slope.RISES),
        ("3 > mm_months", "mobile_money_months", Slope.FALLS),
        ("mm_months == 3", "mm_months", Slope.UNKNOWN),
        ("mm_months != 3", "mm_months", Slope.UNKNOWN),
        ("mm_months in [3]", "mm_months", Slope.UNKNOWN),
        ("mm_months is missing", "mm_months", Slope.CONSTANT),
        ('region == "nairobi"', "region", Slope.UNKNOWN),
        ('region == "nairobi"', "mm_months", Slope.CONSTANT),
        ('region in ["nairobi"] or mm_months > 3', "mm_months", Slope.RISES),
        ("mm_months < 3 and mm_months < 9", "mm_months", Slope.FALLS),
        ("mm_months < 3 or mm_months > 9", "mm_months", Slope.UNKNOWN),
        ("avg_outflow / avg_inflow > 1.3", "avg_outflow", Slope.RISES),
        ("avg_outflow / avg_inflow > 1.3", "avg_inflow", Slope.FALLS),
        ("avg_inflow < avg_outflow / 2", "avg_outflow", Slope.RISES),
        ("requested_amount > 2 * avg_inflow - existing_repayments", "avg_inflow", Slope.FALLS),
        ("avg_inflow * -avg_outflow < -5", "avg_outflow", Slope.RISES),
        ("(avg_inflow - avg_outflow) * avg_balance > 5", "avg_balance", Slope.UNKNOWN),
        ("(avg_inflow - avg_outflow) * avg_balance > 5", "avg_inflow", Slope.RISES),
        ("avg_balance / (avg_inflow - avg_outflow) > 5", "avg_balance", Slope.UNKNOWN),
        ("avg_balance / (avg_inflow - avg_outflow) > 5", "avg_inflow", Slope.UNKNOWN),
        ("avg_balance / -avg_inflow > 5", "avg_balance", Slope.UNKNOWN),
        ("avg_balance / -requested_amount > 5", "requested_amount", Slope.RISES),
        ("avg_inflow + avg_outflow < 5", "avg_outflow", Slope.FALLS),
        ("avg_inflow - avg_inflow > 5", "avg_inflow", Slope.UNKNOWN),
        # Both ratios can be infinite, and infinite less infinite is unknown.
        ("avg_outflow / avg_inflow - avg_balance / airtime_avg > 1", "avg_outflow", Slope.UNKNOWN),
        ("avg_outflow / avg_inflow - avg_balance > 1", "avg_outflow", Slope.RISES),
    ]:
        with subtests.test(text):
            assert rule(text).slope(field) is slope
