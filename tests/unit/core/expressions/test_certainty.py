"""What a condition says whatever the application is found without trying values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core.application import Value
from alama.core.catalogue import Kind
from alama.core.expressions.expression import parse
from alama.core.product import PRODUCT
from tests.tries import tries


def test_what_is_certain_follows_from_the_ranges_of_the_fields(subtests: pytest.Subtests) -> None:
    for text, certainly in [
        ("balance_stability > 40", False),
        ("balance_stability > 1", False),
        ("balance_stability >= 1", None),
        ("balance_stability <= 1", True),
        ("balance_stability < 1", None),
        ("balance_stability < 0", False),
        ("avg_inflow >= 0", True),
        ("avg_inflow > 0", None),
        ("0 <= avg_inflow", True),
        ("not avg_inflow >= 0", False),
        ("balance_stability == 40", False),
        ("balance_stability != 40", True),
        ("balance_stability == 0.4", None),
        ("balance_stability in [20, 40]", False),
        ("balance_stability in [0.2, 40]", None),
        ("balance_stability * 100 > 40", None),
        ("balance_stability + airtime_regularity > 2", False),
        ("avg_outflow / avg_inflow > -1", True),
        ("balance_stability > 40 and mm_months < 3", False),
        ("balance_stability > 40 or mm_months < 3", None),
        ("balance_stability > 40 or avg_inflow >= 0", True),
        ("avg_inflow >= 0 and mm_months >= 0", True),
        ("region == 'nairobi'", None),
        ("region in ['nairobi']", None),
        ("avg_inflow is missing", False),
        ("avg_inflow is given", True),
        ("region is missing", None),
    ]:
        with subtests.test(text):
            assert parse(text, PRODUCT).certainly is certainly


FIELDS = ("mm_months", "balance_stability", "airtime_regularity", "weekend_activity")
ATOMS = st.builds(
    "{} {} {} {} {}".format,
    *(st.sampled_from(FIELDS), st.sampled_from("+-*/"), st.sampled_from(FIELDS)),
    *(st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), st.sampled_from([0, 0.5, 1, 2, 600])),
)
TEXTS = st.recursive(
    ATOMS,
    lambda inner: (
        st.builds("not ({})".format, inner)
        | st.builds("({}) {} ({})".format, inner, st.sampled_from(["and", "or"]), inner)
    ),
    max_leaves=3,
)


@st.composite
def rows(draw: st.DrawFn) -> list[Value]:
    """Applications at the ends of the ranges of their numbers and between."""
    row: list[Value] = []
    for field in PRODUCT.fields:
        if field.name not in FIELDS:
            row.append(None)
            continue
        assert field.minimum is not None
        assert field.maximum is not None
        low, high = int(field.minimum), int(field.maximum)
        whole = st.integers(low, high)
        row.append(draw(whole if field.kind is Kind.INTEGER else st.floats(low, high)))
    return row


@given(TEXTS, st.lists(rows(), min_size=1, max_size=5))
@tries(120)
def test_what_is_certain_holds_for_every_application(text: str, tried: list[list[Value]]) -> None:
    expression = parse(text, PRODUCT)
    certain = expression.certainly
    if certain is not None:
        assert {expression.fires(row) for row in tried} == {certain}
