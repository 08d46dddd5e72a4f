"""A lender has an id for commands, a name for people and a currency that the model knows."""

import pytest

from alama.lenders import keys
from alama.lenders.store import Registry
from alama.platform.errors import InvalidName
from tests.clocks import HandClock


def test_a_lender_is_added_once(registry: Registry, clock: HandClock) -> None:
    added = keys.add_lender(registry, clock, "umoja-sacco", " Umoja ", "UGX")
    assert registry.lender("umoja-sacco") == added
    assert (added.name, added.created_us) == ("Umoja", clock.now_us)
    with pytest.raises(InvalidName, match="already"):
        keys.add_lender(registry, clock, "umoja-sacco", "Another", "KES")


@pytest.mark.parametrize("lender_id", ["", "Umoja", "1st", "a b", "a" * 41, "umoja\n", "é"])
def test_an_id_is_a_short_word(registry: Registry, clock: HandClock, lender_id: str) -> None:
    with pytest.raises(InvalidName, match="lower-case"):
        keys.add_lender(registry, clock, lender_id, "Umoja", "KES")


@pytest.mark.parametrize("name", ["", "  ", "x" * 201])
def test_a_name_is_short_and_not_empty(registry: Registry, clock: HandClock, name: str) -> None:
    with pytest.raises(InvalidName, match="name"):
        keys.add_lender(registry, clock, "umoja", name, "KES")


@pytest.mark.parametrize("currency", ["kes", "GBP", ""])
def test_a_currency_is_one_the_model_knows(
    registry: Registry, clock: HandClock, currency: str
) -> None:
    with pytest.raises(InvalidName, match="not a currency") as caught:
        keys.add_lender(registry, clock, "umoja", "Umoja", currency)
    assert "KES" in str(caught.value.hint)
