import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from alama.core.kernel import Words
from alama.training.dataset import Dataset
from tests.patterned import patterned


def shuffled(data: Dataset, seed: int) -> Dataset:
    return data.take(np.random.default_rng(seed).permutation(len(data)))


@given(st.integers(0, 1_000))
def test_the_order_of_the_rows_does_not_reach_the_canonical_table(seed: int) -> None:
    data = patterned(300)
    assert (
        shuffled(data, seed).in_canonical_order().fingerprint()
        == data.in_canonical_order().fingerprint()
    )


def test_the_order_in_which_words_were_met_does_not_either() -> None:
    data = patterned(300)
    device = data.columns["device"]
    assert isinstance(device, Words)
    turned = Words(
        np.where(device.codes < 0, -1, 3 - device.codes).astype(np.int32),
        list(reversed(device.vocabulary)),
    )
    other = Dataset(data.catalogue, {**data.columns, "device": turned}, data.labels)
    assert other.in_canonical_order().fingerprint() == data.in_canonical_order().fingerprint()


def test_one_changed_value_changes_the_fingerprint() -> None:
    data = patterned(300)
    months = data.columns["months"]
    assert isinstance(months, np.ndarray)
    changed = months.copy()
    changed[7] += 1.0
    other = Dataset(data.catalogue, {**data.columns, "months": changed}, data.labels)
    assert other.fingerprint() != data.fingerprint()


def test_the_sign_of_zero_does_not_count() -> None:
    data = patterned(300)
    zeros = np.zeros(300)
    plus = Dataset(data.catalogue, {**data.columns, "weekend": zeros}, data.labels)
    minus = Dataset(data.catalogue, {**data.columns, "weekend": -zeros}, data.labels)
    assert plus.fingerprint() == minus.fingerprint()
