"""A lender has an id for commands, a name for people and a currency that the model knows."""

import pytest

from alama.service import lenders
from alama.service.errors import InvalidName
from alama.storage.registry import SqlRegistry
from tests.clocks import HandClock


def test_a_lender_is_added_once(registry: SqlRegistry, clock: HandClock) -> None:
    added = lenders.add(registry, clock, "umoja-sacco", " Umoja ", "UGX")
    assert registry.lender("umoja-sacco") == added
    assert (added.name, added.created_us) == ("Umoja", clock.now_us)
    with pytest.raises(InvalidName, match="already"):
        lenders.add(registry, clock, "umoja-sacco", "Another", "KES")


@pytest.mark.parametrize("lender_id", ["", "Umoja", "1st", "a b", "a" * 41, "umoja\n", "é"])
def test_an_id_is_a_short_word(registry: SqlRegistry, clock: HandClock, lender_id: str) -> None:
    with pytest.raises(InvalidName, match="lower-case"):
        lenders.add(registry, clock, lender_id, "Umoja", "KES")


@pytest.mark.parametrize("name", ["", "  ", "x" * 201])
def test_a_name_is_short_and_not_empty(registry: SqlRegistry, clock: HandClock, name: str) -> None:
    with pytest.raises(InvalidName, match="name"):
        lenders.add(registry, clock, "umoja", name, "KES")


@pytest.mark.parametrize("currency", ["kes", "GBP", ""])
def test_a_currency_is_one_the_model_knows(
    registry: SqlRegistry, clock: HandClock, currency: str
) -> None:
    with pytest.raises(InvalidName, match="not a currency") as caught:
        lenders.add(registry, clock, "umoja", "Umoja", currency)
    assert "KES" in str(caught.value.hint)
