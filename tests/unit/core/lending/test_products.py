"""Products of a policy: how they are written, what cannot be, and which of them speaks."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core.application import read
from alama.core.assess import assess
from alama.core.errors import InvalidApplication, InvalidPolicy
from alama.core.intake import Intake
from alama.core.lending import draft, policy_text
from alama.core.lending.jurisdiction import Jurisdiction
from alama.core.lending.policy import Policy, changes, products_of
from alama.core.lending.policy_check import doubts_about, faults, seal
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.product import PRODUCT
from alama.platform.files.packaged import jurisdictions
from tests.applications import random_application
from tests.factories import ready_model
from tests.policies import random_policy, random_products
from tests.tries import tries

TWO = """
[[products]]
name = "weekly"
terms_days = [28, 56]

[products.standard_loan]
amount = 4_000
term_days = 28

[products.repayment]
kind = "instalments"
every_days = 7

[[products]]
name = "monthly"
default = true
"""
BODY = {
    "mobile_money_months": 26,
    "monthly_inflow": 23_800,
    "stability_score": 0.58,
    "airtime_regularity": 0.71,
}
NEUTRAL: list[Jurisdiction] = list(jurisdictions())
SEEDS = st.integers(0, 2**32 - 1)


def text(more: str = TWO) -> bytes:
    return draft.default_text("KES") + more.encode()


def policy(more: str = TWO) -> Policy:
    return policy_text.read(text(more))


def body(**more: object) -> bytes:
    return json.dumps(BODY | more).encode()


# ---------------------------------------------------------------------------------- the text


def test_a_policy_without_products_keeps_its_id() -> None:
    assert policy("").id == draft.default_policy("KES").id
    assert products_of(policy("")) == ()


def test_the_default_product_comes_first_wherever_it_stands() -> None:
    assert [product.name for product in products_of(policy())] == ["monthly", "weekly"]


def test_the_page_shows_what_can_be_read() -> None:
    page = (Path(__file__).parents[4] / "docs" / "policy.md").read_text("utf-8")
    start = page.index("    [[products]]")
    assert textwrap.dedent(page[start : page.index("\n`product` in a request")]) == TWO[1:]


def test_changes_name_the_product() -> None:
    told = {change.key: change.new for change in changes(policy(""), policy())}
    assert told["products.weekly.terms_days"] == "28, 56"
    assert told["products.monthly.default"] == "true"


@pytest.mark.parametrize(
    ("old", "new", "line", "fault"),
    [
        ("default = true", "", 139, "products need one with default = true, and one alone"),
        (
            "[28, 56]",
            "[28, 60]",
            141,
            "products.weekly.terms_days[2] must be a whole number",
        ),
        ('"monthly"', '"weekly"', 152, "products[2].name is the name of a product above"),
        ('"weekly"', '"Weekly!"', 140, 'products."Weekly!".name must be lower-case letters'),
        ("28\n", "30\n", 145, "products.weekly.standard_loan.term_days must be one of terms_days"),
        ("every_days = 7", "every = 7", 149, "products.weekly.repayment.every is not a key of the"),
        ('"instalments"', '"weekly"', 148, "products.weekly.repayment.kind must be one of bullet"),
        ("terms_days", "margin", 141, "products.weekly.margin is not a key of the policy"),
    ],
)
def test_what_is_wrong_with_a_product_is_told_with_its_line(
    old: str, new: str, line: int, fault: str
) -> None:
    assert old in TWO
    written = text(TWO.replace(old, new))
    with pytest.raises(InvalidPolicy) as refused:
        policy_text.read(written)
    assert [(one.line, str(one)) for one in refused.value.faults if fault in str(one)]
    (told,) = (one for one in refused.value.faults if fault in str(one))
    first = written.decode().split("\n").index("[[products]]") + 1
    assert told.line == line - 139 + first


def test_what_a_product_takes_from_the_policy_has_to_go_with_what_it_says() -> None:
    with pytest.raises(InvalidPolicy) as refused:
        policy(TWO.replace("terms_days = [28, 56]", "limit_step = 700\nterms_days = [28, 56]"))
    keys = {one.key: one.fault for one in refused.value.faults}
    assert keys["products.weekly"].startswith("does not go with tiers.")


def test_tiers_of_a_product_are_those_of_the_policy_by_name() -> None:
    more = "[[products.tiers]]\nname = 'A'\nscore_min = 300\ndecision = 'APPROVED'\n"
    with pytest.raises(InvalidPolicy, match="must be those of the policy: A, B, C, D, E"):
        policy(TWO + more + "inflow_share = 0.2\nlimit_max = 500\n")


def test_a_product_that_goes_beyond_a_law_is_doubted_as_the_policy_would_be() -> None:
    beyond = TWO + "[products.caps]\napr_max = 300\nbelow_break_even = 'DECLINED'\n"
    tanzania = draft.draft("TZS", next(one for one in NEUTRAL if one.code == "TZ"))
    whole = policy_text.read((draft.write(tanzania) + beyond.replace("4_000", "400_000")).encode())
    told = dict(doubts_about(whole, PRODUCT, NEUTRAL))
    assert ("products", 1, "caps", "apr_max") in told
    assert not {path[1] for path in told if path[0] == "products"} - {1}


# -------------------------------------------------------------------------------- the request


def test_a_request_names_a_product_or_gets_the_default_one() -> None:
    intake = Intake(PRODUCT, products=("monthly", "weekly"))
    assert intake.read(body(product="weekly")).product == "weekly"
    assert intake.read(body()).product == "monthly"
    assert intake.read(body(product=None)).product == "monthly"
    assert Intake(PRODUCT).read(body()).product is None


@pytest.mark.parametrize(
    ("sent", "code"), [("Weekly", "out_of_range"), ("", "out_of_range"), (7, "wrong_type")]
)
def test_an_unknown_product_is_refused_with_what_may_be_sent(sent: object, code: str) -> None:
    with pytest.raises(InvalidApplication) as refused:
        Intake(PRODUCT, products=("monthly", "weekly")).read(body(product=sent))
    (problem,) = refused.value.problems
    assert (problem.pointer, problem.code) == ("/product", code)
    assert problem.detail == "must be one of monthly, weekly"


@pytest.mark.parametrize("sent", ["weekly", None])
def test_a_policy_without_products_refuses_one(sent: str | None) -> None:
    with pytest.raises(InvalidApplication) as refused:
        Intake(PRODUCT).read(body(product=sent))
    (problem,) = refused.value.problems
    assert (problem.pointer, problem.code) == ("/product", "unknown_field")
    assert problem.detail == "is not a field: the lender's policy has no products"


def test_a_product_that_stands_twice_is_refused() -> None:
    twice = body(product="weekly")[:-1] + b', "product": "monthly"}'
    with pytest.raises(InvalidApplication, match="stands more than once"):
        Intake(PRODUCT, products=("monthly", "weekly")).read(twice)


def test_a_stored_application_is_read_whatever_product_it_names() -> None:
    assert Intake(PRODUCT, products=None).read(body(product="gone")).product == "gone"
    assert read(PRODUCT, BODY | {"product": "gone"}, products=None).product == "gone"
    assert Intake(PRODUCT, products=None).read(body()).product is None


# ------------------------------------------------------------------------------- who decides


@given(SEEDS)
@tries(60)
def test_a_product_decides_as_a_policy_of_its_own_would(seed: int) -> None:
    rng = np.random.default_rng([seed, 2])
    model = ready_model(int(rng.integers(0, 12)))
    whole = random_products(rng, random_policy(rng))
    application = random_application(rng, model)
    ready = ReadyPolicy(whole, model)
    for product in products_of(whole):
        alone = {
            key: value
            for key, value in msgspec.structs.asdict(product).items()
            if key not in {"name", "default"} and value is not msgspec.UNSET
        }
        policy = seal(msgspec.structs.replace(whole, products=msgspec.UNSET, **alone))
        asked = msgspec.structs.replace(application, product=product.name)
        said = assess(model, ready, asked)
        assert said.product == product.name
        plain = assess(model, ReadyPolicy(policy, model), application)
        offer = msgspec.structs.replace(said.offer, product=msgspec.UNSET)
        assert msgspec.structs.replace(said, offer=offer) == plain
        assert ready.for_product(product.name).id == whole.id
    assert assess(model, ready, application).product == products_of(whole)[0].name


@given(SEEDS)
def test_random_products_are_sound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    assert not list(faults(random_products(rng, random_policy(rng)), PRODUCT))
