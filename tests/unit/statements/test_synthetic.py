"""Statements of the synthetic population: what is derived of each is what it was drawn to hold."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from alama.statements.deriving import Asked, found_in
from alama.training.population.formats import FORMATS, HOLDER, Format
from alama.training.population.ledgers import Ledger, figures
from alama.training.population.people import PopulationOptions, batches

KES = "KES"


def ledgers(rows: int, currency: str = KES, seed: int = 27) -> Iterator[Ledger]:
    """Give the wallets of so many applicants; a few at a time are kept."""
    for first in range(0, rows, 50):
        found: list[Ledger] = []
        options = PopulationOptions(
            rows=min(50, rows - first),
            seed=seed + first,
            currency=currency,
            write_statement=lambda ledger, found=found: found.append(ledger) or "",  # type: ignore[misc]
        )
        assert sum(batch.num_rows for batch in batches(options)) == len(found)
        yield from found


def known(ledger: Ledger, written: Format) -> dict[str, float]:
    counted = figures(ledger)
    return counted if written.tells_failed else counted | {"failed_payments": 0.0}


@pytest.mark.parametrize("written", FORMATS, ids=lambda one: f"{one.name}{one.suffix}")
@pytest.mark.parametrize(
    "rows", [5, pytest.param(1_000, marks=pytest.mark.long)], ids=["some", "a thousand"]
)
def test_every_row_is_read_and_every_field_is_the_known_one(written: Format, rows: int) -> None:
    for ledger in ledgers(rows, written.currency or KES):
        asked = Asked(
            files=[written.write(ledger)],
            as_of=ledger.applied_on,
            utc_offset_s=3 * 3600,
            weekend=(5, 6),
            applicant_name=HOLDER.title(),
        )
        found = found_in(asked)
        assert not found.read.unread, ledger.number
        assert found.fields == pytest.approx(known(ledger, written), rel=0, abs=1e-9), ledger.number
        assert not found.doubtful, (ledger.number, found.checks)


def test_a_wallet_is_drawn_by_its_seed_and_number_alone() -> None:
    few, more = list(ledgers(2)), list(ledgers(4))
    assert few == more[:2]
    assert few != list(ledgers(2, seed=28))


def test_wallets_differ_as_people_do() -> None:
    counted = [figures(one) for one in ledgers(40)]
    for name in ("loan_inflow_share", "overdraft_share", "betting_share", "salary_share"):
        shares = [one[name] for one in counted]
        assert min(shares) == 0 < max(shares), name
    assert {one["failed_payments"] > 0 for one in counted} == {True, False}
    kinds = {leg.kind for ledger in ledgers(40) for leg in ledger.legs}
    assert {"reversal", "charge", "data_out", "savings_in", "overdraft_out"} <= kinds
