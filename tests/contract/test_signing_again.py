"""Signing again for a model that was left: by as many people as at first, and all of them anew."""

import pytest

from alama.lenders.records import Signed
from alama.onboarding.records import Candidate, SignatureRefused
from alama.platform.database.database import Database
from tests.audited import verdict_on
from tests.entries import LIVE
from tests.onboarded import OTHER_MODEL, House, a_pilot

NJERI, MUTUA = "A. Njeri", "W. Mutua"


@pytest.fixture
def house(database: Database) -> House:
    house = House(database)
    house.begin()
    house.stores.pilots.set(a_pilot(approvers=2))
    return house


def sign_in_turn(house: House, candidate: Candidate, *people: str) -> list[bool]:
    """Have people sign one after the other; whether the model answers after each."""
    told = []
    for person in people:
        house.now_us += 1
        told.append(house.signed(candidate, person, f"key of {person}"))
    return told


@pytest.mark.parametrize("left", ["rolled back", "replaced"])
def test_a_model_that_was_left_takes_as_many_signatures_as_at_first(
    house: House, left: str
) -> None:
    first, second = house.trained(), house.trained(model=OTHER_MODEL)
    if left == "rolled back":
        first, second = second, first
        sign_in_turn(house, second, NJERI, MUTUA)
    assert sign_in_turn(house, first, NJERI, MUTUA) == [False, True]
    house.now_us += 1
    if left == "rolled back":
        house.approval.roll_back("demo", "J. Otieno", "it approves too many")
    else:
        sign_in_turn(house, second, NJERI, MUTUA)
    assert sign_in_turn(house, first, "J. Otieno") == [False]
    deployed = house.stores.registry.deployed(LIVE)
    assert deployed == (second.model_id, None)
    # Who signed before it was left may sign again, with the same key.
    with pytest.raises(SignatureRefused, match="has signed this model already"):
        house.signed(first, "J. Otieno")
    assert sign_in_turn(house, first, NJERI) == [True]
    last = house.stores.registry.deployments(LIVE)[-1]
    assert (last.model_id, last.signed.by) == (first.model_id, f"J. Otieno, {NJERI}")
    signatures = house.stores.candidates.signatures("demo", first.id)
    assert [one.person for one in signatures] == [NJERI, MUTUA, "J. Otieno", NJERI]
    assert verdict_on(house.database).findings == []


def test_the_two_who_signed_before_a_model_was_left_put_it_back(house: House) -> None:
    before, candidate = house.trained(), house.trained(model=OTHER_MODEL)
    sign_in_turn(house, before, NJERI, MUTUA)
    sign_in_turn(house, candidate, NJERI, MUTUA)
    house.now_us += 1
    house.approval.roll_back("demo", "J. Otieno", "it approves too many")
    # A policy that changes meanwhile changes nothing about it.
    house.stores.registry.deploy_policy(LIVE, None, Signed(house.now_us))
    assert sign_in_turn(house, candidate, NJERI, MUTUA) == [False, True]
