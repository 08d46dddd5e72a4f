import msgspec
import pytest

from alama.core.catalogue import Catalogue, Direction, Field, Kind, Use
from alama.core.errors import InvalidCatalogue
from alama.core.product import PRODUCT


def number(name: str, **more: object) -> Field:
    return msgspec.convert({"name": name, "kind": "number", **more}, Field)


def test_the_product_has_the_17_fields_of_the_interface_and_two_of_its_own() -> None:
    assert len(PRODUCT.model_fields) == 17
    assert [f.name for f in PRODUCT.fields[17:]] == ["existing_repayments", "applicant_ref"]


def test_the_core_of_the_product_is_the_compact_set() -> None:
    assert PRODUCT.core_names == (
        "mm_months",
        "avg_inflow",
        "balance_stability",
        "airtime_regularity",
    )


def test_what_is_safer_and_riskier_with_more() -> None:
    by_direction = {
        direction: {f.name for f in PRODUCT.model_fields if f.direction is direction}
        for direction in Direction
    }
    assert by_direction[Direction.SAFER] == {
        "mm_months",
        "avg_inflow",
        "avg_balance",
        "balance_stability",
        "counterparties",
        "airtime_regularity",
    }
    assert by_direction[Direction.RISKIER] == {"requested_amount"}


def test_every_field_says_what_it_means() -> None:
    assert all(field.meaning for field in PRODUCT.fields)


def test_a_catalogue_survives_the_way_through_json() -> None:
    assert msgspec.json.decode(msgspec.json.encode(PRODUCT), type=Catalogue) == PRODUCT


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ((), "no field that a model may read"),
        ((number("a"), number("a")), "a stands twice"),
        ((number("a"), number("b", other_spelling="a")), "a stands twice"),
        ((number(""),), "no name"),
        ((number("a", minimum=2, maximum=1),), "range is empty"),
        ((number("a", minimum=0, above=0),), "exclude each other"),
        ((Field("a", Kind.WORD, direction=Direction.SAFER),), "no order"),
        ((Field("a", Kind.WORD, money=True),), "no money"),
        ((number("a", use="policy"),), "no field that a model may read"),
    ],
)
def test_a_catalogue_that_contradicts_itself_is_refused(
    fields: tuple[Field, ...], told: str
) -> None:
    with pytest.raises(InvalidCatalogue, match=told):
        Catalogue(fields=fields)


def test_a_prohibited_name_cannot_be_a_field() -> None:
    with pytest.raises(InvalidCatalogue, match="gender stands twice"):
        Catalogue(fields=(number("gender"),), prohibited=("gender",))


def test_directions_can_be_set_anew() -> None:
    changed = PRODUCT.with_directions({"tx_frequency": Direction.SAFER})
    assert changed.field("tx_frequency").direction is Direction.SAFER
    assert PRODUCT.field("tx_frequency").direction is Direction.FREE


def test_a_catalogue_cut_down_keeps_what_the_model_does_not_read() -> None:
    cut = PRODUCT.only(["mm_months"])
    assert [f.name for f in cut.model_fields] == ["mm_months"]
    assert {f.use for f in cut.fields} == {Use.MODEL, Use.POLICY, Use.REFERENCE}


@pytest.mark.parametrize(
    ("field", "rule"),
    [
        (
            number("a", minimum=0, maximum=1e12),
            "must be a number at least 0 and at most 1,000,000,000,000",
        ),
        (number("a", above=0, maximum=5), "must be a number above 0 and at most 5"),
        (Field("a", Kind.INTEGER), "must be a whole number"),
        (Field("a", Kind.WORD), "must be a string of 1 to 64 printable characters"),
    ],
)
def test_a_rule_reads_as_a_sentence(field: Field, rule: str) -> None:
    assert field.rule == rule
