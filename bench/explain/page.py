"""The blocks of docs/generated/benchmarks.md about recourse and contributions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bench.explain.options import WAYS
from bench.page import filled as fill
from bench.page import table, times

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from bench.page import Document

NOTHING: Final = "*Not measured yet: `make bench-explain SIZE=full`.*"
SHAP: Final = {
    "alama": "**Alama**",
    "shap": "`shap.TreeExplainer`",
    "shap, its quickest path": "the same, its quickest path",
    "shap, its quickest path, light forest": "the same, and the light forest",
}


def filled(page: str, document: Document) -> str:
    """Give the page with every block of this benchmark written anew."""
    return fill(page, BLOCKS, document)


def _machine(document: Document) -> str:
    if "machine" not in document:
        return NOTHING
    told, about, size = document["machine"], document["about"], document["size"]
    versions = ", ".join(f"{name} {version}" for name, version in told["versions"].items())
    return (
        f"Measured on {told['cores']} cores ({told['architecture']}), {told['memory_gb']} GB, "
        f"Python {told['python']}, with {versions}. On the same 20,000 unseen people the forest "
        f"({about['trees']} trees) has an AUC of {about['forest_auc']:.4f}, Alama "
        f"{about['alama_auc']:.4f}; both approve {about['approved_share']:.1%}. An application "
        f"that took DiCE {size['cap_s']:.0f} s of the processor was given up."
    )


def _recourse(document: Document) -> str:
    told = document.get("recourse")
    if not told:
        return NOTHING
    count, found = told["applications"], told["found"]
    one, two, three = told["changes"]
    rows = [
        ["median, 99 %, slowest: ms by the clock", _three(told["ms"])],
        ["the same: ms of the processor", _three(told["processor_ms"])],
        ["proven: the cheapest, or that there is none", _of(told["proven"], count)],
        ["with at least one way to be approved", _of(found, count)],
        ["with three different ways", _of(told["ways"][3], count)],
        [
            "answers that, sent back, give bit for bit what was promised",
            _of(told["kept"], told["answers"]),
        ],
        ["fields in the cheapest answer: one, two, three", f"{one}, {two}, {three}"],
        ["cost of the cheapest answer: median, 90 %", "{:.3f}, {:.3f}".format(*told["cost"])],
        ["laid out for a model and a policy, once", f"{told['set_up_ms']:.0f} ms"],
        ["memory that it holds", f"{told['set_up_kb'] / 1024:.1f} MB"],
    ]
    return table([f"{count} declined applications, three ways asked for", "Alama"], rows)


def _dice(document: Document) -> str:
    asked = document.get("dice")
    if not asked:
        return NOTHING
    head = ["three answers asked for", "applications", "median ms", "99 % ms", "Alama faster by"]
    head += ["answered", "given up", "fields changed"]
    rows = [
        [
            name,
            f"{told['applications']}",
            *(f"{ms:,.0f}" for ms in told["ms"][:2]),
            times(told["ratio"]),
            _of(told["answered"], told["applications"]),
            f"{told['late']}",
            _number(told["changes"]),
        ]
        for name, told in _in_order(asked)
    ]
    return table(head, rows) + "\n\n" + _worth(asked)


def _worth(asked: Mapping[str, Any]) -> str:
    head = ["of its answers", "answers", "spoiled", "its model approves", "our decision approves"]
    head += ["an unchangeable field", "a wrong direction", "out of reach"]
    head += ["approved and can be followed"]
    rows = [
        [
            name,
            f"{told['answers']}",
            *(
                _share(count, told["answers"])
                for count in (
                    told["spoiled"],
                    told["own_valid"],
                    told["approved"],
                    *(told["breaches"][breach] for breach in ("immutable", "direction", "range")),
                    told["usable"],
                )
            ),
        ]
        for name, told in _in_order(asked)
    ]
    return table(head, rows)


def _cheapest(document: Document) -> str:
    asked = document.get("dice")
    if not asked:
        return NOTHING
    head = ["its cheapest answer of our kind", "applications", "its cost to ours, median"]
    head += ["cheaper than ours", "by at most", "the same, real values", "we say none"]
    wider = ["wider alone", "of these: we say none", "of these: cheaper than ours"]
    return table([*head, *wider], _compared(asked))


def _compared(asked: Mapping[str, Any]) -> Iterator[list[str]]:
    for name, told in _in_order(asked):
        held = told["compared"]
        if held["applications"] or held["wider"]:
            yield [
                name,
                f"{held['applications']}",
                "" if held["cost_ratio"] is None else times(held["cost_ratio"]),
                f"{held['cheaper']}",
                f"{held['cheaper_by_at_most']:.4f}" if held["cheaper"] else "",
                *(f"{held[key]}" for key in ("cheaper_real", "ours_none", "wider")),
                *(f"{held[key]}" for key in ("wider_none", "wider_cheaper")),
            ]


def _contributions(document: Document) -> str:
    told = document.get("contributions")
    if not told:
        return NOTHING
    us, errors = told["us"], told["error_points"]
    rows = [
        [
            said,
            *(f"{value:,.1f}" for value in us[name]),
            times(us[name][2] / us["alama"][2]),
            _error(errors[name]),
        ]
        for name, said in SHAP.items()
    ]
    head = [f"one row, {told['rows']:,} rows", "median µs", "99 % µs", "processor µs"]
    return table([*head, "ratio to Alama", "additivity error, points"], rows)


def _in_order(asked: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(way.name, asked[way.name]) for way in WAYS if way.name in asked]


def _three(ms: Sequence[float]) -> str:
    return ", ".join(f"{value:.1f}" for value in ms)


def _of(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,}"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else ""


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _error(points: float) -> str:
    return "0" if points == 0.0 else f"{points:.0e}"


BLOCKS: Final[dict[str, Callable[[Document], str]]] = {
    "explain, machine": _machine,
    "explain, recourse": _recourse,
    "explain, dice": _dice,
    "explain, cheapest": _cheapest,
    "explain, contributions": _contributions,
}
