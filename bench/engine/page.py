"""The engine's blocks of docs/generated/benchmarks.md."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bench.engine import samples_page
from bench.engine.folds import paired
from bench.engine.tables import FOLDS
from bench.page import filled as fill
from bench.page import table, times

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bench.page import Document

NAMES: Final = {
    "alama": "**Alama**",
    "alama, directed": "Alama, directions held",
    "logistic": "logistic regression",
    "optbinning": "optbinning, WoE + logistic",
    "lightgbm": "LightGBM, 8 bags",
    "xgboost": "XGBoost, 8 bags",
    "ebm": "EBM by itself",
}
QUALITY_TABLES: Final = ("gmsc", "taiwan", "hmeq", "german")
NOTHING: Final = "*Not measured yet: `make bench SIZE=full`.*"
_FOLDS_MIN: Final = 2


def filled(page: str, document: Document) -> str:
    """Give the page with every block of the engine written anew."""
    return fill(page, BLOCKS, document)


def _machine(document: Document) -> str:
    about = document.get("machine", {}).get("here")
    if not about:
        return NOTHING
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    return (
        f"Measured on {about['cores']} cores ({about['architecture']}), {about['memory_gb']} GB, "
        f"Python {about['python']}, with {versions}.{_mixed(document)}"
    )


def _mixed(document: Document) -> str:
    """Own up where the figures of Alama were not all measured on the same code."""
    engines = {
        entry["by"].split()[0]
        for part in ("speed", "training", "quality", "samples")
        for name, entry in document.get(part, {}).items()
        if part in {"speed", "training"} or "/alama" in name
    }
    if len(engines) < 2:
        return ""
    return f" Alama's figures stem from {len(engines)} states of its code: measure again."


def _rows(document: Document) -> str:
    entry = document.get("speed", {}).get("rows", {})
    if "us" not in entry:
        return NOTHING
    spoken = {
        "alama": "**Alama: application to score, probability, sorted contributions**",
        "alama, cold": "the same, out of the blue (caches full of the others' trees)",
        "alama, card alone": "Alama: values to points and contributions",
        "lightgbm": "LightGBM: `predict` + `pred_contrib`",
        "light": "LightGBM, light forest: `predict` + `pred_contrib`",
        "lightgbm, predict": "LightGBM: `predict` (no explanation)",
        "lightgbm, pred_contrib": "LightGBM: `pred_contrib`",
        "shap, paths": "`shap.TreeExplainer`, along the trees' paths",
        "shap, background": "`shap.TreeExplainer`, against 100 background rows",
    }
    us, cpu = entry["us"], entry["cpu_us"]
    lines = [
        [
            said,
            *map(_us, us[name]),
            *([_us(cpu[name]), times(cpu[name] / cpu["alama"])] if name in cpu else ["", ""]),
        ]
        for name, said in spoken.items()
        if name in us
    ]
    head = ["one row, one thread", "median µs", "99 % µs", "processor µs", "ratio to Alama"]
    return table(head, lines) + f"\n\n{entry['rows']:,} rows. {_equal(entry['about'])}"


def _batch(document: Document) -> str:
    entry = document.get("speed", {}).get("batch", {})
    if "rates" not in entry:
        return NOTHING
    spoken = {
        "alama": "**Alama: columns to scores, probabilities and contributions**",
        "lightgbm, pred_contrib": "LightGBM: `pred_contrib`",
        "light, pred_contrib": "LightGBM, light forest: `pred_contrib`",
        "shap, paths": "`shap.TreeExplainer`, along the trees' paths",
        "shap, background": "`shap.TreeExplainer`, against 100 background rows",
    }
    rates = entry["rates"]
    lines = [
        [said, f"{rates[name]:,}", times(rates["alama"] / rates[name])]
        for name, said in spoken.items()
    ]
    measured = ", ".join(
        f"{count * entry['rounds']:,} rows of {name}" for name, count in entry["peer_rows"].items()
    )
    text = table(["in memory, one thread", "rows a processor second", "Alama is faster by"], lines)
    text += (
        f"\n\nAlama over {entry['rows']:,} rows in {entry['rounds']} rounds; the peers in turn "
        f"with it on fewer rows ({measured}), their rate being steady. {_equal(entry['about'])}"
    )
    return text + "\n\n" + _files(entry.get("files", {}))


def _files(files: Mapping[str, Mapping[str, Any]]) -> str:
    lines = [
        [
            f"{int(rows):,} rows, Parquet to Parquet",
            f"{told['rows_a_second']:,}",
            *(f"{told[at]:,}" for at in ("mb_before", "mb_after_a_tenth", "mb_after_half")),
            f"{told['mb_at_the_end']:,}",
        ]
        for rows, told in sorted(files.items(), key=lambda item: int(item[0]))
    ]
    head = ["`alama score --contributions`", "rows a second", "MB before", "after a tenth"]
    return table([*head, "after half", "at the end"], lines) if lines else ""


def _training(document: Document) -> str:
    known = {n: e for n, e in document.get("training", {}).items() if e.get("rounds")}
    if not known:
        return NOTHING
    lines = []
    for name, entry in sorted(known.items(), key=lambda item: item[1]["rows"]):
        ours, our_gb, theirs, their_gb = np.array(entry["rounds"]).T
        lines.append(
            [
                name,
                f"{len(ours)}",
                *(_seconds(float(np.median(taken))) for taken in (ours, theirs)),
                times(float(np.median(ours / theirs))),
                *(f"{gb.max():.1f}" for gb in (our_gb, their_gb)),
                *(f"{auc:.4f}" for auc in entry.get("auc", ())),
                *([] if "auc" in entry else ["", "", ""]),
            ]
        )
    head = ["`alama train`", "rounds", "seconds", "LightGBM's", "ratio", "GB", "LightGBM's"]
    return table([*head, "AUC", "LightGBM's", "the truth's"], lines)


def _quality(document: Document) -> str:
    parts = []
    for name in QUALITY_TABLES:
        folds = _folds_of(document, name)
        if len(folds.get("alama", {})) >= _FOLDS_MIN:
            parts.append(_quality_table(name, folds, document))
    return "\n\n".join(parts) or NOTHING


def _folds_of(document: Document, name: str) -> dict[str, dict[str, list[float]]]:
    return {
        model: entry["folds"]
        for model in NAMES
        if (entry := document.get("quality", {}).get(f"{name}/{model}", {})).get("folds")
    }


def _quality_table(name: str, folds: dict[str, dict[str, list[float]]], document: Document) -> str:
    ours = folds["alama"]
    fold_count = document["quality"][f"{name}/alama"].get("fold_count", FOLDS)
    lines = []
    for model, known in folds.items():
        shared = sorted(known.keys() & ours.keys())
        if not shared:
            continue
        figures = np.array([known[fold] for fold in shared]).mean(axis=0)
        ahead = paired([ours[f][0] for f in shared], [known[f][0] for f in shared], fold_count)
        compared = (
            ["", "", ""]
            if model == "alama"
            else [f"{ahead.mean:+.4f}", _error(ahead.plain), _error(ahead.corrected)]
        )
        if len(shared) < len(ours):
            compared[0] += f" (folds: {len(shared)})"
        rest = [f"{figures[1]:.4f}", f"{figures[2]:.4f}", f"{figures[3]:,.1f}"]
        lines.append([NAMES[model], f"{figures[0]:.4f}", *compared, *rest])
    rows = document["quality"][f"{name}/alama"]["rows"]
    head = [f"{name}, {rows:,} rows, {len(ours)} folds", "AUC", "Alama ahead by", "s.e."]
    head += ["s.e. corrected", "log loss", "calibration error", "seconds a fold"]
    return table(head, lines)


def _samples(document: Document) -> str:
    measured = samples_page.lines(document)
    return samples_page.block(measured) if measured else NOTHING


def _equal(about: Mapping[str, Any]) -> str:
    return (
        f"On the same unseen rows: the forest ({about['full_trees']} trees of 31 leaves) AUC "
        f"{about['full_auc']:.4f}, the light one ({about['light_trees']} trees of 15 leaves) "
        f"{about['light_auc']:.4f}, Alama ({about['fields']} fields, {about['pairs']} pairs) "
        f"{about['alama_auc']:.4f}."
    )


def _error(value: float) -> str:
    return "unknown" if math.isnan(value) else f"{value:.4f}"


def _seconds(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def _us(value: float) -> str:
    return f"{value:,.1f}"


BLOCKS: Final[dict[str, Callable[[Document], str]]] = {
    "machine": _machine,
    "rows": _rows,
    "batch": _batch,
    "quality": _quality,
    "samples": _samples,
    "training": _training,
}
