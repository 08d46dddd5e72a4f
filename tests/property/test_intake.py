"""The quick way in and the thorough one agree on every body, and nothing else ever comes out."""

import json
import re
from collections.abc import Callable

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from alama.core.application import Application, read
from alama.core.catalogue import Field
from alama.core.errors import InvalidApplication, MalformedDocument
from alama.core.intake import Intake
from alama.core.product import PRODUCT

INTAKE = Intake(PRODUCT)
SPELLINGS = sorted(PRODUCT.position)
CORE = {
    "mobile_money_months": "24",
    "monthly_inflow": "18500.5",
    "stability_score": "0.7",
    "airtime_regularity": "0.8",
}
MARK = "Zq7MARKED"
ODD_WORDS = ("\x1b[2J", "a\u202eb", "a\u200db", "\tx\n", "a\nb", "a\u00a0b", "\ue000")

Member = tuple[str, str]
"""A name as JSON text, and a value as JSON text: how each is written is part of the test."""


def outcome(reading: Callable[[], Application]) -> tuple[object, ...]:
    """What came of it, to the bit: types and signs of numbers count, and the words of problems."""
    try:
        application = reading()
    except InvalidApplication as error:
        return ("invalid", [(p.pointer, p.code, p.detail) for p in error.problems])
    except MalformedDocument as error:
        return ("malformed", str(error))
    spelled = application.spelled or {}
    names = [
        None if value is None else spelled.get(place, PRODUCT.fields[place].name)
        for place, value in enumerate(application.values)
    ]
    return ("read", [repr(value) for value in application.values], names)


# ------------------------------------------------------------------------------------- bodies


def plainly_written(number: float) -> list[str]:
    forms = [repr(number), f"{number:e}", f"{number:.3f}", f"{number!r}00".replace("e", "E")]
    if number.is_integer() and abs(number) < 1e15:
        forms += [str(int(number)), f"{int(number)}.0", f"{int(number)}e0", f"{int(number)}.0E+0"]
    return [form for form in forms if re.fullmatch(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", form)]


def numbers(field: Field) -> st.SearchStrategy[str]:
    low = field.minimum if field.minimum is not None else field.above
    assert low is not None
    assert field.maximum is not None
    inside = st.floats(low, field.maximum) | st.integers(int(low), int(field.maximum)).map(float)
    return inside.flatmap(lambda number: st.sampled_from(plainly_written(number)))


def words() -> st.SearchStrategy[str]:
    texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=70)
    chosen = st.sampled_from(
        ["smartphone", " Business ", "a:b", "", " ", "x" * 65, "+254 712 345", *ODD_WORDS]
    )
    return st.builds(
        lambda text, escaped: json.dumps(text, ensure_ascii=escaped),
        texts | chosen,
        st.booleans(),
    )


ODD_VALUES = st.sampled_from(
    [
        *["null", "true", "false", '"24"', "[]", "{}", '{"a":1}', "[1,[2]]", '"\\u003a"'],
        *["-0", "-0.0", "0", "24.0", "24.5", "1e2", "1E400", "-1", "-1e-400", "5e-324", "1e-7"],
        *["9" * 19, "9" * 309, "9" * 401, "9" * 5_000, "0." + "3" * 400, "1" + "0" * 12 + ".0"],
        *["0.1000000000000000055511151231257827", "2.2250738585072011e-308", "NaN", "-Infinity"],
        *['"\\ud800"', '"\\ud83d\\ude00"', "1.", ".5", "01", "+1", "0x10", "1_000", '"a\nb"'],
    ]
)


def values(name: str) -> st.SearchStrategy[str]:
    field = PRODUCT.field(name)
    usual = numbers(field) if field.numeric else words()
    return st.one_of(usual, usual, usual, ODD_VALUES)


def escaped(name: str) -> str:
    """Write a name as nobody writes it: the first letter as an escape."""
    return f'"\\u{ord(name[0]):04x}{name[1:]}"'


def members() -> st.SearchStrategy[Member]:
    known = st.sampled_from(SPELLINGS).flatmap(
        lambda name: st.tuples(
            st.sampled_from([json.dumps(name), json.dumps(name), escaped(name)]), values(name)
        )
    )
    odd_names = st.sampled_from(["contacts", "GENDER", "mm_month", "a/b~c", "", "mm_months:"])
    unknown = st.tuples(odd_names.map(json.dumps), ODD_VALUES)
    return st.one_of(known, known, known, known, unknown)


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """Bodies of which about half are in order, the others wrong in one place or in many."""
    sent = [(json.dumps(name), text) for name, text in CORE.items()]
    if draw(st.booleans()):
        sent = sent[draw(st.integers(0, 4)) :]
    sent += draw(st.lists(members(), max_size=6))
    colon = draw(st.sampled_from([":", ": ", " :\t", ":\r\n "]))
    comma = draw(st.sampled_from([",", ", ", "\n,\n"]))
    return ("{" + comma.join(name + colon + text for name, text in sent) + "}").encode()


def mutated(body: bytes, place: int, byte: int, cut: int) -> bytes:
    """A body with some bytes replaced by one other."""
    place %= len(body)
    return body[:place] + bytes([byte]) + body[place + cut :]


# ------------------------------------------------------------------------------------- properties


def thoroughly(body: bytes) -> Application:
    """What the rules say, by nothing but the standard library and `read`."""
    return read(PRODUCT, dict(json.loads(body.decode(), object_pairs_hook=list)))


def is_plain_json(body: bytes) -> bool:
    """Whether this is JSON by the letter, without a name twice and without half a character."""

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        pairs = json.loads(body.decode(), object_pairs_hook=list, parse_constant=refuse)
        json.dumps(pairs, ensure_ascii=False).encode()
    except (ValueError, OverflowError):
        return False
    return len(dict(pairs)) == len(pairs)


@given(bodies())
def test_a_body_gives_exactly_what_its_parsed_form_gives(body: bytes) -> None:
    if is_plain_json(body):
        assert outcome(lambda: INTAKE.read(body)) == outcome(lambda: thoroughly(body))


@given(bodies())
@example(b'{"mm_months":-0,"avg_inflow":-0,"balance_stability":-0,"airtime_regularity":-0.0}')
def test_the_quick_way_never_says_other_than_the_walk(body: bytes) -> None:
    assert outcome(lambda: INTAKE.read(body)) == outcome(lambda: INTAKE._walk(body))


@given(bodies())
def test_a_body_that_was_read_can_be_kept_and_given_back_as_it_is(body: bytes) -> None:
    kind, *_ = outcome(lambda: INTAKE.read(body))
    if kind == "read":
        kept = msgspec.json.encode([msgspec.Raw(body)])
        assert bytes(msgspec.json.decode(kept, type=list[msgspec.Raw])[0]) == body


@given(bodies(), st.integers(0), st.integers(0, 255), st.integers(0, 3))
def test_a_damaged_body_is_refused_or_read_as_the_walk_reads_it(
    body: bytes, place: int, byte: int, cut: int
) -> None:
    body = mutated(body, place, byte, cut)
    assert outcome(lambda: INTAKE.read(body)) == outcome(lambda: INTAKE._walk(body))


@given(st.binary(max_size=200))
@example(b"")
@example(b"[" * 65_536)
@example(b'{"a":' * 10_000)
@example(b'{"mm_months":' + b"[" * 60_000)
@example(b"\xef\xbb\xbf{}")
@example("{}".encode("utf-16"))
@example(b'"\\ud800"')
@example(b"9" * 65_536)
@example(b"{" + b'"a":1,' * 10_000 + b'"a":1}')
def test_bytes_of_any_kind_are_refused_with_a_reason(body: bytes) -> None:
    kind, *_ = outcome(lambda: INTAKE.read(body))
    assert kind in {"malformed", "invalid"}


@given(st.sampled_from(SPELLINGS), st.sampled_from(['"{}"', '["{}"]', '{{"{}":1}}', '"{}', "{}"]))
def test_no_message_repeats_a_value(name: str, shape: str) -> None:
    if name in {"device_type", "loan_purpose", "region", "applicant_ref"}:
        shape = shape.replace("{}", "{}" + "x" * 65)
    fields = CORE | {name: shape.format(MARK)}
    body = "{" + ",".join(f'"{field}":{text}' for field, text in fields.items()) + "}"
    kind, said = outcome(lambda: INTAKE.read(body.encode()))
    assert kind in {"malformed", "invalid"}
    assert MARK not in str(said)
