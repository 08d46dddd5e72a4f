import numpy as np

from alama.core.kernel import present
from alama.training.making.masking import optional_fields, rows_for, with_masked_copies
from tests.patterned import QUICK, patterned


def test_copies_lack_optional_fields_and_never_a_required_one() -> None:
    data = patterned(2_000)
    grown, groups = with_masked_copies(data, QUICK)
    copies = slice(len(data), None)
    assert len(grown) == len(data) + round(QUICK.masked_share * len(data))
    assert present(grown.columns["months"])[copies].all()
    assert present(grown.columns["inflow"])[copies].all()
    original = [present(data.columns[name])[groups[copies]] for name in optional_fields(data)]
    copied = [present(grown.columns[name])[copies] for name in optional_fields(data)]
    assert not np.any(np.array(copied) & ~np.array(original))
    assert np.mean(np.array(copied)) < np.mean(np.array(original))


def test_a_copy_belongs_to_the_group_and_has_the_outcome_of_its_original() -> None:
    data = patterned(2_000)
    grown, groups = with_masked_copies(data, QUICK)
    assert np.array_equal(groups[: len(data)], np.arange(len(data)))
    assert np.array_equal(grown.labels, data.labels[groups])


def test_the_full_card_learns_from_the_rows_it_will_serve() -> None:
    data = patterned(2_000)
    served = rows_for(data, list(data.columns))
    given = np.zeros(len(data), dtype=bool)
    for name in ("amount", "weekend", "device"):
        given |= present(data.columns[name])
    assert np.array_equal(served, np.flatnonzero(given))
    assert len(rows_for(data, ["months", "inflow"])) == len(data)
