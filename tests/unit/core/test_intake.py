"""Each rule of section 1 as bytes: what is accepted, what is refused, and in which words."""

import json
from typing import Any

import pytest

from alama.core.application import may_have_been_word
from alama.core.catalogue import Kind
from alama.core.errors import FAULTS_MAX, InvalidApplication, MalformedDocument
from alama.core.intake import Intake, request_type
from alama.core.product import PRODUCT

COMPACT: dict[str, Any] = {
    "mobile_money_months": 24,
    "monthly_inflow": 18_500.0,
    "stability_score": 0.7,
    "airtime_regularity": 0.8,
}
INTAKE = Intake(PRODUCT)


def body(**changes: Any) -> bytes:
    return json.dumps(COMPACT | changes).encode()


def with_text(name: str, text: str) -> bytes:
    """A body in order, with one more member written as given."""
    return body()[:-1] + f',"{name}":{text}}}'.encode()


def value_of(name: str, sent: bytes) -> object:
    return INTAKE.read(sent).values[PRODUCT.position[name]]


def problems(sent: bytes) -> list[tuple[str, str]]:
    with pytest.raises(InvalidApplication) as caught:
        INTAKE.read(sent)
    return [(problem.pointer, problem.code) for problem in caught.value.problems]


def is_read_quickly(sent: bytes) -> bool:
    return INTAKE._fast(sent) is not None


@pytest.mark.parametrize(
    "sent",
    [
        body(),
        body(counterparties=24.0, device_type=" Smartphone ", region=None),
        json.dumps({PRODUCT.field(name).name: value for name, value in COMPACT.items()}).encode(),
        json.dumps(COMPACT, indent=2).encode(),
    ],
    ids=["compact", "more", "full names", "indented"],
)
def test_a_usual_body_is_not_walked(sent: bytes) -> None:
    assert is_read_quickly(sent)


@pytest.mark.parametrize(
    ("text", "value"), [("24", 24), ("24.0", 24), ("2.4e1", 24), ("-0.0", 0), ("0e9", 0)]
)
def test_a_whole_number_is_an_integer_however_it_is_written(text: str, value: int) -> None:
    read = value_of("counterparties", with_text("counterparties", text))
    assert read == value
    assert type(read) is int


@pytest.mark.parametrize("text", ["1e2", "100", "100.0", "1E+2"])
def test_a_number_is_a_float_however_it_is_written(text: str) -> None:
    read = value_of("avg_outflow", with_text("avg_outflow", text))
    assert read == 100.0
    assert type(read) is float


def test_a_number_is_a_json_number_in_its_range(subtests: pytest.Subtests) -> None:
    for text, code in [
        ('"24"', "wrong_type"),
        ("true", "wrong_type"),
        ("[1]", "wrong_type"),
        ("{}", "wrong_type"),
        ("-1", "out_of_range"),
        ("1e400", "out_of_range"),
        ("9" * 5_000, "out_of_range"),
    ]:
        for field in [f for f in PRODUCT.fields if f.numeric]:
            with subtests.test(field.name, text=text[:24], code=code):
                sent = {
                    f.name: "0.5" if f.kind is Kind.NUMBER else "1"
                    for f in PRODUCT.fields
                    if f.required
                }
                sent[field.name] = text
                written = "{" + ",".join(f'"{name}":{value}' for name, value in sent.items()) + "}"
                assert problems(written.encode()) == [(f"/{field.name}", code)]


def test_the_ends_of_a_range_belong_to_it(subtests: pytest.Subtests) -> None:
    for field in [f for f in PRODUCT.fields if f.numeric]:
        with subtests.test(field.name):
            ends = [end for end in (field.minimum, field.maximum) if end is not None]
            for end in ends:
                sent = body(**{field.name: end})
                if field.required:
                    sent = json.dumps({**_by_own_name(), field.name: end}).encode()
                assert value_of(field.name, sent) == end
                assert is_read_quickly(sent)
            if field.above is not None:
                assert problems(body(**{field.name: field.above})) == [
                    (f"/{field.name}", "out_of_range")
                ]


def _by_own_name() -> dict[str, Any]:
    return {PRODUCT.field(name).name: value for name, value in COMPACT.items()}


def test_a_fraction_is_no_integer() -> None:
    assert problems(body(counterparties=24.5)) == [("/counterparties", "wrong_type")]


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_what_json_has_no_number_for_is_no_json(constant: str) -> None:
    with pytest.raises(MalformedDocument, match="not JSON"):
        INTAKE.read(with_text("avg_outflow", constant))


def test_null_is_as_good_as_leaving_a_field_out() -> None:
    assert INTAKE.read(body(region=None)).values == INTAKE.read(body()).values


def test_null_does_not_stand_for_a_required_field() -> None:
    assert problems(body(monthly_inflow=None)) == [("/monthly_inflow", "missing_field")]


def test_an_empty_object_lacks_the_four_required_fields() -> None:
    assert problems(b"{}") == [
        ("/mm_months", "missing_field"),
        ("/avg_inflow", "missing_field"),
        ("/balance_stability", "missing_field"),
        ("/airtime_regularity", "missing_field"),
    ]


def test_null_under_one_spelling_leaves_the_word_to_the_other() -> None:
    application = INTAKE.read(body(mobile_money_months=None, mm_months=3))
    assert application.values[0] == 3
    assert (application.spelled or {}).get(0, "mm_months") == "mm_months"


def test_both_spellings_may_say_the_same() -> None:
    assert value_of("mm_months", body(mm_months=24.0)) == 24


def test_both_spellings_may_not_differ() -> None:
    assert problems(body(mm_months=25)) == [("/mm_months", "conflicting_fields")]


@pytest.mark.parametrize("name", ['"region"', '"r\\u0065gion"'], ids=["plain", "escaped"])
def test_a_name_may_stand_once(name: str) -> None:
    sent = body(region="Nyeri")[:-1] + f',{name}:"Nakuru"}}'.encode()
    assert problems(sent) == [("/region", "duplicate_field")]


def test_a_repeated_name_hides_no_other_fault() -> None:
    sent = body(region="Nyeri", counterparties=-1)[:-1] + b',"region":5}'
    assert problems(sent) == [
        ("/region", "duplicate_field"),
        ("/region", "wrong_type"),
        ("/counterparties", "out_of_range"),
    ]


def test_a_colon_in_a_word_is_no_second_field() -> None:
    assert value_of("region", body(region="Nairobi: Westlands")) == "Nairobi: Westlands"


@pytest.mark.parametrize(("word", "read"), [("  Tablet ", "Tablet"), (" " * 99 + "x", "x")])
def test_a_word_is_trimmed_before_it_is_measured(word: str, read: str) -> None:
    assert value_of("device_type", body(device_type=word)) == read


@pytest.mark.parametrize("word", ["", " ", "x" * 65])
def test_a_word_has_1_to_64_characters(word: str) -> None:
    assert problems(body(device_type=word)) == [("/device_type", "out_of_range")]


def test_a_word_that_would_steer_a_terminal_is_refused(subtests: pytest.Subtests) -> None:
    for name in ["region", "device_type", "loan_purpose", "applicant_ref"]:
        for character in ["\x1b", "\x9b", "\u202e", "\n", "\t", "\x00"]:
            with subtests.test(name=name, character=character):
                sent = body(**{name: f"a{character}b"})
                assert problems(sent) == [(f"/{name}", "out_of_range")]
                stored = Intake(PRODUCT, may_have_been_word).read(sent)
                assert stored.values[PRODUCT.position[name]] == f"a{character}b"


@pytest.mark.parametrize("word", ["\u0915\u094d\u200d\u0937", "Lagos\u00a0Island"], ids=ascii)
def test_a_word_may_be_in_any_script(word: str) -> None:
    assert value_of("region", body(region=word)) == word


def test_space_around_a_word_may_be_of_any_kind() -> None:
    assert value_of("region", body(region="\t Nyeri\r\n")) == "Nyeri"


def test_characters_are_counted_not_bytes() -> None:
    assert value_of("region", body(region="é" * 64)) == "é" * 64


@pytest.mark.parametrize("reference", ["+254 712 345 678", "a@b.co", "12345678", " 0712-345-678 "])
def test_a_reference_that_names_a_person_is_refused(reference: str) -> None:
    assert problems(body(applicant_ref=reference)) == [("/applicant_ref", "personal_identifier")]


def test_an_opaque_reference_is_kept() -> None:
    assert value_of("applicant_ref", body(applicant_ref="loan-2026-4711")) == "loan-2026-4711"


def test_what_is_no_json_object_is_malformed_and_says_where(subtests: pytest.Subtests) -> None:
    for sent, words in [
        (b"", "the body is empty"),
        (b" \r\n", "the body is empty"),
        (b"{", "line 1, column 2"),
        (b'{"a":1}\n{}', "line 2, column 1"),
        (b"[]", "not a JSON object"),
        (b"null", "not a JSON object"),
        (b'"text"', "not a JSON object"),
        (b"[" * 65_000, "nested too deeply"),
        (b'{"a":' * 10_000, "nested too deeply"),
        (b'{"region":"\xff"}', "not UTF-8"),
        ("{}".encode("utf-16"), "not UTF-8"),
        ("{}".encode("utf-32"), "not UTF-8"),
        (b"\xef\xbb\xbf{}", "line 1, column 1"),
        (b'{"region":"\\ud800"}', "half of a surrogate pair"),
        (b'{"\\udfff":1}', "half of a surrogate pair"),
    ]:
        with (
            subtests.test(repr(sent[:24]), words=words),
            pytest.raises(MalformedDocument, match=words),
        ):
            INTAKE.read(sent)


@pytest.mark.parametrize(
    ("sent", "count"),
    [
        (json.dumps({f"f{number}": 1 for number in range(5_000)}).encode(), 5_004),
        (b"{" + b",".join(b'"%d":1,"%d":1' % (n, n) for n in range(3_000)) + b"}", 6_004),
    ],
    ids=["unknown", "unknown and repeated"],
)
def test_thousands_of_faults_are_counted_and_the_first_are_listed(sent: bytes, count: int) -> None:
    with pytest.raises(InvalidApplication) as caught:
        INTAKE.read(sent)
    assert (len(caught.value.problems), caught.value.count) == (FAULTS_MAX, count)


def test_the_type_of_a_body_knows_every_spelling_and_nothing_else() -> None:
    assert set(request_type(PRODUCT).__struct_fields__) == set(PRODUCT.position)
