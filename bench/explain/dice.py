"""DiCE, asked about one application at a time."""

from __future__ import annotations

import io
import math
import random
import signal
import warnings
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import dice_ml
import numpy as np
import pandas as pd
from raiutils.exceptions import UserConfigValidationException

from alama.core.catalogue import Catalogue, Kind
from alama.core.recourse.additive import is_lever, reach

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from bench.explain.surfaces import Surface

    Row = dict[str, Any]
    Ranges = Mapping[str, tuple[float, float]]

ANSWERS: Final = 3
SPARSITY_SEARCH: Final = "binary"
"""How DiCE takes back what an answer does not need. Its default, `linear`, walks a field of money
in steps of a tenth: an answer of `kdtree` then takes a minute."""

_FOUND_NOTHING: Final = "No counterfactuals found"
_OUTCOME: Final = "approved"
_SAME: Final = 1e-6
_DIGITS: Final = 7
"""DiCE computes in single precision: beyond this digit, and this near, is noise."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What DiCE found, and how many of its answers it had spoiled.

    DiCE takes back what an answer does not seem to need, and does not look again. Where its own
    model no longer approves, the answer is the one before that.
    """

    rows: list[Row]
    spoiled: int = 0


class OutOfTime(Exception):
    """The application took longer than it may."""


class Dice:
    """One method of DiCE on one decision."""

    def __init__(self, surface: Surface, known: Sequence[Row], method: str) -> None:
        """Show DiCE the people that it may learn from."""
        frame = pd.DataFrame(known, columns=list(surface.names))
        numbers = [name for name in surface.names if not isinstance(known[0][name], str)]
        # Left to guess from the commonest value, DiCE rounds what must not change.
        self._decimals = {name: decimals(row[name] for row in known) for name in numbers}
        data = dice_ml.Data(
            dataframe=frame.assign(**{_OUTCOME: surface.predict(frame)}),
            continuous_features=numbers,
            continuous_features_precision=self._decimals,
            outcome_name=_OUTCOME,
        )
        model = dice_ml.Model(model=surface, backend="sklearn", model_type="classifier")
        self._surface = surface
        self._names = list(surface.names)
        self._ends = {name: (frame[name].min(), frame[name].max()) for name in self._names}
        self._explainer = dice_ml.Dice(data, model, method=method)

    def limits(self, catalogue: Catalogue, row: Row) -> Ranges:
        """Give what our catalogue lets this applicant change, within what DiCE knows.

        DiCE rounds what it has drawn, and may draw up to a unit beyond the upper end: so that its
        answers stay within ours, the ends are drawn in by as much.
        """
        ranges = {}
        for name in self._names:
            field = catalogue.fields[catalogue.position[name]]
            if not is_lever(field):
                continue
            value, places = float(row[name]), self._decimals[name]
            (low, _), (high, _) = reach(field, value)
            least, most = self._ends[name]
            low, high = max(low, min(value, float(least))), min(high, max(value, float(most)))
            if field.kind is Kind.INTEGER:
                low, high = math.ceil(low), math.floor(high)
            else:
                low = round((math.floor(low * 10**places) + 1) / 10**places, places)
                high = round((math.ceil(high * 10**places) - 2) / 10**places, places)
            if low < high:
                ranges[name] = (low, high)
        return ranges

    def ask(self, row: Row, limits: Ranges | None, cap_s: float) -> Answers:
        """Give the answers, none where DiCE finds none.

        Raise `OutOfTime` after so many seconds of the processor: by the clock, a busy machine would
        take chances away.
        """
        frame = pd.DataFrame([row], columns=self._names)
        settings: dict[str, Any] = {"posthoc_sparsity_algorithm": SPARSITY_SEARCH}
        if limits is not None:
            settings["features_to_vary"] = list(limits)
            settings["permitted_range"] = {name: [*ends] for name, ends in limits.items()}
        try:
            with _alarm(cap_s), _silence():
                told = self._explainer.generate_counterfactuals(
                    frame, total_CFs=ANSWERS, desired_class=1, **settings
                )
        except UserConfigValidationException as error:
            if _FOUND_NOTHING not in str(error):
                raise
            return Answers([])
        found = told.cf_examples_list[0]
        if found.final_cfs_df is None or not len(found.final_cfs_df):
            return Answers([])
        whole = [_read(answer, row) for answer in found.final_cfs_df.to_dict("records")]
        if found.final_cfs_df_sparse is None:
            return Answers(whole)
        thinned = [_read(answer, row) for answer in found.final_cfs_df_sparse.to_dict("records")]
        works = self._surface.approves(thinned)
        chosen = [
            thin if ok else full for thin, full, ok in zip(thinned, whole, works, strict=True)
        ]
        return Answers(chosen, spoiled=works.count(False))


def seed(number: int) -> None:
    """Let chance be the same in every run.

    The seed that `random` takes would draw all fields alike, so the generators it uses are seeded.
    """
    random.seed(number)
    np.random.seed(number)  # noqa: NPY002  it is the one that DiCE draws from


def decimals(numbers: Iterable[float]) -> int:
    """Give the most decimals that any of some numbers has."""
    return max(0, *(-int(Decimal(repr(n)).normalize().as_tuple().exponent) for n in numbers))


def _read(answer: Mapping[str, Any], before: Row) -> Row:
    """Take an answer without the noise of single precision."""
    after: Row = {}
    for name, old in before.items():
        new = answer[name]
        if isinstance(old, str):
            after[name] = str(new)
        elif math.isclose(float(new), float(old), rel_tol=_SAME, abs_tol=_SAME):
            after[name] = old
        else:
            number = float(f"{float(new):.{_DIGITS}g}")
            after[name] = int(number) if isinstance(old, int) and number.is_integer() else number
    return after


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    def ring(_signal: int, _frame: object) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


@contextmanager
def _silence() -> Iterator[None]:
    """Leave out DiCE's bars, its remarks and the warnings that pandas gives it."""
    with warnings.catch_warnings(), redirect_stderr(io.StringIO()), redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield
