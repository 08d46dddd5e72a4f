"""A model document is what it says it is, or it is refused with the reason."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core import document
from alama.core import model as models
from alama.core.application import Application, read
from alama.core.errors import InvalidModel, UnknownCurrency
from alama.core.product import PRODUCT
from tests.factories import a_model
from tests.tries import tries

MODEL = a_model(seed=3)
DOCUMENT = models.encode(MODEL)


def altered(**changes: Any) -> bytes:
    """A document with other content, sealed again as a forger would."""
    tree = {**msgspec.json.decode(DOCUMENT), **changes}
    tree["id"] = ""
    forged = msgspec.convert(tree, models.Model)
    return models.encode(models.seal(forged))


def card_with(place: int, **changes: Any) -> bytes:
    tree = msgspec.json.decode(DOCUMENT)
    tree["cards"][-1]["features"][place].update(changes)
    return altered(cards=tree["cards"])


def test_a_model_reads_back_as_it_was_written() -> None:
    assert models.decode(DOCUMENT) == MODEL


def test_the_id_is_the_hash_of_the_content() -> None:
    assert MODEL.id.startswith("sha256:")
    assert document.content_id(models.decode(DOCUMENT)) == MODEL.id


@given(st.integers(0, len(DOCUMENT) - 2), st.integers(0, 7))
@tries(150)
def test_no_flipped_bit_goes_unnoticed(at: int, bit: int) -> None:
    damaged = bytearray(DOCUMENT)
    damaged[at] ^= 1 << bit
    try:
        model = models.decode(bytes(damaged))
    except InvalidModel:
        return
    assert model == MODEL  # only what JSON gives no meaning to may change, such as E for e


def test_a_stored_model_is_the_one_of_its_id() -> None:
    assert models.stored(DOCUMENT, MODEL.id) == MODEL
    another = a_model(seed=3, name="another")
    for damaged in (b"\0", models.encode(another)):
        with pytest.raises(InvalidModel, match=MODEL.id) as caught:
            models.stored(damaged, MODEL.id)
        assert "restore it from a backup" in str(caught.value.hint)


@pytest.mark.parametrize(
    "document", [b"", b"null", b"[]", b"{}", b'{"schema": 1}', b"\xff\xfe", b"[" * 100_000]
)
def test_what_is_no_model_is_refused(document: bytes) -> None:
    with pytest.raises(InvalidModel, match="not a model document"):
        models.decode(document)


def test_an_unknown_field_in_the_document_is_refused() -> None:
    tree = {**msgspec.json.decode(DOCUMENT), "code": "import os"}
    with pytest.raises(InvalidModel, match="code"):
        models.decode(msgspec.json.encode(tree))


def test_another_schema_is_refused_with_the_way_out() -> None:
    with pytest.raises(InvalidModel, match="schema") as caught:
        models.decode(altered(schema="alama.model/99"))
    assert caught.value.hint


def test_a_document_of_absurd_size_is_refused_unread() -> None:
    with pytest.raises(InvalidModel, match="larger than"):
        models.decode(b" " * (models.SIZE_MAX + 1))


FEATURE = MODEL.cards[-1].features[0]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"main": [*FEATURE.main[:-1], 1e-13]}, "off the grid"),
        ({"main": FEATURE.main[:-1]}, "cells where its bands need"),
        ({"main": [5000.0] * len(FEATURE.main)}, "reach beyond"),
        ({"cuts": [*FEATURE.cuts[:-1], FEATURE.cuts[0]]}, "do not rise"),
        ({"shares": [2.0, *FEATURE.shares[1:]]}, "share"),
        ({"shares": FEATURE.shares[1:]}, "do not match"),
        ({"words": [["a"]], "cuts": []}, "its table words"),
        ({"field": "nothing"}, "not a model field"),
        ({"main": [FEATURE.main[0], *reversed(FEATURE.main[1:])]}, "risk direction"),
    ],
)
def test_tables_that_do_not_hold_are_refused(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidModel, match=told):
        models.decode(card_with(0, **changes))


def test_a_card_that_is_not_purified_is_refused_because_it_would_not_explain_itself() -> None:
    uncentred = [cell + 1.0 for cell in FEATURE.main]
    with pytest.raises(InvalidModel, match="average to zero"):
        models.decode(card_with(0, main=uncentred))


def test_a_pair_that_holds_part_of_a_main_is_refused() -> None:
    tree = msgspec.json.decode(DOCUMENT)
    halves = tree["cards"][-1]["pairs"][0]["halves"]
    tree["cards"][-1]["pairs"][0]["halves"] = [[cell + 0.5 for cell in row] for row in halves]
    with pytest.raises(InvalidModel, match="line of it does not average to zero"):
        models.decode(altered(cards=tree["cards"]))


def test_cards_in_the_wrong_order_are_refused() -> None:
    tree = msgspec.json.decode(DOCUMENT)
    with pytest.raises(InvalidModel, match="each card must read the fields of the one before"):
        models.decode(altered(cards=tree["cards"][::-1]))


def test_words_in_a_field_of_words_cannot_be_cut_like_numbers() -> None:
    place = next(i for i, f in enumerate(MODEL.cards[-1].features) if f.words)
    count = len(MODEL.cards[-1].features[place].main) - 2
    with pytest.raises(InvalidModel, match="holds words"):
        models.decode(card_with(place, words=[], cuts=[float(n) for n in range(count)]))


@pytest.mark.parametrize(
    ("inflows", "told"),
    [
        ({"KES": -1.0}, "not a positive number"),
        ({"KES": 0.0}, "not a positive number"),
        ({"KES": 1.0, "US\nD": 1.0}, "three capital letters"),
    ],
)
def test_money_that_cannot_be_compared_is_refused(inflows: dict[str, float], told: str) -> None:
    money = {"currency": "KES", "dated": "2025-01-01", "reference_inflows": inflows}
    with pytest.raises(InvalidModel, match=told):
        models.decode(altered(money=money))


def test_a_pair_that_points_outside_its_table_is_refused() -> None:
    tree = msgspec.json.decode(DOCUMENT)
    tree["cards"][-1]["pairs"][0]["rows"][0] = 99
    with pytest.raises(InvalidModel, match="outside the table"):
        models.decode(altered(cards=tree["cards"]))


def test_a_pair_of_a_feature_that_is_not_there_is_refused() -> None:
    tree = msgspec.json.decode(DOCUMENT)
    tree["cards"][-1]["pairs"][0]["second"] = 99
    with pytest.raises(InvalidModel, match="not there"):
        models.decode(altered(cards=tree["cards"]))


def test_a_model_without_cards_is_refused() -> None:
    with pytest.raises(InvalidModel, match="no scorecard"):
        models.decode(altered(cards=[]))


def test_a_model_must_have_a_reference_for_its_own_currency() -> None:
    money = {"currency": "XXX", "dated": "2025-01-01", "reference_inflows": {"KES": 1.0}}
    with pytest.raises(InvalidModel, match="its own currency"):
        models.decode(altered(money=money))


# ------------------------------------------------------------------------ the card for a request

READY = models.ReadyModel(MODEL)
CORE = {
    "mm_months": 24,
    "avg_inflow": 18_500.0,
    "balance_stability": 0.7,
    "airtime_regularity": 0.8,
}


def card_for(**sent: object) -> str:
    return READY.scorecard_for(read(PRODUCT, {**CORE, **sent})).card.name


def test_a_compact_request_is_scored_by_the_compact_card() -> None:
    assert card_for() == "compact"
    assert card_for(avg_balance=None) == "compact"


@pytest.mark.parametrize(
    "field", [f for f in PRODUCT.model_fields if f.name not in CORE], ids=lambda f: f.name
)
def test_any_further_model_field_calls_for_the_full_card(field: Any) -> None:
    assert card_for(**{field.name: 1 if field.numeric else "x"}) == "full"


def test_fields_the_model_does_not_read_leave_the_compact_card_in_charge() -> None:
    assert card_for(applicant_ref="cust-1", existing_repayments=100) == "compact"


# ------------------------------------------------------------------------ money


def test_money_is_compared_by_the_reference_inflow_of_its_currency() -> None:
    assert MODEL.money is not None
    references = MODEL.money.reference_inflows
    here = read(PRODUCT, {**CORE, "requested_amount": 5_000})
    factor = references["UGX"] / references["KES"]
    there = Application(
        tuple(
            value * factor if field.money and isinstance(value, float) else value
            for field, value in zip(PRODUCT.fields, here.values, strict=True)
        )
    )
    ugandan = models.ReadyModel(MODEL, "UGX")
    assert (
        ugandan.scorecard_for(there).score(there.values).points
        == READY.scorecard_for(here).score(here.values).points
    )


def test_a_currency_without_a_reference_is_refused_with_those_that_have_one() -> None:
    with pytest.raises(UnknownCurrency, match="CHF") as caught:
        models.ReadyModel(MODEL, "CHF")
    assert "KES" in str(caught.value.hint)
