"""What the ledger keeps of a statement, and what counts as money that came or went."""

from __future__ import annotations

from alama.statements.ledger import INFLOW, OUTFLOW, Kind, Pseudonyms

KEY, OTHER_KEY = b"k" * 32, b"o" * 32


def test_a_name_is_the_same_however_it_is_written_and_only_under_its_key() -> None:
    names = Pseudonyms(KEY)
    assert names.of("José  KAMAU") == names.of("jose kamau")
    assert names.of("Jane Kamau") != names.of("John Kamau")
    assert names.of("Jane Kamau") != Pseudonyms(OTHER_KEY).of("Jane Kamau")
    assert names.of(" - ") is None
    assert "jane" not in str(names.of("Jane"))


def test_a_holder_is_the_same_whatever_the_order_of_the_names() -> None:
    names = Pseudonyms(KEY)
    assert names.holder("KAMAU, Jane Wanjiku") == names.holder("Jane Wanjiku Kamau")
    assert names.holder("Jane Kamau") != names.holder("Jane Wanjiku Kamau")
    # A holder who pays herself cannot be told from her own name.
    assert names.of("jane") not in names.holder("jane")


def test_what_is_borrowed_saved_returned_or_won_is_neither_earned_nor_spent() -> None:
    neither = set(Kind) - INFLOW - OUTFLOW
    assert not INFLOW & OUTFLOW
    assert neither == {
        Kind.LOAN_IN,
        Kind.LOAN_OUT,
        Kind.OVERDRAFT_IN,
        Kind.OVERDRAFT_OUT,
        Kind.SAVINGS_IN,
        Kind.SAVINGS_OUT,
        Kind.BETTING_IN,
        Kind.OWN_TRANSFER,
        Kind.REVERSAL,
    }
