from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from alama.core import receipts
from alama.core.errors import InvalidReceipt
from alama.core.receipts import SIZE_MAX, Check, KeptScore, Receipt
from alama.scoring.records import ScoreRow
from tests.receipts import COMPACT, SigningKey, a_receipt

SEALED_COLUMNS = {"sealed", "seal_key_id", "applicant_key_id"}
"""What changes when keys do, and says nothing about the decision."""


def changed(receipt: Receipt, *path: str, to: Any) -> Receipt:
    """The receipt with one value in another place."""
    said = json.loads(receipts.encode(receipt))
    inner = said
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = to
    return msgspec.convert(said, Receipt)


# ------------------------------------------------------------------------------ verifying


@pytest.mark.parametrize("leaves", [1, 2, 3, 5, 8, 500])
def test_a_receipt_holds_wherever_in_its_commit_the_score_stood(leaves: int) -> None:
    for place in {0, leaves // 2, leaves - 1}:
        receipt = a_receipt(place=place, leaves=leaves)
        assert receipts.failures(receipt) == ()
        assert receipts.decode(receipts.encode(receipt)) == receipt


def test_what_was_sent_stands_there_letter_by_letter() -> None:
    assert a_receipt().application.encode() == COMPACT


def test_a_receipt_has_every_column_that_does_not_change_with_keys() -> None:
    # The chance of a lot and the product are read from what was concluded.
    read = {*SEALED_COLUMNS, "propensity", "product"}
    kept = [name for name in ScoreRow._fields if name not in read]
    assert list(KeptScore.__struct_fields__) == kept


@pytest.mark.parametrize(
    ("path", "to", "failed"),
    [
        (("score", "decision"), "DECLINED", Check.RECORD),
        (("score", "expected_loss"), 0.0, Check.RECORD),
        (("application",), COMPACT.decode().replace("24", "25"), Check.RECORD),
        (("assessment", "tier"), "A", Check.RECORD),
        (("assessment", "new"), None, Check.RECORD),
        (("proof", "salt"), "00" * 16, Check.RECORD),
        (("proof", "path"), [], Check.PATH),
        (("proof", "entry", "number"), 2, Check.ENTRY),
        (("proof", "entry", "writer"), "another", Check.ENTRY),
        (("proof", "entry", "created_us"), 1, Check.ENTRY),
        (("proof", "entry", "kind"), "paused", Check.ENTRY),
        (("proof", "entry", "previous_hash"), "11" * 32, Check.ENTRY),
        (("proof", "signature"), "11" * 64, Check.SIGNATURE),
        (("proof", "public_key"), SigningKey(8).public.hex(), Check.SIGNATURE),
    ],
)
def test_a_change_breaks_the_step_that_covers_it(
    path: tuple[str, ...], to: object, failed: Check
) -> None:
    assert receipts.failures(changed(a_receipt(), *path, to=to)) == (failed,)


@pytest.mark.parametrize(
    ("path", "failed"),
    [
        (("score", "request_id"), {Check.RECORD, Check.PATH}),
        (("proof", "digest"), {Check.RECORD, Check.PATH}),
        (("proof", "entry", "root"), {Check.PATH, Check.ENTRY}),
        (("proof", "entry", "hash"), {Check.ENTRY, Check.SIGNATURE}),
    ],
)
def test_a_change_of_what_joins_two_steps_breaks_both(
    path: tuple[str, ...], failed: set[Check]
) -> None:
    assert set(receipts.failures(changed(a_receipt(), *path, to="22" * 32))) == failed


def test_a_neighbour_on_the_other_side_leads_elsewhere() -> None:
    receipt = a_receipt(place=0)
    path = msgspec.to_builtins(receipt.proof.path)
    moved = [{**path[0], "side": "left"}, *path[1:]]
    assert receipts.failures(changed(receipt, "proof", "path", to=moved)) == (Check.PATH,)


# -------------------------------------------------------------------------------- reading

DOCUMENT = receipts.encode(a_receipt())


@pytest.mark.parametrize(
    "written",
    [
        DOCUMENT.rstrip(),
        DOCUMENT + b"\n",
        DOCUMENT.replace(b"\n", b"\r\n"),
        DOCUMENT.replace(b'"tier": ', b'"tier":', 1),
        json.dumps(json.loads(DOCUMENT), indent=2).encode() + b"\n",  # letters beyond ASCII escaped
        msgspec.json.encode(msgspec.json.decode(DOCUMENT)),
        DOCUMENT.replace(b'"tier": ', b'"tier": "Z",\n    "tier": ', 1),
        DOCUMENT.replace(b'"base": ', b'"base": 1, "base": '),
        DOCUMENT.replace(b".0,", b".00,", 1),
        DOCUMENT.replace(b"00.0,", b"e2,", 1),
    ],
    ids=range(10),
)
def test_the_same_in_other_bytes_is_refused(written: bytes) -> None:
    assert written != DOCUMENT
    with pytest.raises(InvalidReceipt, match="not written as it was given") as refused:
        receipts.decode(written)
    assert refused.value.hint is not None


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (b"", "this is not a receipt"),
        (b"null", "this is not a receipt: Expected `object`"),
        (b"{}", "missing required field `schema`"),
        (DOCUMENT[:-3], "this is not a receipt"),
        (b"\xff" + DOCUMENT, "this is not a receipt"),
        (DOCUMENT.replace(b'"tier"', b'"tiers"', 1), "unknown field `tiers`"),
        (DOCUMENT.replace(b'"proof": {', b'"proof": {"more": 1,'), "unknown field `more`"),
        (DOCUMENT.replace(b'"left"', b'"Left"', 1), "Invalid enum value"),
        (DOCUMENT.replace(b'"salt": "00', b'"salt": "0X'), "matching regex"),
        (DOCUMENT.replace(b'"number": 1', b'"number": 18446744073709551616'), "Expected `int` <="),
        (DOCUMENT.replace(b'"base": ', b'"base": 18446744073709551616, "b": '), "serialize ints"),
        (b"[" * 100_000, "this is not a receipt"),
        (b" " * (SIZE_MAX + 1), "larger than 256 KiB"),
        (DOCUMENT.replace(b"receipt/1", b"receipt/2"), "says schema 'alama.receipt/2'"),
    ],
    ids=lambda part: repr(part)[:40],
)
def test_what_is_no_receipt_is_told(written: bytes, message: str) -> None:
    with pytest.raises(InvalidReceipt, match=message.replace("`", ".")):
        receipts.decode(written)


def test_the_largest_body_fits_into_a_receipt() -> None:
    # Each quotation mark and line feed doubles when it is written as a text.
    body = COMPACT.ljust(64 * 1024, b"\n")
    document = receipts.encode(a_receipt(body, leaves=500))
    assert receipts.failures(receipts.decode(document)) == ()
