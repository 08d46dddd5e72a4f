"""The packs in the package: each reads, and each figure in them can be looked up."""

from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import pytest

import alama
from alama.core.errors import UnknownJurisdiction
from alama.core.lending.jurisdiction import Jurisdiction, Sourced
from alama.core.model import REFERENCE_INFLOW_MONTHLY
from alama.core.product import PRODUCT
from alama.platform.files.packaged import jurisdiction, jurisdictions

AS_OF = date(2026, 11, 15)
FOLDER = Path(alama.__file__).parent / "jurisdictions"
PACKS = jurisdictions()


def figures(pack: Jurisdiction) -> dict[str, Sourced[Any]]:
    values = msgspec.structs.asdict(pack)
    return {name: value for name, value in values.items() if isinstance(value, Sourced)}


def test_there_is_a_pack_for_each_market_and_a_neutral_one_in_the_order_of_their_codes() -> None:
    codes = [pack.code for pack in PACKS]
    assert codes == ["GH", "IN", "KE", "neutral", "NG", "TZ", "UG", "WAEMU"]


def test_a_pack_is_in_the_file_of_its_code_and_opens_with_the_warning() -> None:
    files = {path.stem: path.read_text("utf-8") for path in FOLDER.iterdir()}
    assert files.keys() == {pack.code.lower() for pack in PACKS}
    for text in files.values():
        opening = " ".join(text.partition("\n\n")[0].replace("\n# ", " ").split())
        assert opening.startswith("# ")
        assert "As of 2026-11. Not legal advice:" in opening
        assert "counsel" in opening


@pytest.mark.parametrize("pack", PACKS, ids=lambda pack: pack.code)
def test_no_rule_is_from_the_future(pack: Jurisdiction) -> None:
    assert all(figure.dated <= AS_OF for figure in figures(pack).values())


@pytest.mark.parametrize("pack", PACKS, ids=lambda pack: pack.code)
def test_every_currency_has_a_reference_inflow(pack: Jurisdiction) -> None:
    assert set(pack.currencies) <= REFERENCE_INFLOW_MONTHLY.keys()


@pytest.mark.parametrize("pack", PACKS, ids=lambda pack: pack.code)
def test_every_forbidden_field_is_a_name_that_the_catalogue_knows(pack: Jurisdiction) -> None:
    known = {*PRODUCT.prohibited, *PRODUCT.position}
    forbidden = pack.forbidden_fields.value if pack.forbidden_fields else ()
    assert set(forbidden) <= known
    assert len(set(forbidden)) == len(forbidden)


@pytest.mark.parametrize("pack", PACKS, ids=lambda pack: pack.code)
def test_every_pack_says_what_to_ask_counsel(pack: Jurisdiction) -> None:
    assert any("ask" in note.lower() for note in pack.notes)


def test_the_neutral_pack_assumes_no_law_and_takes_any_currency() -> None:
    neutral = jurisdiction("neutral")
    assert figures(neutral) == {}
    assert neutral.currencies == ()


def test_a_rate_per_month_is_twelve_times_it_per_year() -> None:
    uganda, tanzania = jurisdiction("UG").apr_max, jurisdiction("TZ").apr_max
    assert uganda is not None
    assert tanzania is not None
    assert (uganda.value, tanzania.value) == pytest.approx((12 * 2.8, 12 * 3.5))


@pytest.mark.parametrize(("code", "years"), [("KE", 7), ("NG", 5), ("IN", 5), ("WAEMU", 10)])
def test_days_cover_the_years_of_the_rule_wherever_the_leap_days_fall(
    code: str, years: int
) -> None:
    retention = jurisdiction(code).retention_days
    assert retention is not None
    spans = [date(start + years, 1, 1) - date(start, 1, 1) for start in range(2001, 2081)]
    assert retention.value == max(span.days for span in spans)


def test_a_code_may_be_in_either_case() -> None:
    assert jurisdiction("waemu") is not None
    assert jurisdiction("waemu") == jurisdiction("WAEMU")


def test_a_place_may_be_called_by_its_name() -> None:
    assert jurisdiction("kenya ") == jurisdiction("KE")


def test_an_unknown_code_is_refused_with_those_there_are() -> None:
    with pytest.raises(UnknownJurisdiction, match="there is no jurisdiction pack 'XX'") as refused:
        jurisdiction("XX")
    assert refused.value.hint == "there is one for GH, IN, KE, neutral, NG, TZ, UG, WAEMU"
