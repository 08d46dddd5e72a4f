"""How the files of a lender are read: versions that are kept, counted and removed."""

import pytest

from alama.lenders.records import UnknownLender
from alama.onboarding.mappings import Files, Mappings
from alama.onboarding.records import NoMapping
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
def mappings(database: Database) -> Mappings:
    House(database).begin()
    return Mappings(database, acts_in(database), lambda: NOON_US)


def test_what_was_said_last_counts_and_only_for_its_lender_and_kind(mappings: Mappings) -> None:
    assert mappings.said("demo", Files.HISTORIES) == Mapping()
    assert mappings.keep("demo", Files.HISTORIES, SAID, "A. Wanjiru").version == 1
    assert mappings.keep("demo", Files.HISTORIES, OTHER, "A. Wanjiru").version == 2
    kept = mappings.find("demo", Files.HISTORIES)
    assert kept is not None
    assert (kept.mapping, kept.kept_by, kept.kept_us) == (OTHER, "A. Wanjiru", NOON_US)
    assert mappings.find("demo", Files.OUTCOMES) is None
    assert mappings.find("other", Files.HISTORIES) is None


def test_the_same_said_again_makes_no_version(mappings: Mappings) -> None:
    first = mappings.keep("demo", Files.HISTORIES, SAID, "A. Wanjiru")
    assert mappings.keep("demo", Files.HISTORIES, SAID, "W. Mutua") == first


def test_what_was_removed_counts_no_more_and_versions_go_on(mappings: Mappings) -> None:
    with pytest.raises(NoMapping):
        mappings.remove("demo", Files.HISTORIES, "A. Wanjiru")
    mappings.keep("demo", Files.HISTORIES, SAID, "A. Wanjiru")
    mappings.remove("demo", Files.HISTORIES, "A. Wanjiru")
    assert mappings.said("demo", Files.HISTORIES) == Mapping()
    with pytest.raises(NoMapping):
        mappings.remove("demo", Files.HISTORIES, "A. Wanjiru")
    assert mappings.keep("demo", Files.HISTORIES, SAID, "A. Wanjiru").version == 2


def test_nobody_unknown_keeps_any(mappings: Mappings) -> None:
    with pytest.raises(UnknownLender):
        mappings.keep("nobody", Files.HISTORIES, SAID, "A. Wanjiru")
    with pytest.raises(InvalidName):
        mappings.keep("demo", Files.HISTORIES, SAID, " ")


def test_the_names_of_both_deeds_are_those_of_the_log() -> None:
    assert {ActKind.MAPPING_KEPT, ActKind.MAPPING_REMOVED} == {"mapping_kept", "mapping_removed"}
