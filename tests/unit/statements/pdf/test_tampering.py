"""Who changes a statement is found, as far as it can be; what cannot be found is said."""

from __future__ import annotations

import pytest

from alama.core.errors import AlamaError
from alama.statements.checks import check, is_doubtful
from alama.statements.pdf.statement import read_pdf
from alama.statements.places import place_of
from tests.drawn_statements import HOLDER, NAMES, known
from tests.tampering import ACTS, Forged, Forger, holds

PLACE = place_of("KE")
FOUND_SHARE_MIN = 0.95


def forger(seed: int) -> Forger:
    mtn = seed % 4 > 1
    return Forger(known(seed, rows=45 + seed % 40, legs=2 if mtn else 3), mtn=mtn)


def is_found(forged: Forged, seed: int) -> bool:
    """Say whether it is refused, or a person is asked to look."""
    sheet = known(seed, rows=45 + seed % 40, legs=2 if seed % 4 > 1 else 3).sheet
    try:
        statement = read_pdf(forged.content, NAMES)
    except AlamaError:
        return True
    as_of = statement.declared.last_day or sheet.made_on
    checks = check(statement, max(as_of, sheet.made_on), PLACE, names=NAMES, holder=HOLDER)
    return is_doubtful(checks)


@pytest.mark.parametrize("name", ACTS)
@pytest.mark.parametrize(
    "seeds",
    [range(0, 4, 2), pytest.param(range(4, 104), marks=pytest.mark.long)],
    ids=["some", "all"],
)
def test_nearly_each_that_was_tampered_with_is_found(name: str, seeds: range) -> None:
    found = 0
    for seed in seeds:
        forged = ACTS[name](forger(seed))
        if is_found(forged, seed):
            found += 1
        else:
            assert holds(forged.lines), f"a balance that does not hold was accepted: seed {seed}"
    assert found >= FOUND_SHARE_MIN * len(seeds), f"{found} of {len(seeds)}"


@pytest.mark.parametrize("seed", [0, 2])
def test_what_is_changed_in_step_with_all_else_cannot_be_found(seed: int) -> None:
    assert not is_found(forger(seed).all_in_step(), seed)
