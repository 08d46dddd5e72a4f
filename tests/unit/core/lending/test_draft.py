"""A draft is a policy to start from: sound, in round figures, within what the law's pack says."""

from __future__ import annotations

import re
from typing import Final

import pytest

from alama.core.errors import InvalidPolicy
from alama.core.lending.draft import NEUTRAL, default_policy, default_text, draft, draft_text
from alama.core.lending.policy import Decision
from alama.core.lending.policy_check import unsteady
from alama.core.lending.policy_text import read
from alama.core.model import REFERENCE_INFLOW_MONTHLY
from alama.platform.files.packaged import jurisdiction, jurisdictions

CURRENCIES: Final = sorted(REFERENCE_INFLOW_MONTHLY)
PLACES: Final = [
    (place, currency) for place in jurisdictions() for currency in place.currencies or CURRENCIES
]
FIGURES: Final = (
    "apr_max",
    "charges_max",
    "inflow_share_max",
    "retention_days",
    "notice_days",
    "forbidden_fields",
)


def test_the_default_tiers_are_the_published_ones() -> None:
    assert [(tier.name, tier.score_min, tier.decision) for tier in default_policy("KES").tiers] == [
        ("A", 690, Decision.APPROVED),
        ("B", 650, Decision.APPROVED),
        ("C", 605, Decision.APPROVED),
        ("D", 555, Decision.REVIEW),
        ("E", 300, Decision.DECLINED),
    ]


def test_the_default_is_sound_and_in_round_figures_in_every_currency(
    subtests: pytest.Subtests,
) -> None:
    for currency in CURRENCIES:
        with subtests.test(currency):
            policy = read(default_text(currency))
            assert policy == default_policy(currency)
            inflow = REFERENCE_INFLOW_MONTHLY[currency]
            amounts = [
                policy.limit_step,
                policy.standard_loan.amount,
                *(t.limit_max for t in policy.tiers),
            ]
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
    with pytest.raises(InvalidPolicy) as caught:
        default_policy("KSH")
    assert str(caught.value.hint).startswith("did you mean KES? there is one for ")


def test_a_draft_is_sound_and_its_text_says_the_same(subtests: pytest.Subtests) -> None:
    for place, currency in PLACES:
        with subtests.test(f"{place.code}-{currency}"):
            policy = draft(currency, place, "of ours")
            assert read(draft_text(policy, place).encode()) == policy
            assert (policy.name, policy.jurisdiction, policy.currency) == (
                "of ours",
                place.code,
                currency,
            )
            assert list(unsteady(policy)) == []


def test_a_draft_keeps_every_figure_of_the_law(subtests: pytest.Subtests) -> None:
    for place, currency in PLACES:
        with subtests.test(f"{place.code}-{currency}"):
            policy = draft(currency, place)
            if place.apr_max:
                assert policy.caps.apr_max == place.apr_max.value
            if place.inflow_share_max:
                assert policy.tiers[0].inflow_share <= place.inflow_share_max.value
            assert policy.caps.charges_max == (
                place.charges_max.value if place.charges_max else None
            )
            law = policy.law
            assert law.retention_days == (
                place.retention_days.value if place.retention_days else None
            )
            assert law.notice_days == (place.notice_days.value if place.notice_days else None)
            assert law.forbidden_fields == (
                place.forbidden_fields.value if place.forbidden_fields else ()
            )


def test_a_draft_says_the_source_and_the_date_of_every_figure_of_the_law(
    subtests: pytest.Subtests,
) -> None:
    for place, currency in PLACES:
        with subtests.test(f"{place.code}-{currency}"):
            # A comment may break anywhere.
            text = re.sub(r"\s*\n# ", " ", draft_text(draft(currency, place), place))
            for name in FIGURES:
                figure = getattr(place, name)
                if figure is not None:
                    cited = f"{figure.rule} [{figure.source}; {figure.dated}; check with counsel]"
                    assert " ".join(cited.split()) in text
            for note in place.notes:
                assert " ".join(note.split()) in text


@pytest.mark.parametrize(
    ("code", "hours"),
    [("KE", 3), ("UG", 3), ("TZ", 3), ("NG", 1), ("GH", 0), ("WAEMU", 0), ("IN", 5)],
)
def test_the_day_of_a_draft_begins_when_it_does_there(code: str, hours: int) -> None:
    place = jurisdiction(code)
    assert draft(place.currencies[0], place).daily.utc_offset_hours == hours


def test_a_draft_says_which_of_its_prices_are_no_law_s(subtests: pytest.Subtests) -> None:
    for place, currency in PLACES:
        with subtests.test(f"{place.code}-{currency}"):
            policy = draft(currency, place)
            text = draft_text(policy, place)
            assert ("No law's that we know of" in text) == (place.apr_max is None)
            is_lowered = policy.pricing.margin < default_policy(currency).pricing.margin
            assert ("Lower than elsewhere, to leave room below a cap of" in text) == is_lowered


def test_a_draft_of_a_place_says_that_it_is_no_legal_advice() -> None:
    place = jurisdiction("KE")
    assert "no legal advice" in draft_text(draft("KES", place), place)
    assert "no legal advice" not in draft_text(draft("KES", NEUTRAL), NEUTRAL)


def test_no_law_assumed_is_the_same_from_the_pack_and_from_the_default() -> None:
    pack = jurisdiction("neutral")
    assert draft("KES", pack) == default_policy("KES")
    assert pack.code == NEUTRAL.code
