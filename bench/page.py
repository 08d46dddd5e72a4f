"""docs/generated/benchmarks.md: measured tables between markers; the prose around them stays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

Document = dict[str, Any]

_END: Final = "<!-- end -->"


def filled(page: str, blocks: Mapping[str, Callable[[Document], str]], document: Document) -> str:
    """Give the page with these measured blocks written anew; everything outside them stays."""
    for name, block in blocks.items():
        before, start, rest = page.partition(f"<!-- measured: {name} -->\n")
        _old, end, after = rest.partition(_END)
        if start and end:
            page = f"{before}{start}{block(document)}\n{end}{after}"
    return page


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table; all columns but the first are figures."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, rule, *rows))


def times(ratio: float) -> str:
    """Write a ratio with two digits that count."""
    return f"{ratio:,.0f} x" if ratio >= 10 else f"{ratio:.2g} x"
