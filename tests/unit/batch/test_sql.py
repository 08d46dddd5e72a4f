import sqlite3

import msgspec
import pytest

from alama.batch.sql import KEY, TABLE, as_sql
from alama.core.catalogue import Catalogue, Field, Kind
from alama.core.errors import UnknownCurrency
from alama.core.model import Model
from alama.core.tables import Card, Feature, on_grid
from tests.factories import a_model


def of_one_card(card: Card, *fields: Field) -> Model:
    return msgspec.structs.replace(
        a_model(), catalogue=Catalogue(fields), cards=(card,), money=None, name="x\n; DROP TABLE y"
    )


def run(model: Model, columns: str, *rows: tuple[object, ...]) -> list[sqlite3.Row]:
    connection = sqlite3.connect(":memory:")
    try:
        connection.row_factory = sqlite3.Row
        connection.execute(f"CREATE TABLE {TABLE} ({KEY}, {columns})")
        marks = ", ".join("?" * len(rows[0]))
        connection.executemany(f"INSERT INTO {TABLE} VALUES ({marks})", rows)  # noqa: S608
        return list(connection.execute(as_sql(model, model.cards)))
    finally:
        connection.close()


def words(name: str, *groups: tuple[str, ...]) -> Feature:
    size = len(groups) + 2
    main = tuple(float(10 * slot) for slot in range(size))
    return Feature(name, main, (0.0,) * size, (None,) * size, words=groups)


def test_words_are_compared_without_case_and_space_and_nothing_is_missing() -> None:
    card = Card("full", 500.0, (words("region", ("nairobi",), ("o'hara",)),), ())
    model = of_one_card(card, Field("region", Kind.WORD))
    given = [None, "", "  ", " NAIROBI ", "O'Hara", "elsewhere"]
    found = run(model, "region", *enumerate(given))
    assert [row["points_region"] for row in found] == [0.0, 0.0, 0.0, 10.0, 20.0, 30.0]


@pytest.mark.parametrize("name", ["order", "my field", 'a "quoted" one', "Größe"])
def test_any_name_of_a_field_can_be_a_column(name: str) -> None:
    feature = Feature(name, (0.0, 1.0, 2.0), (0.0,) * 3, (None,) * 3, cuts=(5.0,))
    model = of_one_card(Card("full", 500.0, (feature,), ()), Field(name, Kind.NUMBER))
    quoted = name.replace('"', '""')
    found = run(model, f'"{quoted}"', (1, None), (2, 4.9), (3, 5))
    assert [row[f"points_{name}"] for row in found] == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("points", "score"),
    [(600.5, 600), (601.5, 602), (600.4999, 600), (600.5001, 601), (-50.0, 300), (4000.0, 850)],
)
def test_halves_are_rounded_to_even_and_the_ends_are_kept(points: float, score: int) -> None:
    feature = Feature("x", (0.0, 0.0), (0.0,) * 2, (None,) * 2)
    card = Card("full", on_grid(points), (feature,), ())
    assert run(of_one_card(card, Field("x", Kind.NUMBER)), "x", (1, 1))[0]["score"] == score


def test_the_header_names_the_model_and_cannot_break_out_of_its_comment() -> None:
    card = Card("full", 500.0, (words("region", ("a",)),), ())
    query = as_sql(of_one_card(card, Field("region", Kind.WORD)), (card,))
    first, second, *_ = query.splitlines()
    assert first == "-- Alama scorecard x ; DROP TABLE y"
    assert second.startswith("-- model sha256:")


def test_one_card_alone_scores_every_row() -> None:
    model = a_model(1)
    query = as_sql(model, model.cards[:1])
    assert "UNION ALL" not in query
    assert "WHERE" not in query


def test_an_unknown_currency_is_refused() -> None:
    model = a_model(1)
    with pytest.raises(UnknownCurrency):
        as_sql(model, model.cards, "XXX")
