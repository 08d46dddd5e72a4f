"""The page of the fields says what the catalogue says."""

from pathlib import Path

from alama.core.catalogue import Change, Direction, Field, Way
from alama.core.explanation import horizon_days
from alama.core.product import PRODUCT

PAGE = Path(__file__).parents[3] / "docs" / "fields.md"


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


def row_of_change(name: str, change: Change) -> str:
    cells = (
        f"`{name}`",
        "up or down" if change.way is Way.EITHER else change.way.value,
        how_far(change),
        how_soon(change),
        f"{change.effort:g}",
    )
    return "| " + " | ".join(cells) + " |"


def how_far(change: Change) -> str:
    if change.by_at_most is not None:
        return f"by {change.by_at_most:g}"
    if change.times_at_most is None:
        return "as far as the field goes"
    times = f"{change.times_at_most:g}"
    return {
        Way.UP: f"to {times} times as much",
        Way.DOWN: f"to 1/{times}",
        Way.EITHER: f"to {times} times as much, or to 1/{times}",
    }[change.way]


def how_soon(change: Change) -> str:
    if change.within_days == 0:
        return "at once"
    if change.days_each is None:
        return f"{change.within_days} days"
    return f"{change.days_each:g} days each, at most {change.within_days}"


def test_what_an_applicant_can_change_is_one_table_and_nothing_else_stands_in_it() -> None:
    _, _, section = PAGE.read_text("utf-8").partition("## What an applicant can change\n")
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    changes = [(field.name, field.change) for field in PRODUCT.fields if field.change]
    assert rows == [row_of_change(*change) for change in changes]
    assert f"within {horizon_days(PRODUCT)} days" in section


def test_every_field_stands_on_the_page_as_it_is_in_the_catalogue() -> None:
    page = PAGE.read_text("utf-8")
    for field in PRODUCT.fields:
        assert row(field) in page


def test_what_must_never_be_sent_stands_there_too() -> None:
    page = PAGE.read_text("utf-8")
    assert all(f"`{name}`" in page for name in PRODUCT.prohibited)
