"""How the files of a lender are read: versions that are kept, counted and removed."""

import pytest

from alama.lenders.mappings import Files, Mappings
from alama.lenders.records import NoMapping, UnknownLender
from alama.platform.acts import ActKind
from alama.platform.database.database import Database
from alama.platform.errors import InvalidName
from alama.platform.files.asis.inspection import Mapping
from tests.entries import NOON_US
from tests.onboarded import House
from tests.stores import acts_in

SAID = Mapping(columns={"amount": "Principal"}, dates="day-first")
OTHER = Mapping(columns={"amount": "Principal"}, dates="month-first")


@pytest.fixture
def mappings(database: Database) -> Mappings[Mapping]:
    House(database).begin()
    return Mappings(database, acts_in(database), lambda: NOON_US, Mapping)


def test_what_was_said_last_counts_for_its_lender_and_kind(
    mappings: Mappings[Mapping],
) -> None:
    assert mappings.find("demo", Files.HISTORIES) is None
    assert mappings.keep("demo", Files.HISTORIES, SAID, "A. Wanjiru").version == 1
    assert mappings.keep("demo", Files.HISTORIES, OTHER, "A. Wanjiru").version == 2
    kept = mappings.find("demo", Files.HISTORIES)
    assert kept is not None
    assert (kept.mapping, kept.kept_by, kept.kept_us) == (OTHER, "A. Wanjiru", NOON_US)
    assert mappings.find("demo", Files.OUTCOMES) is None
    assert mappings.find("other", Files.HISTORIES) is None


def test_the_same_said_again_makes_no_version(mappings: Mappings[Mapping]) -> None:
    first = mappings.keep("demo", Files.HISTORIES, SAID, "A. Wanjiru")
    assert mappings.keep("demo", Files.HISTORIES, SAID, "W. Mutua") == first


def test_what_was_removed_counts_no_more_and_versions_go_on(mappings: Mappings[Mapping]) -> None:
    with pytest.raises(NoMapping):
        mappings.remove("demo", Files.HISTORIES, "A. Wanjiru")
    mappings.keep("demo", Files.HISTORIES, SAID, "A. Wanjiru")
    mappings.remove("demo", Files.HISTORIES, "A. Wanjiru")
    assert mappings.find("demo", Files.HISTORIES) is None
    with pytest.raises(NoMapping):
        mappings.remove("demo", Files.HISTORIES, "A. Wanjiru")
    assert mappings.keep("demo", Files.HISTORIES, SAID, "A. Wanjiru").version == 2


def test_of_statements_each_counts_that_was_not_removed(mappings: Mappings[Mapping]) -> None:
    for said in (SAID, OTHER):
        mappings.keep("demo", Files.STATEMENTS, said, "A. Wanjiru")
    assert [one.mapping for one in mappings.each("demo", Files.STATEMENTS)] == [SAID, OTHER]
    assert mappings.remove("demo", Files.STATEMENTS, "A. Wanjiru").version == 2
    assert [one.mapping for one in mappings.each("demo", Files.STATEMENTS)] == [SAID]
    assert mappings.each("other", Files.STATEMENTS) == []
    assert mappings.keep("demo", Files.STATEMENTS, OTHER, "A. Wanjiru").version == 3
    for version in (3, 1):
        assert mappings.remove("demo", Files.STATEMENTS, "A. Wanjiru").version == version
    with pytest.raises(NoMapping):
        mappings.remove("demo", Files.STATEMENTS, "A. Wanjiru")


def test_nobody_unknown_keeps_any(mappings: Mappings[Mapping]) -> None:
    with pytest.raises(UnknownLender):
        mappings.keep("nobody", Files.HISTORIES, SAID, "A. Wanjiru")
    with pytest.raises(InvalidName):
        mappings.keep("demo", Files.HISTORIES, SAID, " ")


def test_the_names_of_both_deeds_are_those_of_the_log() -> None:
    assert {ActKind.MAPPING_KEPT, ActKind.MAPPING_REMOVED} == {"mapping_kept", "mapping_removed"}
