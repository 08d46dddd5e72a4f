"""The page of the fields says what the catalogue says."""

from pathlib import Path

from alama.core.catalogue import Direction, Field
from alama.core.product import PRODUCT

PAGE = Path(__file__).parents[2] / "docs" / "fields.md"


def row(field: Field) -> str:
    rule = field.rule.removeprefix("must be ")
    direction = "" if field.direction is Direction.FREE else field.direction.value
    cells = (
        f"`{field.name}`",
        f"`{field.other_spelling}`" if field.other_spelling else "",
        "yes" if field.required else "",
        rule,
        field.meaning + (f" ({field.unit})" if field.unit else ""),
        direction,
    )
    return "| " + " | ".join(cells) + " |"


def test_every_field_stands_on_the_page_as_it_is_in_the_catalogue() -> None:
    page = PAGE.read_text("utf-8")
    for field in PRODUCT.fields:
        assert row(field) in page


def test_what_must_never_be_sent_stands_there_too() -> None:
    page = PAGE.read_text("utf-8")
    assert all(f"`{name}`" in page for name in PRODUCT.prohibited)
