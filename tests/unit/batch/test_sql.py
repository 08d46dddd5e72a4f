import math
import sqlite3

import msgspec
import pytest

from alama.batch.sql import KEY, TABLE, as_sql
from alama.core.catalogue import Catalogue, Field, Kind
from alama.core.errors import UnknownCurrency
from alama.core.model import Model, Money
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


@pytest.mark.parametrize("name", ["order", "my field", 'a "quoted" one', "Größe", "source"])
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


KEYWORDS = ["index", "transaction", "constraint", "select", "points", "score", "card", "given_x"]


def of_numbers(*names: str) -> Model:
    features = tuple(
        Feature(name, (0.0, 1.0, 2.0), (0.0,) * 3, (None,) * 3, cuts=(0.3,)) for name in names
    )
    fields = [Field(name, Kind.NUMBER) for name in names]
    return of_one_card(Card("full", 500.0, features, ()), *fields)


def test_fields_may_be_named_by_words_of_sql() -> None:
    columns = ", ".join(f'"{name}"' for name in KEYWORDS)
    (row,) = run(of_numbers(*KEYWORDS), columns, (7, *[0.5] * len(KEYWORDS)))
    assert row[KEY] == 7
    assert [row[f"points_{name}"] for name in KEYWORDS] == [2.0] * len(KEYWORDS)
    assert row["points"] == 500.0 + 2.0 * len(KEYWORDS)


def test_a_field_may_have_the_name_of_the_key() -> None:
    (row,) = run(of_numbers(KEY, "x"), "x", (0.1, 5))
    assert (row[KEY], row[f"points_{KEY}"], row["points_x"]) == (0.1, 1.0, 2.0)


def test_a_column_that_is_not_there_is_an_error() -> None:
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        run(of_numbers("x"), "y", (1, 1))


@pytest.mark.parametrize("nothing", ["", "  ", None])
def test_nothing_in_a_column_of_numbers_is_missing(nothing: str | None) -> None:
    found = run(of_numbers("x"), "x TEXT", (1, nothing), (2, "0"), (3, " 0.3 "))
    assert [row["points_x"] for row in found] == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("kind", ["", "REAL", "DOUBLE PRECISION"])
def test_numbers_are_compared_to_the_last_bit(kind: str) -> None:
    below = math.nextafter(0.3, 0.0)
    found = run(of_numbers("x"), f"x {kind}", (1, below), (2, 0.3), (3, 0.1 + 0.2))
    assert [row["points_x"] for row in found] == [1.0, 2.0, 2.0]


@pytest.mark.parametrize("sent", ["thiès", "Thiès", "THIÈS", " THIèS ", "ThiÈs"])
def test_a_word_beyond_ascii_is_known_in_its_usual_cases(sent: str) -> None:
    card = Card("full", 500.0, (words("region", ("thiès",), ("évry à l'est", "dakar")),), ())
    model = of_one_card(card, Field("region", Kind.WORD))
    (row,) = run(model, "region", (1, sent))
    assert row["points_region"] == 10.0


@pytest.mark.parametrize("sent", ["Évry à l'Est", "ÉVRY À L'EST", "Évry À L'Est", "DAKAR"])
def test_a_first_letter_beyond_ascii_may_be_large(sent: str) -> None:
    card = Card("full", 500.0, (words("region", ("évry à l'est", "dakar")),), ())
    (row,) = run(of_one_card(card, Field("region", Kind.WORD)), "region", (1, sent))
    assert row["points_region"] == 10.0


def test_a_form_of_one_word_is_never_another_word() -> None:
    # The large form of a dotless i is the plain I.
    card = Card("full", 500.0, (words("region", ("\u0131rak",), ("irak",)),), ())
    found = run(
        of_one_card(card, Field("region", Kind.WORD)), "region", (1, "IRAK"), (2, "\u0131rak")
    )
    assert [row["points_region"] for row in found] == [20.0, 10.0]


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\x0b", "\x85", "\u2028", "\x00"])
def test_no_value_of_the_model_leaves_the_header(end: str) -> None:
    evil = f"KES{end}DROP TABLE {TABLE}; --"
    model = msgspec.structs.replace(
        of_numbers("x"), name=evil, id=evil, money=Money(evil, "2024-01-01", {evil: 1.0})
    )
    query = as_sql(model, model.cards)
    header, _, body = query.partition("WITH inputs")
    assert all(line.startswith("--") for line in header.splitlines())
    assert header.count("DROP TABLE") == 3
    assert "DROP" not in body


def test_the_header_says_what_differs_between_engines() -> None:
    query = as_sql(of_numbers("x"), of_numbers("x").cards)
    assert "backticks" in query
    assert "fold ASCII" in query
