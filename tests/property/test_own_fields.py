"""Whatever is declared or sent, a lender's own fields are read or refused in words of their own."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from alama.core import own_fields
from alama.core.application import Application
from alama.core.errors import InvalidApplication, InvalidFields, MalformedDocument
from alama.core.intake import Intake
from alama.core.own_fields import answering
from alama.core.product import PRODUCT
from tests.own_fields import TEXT, THREE, the_three

LINES = TEXT.decode().splitlines()
MARK = "Wanjiku"
"""Stands in every word that is made up: no refusal may hold it."""

INTAKE = Intake(answering(PRODUCT, the_three()))
CORE = {"mm_months": 14, "avg_inflow": 9e3, "balance_stability": 0.5, "airtime_regularity": 0.5}

words = st.text(max_size=12).map(lambda text: f"{MARK}{text}")
numbers = st.one_of(st.integers(), st.floats(), st.just(10**400))
values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, words),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=2),
    max_leaves=4,
)


def as_toml(value: object) -> str:
    """Write a value; null is none of TOML's, nor are names that JSON would quote otherwise."""
    match value:
        case dict():
            told = ", ".join(f"{in_quotes(k)} = {as_toml(v)}" for k, v in value.items())
            return f"{{{told}}}"
        case list():
            return f"[{', '.join(map(as_toml, value))}]"
        case float() if value != value or value in {float("inf"), float("-inf")}:  # noqa: PLR0124
            return str(value)
        case None:
            return '""'
        case str():
            return in_quotes(value)
        case _:
            return json.dumps(value)


def in_quotes(text: str) -> str:
    """Write a text as TOML does: JSON parts what lies beyond 16 bits into halves, TOML never."""
    return json.dumps(text, ensure_ascii=False)


def read_or_refused(written: bytes) -> str:
    try:
        own_fields.read(written)
    except InvalidFields as error:
        return f"{error} {error.hint}"
    return ""


@given(st.binary(max_size=400))
def test_bytes_are_no_catalogue(written: bytes) -> None:
    assert read_or_refused(written)


@given(st.lists(st.sampled_from(LINES) | st.text(max_size=30), max_size=40), st.randoms())
def test_lines_in_any_order_are_read_or_refused(lines: list[str], chance: Any) -> None:
    text = [LINES[0], *lines]
    chance.shuffle(text)
    read_or_refused("\n".join(text).encode("utf-8", "surrogatepass"))


@given(st.integers(0, len(LINES) - 1), values)
def test_a_key_may_hold_anything_and_no_refusal_repeats_it(place: int, value: object) -> None:
    key, equals, _ = LINES[place].partition(" = ")
    if not equals:
        return
    lines = [*LINES[:place], f"{key} = {as_toml(value)}", *LINES[place + 1 :]]
    assert MARK not in read_or_refused("\n".join(lines).encode("utf-8", "surrogatepass"))


def read_or_told(body: bytes) -> tuple[str, Application | None]:
    try:
        return "", INTAKE.read(body)
    except (InvalidApplication, MalformedDocument) as error:
        return str(error), None


@given(st.dictionaries(st.sampled_from(THREE), values, min_size=1))
def test_own_values_are_read_or_refused_and_never_repeated(sent: dict[str, object]) -> None:
    refusal, application = read_or_told(json.dumps({**CORE, **sent}).encode())
    assert MARK not in refusal
    if application is None:
        return
    score, loans, branch = application.values[-3:]
    assert score is None or (type(score) is int and 200 <= score <= 900)
    assert loans is None or (type(loans) is int and 0 <= loans <= 500)
    assert branch is None or (isinstance(branch, str) and branch == branch.strip() != "")


@given(st.dictionaries(st.sampled_from(THREE), st.none() | st.integers(200, 500), min_size=1))
def test_whole_numbers_within_bounds_are_read_as_they_are(sent: dict[str, int | None]) -> None:
    sent = {name: value for name, value in sent.items() if name != "branch"}
    application = INTAKE.read(json.dumps({**CORE, **sent}).encode())
    assert application.values[-3:] == (*(sent.get(name) for name in THREE[:2]), None)
