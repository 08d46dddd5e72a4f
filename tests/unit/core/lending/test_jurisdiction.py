"""A jurisdiction pack is read strictly: a figure without its source is none."""

from contextlib import suppress
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core.errors import InvalidJurisdiction
from alama.core.lending.jurisdiction import Jurisdiction, Sourced, read_jurisdiction
from tests.tries import tries

PACK = """\
# A country that does not exist.
code = "XA"
name = "Atlantis"
currencies = ["USD"]
notes = ["Ask counsel."]

[apr_max]
value = 36
rule = "Nobody charges more than 36 % a year."
source = "Lending Act, section 1"
dated = 2020-02-29

[forbidden_fields]
value = ["contacts", "call_log"]
rule = "Nobody reads the phone of a borrower."
source = "Privacy Act, section 2"
dated = 2021-01-01
"""


def test_a_pack_is_read_with_the_source_of_each_figure() -> None:
    assert read_jurisdiction(PACK) == Jurisdiction(
        code="XA",
        name="Atlantis",
        currencies=("USD",),
        apr_max=Sourced(
            value=36.0,
            rule="Nobody charges more than 36 % a year.",
            source="Lending Act, section 1",
            dated=date(2020, 2, 29),
        ),
        forbidden_fields=Sourced(
            value=("contacts", "call_log"),
            rule="Nobody reads the phone of a borrower.",
            source="Privacy Act, section 2",
            dated=date(2021, 1, 1),
        ),
        notes=("Ask counsel.",),
    )


def test_a_figure_that_no_rule_gives_is_none() -> None:
    pack = read_jurisdiction(PACK)
    assert pack.charges_max is None
    assert pack.inflow_share_max is None
    assert pack.retention_days is None
    assert pack.notice_days is None


@pytest.mark.parametrize("line", ['rule = "N', 'source = "L', "dated = 2020", "value = 36"])
def test_a_figure_without_its_value_rule_source_or_date_is_refused(line: str) -> None:
    lines = [kept for kept in PACK.splitlines() if not kept.startswith(line)]
    key = line.partition(" ")[0]
    message = rf"missing required field `{key}` - at `\$\.(apr_max|forbidden_fields)`"
    with pytest.raises(InvalidJurisdiction, match=message):
        read_jurisdiction("\n".join(lines))


def test_a_value_that_cannot_be_is_refused_with_its_place(subtests: pytest.Subtests) -> None:
    for good, bad, where in [
        ('code = "XA"', 'code = "X A"', "code"),
        ('name = "Atlantis"', 'name = ""', "name"),
        ('["USD"]', '["usd"]', "currencies"),
        ('["USD"]', '["USD"]\nutc_offset_hours = 15', "utc_offset_hours"),
        ('["USD"]', '["USD"]\nutc_offset_hours = 5.5', "utc_offset_hours"),
        ('["Ask counsel."]', '["Ask\\ncounsel."]', "notes"),
        ("value = 36", "value = 0", "apr_max.value"),
        ("value = 36", "value = nan", "apr_max.value"),
        ("value = 36", "value = inf", "apr_max.value"),
        ("value = 36", "value = true", "apr_max.value"),
        ("value = 36", 'value = "36"', "apr_max.value"),
        ('"Nobody charges', '"nobody charges', "apr_max.rule"),
        ('"Lending Act, section 1"', '" "', "apr_max.source"),
        ("2020-02-29", '"last year"', "apr_max.dated"),
        ("2020-02-29", "2020-02-29T00:00:00", "apr_max.dated"),
        ('["contacts", "call_log"]', "[]", "forbidden_fields.value"),
        ('["contacts", "call_log"]', '["call log"]', "forbidden_fields.value"),
    ]:
        with subtests.test(good=good, bad=bad, where=where):
            with pytest.raises(InvalidJurisdiction) as refused:
                read_jurisdiction(PACK.replace(good, bad))
            assert f"at `$.{where}" in str(refused.value)
            assert refused.value.hint == "docs/jurisdictions.md says what a pack holds"


@pytest.mark.parametrize(
    ("figure", "value"),
    [
        ("charges_max", "11.0"),
        ("inflow_share_max", "1.01"),
        ("retention_days", "0"),
        ("retention_days", "0.5"),
        ("notice_days", "-30"),
    ],
)
def test_a_figure_beyond_its_unit_is_refused(figure: str, value: str) -> None:
    pack = PACK.replace("[apr_max]", f"[{figure}]").replace("value = 36", f"value = {value}")
    with pytest.raises(InvalidJurisdiction, match=rf"at `\$\.{figure}\.value`"):
        read_jurisdiction(pack)


def test_a_misspelled_figure_is_refused() -> None:
    with pytest.raises(InvalidJurisdiction, match="unknown field `apr_maximum`"):
        read_jurisdiction(PACK.replace("[apr_max]", "[apr_maximum]"))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('code = "XA\n', "at line 1"),
        ("dated = 2020-02-30", "at line 1"),
        ("deep = " + "[" * 10_000, "recursion"),
        ("long = " + "1" * 5_000, "digits"),
    ],
)
def test_text_that_is_no_toml_is_refused(text: str, fault: str) -> None:
    with pytest.raises(InvalidJurisdiction, match=f"not a jurisdiction pack: .*{fault}"):
        read_jurisdiction(text)


@tries(250)
@given(place=st.integers(0, len(PACK) - 1), character=st.characters())
def test_one_changed_character_gives_a_pack_or_a_clear_error(place: int, character: str) -> None:
    changed = PACK[:place] + character + PACK[place + 1 :]
    with suppress(InvalidJurisdiction):
        assert isinstance(read_jurisdiction(changed), Jurisdiction)
