"""The front door: `python -m bench.lending`, a minute, into docs/generated/benchmarks.md.

Deciding is timed beside scoring, its neighbour on the hot path, round by round in turn: the ratio
holds on a busy machine, the microseconds are those of the quietest round.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from alama.app.cli import main as alama
from alama.batch.deciding import TableCases
from alama.core.lending.decision import decide
from alama.core.lending.draft import default_policy
from alama.core.lending.offer import make_offer
from alama.core.lending.policy import Decision, OwnRule, Policy
from alama.core.lending.policy_check import seal
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel
from alama.platform.files.packaged import builtin
from alama.platform.files.reader import open_table
from bench import page

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from alama.core.application import Application


PAGE: Final = Path(__file__).parents[2] / "docs" / "generated" / "benchmarks.md"
APPLICATIONS: Final = 2_000
ROUNDS: Final = 7
SIMULATED: Final = 100_000

ABOUT_THE_PERSON: Final = (
    "mm_months < 3",
    "avg_outflow / avg_inflow > 1.8",
    "avg_balance < 20 and balance_stability < 0.1",
    "counterparties < 2",
    "tx_frequency < 1 or airtime_freq < 0.5",
    'device_type == "basic_phone" and avg_inflow < 2_000',
    'region in ["nowhere", "elsewhere"]',
    "existing_repayments > 0.5 * avg_inflow",
    "airtime_regularity < 0.02",
    "device_age_months > 120",
)
ABOUT_THE_LOAN: Final = ("requested_amount > 2 * avg_inflow", "requested_amount > 40_000")


class Timed(NamedTuple):
    """Microseconds an application: median, nine tenths, and the median beside that of scoring."""

    median_us: float
    p90_us: float
    beside_scoring: float


def main() -> int:
    """Measure, print, and write the section."""
    with tempfile.TemporaryDirectory() as folder:
        loans = Path(folder) / "loans.parquet"
        alama(["population", "--rows", str(SIMULATED), "--seed", "5", "--out", str(loans)])
        model = ReadyModel(builtin(), "KES")
        cases = TableCases(model.catalogue, open_table(loans)).first(APPLICATIONS)
        applications = [case.application for case in cases]
        timed = _deciding(model, applications)
        simulated_s = _simulating(Path(folder), loans)
    blocks = {"lending, decisions": lambda _: _decisions(timed, simulated_s)}
    PAGE.write_text(page.filled(PAGE.read_text("utf-8"), blocks, {}), "utf-8")
    print(_decisions(timed, simulated_s))
    return 0


def _policies() -> Mapping[str, Policy]:
    plain = default_policy("KES")

    def ruled(*conditions: str) -> Policy:
        rules = [
            OwnRule(f"rule_{number}", when, Decision.REVIEW)
            for number, when in enumerate(conditions)
        ]
        return seal(msgspec.structs.replace(plain, rules=tuple(rules)))

    return {
        "the default policy": plain,
        "and ten rules about the applicant": ruled(*ABOUT_THE_PERSON),
        "and two of them about the loan": ruled(*ABOUT_THE_PERSON[:8], *ABOUT_THE_LOAN),
    }


def _deciding(model: ReadyModel, applications: list[Application]) -> dict[str, Timed]:
    ready = {name: ReadyPolicy(policy, model) for name, policy in _policies().items()}
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in ready}
    for _ in range(ROUNDS):
        scoring_us = median(_each_us(applications, _scorer(model)))
        for name, policy in ready.items():
            both_us = _each_us(applications, _decider(model, policy))
            deciding_us = [us - scoring_us for us in both_us]
            middle = median(deciding_us)
            found[name].append((middle, quantiles(deciding_us, n=10)[8], middle / scoring_us))
    return {name: Timed(*min(rounds)) for name, rounds in found.items()}


def _scorer(model: ReadyModel) -> Callable[[Application], object]:
    return lambda application: model.scorecard_for(application).score(application.values)


def _decider(model: ReadyModel, policy: ReadyPolicy) -> Callable[[Application], object]:
    def run(application: Application) -> object:
        scorecard = model.scorecard_for(application)
        values = policy.as_asked(application.values)
        verdict = decide(policy, scorecard, values, scorecard.score(values))
        return make_offer(policy, verdict.decision, verdict.loan)

    return run


def _each_us(applications: list[Application], work: Callable[[Application], object]) -> list[float]:
    times = []
    for application in applications:
        started = time.perf_counter()
        work(application)
        times.append((time.perf_counter() - started) * 1e6)
    return times


def _simulating(folder: Path, loans: Path) -> float:
    """Give the seconds of the whole command: two cut-offs are moved, and a page is written."""
    policy = folder / "policy.toml"
    alama(["policy", "init", "--currency", "KES", "--out", str(policy)])
    text = policy.read_text("utf-8").replace("score_min = 605", "score_min = 615")
    policy.write_text(text.replace("score_min = 650", "score_min = 655"), "utf-8")
    command = ["policy", "simulate", str(policy), "--on", str(loans), "--against", "default"]
    started = time.perf_counter()
    alama([*command, "--output", str(folder / "page.html")])
    return time.perf_counter() - started


def _decisions(timed: Mapping[str, Timed], simulated_s: float) -> str:
    head = ["decision, limit, term and price by", "median, us", "p90, us", "beside scoring"]
    rows = [
        [name, f"{one.median_us:.0f}", f"{one.p90_us:.0f}", page.times(one.beside_scoring)]
        for name, one in timed.items()
    ]
    rate = f"{SIMULATED:,} applications by two policies, page included: {simulated_s:.1f} s."
    return f"{page.table(head, rows)}\n\n`alama policy simulate` on {rate}"


if __name__ == "__main__":
    sys.exit(main())
