"""What is sound in a policy and looks wrong is told, and refuses nothing."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from alama.core.lending.draft import default_policy, draft
from alama.core.lending.jurisdiction import Jurisdiction
from alama.core.lending.policy import Decision, OwnRule, Policy
from alama.core.lending.policy_check import doubts_about, spell
from alama.core.product import PRODUCT
from alama.platform.files.packaged import jurisdiction, jurisdictions

PACKS = jurisdictions()
LENDING = [pack for pack in PACKS if pack.currencies]
POLICY = default_policy("KES")


def doubts(policy: Policy) -> list[str]:
    tree = msgspec.to_builtins(policy)
    return [f"{spell(path, tree)} {said}" for path, said in doubts_about(policy, PRODUCT, PACKS)]


def drafted(code: str) -> Policy:
    pack = jurisdiction(code)
    return draft(pack.currencies[0], pack)


KE, UG = drafted("KE"), drafted("UG")


def part_with(policy: Policy, part: str, **changes: Any) -> Policy:
    changed = msgspec.structs.replace(getattr(policy, part), **changes)
    return msgspec.structs.replace(policy, **{part: changed})


def ruled(when: str, **law: Any) -> Policy:
    rule = OwnRule("mine", when, Decision.REVIEW, "it is mine")
    return msgspec.structs.replace(part_with(POLICY, "law", **law), rules=(rule,))


@pytest.mark.parametrize("pack", LENDING, ids=lambda pack: pack.code)
def test_a_draft_raises_no_doubt(pack: Jurisdiction) -> None:
    # A draft keeps the lender's costs, and says where a cap leaves no room for them.
    expected = ["caps.apr_max"] if pack.code == "WAEMU" else []
    assert [said.split()[0] for said in doubts(drafted(pack.code))] == expected
    assert doubts(POLICY) == []


@pytest.mark.parametrize(
    ("policy", "key", "said"),
    [
        (
            part_with(POLICY, "pricing", margin=0.1),
            "pricing.margin",
            "0.1 percent a year: did you mean 10?",
        ),
        (part_with(POLICY, "pricing", funding=0.14), "pricing.funding", "did you mean 14?"),
        (
            part_with(part_with(POLICY, "caps", apr_max=1.5), "pricing", funding=0.0, margin=1.0),
            "caps.apr_max",
            "1.5 percent a year: did you mean 150?",
        ),
    ],
)
def test_a_rate_that_looks_like_a_share_is_doubted(policy: Policy, key: str, said: str) -> None:
    (doubt,) = doubts(policy)
    assert doubt.startswith(f"{key} is ")
    assert doubt.endswith(said)


@pytest.mark.parametrize(
    ("when", "said"),
    [
        ("balance_stability > 40", "is never true: balance_stability is from 0 up to 1"),
        ("avg_inflow >= 0", "is always true: avg_inflow is from 0 up to 1_000_000_000_000"),
        ("avg_inflow is missing", "is never true: avg_inflow is from 0 up to 1_000_000_000_000"),
    ],
)
def test_a_rule_that_never_or_always_fires_is_doubted_with_the_range(when: str, said: str) -> None:
    assert doubts(ruled(when)) == [f"rules.mine.when {said} and always given"]


def test_a_rule_that_says_nothing_is_doubted_since_applicants_would_read_its_name() -> None:
    silent = OwnRule("new_wallet", "mm_months < 3", Decision.DECLINED)
    assert doubts(msgspec.structs.replace(POLICY, rules=(silent,))) == [
        "rules.new_wallet.says has no text, so an applicant would read new_wallet instead"
    ]


def test_a_rule_on_a_forbidden_field_is_doubted() -> None:
    policy = ruled("stability_score < 0.2 or region == 'a'", forbidden_fields=("region",))
    said = "reads region, which law.forbidden_fields refuses in every request"
    assert doubts(policy) == [f"rules.mine.when {said}"]


@pytest.mark.parametrize(
    ("policy", "key", "said"),
    [
        (
            part_with(UG, "caps", apr_max=200.0),
            "caps.apr_max",
            "is 200; the pack of Uganda has 33.6: ",
        ),
        (
            part_with(KE, "caps", charges_max=2.0),
            "caps.charges_max",
            "is 2; the pack of Kenya has 1: ",
        ),
        (part_with(KE, "caps", charges_max=None), "caps.charges_max", "is not there; the pack"),
        (part_with(KE, "law", retention_days=30), "law.retention_days", "is 30; the pack"),
        (part_with(KE, "law", notice_days=None), "law.notice_days", "is not there; the pack"),
        (
            part_with(KE, "law", forbidden_fields=("contacts",)),
            "law.forbidden_fields",
            "lacks contact_list, phonebook, which",
        ),
    ],
)
def test_a_policy_looser_than_its_law_is_told_the_figure_and_its_source(
    policy: Policy, key: str, said: str
) -> None:
    (doubt,) = doubts(policy)
    assert doubt.startswith(f"{key} {said}")
    figure = getattr(jurisdiction(policy.jurisdiction), key.rpartition(".")[2])
    assert doubt.endswith(f"{figure.rule} [{figure.source}; {figure.dated}; check with counsel]")


def test_a_tier_that_takes_more_of_an_income_than_the_law_lets_it_is_doubted() -> None:
    policy = drafted("IN")
    first = msgspec.structs.replace(policy.tiers[0], inflow_share=0.6)
    (doubt,) = doubts(msgspec.structs.replace(policy, tiers=(first, *policy.tiers[1:])))
    assert doubt.startswith("tiers.A.inflow_share is 0.6; the pack of India has 0.5: ")


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        ("Kenya", "did you mean KE?"),
        ("ke", "did you mean KE?"),
        ("Atlantis", "there is GH, IN, KE,"),
    ],
)
def test_a_jurisdiction_that_no_pack_has_is_told(code: str, advice: str) -> None:
    said = f"{code} is no known pack, so no law was looked at; {advice}"
    (doubt,) = doubts(msgspec.structs.replace(KE, jurisdiction=code))
    assert doubt.startswith(f"jurisdiction {said}")


def test_a_currency_of_another_place_is_told() -> None:
    (doubt,) = doubts(msgspec.structs.replace(UG, currency="KES"))
    assert doubt == "currency is KES; the pack of Uganda is for UGX"
