"""The file of a lender as it comes: how it is read, by what was kept of files before it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from alama.core.errors import FileProblem
from alama.onboarding.records import Unmapped
from alama.platform.files.asis.incoming import look, written_anew
from alama.platform.files.asis.inspection import Inspected, Mapping
from alama.platform.files.table import OWN, Limits
from alama.training.history.names import targets_of
from alama.training.history.report import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from alama.core.catalogue import Catalogue
    from alama.lenders.mappings import KeptMapping

QUIET: Final[Callable[[float], None]] = lambda _share: None  # noqa: E731 - nobody watches


def source_of(
    path: Path,
    kept: KeptMapping[Mapping] | None,
    currency: str,
    catalogue: Catalogue,
    watch: Callable[[float], None] = QUIET,
    limits: Limits = OWN,
) -> Source | None:
    """Say how a file of loans is read; None: as it is. `Unmapped` where somebody has to say more.

    FileProblem where it could be read wrong, or its money is not that of the lender.
    """
    mapping = Mapping() if kept is None else kept.mapping
    found = look(path, targets_of(catalogue), mapping, watch, limits)
    if found is None:
        return None
    require_currency(path, found, currency)
    if found.questions:
        asked = "\n  ".join(question.words for question in found.questions)
        raise Unmapped(f"{path} can be read in more than one way:\n  {asked}")
    if found.likened:
        named = ", ".join(f"{name} from {found.mapped[name]}" for name in found.likened)
        raise Unmapped(f"{path} names its columns in other words. By likeness: {named}")
    assert found.reading is not None
    return Source(found.reading, found.told, None if kept is None else kept.version)


def require_currency(path: Path, found: Inspected, currency: str) -> None:
    """Refuse amounts that say that they are in another currency than that of the lender."""
    if found.money and currency not in found.money:
        raise FileProblem(
            f"{path}: its amounts are in {' or '.join(found.money)}, and the lender lends in "
            f"{currency}",
            hint=f"bring all amounts into {currency}, and take the other currency out of the cells",
        )


@contextmanager
def readable(
    path: Path, source: Source | None, catalogue: Catalogue, limits: Limits = OWN
) -> Iterator[Path]:
    """Give a file of loans as whoever reads tables knows it, for as long as it takes to read it."""
    reading = None if source is None else source.reading
    with written_anew(path, reading, targets_of(catalogue), limits=limits) as anew:
        yield anew
