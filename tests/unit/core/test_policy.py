"""A policy document is what it says it is, and contradicts itself nowhere, or it is refused."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alama.core import document
from alama.core import policy as policies
from alama.core.errors import InvalidPolicy
from alama.core.money import REFERENCE_INFLOW_MONTHLY
from alama.core.policy import Decision, Policy, default_policy

POLICY = default_policy("KES")
DOCUMENT = policies.encode(POLICY)


def altered(**changes: Any) -> bytes:
    """A document with other content, under an id that matches it."""
    tree = {**msgspec.json.decode(DOCUMENT), **changes}
    return policies.encode(document.seal(msgspec.convert(tree, Policy)))


def tier_with(place: int, **changes: Any) -> bytes:
    tiers = msgspec.json.decode(DOCUMENT)["tiers"]
    tiers[place].update(changes)
    return altered(tiers=tiers)


def part_with(part: str, **changes: Any) -> bytes:
    return altered(**{part: {**msgspec.json.decode(DOCUMENT)[part], **changes}})


def test_a_policy_reads_back_as_it_was_written() -> None:
    assert policies.decode(DOCUMENT) == POLICY


def test_the_id_is_the_hash_of_the_content() -> None:
    assert POLICY.id.startswith("sha256:")
    assert policies.content_id(POLICY) == POLICY.id
    assert default_policy("KES").id == POLICY.id
    assert default_policy("UGX").id != POLICY.id


@given(st.integers(0, len(DOCUMENT) - 2), st.integers(0, 7))
@settings(max_examples=400)
def test_no_flipped_bit_goes_unnoticed(at: int, bit: int) -> None:
    damaged = bytearray(DOCUMENT)
    damaged[at] ^= 1 << bit
    try:
        policy = policies.decode(bytes(damaged))
    except InvalidPolicy:
        return
    assert policy == POLICY  # only what JSON gives no meaning to may change, such as E for e


@pytest.mark.parametrize("written", [b"", b"null", b"[]", b'{"schema": 1}', b"\xff\xfe"])
def test_what_is_no_policy_is_refused(written: bytes) -> None:
    with pytest.raises(InvalidPolicy, match="not a policy document"):
        policies.decode(written)


def test_a_changed_policy_is_refused_with_the_way_out() -> None:
    with pytest.raises(InvalidPolicy, match="does not match its id") as caught:
        policies.decode(DOCUMENT.replace(b'"margin":10.0', b'"margin":90.0'))
    assert caught.value.hint == "take the original file, or write it anew"


def test_an_enormous_document_is_refused_unread() -> None:
    with pytest.raises(InvalidPolicy, match="larger than 1 MiB"):
        policies.decode(b" " * (policies.SIZE_MAX + 1))


def test_another_schema_is_refused() -> None:
    with pytest.raises(InvalidPolicy, match="schema"):
        policies.decode(altered(schema="alama-policy/99"))


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (altered(name=" "), "name is empty"),
        (altered(currency="Kes"), "currency must be three capital letters"),
        (altered(limit_step=0), "limit_step must be above 0"),
        (altered(terms_days=[]), "terms_days must offer a term"),
        (altered(terms_days=[0, 30]), r"terms_days\[0\] must be 1 to 3650 days"),
        (altered(terms_days=[30, 4000]), r"terms_days\[1\] must be 1 to 3650 days"),
        (altered(terms_days=[30, 90, 60]), r"terms_days\[2\] must be longer"),
        (altered(terms_days=[30, 30]), r"terms_days\[1\] must be longer"),
        (altered(terms_days=[60]), "standard_loan.term_days must be one of terms_days"),
        (part_with("standard_loan", amount=0.0), "standard_loan.amount must be above 0"),
        (altered(tiers=[]), "tiers must have one tier at least"),
        (tier_with(0, name=""), r"tiers\[0\].name"),
        (tier_with(1, name="A"), r"tiers\[1\].name must be a name that no tier above has"),
        (tier_with(0, score_min=851), r"tiers\[0\].score_min must be 300 to 850"),
        (tier_with(1, score_min=690), r"tiers\[1\].score_min must be below that of A"),
        (tier_with(4, score_min=301), r"tiers\[4\].score_min must be 300: every score"),
        (tier_with(0, decision="REVIEW"), r"tiers\[1\].decision must not be better than that of A"),
        (tier_with(0, inflow_share=1.1), r"tiers\[0\].inflow_share must be 0 to 1"),
        (tier_with(2, inflow_share=0.36), r"tiers\[2\].inflow_share must not exceed that of B"),
        (tier_with(3, limit_max=16_000), r"tiers\[3\].limit_max must not exceed that of C"),
        (tier_with(4, limit_max=499), r"tiers\[4\].limit_max must be a multiple of limit_step"),
        (tier_with(4, limit_max=0), r"tiers\[4\].limit_max must be a multiple of limit_step"),
        (tier_with(0, limit_max=500_500), r"tiers\[0\].limit_max must be a multiple of limit_step"),
        (tier_with(0, limit_max=50_001), r"tiers\[0\].limit_max must be a multiple of limit_step"),
        (part_with("pricing", loss_given_default=1.0), "pricing.loss_given_default"),
        (part_with("pricing", cost_per_loan=-1.0), "pricing.cost_per_loan must not be negative"),
        (part_with("pricing", cost_share=-0.1), "pricing.cost_share must not be negative"),
        (part_with("pricing", funding=0.0, margin=0.0), "pricing.margin must be at least 0.1"),
        (part_with("pricing", apr_max=24.0), "pricing.apr_max must be above funding and margin"),
    ],
)
def test_what_contradicts_itself_is_refused_with_the_place_and_the_reason(
    written: bytes, told: str
) -> None:
    with pytest.raises(InvalidPolicy, match=f"the policy's {told}"):
        policies.decode(written)


def test_a_policy_that_contradicts_itself_is_not_sealed() -> None:
    with pytest.raises(InvalidPolicy, match="limit_step"):
        policies.seal(msgspec.structs.replace(POLICY, limit_step=0))


# ------------------------------------------------------------------------ the default


def test_the_default_tiers_are_the_published_ones() -> None:
    assert [(tier.name, tier.score_min, tier.decision) for tier in POLICY.tiers] == [
        ("A", 690, Decision.APPROVED),
        ("B", 650, Decision.APPROVED),
        ("C", 605, Decision.APPROVED),
        ("D", 555, Decision.REVIEW),
        ("E", 300, Decision.DECLINED),
    ]


@pytest.mark.parametrize("currency", sorted(REFERENCE_INFLOW_MONTHLY))
def test_the_default_is_sound_and_readable_in_every_currency(currency: str) -> None:
    policy = policies.decode(policies.encode(default_policy(currency)))
    inflow = REFERENCE_INFLOW_MONTHLY[currency]
    amounts = [policy.limit_step, policy.standard_loan.amount, *(t.limit_max for t in policy.tiers)]
    for amount in amounts:
        assert float(f"{amount:.3g}") == amount
        assert amount % policy.limit_step == 0
    assert [tier.limit_max / inflow for tier in policy.tiers] == [2.5, 1.5, 0.75, 0.5, 0.25]
    assert 1 / 60 <= policy.limit_step / inflow <= 1 / 40


def test_steps_are_round_figures() -> None:
    steps = {code: default_policy(code).limit_step for code in ("KES", "USD", "XOF", "UGX", "IDR")}
    assert steps == {"KES": 500, "USD": 5, "XOF": 2_500, "UGX": 10_000, "IDR": 50_000}


def test_a_currency_without_a_reference_has_no_default() -> None:
    with pytest.raises(InvalidPolicy, match="no default policy for the currency CHF") as caught:
        default_policy("CHF")
    assert "KES" in str(caught.value.hint)
