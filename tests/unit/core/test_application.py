"""Every rule of section 1 of the product, as it is met by whoever calls."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core.application import read
from alama.core.catalogue import Kind
from alama.core.errors import FAULTS_MAX, FieldProblem, InvalidApplication
from alama.core.product import PRODUCT

COMPACT: dict[str, Any] = {
    "mobile_money_months": 24,
    "monthly_inflow": 18_500.0,
    "stability_score": 0.7,
    "airtime_regularity": 0.8,
}


def problems(sent: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(InvalidApplication) as caught:
        read(PRODUCT, sent)
    return {p.pointer[1:]: p.code for p in caught.value.problems}


def test_the_four_compact_fields_are_enough() -> None:
    application = read(PRODUCT, COMPACT)
    assert application.values[:2] == (24, 18_500.0)
    assert application.values[2] is None


def test_both_spellings_mix() -> None:
    sent = {**COMPACT, "counterparties": 12}
    sent["mm_months"] = sent.pop("mobile_money_months")
    application = read(PRODUCT, sent)
    place = PRODUCT.position["counterparties"]
    assert application.values[0] == 24
    assert application.values[place] == 12


def test_a_field_keeps_the_spelling_of_its_caller() -> None:
    application = read(PRODUCT, COMPACT)
    assert application.spelled is not None
    assert application.spelled[0] == "mobile_money_months"


def test_names_of_the_full_set_need_no_note_of_their_spelling() -> None:
    sent = {PRODUCT.fields[PRODUCT.position[name]].name: v for name, v in COMPACT.items()}
    assert read(PRODUCT, sent).spelled is None


def test_both_spellings_with_equal_values_are_fine() -> None:
    assert read(PRODUCT, {**COMPACT, "mm_months": 24.0}).values[0] == 24


def test_both_spellings_with_different_values_are_refused() -> None:
    assert problems({**COMPACT, "mm_months": 25}) == {"mm_months": "conflicting_fields"}


@pytest.mark.parametrize("name", list(COMPACT))
@pytest.mark.parametrize("value", [None, "absent"])
def test_each_core_field_is_required_and_null_is_not_enough(name: str, value: object) -> None:
    sent = dict(COMPACT)
    del sent[name]
    if value is None:
        sent[name] = None
    named = name if value is None else PRODUCT.field(name).name
    assert problems(sent) == {named: "missing_field"}


def missing(sent: dict[str, Any]) -> FieldProblem:
    with pytest.raises(InvalidApplication) as caught:
        read(PRODUCT, sent)
    (problem,) = caught.value.problems
    return problem


@pytest.mark.parametrize(
    ("sent", "named", "detail"),
    [
        ({}, "/avg_inflow", "is required (or monthly_inflow)"),
        ({"avg_inflow": None}, "/avg_inflow", "is required (or monthly_inflow)"),
        ({"monthly_inflow": None}, "/monthly_inflow", "is required (or avg_inflow)"),
        (
            {"monthly_inflow": None, "avg_inflow": None},
            "/avg_inflow",
            "is required (or monthly_inflow)",
        ),
    ],
    ids=["not there", "null", "null under the other spelling", "null under both"],
)
def test_a_missing_field_is_named_as_it_was_spelled_and_by_its_other_spelling(
    sent: dict[str, Any], named: str, detail: str
) -> None:
    others = {name: value for name, value in COMPACT.items() if name != "monthly_inflow"}
    problem = missing({**others, **sent})
    assert (problem.pointer, problem.detail) == (named, detail)


def test_a_missing_field_of_one_spelling_has_no_other() -> None:
    others = {name: value for name, value in COMPACT.items() if name != "airtime_regularity"}
    assert missing(others).detail == "is required"


def test_null_is_the_same_as_not_given_for_an_optional_field() -> None:
    assert read(PRODUCT, {**COMPACT, "avg_balance": None}).values == read(PRODUCT, COMPACT).values


def test_an_unknown_field_is_refused_with_the_nearest_known_name() -> None:
    with pytest.raises(InvalidApplication) as caught:
        read(PRODUCT, {**COMPACT, "counterpartys": 3})
    (problem,) = caught.value.problems
    assert problem.code == "unknown_field"
    assert "counterparties" in problem.detail


@pytest.mark.parametrize("name", ["contacts", "Call_Logs", "photos", "sms", "religion", "GENDER"])
def test_what_must_never_be_sent_has_a_code_of_its_own(name: str) -> None:
    assert problems({**COMPACT, name: "x"}) == {name: "prohibited_field"}


@pytest.mark.parametrize("value", ["24", True, False, [24], {"v": 24}])
def test_a_number_must_be_a_number(value: object) -> None:
    assert problems({**COMPACT, "monthly_inflow": value}) == {"monthly_inflow": "wrong_type"}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), 10**400])
def test_a_number_must_be_finite(value: object) -> None:
    assert problems({**COMPACT, "monthly_inflow": value}) == {"monthly_inflow": "out_of_range"}


def test_a_whole_number_may_carry_a_point_but_no_fraction() -> None:
    assert read(PRODUCT, {**COMPACT, "counterparties": 24.0}).values[5] == 24
    assert problems({**COMPACT, "counterparties": 24.5}) == {"counterparties": "wrong_type"}


def test_both_ends_of_every_range_hold(subtests: pytest.Subtests) -> None:
    for field in [f for f in PRODUCT.fields if f.numeric]:
        with subtests.test(field.name):
            step = 1 if field.kind is Kind.INTEGER else 1e-6
            low = field.minimum if field.minimum is not None else (field.above or 0) + step
            assert field.maximum is not None
            base = {PRODUCT.field(name).name: value for name, value in COMPACT.items()}
            for value in (low, field.maximum):
                read(PRODUCT, {**base, field.name: value})
            for value in (low - step, field.maximum * 1.001 + 1):
                fault = problems({**base, field.name: round(value, 6)})
                assert fault[field.name] in {"out_of_range", "wrong_type"}


def test_a_requested_amount_of_zero_is_refused() -> None:
    assert problems({**COMPACT, "requested_amount": 0}) == {"requested_amount": "out_of_range"}


@pytest.mark.parametrize(
    ("word", "code"),
    [("", "out_of_range"), (" ", "out_of_range"), ("x" * 65, "out_of_range"), (7, "wrong_type")],
)
def test_a_word_has_1_to_64_characters(word: object, code: str) -> None:
    assert problems({**COMPACT, "region": word}) == {"region": code}


@pytest.mark.parametrize(
    "reference", ["+254 712 345 678", "0712345678", "jane@example.org", "12345678", "(07) 12-34-56"]
)
def test_a_reference_that_names_a_person_is_refused(reference: str) -> None:
    sent = {**COMPACT, "applicant_ref": reference}
    assert problems(sent) == {"applicant_ref": "personal_identifier"}


def test_who_sends_customer_numbers_is_told_what_to_do_with_them() -> None:
    with pytest.raises(InvalidApplication) as caught:
        read(PRODUCT, {**COMPACT, "applicant_ref": "20481375"})
    assert "put a letter in front of a customer number" in caught.value.problems[0].detail
    read(PRODUCT, {**COMPACT, "applicant_ref": "c20481375"})


@pytest.mark.parametrize("reference", ["cust-0001", "A1B2C3D4E5", "f3b9c2", "12345"])
def test_an_opaque_reference_is_accepted(reference: str) -> None:
    read(PRODUCT, {**COMPACT, "applicant_ref": reference})


def test_all_problems_are_reported_at_once() -> None:
    sent = {**COMPACT, "monthly_inflow": "secret", "regoin": "Nairobi", "contacts": []}
    del sent["stability_score"]
    assert problems(sent) == {
        "monthly_inflow": "wrong_type",
        "regoin": "unknown_field",
        "contacts": "prohibited_field",
        "balance_stability": "missing_field",
    }


def test_beyond_a_hundred_broken_rules_are_counted_and_not_put_into_words() -> None:
    unknown = {f"field{number}": 1 for number in range(3_000)}
    with pytest.raises(InvalidApplication) as caught:
        read(PRODUCT, {**unknown, **COMPACT, "region": 5}, repeated=["region"])
    assert len(caught.value.problems) == FAULTS_MAX
    assert caught.value.count == 3_002
    assert str(caught.value).endswith("; and 2902 more")


def test_a_pointer_escapes_what_json_pointers_must_escape() -> None:
    assert FieldProblem("a/b~c", "unknown_field", "").pointer == "/a~1b~0c"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from([*PRODUCT.position, "contacts", "typo"]), JSON))
def test_whatever_is_wrong_is_refused_and_no_value_is_echoed(sent: dict[str, Any]) -> None:
    with pytest.raises(InvalidApplication) as caught:
        read(PRODUCT, {**sent, "airtime_regularity": "a-telling-value"})
    assert "a-telling-value" not in str(caught.value)


@given(st.dictionaries(st.sampled_from(list(PRODUCT.position)), st.integers(1, 1)))
def test_values_inside_every_range_are_read(sent: dict[str, Any]) -> None:
    words = {f.name for f in PRODUCT.fields if not f.numeric}
    named = {name: "word" if name in words else value for name, value in sent.items()}
    core = dict.fromkeys(PRODUCT.core_names, 1)
    assert len(read(PRODUCT, {**core, **named}).values) == len(PRODUCT.fields)
