"""A million rows with contributions on one thread, and what memory does meanwhile."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from alama.core import kernel
from alama.training.dataset import take_column
from bench.engine.hashes import engine_hash
from bench.engine.ours import CHUNK_ROWS
from bench.engine.subject import TEST_SEED, model_file, population, prepare
from bench.environment import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

    from alama.core.kernel import Column
    from alama.core.model import Model
    from bench.engine.options import Options
    from bench.engine.subject import Subject
    from bench.progress import Bar
    from bench.store import Figures, Store

ROUNDS: Final = 10
PEER_ROWS: Final = {
    "lightgbm, pred_contrib": 2_000,
    "light, pred_contrib": 2_000,
    "shap, paths": 1_000,
    "shap, background": 100,
}
"""Rows a round: a million would take them a quarter of an hour and more, their rate is steady."""


def measure(options: Options, store: Store, bar: Bar) -> None:
    """Time rounds of everyone in turns, then whole files in processes of their own."""
    entry = store.entry("speed", "batch", engine_hash())
    train_rows, rows = (10_000, 170_000) if options.quick else (100_000, 1_000_000)
    if "rates" not in entry:
        bar.start("a million rows", 30 if options.quick else 200)
        subject = prepare(train_rows, rows, bar)
        bar.at("timing rounds")
        rates = _rates(subject, rows)
        entry.update(rates=rates, rows=rows, rounds=ROUNDS, peer_rows=PEER_ROWS)
        entry["about"] = subject.about()
        store.save()
    if "files" not in entry:
        bar.at("whole files")
        model = str(model_file(train_rows))
        entry["files"] = {str(size): _whole_file(model, size) for size in (rows // 10, rows)}
        store.save()
    else:
        bar.say("a million rows: known")


def _rates(subject: Subject, rows: int) -> Figures:
    """Give rows a second of processor time, the median over the rounds.

    By the clock a busy machine would slow the long calls of the peers more than ours.
    """
    matrix = subject.encoder.matrix(subject.test)
    forest = subject.forest
    along, against = subject.explainer(background=False), subject.explainer(background=True)
    peers: dict[str, Callable[[Any], object]] = {
        "lightgbm, pred_contrib": lambda part: forest.predict(part, pred_contrib=True),
        "light, pred_contrib": lambda part: subject.light.predict(part, pred_contrib=True),
        "shap, paths": lambda part: along.shap_values(part, check_additivity=False),
        "shap, background": lambda part: against.shap_values(part, check_additivity=False),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ("alama", *peers)}
    chunks = _chunks(subject, rows)
    scorer = _Scorer(subject.model)
    for turn in range(ROUNDS):
        mine = chunks[turn::ROUNDS]
        started = time.process_time()
        done = sum(scorer.score(columns) for columns in mine)
        seconds["alama"].append((time.process_time() - started) / done)
        for name, call in peers.items():
            count = PEER_ROWS[name]
            part = np.ascontiguousarray(matrix[turn * count : (turn + 1) * count])
            started = time.process_time()
            call(part)
            seconds[name].append((time.process_time() - started) / count)
    return {name: round(1.0 / float(np.median(taken))) for name, taken in seconds.items()}


def _chunks(subject: Subject, rows: int) -> list[dict[str, Column]]:
    """Cut the columns as the batch scorer does."""
    return [
        {
            name: take_column(column, np.arange(start, min(start + CHUNK_ROWS, rows)))
            for name, column in subject.test.columns.items()
        }
        for start in range(0, rows, CHUNK_ROWS)
    ]


class _Scorer:
    """Columns in, scores, probabilities and contributions out; each row by the card it needs."""

    def __init__(self, model: Model) -> None:
        self._cards = model.cards
        self._ready = [kernel.BatchScorecard(card, model.catalogue) for card in model.cards]

    def score(self, columns: dict[str, Column]) -> int:
        rows = _length(columns)
        chosen = kernel.choose_card(self._cards, columns, rows)
        points = np.empty(rows)
        for place, card in enumerate(self._ready):
            mine = np.flatnonzero(chosen == place)
            part = (
                columns
                if len(mine) == rows
                else {name: take_column(columns[name], mine) for name in card.fields}
            )
            points[mine] = card.score(part).points
        kernel.shown_scores(points)
        kernel.shown_probabilities(points)
        return rows


def _length(columns: dict[str, Column]) -> int:
    return len(kernel.present(next(iter(columns.values()))))


def _whole_file(model: str, rows: int) -> Figures:
    """Score a file to a file in a process of its own: seconds, and memory on the way."""
    source = population(rows, TEST_SEED)
    command = [sys.executable, "-m", "bench.engine.whole_file", model, str(source)]
    answer = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    figures: Figures = json.loads(answer.stdout)
    return figures
