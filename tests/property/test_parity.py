"""One row in plain Python, whole columns in NumPy, whole files, and SQL: the same bits."""

from __future__ import annotations

import itertools
import sqlite3
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.batch.scoring import Options, TableScoring, score_table
from alama.batch.sql import KEY, TABLE, as_sql
from alama.core import calibration, kernel, tables
from alama.core.application import Application, Value, read
from alama.core.assess import ExplainedScore, explain_score
from alama.core.catalogue import Catalogue, Kind
from alama.core.kernel import BatchScorecard, Column, Words
from alama.core.model import Model, ReadyModel
from alama.core.scorecard import Scorecard
from alama.core.units import Points
from alama.platform.files.reader import open_table
from tests.factories import (
    Case,
    Rng,
    a_model,
    cases,
    masked,
    points_of,
    random_columns,
    rows,
)
from tests.tries import tries

SEEDS = st.integers(0, 2**32 - 1)


def columns_of(catalogue: Catalogue, table: list[tuple[Value, ...]]) -> dict[str, Column]:
    columns: dict[str, Column] = {}
    for field, values in zip(catalogue.fields, zip(*table, strict=True), strict=True):
        if field.kind is Kind.WORD:
            vocabulary = tuple({str(value): None for value in values if value is not None})
            codes = [-1 if value is None else vocabulary.index(str(value)) for value in values]
            columns[field.name] = Words(np.array(codes, dtype=np.int32), vocabulary)
        else:
            columns[field.name] = np.array(values, dtype=np.float64)
    return columns


def rows_of(catalogue: Catalogue, columns: dict[str, Column]) -> list[tuple[Value, ...]]:
    by_field: list[list[Value]] = []
    for field in catalogue.fields:
        column = columns.get(field.name)
        if column is None:
            by_field.append([])
        elif isinstance(column, Words):
            by_field.append([None if c < 0 else column.vocabulary[c] for c in column.codes])
        else:
            by_field.append([None if np.isnan(value) else float(value) for value in column])
    return list(itertools.zip_longest(*by_field))


def random_applications(rng: Rng, model: Model, count: int) -> dict[str, Column]:
    """Sound applications, some of them compact, some of them thin."""
    columns = random_columns(rng, model.cards[-1], model.catalogue, count)
    compact = rng.random(count) < 0.4
    return {
        name: column
        if model.catalogue.field(name).required
        else masked(column, compact | (rng.random(count) < 0.2))
        for name, column in columns.items()
    }


@st.composite
def scored_tables(draw: st.DrawFn) -> tuple[Case, list[tuple[Value, ...]]]:
    case = draw(cases())
    return case, draw(st.lists(rows(case), min_size=1, max_size=20))


@given(scored_tables())
def test_whole_columns_score_like_single_rows(
    drawn: tuple[Case, list[tuple[Value, ...]]],
) -> None:
    case, table = drawn
    scored = BatchScorecard(case.card, case.catalogue).score(columns_of(case.catalogue, table))
    single = [Scorecard(case.card, case.catalogue).score(values) for values in table]
    assert scored.points.tolist() == [row.points for row in single]
    assert scored.contributions.T.tolist() == [row.contributions for row in single]


@given(scored_tables(), st.integers(65, 120))
def test_many_cuts_are_searched_with_the_same_result(
    drawn: tuple[Case, list[tuple[Value, ...]]], count: int
) -> None:
    values = np.array(
        [np.nan if v is None else v for row in drawn[1] for v in row if not isinstance(v, str)]
    )
    cuts = np.linspace(-10.0, 200.0, count)
    few = np.concatenate([cuts[:1], cuts[-1:]])
    slots = kernel._number_column(values, cuts)
    assert (slots == [0 if np.isnan(v) else 1 + np.sum(cuts <= v) for v in values]).all()
    assert (np.digitize(slots, [1, 2, count + 1]) == kernel._number_column(values, few)).all()


@given(
    st.lists(
        st.floats(-3_000.0, 4_000.0).map(tables.on_grid)
        | st.integers(300_000, 850_000).map(lambda k: k / 1000)
        # Points at which the sixth decimal is all but a tie.
        | st.integers(1, 999_998).map(lambda k: points_of((k + 0.5) / 1e6)),
        min_size=1,
    )
)
def test_scores_and_probabilities_are_shown_alike(drawn: list[float]) -> None:
    points = np.array(drawn)
    single = [Points(value) for value in drawn]
    assert kernel.shown_scores(points).tolist() == [calibration.shown_score(p) for p in single]
    assert kernel.shown_probabilities(points).tolist() == [
        calibration.shown_probability(p) for p in single
    ]


@given(SEEDS)
@tries(30)
def test_each_row_is_given_to_the_same_card(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = a_model(seed)
    columns = random_applications(rng, model, 40)
    ready = ReadyModel(model)
    chosen = kernel.choose_card(model.cards, columns, 40)
    expected = [
        ready.scorecard_for(Application(values)).card.name
        for values in rows_of(model.catalogue, columns)
    ]
    assert [model.cards[place].name for place in chosen] == expected


@given(SEEDS, st.sampled_from([None, "UGX"]), st.sampled_from([".parquet", ".csv"]))
@tries(20)
def test_a_file_scores_like_its_applications(
    tmp_path_factory: pytest.TempPathFactory, seed: int, currency: str | None, ending: str
) -> None:
    folder = tmp_path_factory.mktemp("parity")
    model = a_model(seed)
    columns = random_applications(np.random.default_rng(seed), model, 50)
    table = rows_of(model.catalogue, columns)
    source = write(folder / f"loans{ending}", model.catalogue, table)

    scoring = TableScoring(
        model, open_table(source), Options(contributions=True, currency=currency)
    )
    score_table(scoring, folder / "scores.parquet")

    ready = ReadyModel(model, currency)
    found = pyarrow.parquet.read_table(folder / "scores.parquet").to_pylist()
    assert found == [expected(ready, score_sent(ready, values)) for values in table]


@given(SEEDS, st.sampled_from([None, "UGX"]))
@tries(15)
def test_sql_scores_like_core(seed: int, currency: str | None) -> None:
    model = a_model(seed)
    catalogue = model.catalogue
    columns = random_applications(np.random.default_rng(seed), model, 30)
    table = rows_of(catalogue, columns)
    ready = ReadyModel(model, currency)
    for row, found in zip(table, in_sqlite(model, table, currency), strict=True):
        said = score_sent(ready, row)
        assert found["points"] == said.points
        assert found["card"] == said.card
        assert {name: found[name] for name in expected(ready, said)} == expected(ready, said)


@given(scored_tables())
@tries(40)
def test_sql_of_any_card_scores_like_core(drawn: tuple[Case, list[tuple[Value, ...]]]) -> None:
    case, table = drawn
    model = msgspec.structs.replace(
        a_model(), catalogue=case.catalogue, cards=(case.card,), money=None
    )
    found = in_sqlite(model, table, None)
    single = [Scorecard(case.card, case.catalogue).score(values) for values in table]
    assert [row["points"] for row in found] == [scored.points for scored in single]


# ----------------------------------------------------------------------------------- helpers


def score_sent(ready: ReadyModel, values: tuple[Value, ...]) -> ExplainedScore:
    """Through the front door, as the service would."""
    names = [field.name for field in ready.catalogue.fields]
    return explain_score(ready, read(ready.catalogue, dict(zip(names, values, strict=True))))


def expected(ready: ReadyModel, said: ExplainedScore) -> dict[str, object]:
    points = {contribution.feature: contribution.points for contribution in said.contributions}
    return {
        "score": said.score,
        "default_probability": said.default_probability,
        "base_score": said.base,
        **{f"points_{name}": points.get(name) for name in ready.scorecards[-1].fields},
    }


def write(path: Path, catalogue: Catalogue, table: list[tuple[Value, ...]]) -> Path:
    columns = {
        field.name: pa.array(list(values), pa.string() if field.kind is Kind.WORD else pa.float64())
        for field, values in zip(catalogue.fields, zip(*table, strict=True), strict=True)
    }
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(pa.table(columns), path)
    else:
        with path.open("w", encoding="utf-8") as file:
            file.write(",".join(columns) + "\n")
            for row in table:
                file.write(",".join("" if v is None else str(v) for v in row) + "\n")
    return path


def in_sqlite(
    model: Model, table: list[tuple[Value, ...]], currency: str | None
) -> list[dict[str, object]]:
    names = [f'"{field.name}"' for field in model.catalogue.fields]
    marks = ", ".join("?" * (len(names) + 1))
    connection = sqlite3.connect(":memory:")
    try:
        connection.row_factory = sqlite3.Row
        connection.execute(f"CREATE TABLE {TABLE} ({KEY}, {', '.join(names)})")
        connection.executemany(
            f"INSERT INTO {TABLE} VALUES ({marks})",  # noqa: S608  names of our own catalogue
            [(number, *row) for number, row in enumerate(table)],
        )
        query = as_sql(model, model.cards, currency).rstrip("\n;")
        return [dict(row) for row in connection.execute(f"{query} ORDER BY {KEY}")]
    finally:
        connection.close()
