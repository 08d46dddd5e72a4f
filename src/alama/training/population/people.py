"""The public synthetic population: applications, outcomes, and the true risk behind them.

Rows are made in chunks, each from its own child of the seed, so a row depends on the seed and on
its number alone: a longer file begins with the shorter one, and ten million rows need the memory
of one chunk. docs/population.md gives the recipe in words.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from alama.core.errors import AlamaError
from alama.core.model import REFERENCE_INFLOW_MONTHLY
from alama.training.population import applicants
from alama.training.population.applicants import (
    GENERIC_REGIONS,
    KENYAN_REGIONS,
    WORDS_PER_APPLICANT,
    WORDS_PER_LOAN,
    Draws,
    Repayment,
    draw_loans,
    draw_traits,
    missing_fields,
)
from alama.training.population.ledgers import Wanted, draw_ledger, figures
from alama.training.population.truth import (
    DEVICE_TYPES,
    LOAN_PURPOSES,
    Loans,
    true_default_probability,
)
from alama.training.portable import Floats, Words, saturating

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from alama.training.population.applicants import Mask
    from alama.training.population.ledgers import Ledger
    from alama.training.population.truth import Integers


CHUNK_ROWS: Final = 25_000
FIRST_DAY: Final = date(2023, 7, 1)
LAST_DAY: Final = date(2025, 6, 30)
"""Applications are spread evenly over these 24 months, where the books are closed as usual."""

# What drift = 1 does by the last day, in log units; see docs/population.md.
_DRIFT_INCOME: Final = -0.45
_DRIFT_FRAILTY: Final = 1.2
_DRIFT_RISK: Final = 0.45

# The earlier lender's cut-off, set so that it booked about 60 % of an undrifted population.
_BOOKING_CUTOFF: Final = 1.53
_OFFICER_INSIGHT: Final = 0.25

_EPOCH: Final = date(1970, 1, 1)
_DECIMALS: Final = 9
"""Of a figure of a wallet, as of a field that is derived."""


class ImpossiblePopulation(AlamaError):
    """The options describe no population."""


@dataclass(frozen=True, slots=True)
class PopulationOptions:
    """What to generate.

    `drift` runs from 0 (none) to 1 (strong over the two years). With `prior_policy` rows say
    whether an earlier lender booked the loan, and outcomes are known only where it did. With
    `history` rows say what a lender's books say of their loans. `closed_on` is the day on which
    those are closed: all days move with it, and nothing else does. With `write_statement` each row
    has a wallet, whose figures are its fields: it is given every ledger, in the order of the rows,
    and gives back the name of its statement.
    """

    rows: int
    seed: int
    currency: str = "KES"
    drift: float = 0.0
    prior_policy: bool = False
    history: bool = False
    closed_on: date = applicants.OBSERVED_ON
    write_statement: Callable[[Ledger], str] | None = None

    def __post_init__(self) -> None:
        """Refuse what no population can be."""
        if self.rows <= 0:
            raise ImpossiblePopulation(f"a population needs at least one row, not {self.rows}")
        if self.seed < 0:
            raise ImpossiblePopulation(f"the seed must not be negative, but is {self.seed}")
        if self.currency not in REFERENCE_INFLOW_MONTHLY:
            message = f"no reference inflow is known for the currency {self.currency!r}"
            hint = f"choose one of {', '.join(REFERENCE_INFLOW_MONTHLY)}"
            raise ImpossiblePopulation(message, hint=hint)
        if not (math.isfinite(self.drift) and 0.0 <= self.drift <= 1.0):
            raise ImpossiblePopulation(f"drift must lie between 0 and 1, but is {self.drift}")


_FIELD_TYPES: Final[dict[str, pa.DataType]] = {
    "mm_months": pa.int32(),
    "counterparties": pa.int32(),
    "device_age_months": pa.int32(),
    "requested_term_days": pa.int32(),
    "device_type": pa.string(),
    "loan_purpose": pa.string(),
    "region": pa.string(),
}


STATEMENT: Final = "statement"
KNOWN: Final = "known_"
_OF_A_WALLET: Final = (*(field.name for field in fields(Wanted)), "avg_balance")


def schema(options: PopulationOptions) -> pa.Schema:
    """Columns of every batch: the 17 fields, then what is known about each row.

    Where rows have statements, what is derived from them stands as `known_...`, to be derived.
    """
    named = [(field.name, _FIELD_TYPES.get(field.name, pa.float64())) for field in fields(Loans)]
    columns = named
    if options.write_statement is not None:
        columns = [(KNOWN + name if name in _OF_A_WALLET else name, kind) for name, kind in named]
        columns.insert(0, (STATEMENT, pa.string()))
    columns.append(("applied_on", pa.date32()))
    if options.prior_policy:
        columns.append(("booked", pa.int8()))
    if options.history:
        columns += applicants.COLUMNS
    columns += [("default", pa.int8()), ("true_default_probability", pa.float64())]
    return pa.schema(columns)


def batches(options: PopulationOptions) -> Iterator[pa.RecordBatch]:
    """The population in order, in record batches of at most CHUNK_ROWS rows."""
    for number in range(math.ceil(options.rows / CHUNK_ROWS)):
        left = options.rows - number * CHUNK_ROWS
        # A last chunk is made whole and cut: a draw's place depends on the chunk's full size.
        yield _chunk(options, number, min(left, CHUNK_ROWS)).slice(0, min(left, CHUNK_ROWS))


class Tally:
    """Counts over batches as they pass, for a summary without a second reading."""

    def __init__(self) -> None:
        self.rows = 0
        self._complete = 0
        self._outcomes = 0
        self._defaults = 0

    def add(self, batch: pa.RecordBatch) -> None:
        complete = np.ones(batch.num_rows, dtype=np.bool_)
        for field in fields(Loans):
            if field.name not in batch.schema.names:
                continue  # derived of a statement, and so never missing
            column = batch.column(field.name)
            if column.null_count:
                complete &= column.is_valid().to_numpy(zero_copy_only=False)
        outcomes = batch.column("default").drop_null().to_numpy()
        self.rows += batch.num_rows
        self._complete += int(np.count_nonzero(complete))
        self._outcomes += len(outcomes)
        self._defaults += int(np.count_nonzero(outcomes))

    @property
    def complete_share(self) -> float:
        """Share of rows with all 17 fields."""
        return self._complete / self.rows if self.rows else math.nan

    @property
    def default_rate(self) -> float:
        """Share of defaults among known outcomes; NaN where none is known."""
        return self._defaults / self._outcomes if self._outcomes else math.nan


def _chunk(options: PopulationOptions, number: int, rows: int) -> pa.RecordBatch:
    draws = Draws(_words(options.seed, (number,), WORDS_PER_APPLICANT))
    reference_inflow = float(REFERENCE_INFLOW_MONTHLY[options.currency])

    day_count = (LAST_DAY - FIRST_DAY).days + 1
    day = np.floor(draws.uniform() * day_count)
    drifted = options.drift * day / day_count

    traits = draw_traits(draws, _DRIFT_INCOME * drifted)
    drawn = loans = draw_loans(draws, traits, reference_inflow=reference_inflow)
    applied_on = (day + (FIRST_DAY - _EPOCH).days).astype(np.int32)
    columns = []
    if options.write_statement is not None:
        loans, statements = _with_wallets(options, number, rows, drawn, applied_on)
        columns.append(statements)
    risk = true_default_probability(
        loans, reference_inflow=reference_inflow, shift=_DRIFT_RISK * drifted
    )
    masks = missing_fields(
        draws,
        traits,
        loans,
        reference_inflow=reference_inflow,
        frailty_shift=_DRIFT_FRAILTY * drifted,
    )
    fate = draws.uniform()
    if options.write_statement is not None:
        masks = {name: mask for name, mask in masks.items() if name not in _OF_A_WALLET}
    columns += _field_columns(loans, masks, options.currency)
    columns.append(pa.array(applied_on).cast(pa.date32()))
    defaulted = fate < risk
    booked = np.ones(CHUNK_ROWS, dtype=np.bool_)
    if options.prior_policy:
        booked = _booked(draws, loans, fate, reference_inflow)
        columns.append(pa.array(booked.astype(np.int8)))
    if options.history:
        books = Repayment(drawn, traits, applied_on, defaulted)
        columns += books.columns(_words(options.seed, (number, 1), WORDS_PER_LOAN), booked)
    columns.append(pa.array(defaulted.astype(np.int8), mask=~booked))
    columns.append(pa.array(risk))
    moved = [
        _moved(column, (options.closed_on - applicants.OBSERVED_ON).days) for column in columns
    ]
    return pa.RecordBatch.from_arrays(moved, schema=schema(options))


def _with_wallets(
    options: PopulationOptions, number: int, rows: int, drawn: Loans, applied_on: Integers
) -> tuple[Loans, pa.Array[Any]]:
    """Draw a wallet for each of the first rows; its figures take the place of what was drawn."""
    assert options.write_statement is not None
    later = (options.closed_on - applicants.OBSERVED_ON).days
    known = {name: getattr(drawn, name).copy() for name in _OF_A_WALLET}
    names: list[str | None] = [None] * CHUNK_ROWS
    for place in range(rows):
        wanted = Wanted(*(getattr(drawn, field.name)[place].item() for field in fields(Wanted)))
        day = _EPOCH + timedelta(days=int(applied_on[place]) + later)
        row = number * CHUNK_ROWS + place
        ledger = draw_ledger(wanted, day, options.currency, options.seed, row)
        counted = figures(ledger)
        for name, values in known.items():
            values[place] = round(counted[name], _DECIMALS)
        names[place] = options.write_statement(ledger)
    return replace(drawn, **known), pa.array(names, pa.string())


def _moved(column: pa.Array[Any], days: int) -> pa.Array[Any]:
    """Give a column of days so much later; any other column unchanged."""
    if not days or not pa.types.is_date(column.type):
        return column
    later: pa.Array[Any] = pc.add(column.cast(pa.int32()), pa.scalar(days, pa.int32()))
    return later.cast(pa.date32())


def _words(seed: int, child: tuple[int, ...], many: int) -> Words:
    """Give so many raw words for each row of a chunk, from a child of the seed."""
    source = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=child))
    return source.random_raw(many * CHUNK_ROWS).reshape(many, CHUNK_ROWS)


def _booked(draws: Draws, loans: Loans, fate: Floats, reference_inflow: float) -> Mask:
    """Whom the earlier lender approved: by a crude card and by what its officer knew.

    The officer's impression leans on the very draw that decides the outcome, so it tells something
    about repayment that no field does. Booked loans are therefore better than their fields say.
    """
    spread = math.sqrt(12.0)
    impression = _OFFICER_INSIGHT * spread * (fate - 0.5) + 0.97 * draws.bell()
    card = (
        1.2 * saturating(loans.mm_months.astype(np.float64), 14.0)
        + 1.0 * saturating(loans.avg_inflow / reference_inflow, 0.8)
        + 1.5 * loans.balance_stability
        - 0.8 * saturating(loans.requested_amount / reference_inflow, 0.5)
    )
    return card + 0.4 * impression > _BOOKING_CUTOFF


def _field_columns(loans: Loans, masks: dict[str, Mask], currency: str) -> list[pa.Array[Any]]:
    words = {
        "device_type": DEVICE_TYPES,
        "loan_purpose": LOAN_PURPOSES,
        "region": KENYAN_REGIONS if currency == "KES" else GENERIC_REGIONS,
    }
    columns = []
    for field in fields(Loans):
        column = pa.array(getattr(loans, field.name), mask=masks.get(field.name))
        if field.name in words:
            names = pa.array(words[field.name])
            column = pa.DictionaryArray.from_arrays(column, names).dictionary_decode()
        columns.append(column)
    return columns
