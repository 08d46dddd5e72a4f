"""The way back: one person lets a model answer again that was never itself rolled back."""

import pytest

from alama.core import document
from alama.lenders.records import Signed, UnknownLender
from alama.onboarding.records import ApprovalBlocked, ModelWithdrawn, NothingBefore
from alama.platform.database.database import Database
from tests.entries import LIVE, NOON_US
from tests.factories import a_model
from tests.onboarded import MODEL, OTHER_MODEL, House, a_pilot, acts_of, announced

NJERI, MUTUA = "A. Njeri", "W. Mutua"


@pytest.fixture
def house(database: Database) -> House:
    house = House(database)
    house.begin()
    house.stores.pilots.set(a_pilot("umoja"))
    return house


def test_roll_back_goes_to_the_model_before(house: House) -> None:
    for model in (MODEL, OTHER_MODEL):
        house.signed(house.trained("umoja", model), NJERI)
        house.now_us += 1
    assert house.approval.roll_back("umoja", MUTUA, "it approves too many") == MODEL.id
    book = LIVE._replace(lender="umoja")
    assert house.stores.registry.deployed(book) == (MODEL.id, None)
    last = house.stores.registry.deployments(book)[-1]
    assert last.signed == Signed(NOON_US + 2, MUTUA, "it approves too many")
    assert announced(house.database)[-1] == ("umoja", "model.activated", MODEL.id)


def test_nobody_alone_rolls_back_to_what_was_rolled_back(house: House) -> None:
    house.signed(house.trained("umoja", MODEL), NJERI)
    withdrawn = house.trained("umoja", OTHER_MODEL)
    house.signed(withdrawn, NJERI)
    house.approval.roll_back("umoja", MUTUA, "it approves too many")
    before = acts_of(house.database)
    with pytest.raises(ModelWithdrawn) as caught:
        house.approval.roll_back("umoja", NJERI, "it was not that")
    assert f"by {MUTUA} at 2026-" in str(caught.value)
    assert str(caught.value).endswith("UTC: it approves too many")
    assert caught.value.candidate_id == withdrawn.id
    assert house.stores.registry.deployed(LIVE._replace(lender="umoja")) == (MODEL.id, None)
    assert acts_of(house.database) == before
    house.now_us += 1
    house.signed(withdrawn, MUTUA)  # signed again it answers, and there is a way back again
    assert house.approval.roll_back("umoja", MUTUA, "it was that") == MODEL.id


def test_what_stands_under_the_id_of_another_model_is_not_gone_back_to(house: House) -> None:
    for model in (MODEL, OTHER_MODEL):
        house.signed(house.trained("umoja", model), NJERI)
        house.now_us += 1
    forged = document.encode(a_model(name="never signed"))
    house.stores.registry.keep_model(MODEL.id, forged, house.now_us)
    with pytest.raises(ApprovalBlocked, match="it is another one") as caught:
        house.approval.roll_back("umoja", MUTUA, "it approves too many")
    assert "restore it from a backup" in str(caught.value.hint)
    assert house.stores.registry.deployed(LIVE._replace(lender="umoja")) == (OTHER_MODEL.id, None)


def test_rolling_back_twice_goes_two_models_back(house: House) -> None:
    third = a_model(name="the third")
    for model in (MODEL, OTHER_MODEL, third):
        house.signed(house.trained("umoja", model), NJERI)
        house.now_us += 1
    back = [house.approval.roll_back("umoja", MUTUA, "it approves too many") for _ in range(2)]
    assert back == [OTHER_MODEL.id, MODEL.id]
    with pytest.raises(ModelWithdrawn):
        house.approval.roll_back("umoja", MUTUA, "it approves too many")


def test_a_change_of_policy_is_nothing_to_go_back_over(house: House) -> None:
    for model in (MODEL, OTHER_MODEL):
        house.signed(house.trained("umoja", model), NJERI)
    house.stores.registry.deploy_policy(LIVE._replace(lender="umoja"), None, Signed(NOON_US))
    assert house.approval.roll_back("umoja", MUTUA, "it approves too many") == MODEL.id


def test_where_there_was_no_model_before_nothing_is_rolled_back(house: House) -> None:
    house.signed(house.trained("umoja"), NJERI)
    before = acts_of(house.database)
    for lender in ("umoja", "demo"):
        with pytest.raises(NothingBefore, match=f"no other model of {lender}"):
            house.approval.roll_back(lender, MUTUA, "it approves too many")
    with pytest.raises(UnknownLender):
        house.approval.roll_back("nobody", MUTUA, "it approves too many")
    assert acts_of(house.database) == before
