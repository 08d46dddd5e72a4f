"""`[[portfolio]]` and `[exploration]`: how they are written, and what cannot be."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import msgspec
import pytest

from alama.core.errors import InvalidPolicy
from alama.core.lending import draft, policy_text
from alama.core.lending.policy import Decision, Per, Policy, changes, products_under
from alama.core.lending.ready_policy import ReadyPolicy, caps_of, exploration_of
from alama.core.model import ReadyModel
from alama.platform.files.packaged import builtin

DEFAULT = draft.default_policy("KES")
CAP = """
[[portfolio]]
name = "nairobi_c"
per = "month"
number_max = 200
volume_max = 1_000_000
tiers = ["C"]
regions = ["Nairobi"]
decision = "DECLINED"
says = "we have lent as much as we may in Nairobi this month"
"""
LOT = """
[exploration]
share = 0.05
score_min = 560
limit_max = 2_000
daily_max = 10
"""


def read(more: str) -> Policy:
    return policy_text.read(draft.default_text("KES") + more.encode())


def test_a_policy_that_says_nothing_of_them_keeps_its_id() -> None:
    assert policy_text.read(draft.default_text("KES")).id == DEFAULT.id
    assert caps_of(DEFAULT) == ()
    assert exploration_of(DEFAULT) is None


def test_what_is_written_is_read_and_written_again() -> None:
    policy = read(CAP + LOT)
    (cap,) = caps_of(policy)
    assert (cap.name, cap.per, cap.decision) == ("nairobi_c", Per.MONTH, Decision.DECLINED)
    assert (cap.number_max, cap.volume_max, cap.expected_loss_max) == (200, 1_000_000.0, None)
    said = exploration_of(policy)
    assert said is not None
    assert (said.share, said.score_min, said.limit_max, said.daily_max) == (0.05, 560, 2_000, 10)
    assert policy_text.read(draft.write(policy).encode()) == policy
    assert policy.id != DEFAULT.id


PRODUCTS = """
[[products]]
name = "weekly"
[[products]]
name = "monthly"
default = true
"""
OF_WEEKLY = CAP + 'products = ["weekly"]\n'


def test_a_cap_on_products_is_read_and_written_again() -> None:
    policy = read(OF_WEEKLY + PRODUCTS)
    assert [products_under(cap) for cap in caps_of(policy)] == [("weekly",)]
    assert policy_text.read(draft.write(policy).encode()) == policy


def test_a_cap_that_lists_no_products_is_written_as_before_there_were_any() -> None:
    (cap,) = caps_of(read(CAP + PRODUCTS))
    assert products_under(cap) == ()
    assert "products" not in msgspec.to_builtins(cap)


def test_a_product_that_the_policy_lacks_is_told_with_its_line_and_once() -> None:
    for products in ("", PRODUCTS.replace("weekly", "daily")):
        with pytest.raises(InvalidPolicy) as refused:
            read(OF_WEEKLY + products)
        (fault,) = refused.value.faults
        assert fault.key == "portfolio.nairobi_c.products"
        assert fault.fault == "names weekly, which is no product of this policy"
        lines = (draft.default_text("KES").decode() + OF_WEEKLY).splitlines()
        assert fault.line == len(lines)
        assert lines[-1].startswith("products")


def test_a_cap_leaves_to_a_person_unless_it_says_otherwise() -> None:
    (cap,) = caps_of(read('[[portfolio]]\nname = "all"\nper = "day"\nnumber_max = 1\n'))
    assert cap.decision is Decision.REVIEW


def test_regions_of_caps_are_read_as_words_of_applications_are() -> None:
    ready = ReadyPolicy(read(CAP), ReadyModel(builtin(), "KES"))
    place = ready.region_place
    assert place is not None
    values: list[str | None] = [None] * (place + 1)
    assert ready.region_of(values) is None
    for word, region in ((" NAIROBI ", "nairobi"), ("mombasa", None)):
        values[place] = word
        assert ready.region_of(values) == region


def test_changes_name_the_cap() -> None:
    told = {change.key for change in changes(DEFAULT, read(CAP + LOT))}
    assert {"portfolio.nairobi_c.number_max", "exploration.share"} <= told


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (CAP.replace("nairobi_c", "Nairobi"), "portfolio.Nairobi.name: must be lower-case letters"),
        (CAP.replace("nairobi_c", "blocked"), "is a code of Alama's own"),
        (CAP + CAP, "is the name of a rule or of a cap above"),
        (CAP.replace('["C"]', '["Z"]'), "names Z, which is no tier of this policy"),
        (CAP.replace('["Nairobi"]', '[""]'), "must be at most 100 words"),
        # Two letters each, as it is counted.
        (CAP.replace("Nairobi", "ß" * 33), "words of 1 to 64 characters"),
        (CAP.replace("1_000_000", "-1"), "volume_max: must be 0 to"),
        (CAP.replace('"month"', '"year"'), "per: must be one of day, month"),
        (CAP.replace("DECLINED", "APPROVED"), "decision: must be REVIEW or DECLINED"),
        (CAP.replace("number_max = 200\nvolume_max = 1_000_000\n", ""), "name a bound"),
        (CAP.replace("tiers", "tier"), "is not a key of the policy; did you mean tiers?"),
        (LOT.replace("0.05", "5"), "share: must be above 0 and at most 0.5: 0.05 for 5 percent"),
        (LOT.replace("560", "605"), "score_min: must be 300 to 604: below the cut-off, 605"),
        (LOT.replace("2_000", "2_001"), "limit_max: must be a multiple of limit_step"),
        (LOT.replace("= 10", "= 0"), "daily_max: must be 1 to 10_000"),
        (LOT.replace("share = 0.05\n", ""), "exploration.share: is missing"),
    ],
)
def test_what_cannot_be_is_told_with_its_key(more: str, told: str) -> None:
    with pytest.raises(InvalidPolicy) as refused:
        read(more)
    faults = [f"{fault.key}: {fault.fault}" for fault in refused.value.faults]
    assert any(told in fault for fault in faults), faults


def test_the_page_shows_what_can_be_read() -> None:
    page = (Path(__file__).parents[4] / "docs" / "policy.md").read_text("utf-8")
    blocks = re.findall(r"\n\n((?:    .*\n)+)", page)
    ours = [one for one in blocks if "[[portfolio]]" in one or "[exploration]" in one]
    policy = read("\n".join(map(textwrap.dedent, ours)))
    assert (len(caps_of(policy)), exploration_of(policy) is not None) == (1, True)


def test_a_lot_needs_a_cut_off() -> None:
    text = draft.default_text("KES").replace(b'"APPROVED"', b'"REVIEW"')
    with pytest.raises(InvalidPolicy) as refused:
        policy_text.read(text + LOT.encode())
    assert "no cut-off to look below: no tier is APPROVED" in str(refused.value.faults)
