"""Terms of lenders: replaced by newer ones, but for a shadow, which stays once it has begun."""

import msgspec
import pytest

from alama.core.chain import MAIN
from alama.core.errors import AlamaError, UnknownJurisdiction
from alama.core.lending.draft import default_text
from alama.lenders.records import Signed, UnknownLender
from alama.onboarding.records import FewerEyes, LawElsewhere, Pilot
from alama.onboarding.store import Pilots
from alama.onboarding.terms import Agreement, Terms
from alama.platform import acts
from alama.platform.acts import ActKind
from alama.platform.book import Book, Mode
from alama.platform.database.database import Database
from alama.platform.errors import InvalidName
from alama.platform.files.packaged import builtin, jurisdiction
from alama.policies import policies
from alama.protection.audit.store import Trail
from tests.entries import DEMO, LIVE, NOON_US
from tests.onboarded import House, a_pilot


@pytest.fixture
def house(database: Database) -> House:
    house = House(database)
    house.begin()
    return house


@pytest.fixture
def pilots(house: House) -> Pilots:
    return house.stores.pilots


def test_the_newest_terms_of_a_lender_stand_and_are_nobody_elses(pilots: Pilots) -> None:
    assert pilots.find("demo") is None
    pilots.set(a_pilot())
    newer = a_pilot(days_past_due=60, approvers=2, jurisdiction=None, set_by="A. Njeri")
    pilots.set(newer)
    assert pilots.find("demo") == newer
    assert pilots.find("umoja") is None
    with pytest.raises(UnknownLender):
        pilots.set(a_pilot("nobody"))


def test_a_shadow_begins_once_and_outlives_a_change_of_terms(house: House, pilots: Pilots) -> None:
    registry = house.stores.registry
    pilots.begin_shadow("demo", NOON_US, "W. Mutua")
    assert not registry.in_shadow(LIVE)  # there are no terms yet
    pilots.set(a_pilot())
    pilots.begin_shadow("demo", NOON_US + 1, "W. Mutua")
    pilots.begin_shadow("demo", NOON_US + 2, "W. Mutua")
    pilots.set(a_pilot(days_past_due=60))
    assert pilots.find("demo") == a_pilot(days_past_due=60, shadow_us=NOON_US + 1)
    assert registry.in_shadow(LIVE)
    assert not registry.in_shadow(DEMO)
    assert not registry.in_shadow(Book("umoja", Mode.LIVE))


def test_whoever_judges_new_terms_sees_those_in_force_and_may_refuse_them(pilots: Pilots) -> None:
    seen: list[Pilot | None] = []

    def judge(before: Pilot | None) -> None:
        seen.append(before)
        if before is not None:
            raise FewerEyes

    first = a_pilot(approvers=2)
    pilots.set(first, judge)
    with pytest.raises(FewerEyes):
        pilots.set(a_pilot(), judge)
    assert seen == [None, first]
    assert pilots.find("demo") == first


# ------------------------------------------------------------------------------- agreeing


@pytest.fixture
def agreement(house: House) -> Agreement:
    return Agreement(house.stores, lambda: NOON_US + 5, jurisdiction, builtin)


def test_terms_are_kept_with_who_and_when_and_the_code_of_the_law(
    pilots: Pilots, agreement: Agreement
) -> None:
    terms = Terms(days_past_due=90, approvers=2, jurisdiction="kenya")
    agreed = agreement.set("demo", terms, " W. Mutua ")
    expected = a_pilot(days_past_due=90, approvers=2, set_us=NOON_US + 5)
    assert agreed.pilot == pilots.find("demo") == expected


@pytest.mark.parametrize(
    ("change", "by", "error"),
    [
        ({"days_past_due": 0}, "W. Mutua", InvalidName),
        ({"days_past_due": 366}, "W. Mutua", InvalidName),
        ({"approvers": 3}, "W. Mutua", InvalidName),
        ({"approvers": 0}, "W. Mutua", InvalidName),
        ({"jurisdiction": "atlantis"}, "W. Mutua", UnknownJurisdiction),
        ({"jurisdiction": "UG"}, "W. Mutua", LawElsewhere),
        ({"jurisdiction": "KE"}, " ", InvalidName),
    ],
)
def test_terms_that_cannot_be_are_refused(
    house: House, agreement: Agreement, change: dict[str, object], by: str, error: type[AlamaError]
) -> None:
    terms = msgspec.structs.replace(Terms(days_past_due=30), **change)
    with pytest.raises(error):
        agreement.set("demo", terms, by)
    assert house.stores.pilots.find("demo") is None
    assert house.stores.registry.deployments(LIVE) == []


def test_the_first_terms_under_a_law_draft_a_live_policy_and_the_audit_says_who(
    house: House, agreement: Agreement
) -> None:
    agreed = agreement.set("demo", Terms(days_past_due=30, jurisdiction="KE"), "W. Mutua")
    assert (agreed.drafted, agreed.other_law) == (True, None)
    [step] = house.stores.registry.deployments(LIVE)
    assert (step.model_id, step.signed.by) == (None, "W. Mutua")
    policy = policies.policy_by_id(house.stores.registry, LIVE, step.policy_id)
    assert (policy.jurisdiction, policy.currency) == ("KE", "KES")
    done = [acts.decode(link.body) for link in Trail(house.database).links(MAIN, 0, 1_000)]
    assert [(act.kind, act.by) for act in done[-2:]] == [
        (ActKind.POLICY_DEPLOYED, "W. Mutua"),
        (ActKind.PILOT_SET, "W. Mutua"),
    ]


def test_a_live_policy_that_is_in_force_stays_and_another_law_is_named(
    house: House, agreement: Agreement
) -> None:
    neutral = default_text("KES")
    policies.activate(house.stores.registry, LIVE, neutral, Signed(NOON_US), builtin)
    agreed = agreement.set("demo", Terms(days_past_due=30, jurisdiction="KE"), "W. Mutua")
    assert (agreed.drafted, agreed.other_law) == (False, "neutral")
    assert policies.text_in_force(house.stores.registry, LIVE) == neutral


def test_without_a_law_no_policy_is_drafted(house: House, agreement: Agreement) -> None:
    agreement.set("demo", Terms(days_past_due=30), "W. Mutua")
    assert house.stores.registry.deployments(LIVE) == []
