from __future__ import annotations

import numpy as np

from alama.training.validation.tiers import TermBand, seldom_judged, term_bands


def test_terms_are_counted_on_either_side_and_empty_bands_left_out() -> None:
    bands = term_bands(np.array([7.0, 30.0, 30.0, 400.0]), np.array([30.0, 14.0]))
    assert bands == (
        TermBand(1, 7, 1, 0),
        TermBand(8, 14, 0, 1),
        TermBand(15, 30, 2, 1),
        TermBand(366, None, 1, 0),
    )
    assert [band.words for band in bands] == [
        "up to 7 days",
        "8 to 14 days",
        "15 to 30 days",
        "more than 365 days",
    ]


def test_long_loans_that_hardly_judge_are_told() -> None:
    bands = term_bands(np.repeat([30.0, 180.0], 500), np.repeat([30.0, 180.0], [400, 3]))
    told = seldom_judged(bands)
    assert told is not None
    assert "91 to 180 days (3 of those that judge, 500 learned from)" in told
    assert "15 to 30 days" not in told
    assert seldom_judged(bands[:1]) is None
