"""Vault keys stand wrapped, and open under their own master key, in their own row."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from alama.platform.errors import StoreUnfit
from alama.vault import keys
from alama.vault.keys import Masters, Purpose, is_master, master
from tests.entries import NOON_US
from tests.vaults import MASTER_KEY, MASTERS

OTHER = master("08" * 32)
KEY = keys.make(MASTERS.current, "demo", Purpose.SEAL, NOON_US)


def test_a_key_is_unwrapped_by_the_master_key_that_wrapped_it() -> None:
    assert len(keys.unwrap(MASTERS, KEY)) == 32
    assert keys.unwrap(MASTERS, KEY) not in KEY.wrapped
    with pytest.raises(StoreUnfit, match=f"under the master key {MASTERS.current.id}") as error:
        keys.unwrap(Masters(OTHER), KEY)
    assert error.value.hint is not None
    assert "ALAMA_MASTER_KEY" in error.value.hint


@pytest.mark.parametrize(
    "moved",
    [
        KEY._replace(id="vk_other"),
        KEY._replace(lender="umoja"),
        KEY._replace(lender=None),
        KEY._replace(purpose=Purpose.FIND.value),
        KEY._replace(wrapped=KEY.wrapped[:-1]),
        KEY._replace(wrapped=b""),
    ],
    ids=["row", "lender", "installation", "purpose", "cut", "destroyed"],
)
def test_a_wrapped_key_that_was_moved_or_changed_does_not_open(moved: keys.VaultKey) -> None:
    with pytest.raises(StoreUnfit, match=f"the key {moved.id} in this database is damaged"):
        keys.unwrap(MASTERS, moved)


def test_a_key_is_handed_over_to_the_current_master_key() -> None:
    moved = keys.rewrap(Masters(OTHER, MASTERS.current), KEY)
    assert keys.unwrap(Masters(OTHER), moved) == keys.unwrap(MASTERS, KEY)
    assert moved.master_id == OTHER.id


def test_what_is_signed_is_verified_by_the_public_half() -> None:
    made = keys.make(MASTERS.current, None, Purpose.SIGN, NOON_US)
    assert made.public is not None
    signature = keys.signing(MASTERS, made).sign(b"a message")
    Ed25519PublicKey.from_public_bytes(made.public).verify(signature, b"a message")


def test_ids_sort_by_time() -> None:
    made = [keys.make(MASTERS.current, "demo", Purpose.SEAL, NOON_US + n).id for n in range(5)]
    assert made == sorted(made)
    assert all(key_id.startswith("vk_") and len(key_id) <= 40 for key_id in made)


def test_a_master_key_is_64_hexadecimal_digits_and_its_id_does_not_give_it_away() -> None:
    assert is_master(MASTER_KEY)
    assert is_master("AB" * 32)
    for text in ("", "07" * 31, "07" * 33, "0g" * 32, f" {MASTER_KEY}", f"{MASTER_KEY}\n"):
        assert not is_master(text)
    assert len(MASTERS.current.id) == 16
    assert MASTERS.current.id not in MASTER_KEY
    assert master("AB" * 32).id == master("ab" * 32).id


def test_no_repr_holds_a_key() -> None:
    assert repr(MASTERS.current) == f"Master('{MASTERS.current.id}')"
    assert MASTER_KEY not in repr(MASTERS)
