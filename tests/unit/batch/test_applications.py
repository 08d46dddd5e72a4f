from __future__ import annotations

import numpy as np

from alama.batch.deciding import applications
from alama.core.kernel import Words
from alama.core.product import PRODUCT


def test_columns_become_rows_in_the_order_of_the_catalogue() -> None:
    first, second = applications(
        PRODUCT,
        {
            "region": Words(np.array([0, -1], dtype=np.int32), ("kiambu",)),
            "avg_inflow": np.array([9_000.5, 41_000.0]),
            "mm_months": np.array([np.nan, 60.0]),
        },
        ["weekly", None],
    )
    place = PRODUCT.position
    assert first.values[place["region"]] == "kiambu"
    assert first.values[place["avg_inflow"]] == 9_000.5
    assert sum(value is not None for value in first.values) == 2
    assert second.values[place["region"]] is None
    months = second.values[place["mm_months"]]
    assert (months, type(months)) == (60, int)
    assert (first.product, second.product) == ("weekly", None)


def test_without_any_column_nothing_is_given() -> None:
    (only,) = applications(PRODUCT, {}, [None])
    assert set(only.values) == {None}
