"""How a table may be read is proposed by its words and its values; no value is told."""

from __future__ import annotations

import msgspec
import pytest

from alama.platform.files.asis.written import amount_of
from alama.statements.ledger import Pseudonyms
from alama.statements.places import place_of
from alama.statements.problems import MappingProposal
from alama.statements.proposing import columns_for, header_of, propose, said_in
from alama.statements.reading import read_statement
from alama.statements.tables import Columns, Layout

NAMES, PLACE = Pseudonyms(b"k" * 32), place_of("KE")


def proposal_of(table: str, said: Columns | None = None) -> MappingProposal:
    found = propose(table.encode(), NAMES, PLACE, said_in(said))
    assert found is not None
    return found


def open_in(table: str) -> dict[str, list[str]]:
    return {one.about: one.answers for one in proposal_of(table).open}


@pytest.mark.parametrize(
    ("header", "mapping"),
    [
        (
            "Posted,Narrative,Money In,Money Out,Left",
            {"paid_in": "Money In", "paid_out": "Money Out", "balance": "Left"},
        ),
        (
            "Jour,Libellé,Sorties,Entrées,Nouveau solde",
            {"paid_in": "Entrées", "paid_out": "Sorties", "balance": "Nouveau solde"},
        ),
        (
            "Tarehe ya muamala,Maelezo,Pesa iliyoingia,Pesa iliyotoka,Salio",
            {"paid_in": "Pesa iliyoingia", "paid_out": "Pesa iliyotoka", "balance": "Salio"},
        ),
        (
            "Booking date,Naration,Receved,Sent,Runing balance",
            {"paid_in": "Receved", "paid_out": "Sent", "balance": "Runing balance"},
        ),
    ],
)
def test_columns_are_told_by_likeness_in_three_languages(
    header: str, mapping: dict[str, str]
) -> None:
    found = proposal_of(f"{header}\n2026-04-03,Rent,100.00,,100.00\n2026-04-04,Rent,,50.00,50.00\n")
    at, details, *_ = header.split(",")
    assert found.mapping == {"at": at, "details": details, **mapping}
    assert found.open == []
    assert (found.rows, found.rows_read) == (2, 2)


def test_a_mapping_that_is_proposed_reads_the_table() -> None:
    table = "When;What;Sum\n13/04/2026;Rent KES;-1.000,50 KES\n14/04/2026;Salary;2.000,00 KES\n"
    found = proposal_of(table)
    assert found.mapping == {
        "at": "When",
        "amount": "Sum",
        "dates": "day first",
        "decimal": ",",
        "currency": "KES",
    }
    columns = msgspec.convert(found.mapping, Columns)
    read = read_statement(table.encode(), NAMES, PLACE, columns)
    assert [entry.amount for entry in read.entries] == [100_050, 200_000]


def test_what_the_table_does_not_tell_is_open() -> None:
    assert open_in("When,Created,What,Sum\n2026-04-03,2026-04-03,x,-1\n") == {
        "at": ["When", "Created"]
    }
    assert open_in("When,What,Fee,Sums\n2026-04-03,x,1,-1\n") == {"amount": ["Fee", "Sums"]}
    assert open_in("When,What,Sum\n2026-04-03,x,1\n2026-04-04,y,2\n") == {"direction": ["What"]}
    assert open_in("When,What,Received,Other\n2026-04-03,x,1,\n") == {"paid_out": []}
    assert open_in("When,What,Sum\n03/04/2026,x,-1\n") == {"dates": ["day first", "month first"]}
    assert open_in("When,What,Sum\n2026-04-03,x,-1.500\n") == {"decimal": [".", ","]}


def test_a_way_that_was_said_is_kept_and_the_rest_proposed_beside_it() -> None:
    said = Columns(at="Booked", amount="Sum", direction="Way", credits=("zu",), dates=None)
    table = "Posted,Booked,Way,Sum\n03/04/2026,03/05/2026,zu,5\n04/04/2026,04/05/2026,ab,5\n"
    found = proposal_of(table, said)
    assert found.mapping == {
        "at": "Booked",
        "amount": "Sum",
        "direction": "Way",
        "credits": ["zu"],
    }
    assert [one.about for one in found.open] == ["dates"]


def test_no_value_is_told_and_a_row_of_values_is_no_header() -> None:
    table = (
        "Holder,Wanjiku Jane,Nyeri,Kenya\n"
        "When,Wanjiku 254700111222,What,Sum\n"
        "2026-04-03,Otieno,Kamau,-987654\n"
        "2026-04-04,Otieno,Kamau,-987654\n"
    )
    told = msgspec.json.encode(proposal_of(table)).decode()
    for value in ("Wanjiku", "Otieno", "Kamau", "254700111222", "987654", "2026"):
        assert value not in told
    assert propose("\n".join(table.splitlines()[2:]).encode(), NAMES, PLACE, {}) is None


def test_words_above_the_header_are_no_names_of_columns() -> None:
    rows = "".join(f"2026-04-{day:02},Rent,-1.00,{day}.00\n" for day in range(1, 29))
    table = f"Holder,Wanjiku Jane,Branch,Nyeri\nWhen,What,Sum,Left\n{rows}"
    found = proposal_of(table)
    assert [one.name for one in found.columns] == ["When", "What", "Sum", "Left"]
    assert (found.open, found.rows_read) == ([], 28)
    again = table + "When,What,Sum,Left\n" + rows
    assert [one.name for one in proposal_of(again).columns] == ["When", "What", "Sum", "Left"]


def test_what_no_table_is_gets_no_proposal() -> None:
    for content in (b"nothing", b"a,b,c\n", b"<a/>", b""):
        assert propose(content, NAMES, PLACE, {}) is None


def test_a_cell_of_many_characters_is_looked_at_no_longer_than_others() -> None:
    for filled in (" ", "T", "1 ", "\u00e9", "1" + " " * 60):
        long = filled * (100_000 // len(filled))
        table = f"When,What,Sum\n2026-04-03,x{long}x,-1.00\n{long}x,{long},-1.00\n"
        found = propose((f"a{long},b{long}z,c\n" + table).encode(), NAMES, PLACE, {})
        assert found is None or found.mapping["at"] == "When"


def test_what_is_kept_holds_for_its_columns_alone_and_goes_before_usual_names() -> None:
    table = b"Date,Amount,Fee,Details\n2026-04-03,-100.00,2.00,Rent\n"
    header = header_of(table)
    assert header is not None
    kept = (Layout("other", Columns(at="No")), Layout(header, Columns(at="Date", amount="Fee")))
    found = columns_for(table, None, kept)
    assert found == kept[1].columns
    assert read_statement(table, NAMES, PLACE, found).entries[0].amount == 200
    swapped = b"Details,Fee,Amount,Date\nRent,2.00,-100.00,2026-04-03\n"
    assert columns_for(swapped, None, kept) == found
    for other in (table.replace(b"Details", b"Words"), b"%PDF-1.7", b"{}", b"\0", b""):
        assert columns_for(other, None, kept) is None
    said = Columns(at="Date", amount="Amount")
    assert columns_for(table, said, kept) == said


def test_a_cell_of_blanks_is_no_number_and_takes_no_minute() -> None:
    assert amount_of("1" + " " * 78 + "x") is None
