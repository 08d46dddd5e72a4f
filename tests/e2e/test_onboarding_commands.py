"""A lender from its loan history to a live key, by commands; and who is stopped on the way."""

from __future__ import annotations

import csv
import functools
import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path

import httpx
import msgspec
import numpy as np
import pytest

from alama.app.cli import EXIT_MISTAKE, main
from alama.onboarding import tasks
from alama.platform.terminal import terminal
from alama.training.history.report import HistoryReport
from alama.training.pilot import PilotOrder
from alama.training.recipe import Recipe
from alama.training.validation.gates import Gate
from bench.onboarding.planted import LEAKING_FIELD, Planted, plant, unnamed
from tests.coarse import coarse_training
from tests.databases import sqlite_url
from tests.e2e.cores import one_core
from tests.e2e.service import COMPACT
from tests.pilots import NOT_NEEDED
from tests.server import Server

ROWS = 6_000

TERMS = ("--name", "Umoja SACCO", "--currency", "KES", "--jurisdiction", "KE", "--four-eyes")
READ = ("--exclude", LEAKING_FIELD, "--by", "A. Wanjiru")
ISSUE = ("keys", "issue", "--lender", "umoja", "--mode", "live")

pytestmark = pytest.mark.xdist_group("onboarding")


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Planted]:
    """The books of a lender, with faults planted in them."""
    folder = tmp_path_factory.mktemp("books")
    clean, spoilt = folder / "clean.csv", folder / "loans.csv"
    make = ["population", "--rows", str(ROWS), "--seed", "5", "--history", "--out", str(clean)]
    assert main([*make, "--closed-on", "2025-08-31"]) == 0
    terminal.stdout.cache_clear()
    terminal.stderr.cache_clear()
    return spoilt, plant(clean, spoilt, NOT_NEEDED)


# ----------------------------------------------------------------------------------- the whole way


def refused(server: Server, *arguments: str) -> str:
    """What a command says that a person has to put right."""
    code, _, said = server.typed(*arguments)
    assert code == EXIT_MISTAKE, said
    return said


def test_a_history_full_of_faults_becomes_a_live_key_and_a_live_score(
    tmp_path: Path, books: tuple[Path, Planted]
) -> None:
    path, planted = books
    home = tmp_path / "home"
    home.mkdir()
    found, page, pack = (str(tmp_path / name) for name in ("found.json", "found.html", "pack.html"))
    walk = ("onboard", "umoja", "--file", str(path))
    with one_core(), coarse_training(), Server(sqlite_url(home), home) as server:
        assert LEAKING_FIELD in refused(server, *walk, *TERMS)

        said = server.alama(*walk, *READ, "--report", page, "--pack", pack)
        assert "all 7 gates passed" in said
        server.alama("onboard", "history", "umoja", "--json", found)
        report = msgspec.json.decode(Path(found).read_bytes(), type=HistoryReport)
        assert unnamed(planted, report) == []

        assert "the step approve is missing" in refused(server, *ISSUE)
        sign = ("onboard", "umoja", "--approve", "--reason", "read the pack", "--by")
        assert "1 more signature is needed" in server.alama(*sign, "W. Mutua")
        assert "has signed this model already" in refused(server, *sign, "w mutua")
        [model_id] = re.findall(r"(sha256:\w+) answers for umoja", server.alama(*sign, "J. Otieno"))

        key = server.alama(*ISSUE).strip()
        reply = httpx.post(
            f"{server.url}/v1/score?expand=model",
            json=COMPACT,
            headers={"Authorization": f"Bearer {key}"},
            trust_env=False,
            timeout=60,
        )
        assert reply.status_code == httpx.codes.OK, reply.text
        assert reply.json()["model"] == model_id

        # Typed once more, nothing is done again.
        assert "6 of 6 steps" in server.alama(*walk, *READ)
        assert "W. Mutua" in server.alama("audit", "log")
    assert all(Path(name).read_text("utf-8").startswith("<!DOCTYPE") for name in (page, pack))


# ----------------------------------------------------------------------------------- who is stopped

Rows = list[dict[str, str]]
LATE = ("largest_days_past_due", "restructured")


def shuffle_labels(rows: Rows) -> None:
    """Repayment has nothing to do with the borrower any more."""
    order = np.random.default_rng(1).permutation(len(rows))
    told = [{name: rows[place][name] for name in LATE} for place in order]
    for row, other in zip(rows, told, strict=True):
        row.update(other)


def shift_the_last_quarter(rows: Rows) -> None:
    """In the last three months other people apply: richer, and with older wallets."""
    last = max(date.fromisoformat(row["applied_on"]) for row in rows)
    since = str(last - timedelta(days=91))
    for row in rows:
        if row["applied_on"] >= since:
            row["avg_inflow"] = str(6.0 * float(row["avg_inflow"] or 0.0))
            row["mm_months"] = str(min(int(row["mm_months"] or 0) + 60, 600))


def leave(rows: Rows) -> None:
    """Change nothing."""
    del rows


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Train coarsely: what stops a model here is not a matter of finesse."""
    coarse = Recipe(portable=False, learning_rate=0.4, folds=3)
    monkeypatch.setattr(tasks, "PilotOrder", functools.partial(PilotOrder, recipe=coarse))
    with coarse_training():
        yield


@pytest.mark.long
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("spoil", "decided", "gate"),
    [
        (shuffle_labels, ("--exclude", LEAKING_FIELD), Gate.DISCRIMINATION),
        (leave, ("--keep", LEAKING_FIELD), Gate.LEAKAGE),
        (shift_the_last_quarter, ("--exclude", LEAKING_FIELD), Gate.STABILITY),
    ],
    ids=["labels are shuffled", "a leaking field is kept", "the last quarter has shifted"],
)
def test_a_model_that_nobody_should_lend_by_is_blocked_by_the_gate_made_for_it(
    spoil: Callable[[Rows], None],
    decided: tuple[str, ...],
    gate: Gate,
    books: tuple[Path, Planted],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    path = tmp_path / "loans.csv"
    with books[0].open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["largest_days_past_due"].isdigit()]
    spoil(rows)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    assert main(["onboard", "demo", "--file", str(path), *decided, "--jobs", "1"]) == 1
    [failed] = [line for line in capsys.readouterr().out.splitlines() if line.startswith(gate)]
    assert "FAILED" in failed
    approve = ["onboard", "approve", "demo", "--by", "W. Mutua", "--reason", "we need it"]
    assert main(approve) == EXIT_MISTAKE
    assert f"{gate}: " in capsys.readouterr().err
    assert main(["keys", "issue", "--lender", "demo", "--mode", "live"]) == EXIT_MISTAKE
    assert "the step validate is missing" in capsys.readouterr().err
