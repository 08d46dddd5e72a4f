"""The example on paper in docs/statements.md, figure by figure."""

from __future__ import annotations

import re
import shlex
import textwrap
from datetime import date
from pathlib import Path

import msgspec
import pytest

from alama.core.lending import draft, policy_text
from alama.core.lending.policy import AskedEvidence
from alama.statements.api import _TOLD
from alama.statements.deriving import Asked, Found, found_in
from alama.statements.examples import SAMPLE
from alama.statements.published import FIELDS
from alama.statements.tables import Columns

PAGE = (Path(__file__).parents[3] / "docs" / "statements.md").read_text("utf-8")


def test_the_example_on_paper_comes_out_as_it_says() -> None:
    found = found_in(
        Asked(files=[SAMPLE], as_of=date(2026, 11, 2), utc_offset_s=3 * 3600, weekend=(5, 6))
    )
    told = {name: found.fields[name] for name in list(found.fields)[:11]}
    stability = told.pop("balance_stability")
    assert told == {
        "mm_months": 2,
        "avg_inflow": 6000.0,
        "avg_outflow": 3325.0,
        "avg_balance": 4544.1,
        "counterparties": 3,
        "tx_frequency": 4.0,
        "weekend_activity": 0.25,
        "airtime_avg": 100.0,
        "airtime_freq": 1.5,
        "airtime_regularity": 0.75,
    }
    ends = [6000] * 4 + [3100] * 10 + [3000] * 5 + [983] * 10 + [933] + [6933] * 19 + [5400] * 10
    ends += [5350] * 2
    mean = sum(ends) / 61
    sd = (sum((end - mean) ** 2 for end in ends) / 61) ** 0.5
    assert stability == pytest.approx(1 / (1 + sd / mean), abs=1e-9)
    assert found.missing == dict.fromkeys(("inflow_trend", "inflow_regularity"), "too_few_months")
    assert found.fields["salary_share"] == found.fields["largest_payer_share"] == 1.0
    assert not found.doubtful


def test_the_mapping_of_the_page_reads_a_table() -> None:
    (shown,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    table = (
        "Posted;No;Narrative;Money received;Money sent;Left\n"
        "01/09/2026 08:00;R1;Salary payment from Works;6.000,00;;6.000,00\n"
        "05/09/2026 10:00;R2;Merchant payment to 123456 - Duka;;2.900,00;3.100,00\n"
        "05/09/2026 10:00;R2;Merchant charge;;17,00;3.083,00\n"
    )
    asked = Asked(
        files=[table.encode()],
        as_of=date(2026, 10, 2),
        utc_offset_s=3 * 3600,
        weekend=(5, 6),
        columns=msgspec.toml.decode(shown, type=Columns),
    )
    assert asked.columns is not None
    no_receipt = msgspec.structs.replace(asked.columns, receipt=None)
    receipts = found_in(asked)
    without = found_in(msgspec.structs.replace(asked, columns=no_receipt))
    assert (receipts.fields["tx_frequency"], receipts.doubtful) == (2.0, False)
    assert (without.fields["tx_frequency"], without.doubtful) == (3.0, True)


def test_the_form_of_the_page_is_the_one_that_is_taken() -> None:
    for name in _TOLD:
        assert re.search(rf"^\| [^|]*`{name}`[^|]* \|", PAGE, re.MULTILINE), name


def test_the_program_of_the_page_runs() -> None:
    (shown,) = re.findall(r"^## In a program\n((?:\n|    .*\n?)+)", PAGE, re.MULTILINE)
    given = {"content": SAMPLE, "day": date(2026, 11, 2)}
    exec(textwrap.dedent(shown), given)  # noqa: S102 - it is our page
    found = given["found"]
    assert isinstance(found, Found)
    assert not found.doubtful


def test_the_request_of_the_page_sends_what_the_form_takes() -> None:
    (shown,) = re.findall(r"^    curl (.*)$", PAGE, re.MULTILINE)
    words = shlex.split(shown)
    sent = [words[at + 1].partition("=")[0] for at, word in enumerate(words) if word == "-F"]
    assert sent[0] == "file"
    assert set(sent[1:]) <= _TOLD.keys()


def test_the_lines_of_a_policy_on_the_page_ask_for_evidence() -> None:
    (shown,) = re.findall(r"^    \[evidence\]\n((?:    .*\n)+)", PAGE, re.MULTILINE)
    text = draft.default_text("KES") + f"\n[evidence]\n{textwrap.dedent(shown)}".encode()
    assert policy_text.read(text).evidence == AskedEvidence(required=True, days_max=30)
    assert policy_text.read(draft.default_text("KES")).evidence is msgspec.UNSET


def test_the_page_has_the_formula_of_every_field() -> None:
    for field in FIELDS:
        assert f"| `{field.name}` | {field.unit} |" in PAGE
        assert field.formula in PAGE
