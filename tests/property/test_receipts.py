"""Whatever bit of a receipt is another, it does not hold any more."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from alama.core import receipts
from alama.core.errors import InvalidReceipt
from tests.receipts import a_receipt

DOCUMENT = receipts.encode(a_receipt(leaves=6))
PIECES = [DOCUMENT[at : at + 40] for at in range(0, len(DOCUMENT), 40)]


def holds(document: bytes) -> bool:
    try:
        return receipts.failures(receipts.decode(document)) == ()
    except InvalidReceipt:
        return False


def flipped(bit: int) -> bytes:
    document = bytearray(DOCUMENT)
    document[bit // 8] ^= 1 << bit % 8
    return bytes(document)


def test_a_receipt_with_any_one_bit_flipped_does_not_hold() -> None:
    assert holds(DOCUMENT)
    assert [bit for bit in range(8 * len(DOCUMENT)) if holds(flipped(bit))] == []


@given(st.data())
def test_a_receipt_with_any_bytes_changed_does_not_hold(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(DOCUMENT)))
    end = data.draw(st.integers(start, min(len(DOCUMENT), start + 80)))
    written = data.draw(st.binary(max_size=80) | st.sampled_from(PIECES))
    changed = DOCUMENT[:start] + written + DOCUMENT[end:]
    assert holds(changed) == (changed == DOCUMENT)
