import csv
import io

from alama.policies.switches import CSV_COLUMNS, as_csv
from tests.simulations import a_simulation


def test_every_application_that_changes_decision_is_one_row() -> None:
    switches = a_simulation().switches
    rows = list(csv.DictReader(io.StringIO(as_csv(switches))))
    assert len(rows) == len(switches) > 20
    for row, switch in zip(rows, switches, strict=True):
        assert tuple(row) == CSV_COLUMNS
        assert row["changed"].split("|")[0] == "decision"
        assert row["reference"] == switch.reference
        assert row["old_decision"] == switch.old.decision.value != row["new_decision"]
        assert int(row["new_limit"]) == switch.new.limit
        assert tuple(filter(None, row["new_rules"].split("|"))) == switch.new.rules


def test_nobody_is_a_table_without_rows() -> None:
    assert as_csv([]) == ",".join(CSV_COLUMNS) + "\n"


def test_a_reference_is_never_a_formula() -> None:
    switch = a_simulation().switches[0]._replace(reference='=HYPERLINK("http://example.com")')
    (row,) = csv.DictReader(io.StringIO(as_csv([switch])))
    assert row["reference"] == '\'=HYPERLINK("http://example.com")'
