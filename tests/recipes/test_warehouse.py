"""The recipe for a warehouse, by the commands of its page, against the real service."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.databases import Postgres, sqlite_url
from tests.server import Server

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
RECIPE = ROOT / "recipes" / "warehouse"
README = (RECIPE / "README.md").read_text("utf-8")
_, BUILD, NIGHT, AIRFLOW = re.findall(r"(?:^    .*\n)+", README, re.MULTILINE)
DAY = "2026-11-17"
NEW = 12
"""So many of the seeds are of that day."""
RUN_S_MAX = 300
ASK = """
import batch, json, sys
with batch.warehouse() as run:
    print(json.dumps(run(sys.argv[1]), default=str))
"""


class Warehouse:
    """A copy of the recipe, with a service and a database of its own."""

    def __init__(self, folder: Path, tools: str, server: Server, **settings: str) -> None:
        self.server = server
        self.folder = folder / "recipe"
        made = shutil.ignore_patterns("logs", "macros", "target", ".*", "*.duckdb*", "__pycache__")
        shutil.copytree(RECIPE, self.folder, ignore=made)
        python_path = [str(ROOT / "sdk/python/src"), *os.environ.get("PYTHONPATH", "").split(":")]
        path = [str(ROOT / tools / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
        paths = {"PATH": ":".join(path), "PYTHONPATH": ":".join(filter(None, python_path))}
        self.environment = server.environment | paths | settings | {"NO_COLOR": "1"}

    def add(self, table: str, *rows: dict[str, Any]) -> None:
        with (self.folder / "seeds" / f"{table}.csv").open("a", newline="") as file:
            csv.DictWriter(file, list(rows[0]), lineterminator="\n").writerows(rows)

    def start(self, commands: str, output: Path, **settings: str) -> subprocess.Popen[bytes]:
        """Start a block of the page; what it says goes into a file."""
        here = commands.replace("http://127.0.0.1:8000", self.server.url)
        with output.open("wb") as said:
            return subprocess.Popen(
                ["/bin/sh", "-ec", here],
                cwd=self.folder,
                env=self.environment | settings,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
            )

    def run(self, commands: str, **settings: str) -> str:
        """What a block of the page says; where it fails, the test does."""
        output = self.folder.parent / "output"
        code = self.start(commands, output, **settings).wait(RUN_S_MAX)
        said = output.read_text("utf-8", "replace")
        if code != 0:
            pytest.fail(f"{commands}\n{said[-8000:]}", pytrace=False)
        return said

    def ask(self, question: str) -> list[list[Any]]:
        python = ["python", "-c", ASK, question]
        answer = subprocess.run(
            python, cwd=self.folder, env=self.environment, capture_output=True, check=True
        )
        rows: list[list[Any]] = json.loads(answer.stdout)
        return rows

    def kept(self, key: str) -> dict[str, dict[str, Any]]:
        """Every score that the service keeps, by its id."""
        found: dict[str, dict[str, Any]] = {}
        headers = {"Authorization": f"Bearer {key}"}
        cursor: str | None = ""
        while cursor is not None:
            params = {"limit": "100"} | ({"cursor": cursor} if cursor else {})
            reply = httpx.get(
                f"{self.server.url}/v1/scores", params=params, headers=headers, trust_env=False
            )
            page = reply.raise_for_status().json()
            found |= {score["request_id"]: score for score in page["data"]}
            cursor = page["next_cursor"]
        return found


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(sqlite_url(tmp_path), tmp_path) as server:
        yield server


@pytest.fixture(params=["duckdb", "postgres"])
def warehouse(
    request: pytest.FixtureRequest, server: Server, tmp_path: Path
) -> Iterator[Warehouse]:
    assert (ROOT / ".venv-warehouse/.installed").exists(), "make .venv-warehouse/.installed"
    with ExitStack() as stack:
        settings = {}
        if request.param == "postgres":
            url = urlsplit(stack.enter_context(stack.enter_context(Postgres()).fresh()))
            settings = {
                "WAREHOUSE": "postgres",
                "PGHOST": str(url.hostname),
                "PGPORT": str(url.port),
                "PGUSER": str(url.username),
                "PGPASSWORD": str(url.password),
                "PGDATABASE": url.path.removeprefix("/"),
            }
        yield Warehouse(tmp_path, ".venv-warehouse", server, **settings)


def applications() -> list[dict[str, Any]]:
    """The seeds of the day."""
    with (RECIPE / "seeds" / "raw_applications.csv").open(newline="") as file:
        return [row for row in csv.DictReader(file) if row["applied_on"] == DAY]


def test_a_night_by_hand_says_what_the_service_says(warehouse: Warehouse) -> None:
    broken = applications()[0] | {"application_id": "app-061", "balance_stability": "1.4"}
    warehouse.add("raw_applications", broken)
    today = datetime.now(UTC).date()
    soon = (today + timedelta(days=3)).isoformat()
    early = {"id": "app-059", "paid_out": 6500, "back": 6800, "state": "repaid", "since": soon}
    warehouse.add("raw_repayments", early)
    assert "Completed successfully" in warehouse.run(BUILD)
    said = warehouse.run(NIGHT)
    assert f"{NEW + 1} applications of {DAY}" in said
    assert "\n2 outcomes" in said
    assert "WARN=1" in said  # the broken one, which dbt names
    assert warehouse.ask("SELECT application_id, problem FROM decisions WHERE score IS NULL") == [
        ["app-061", "balance_stability: out_of_range"]
    ]

    key = warehouse.server.key()
    kept = warehouse.kept(key)
    decided = warehouse.ask(
        "SELECT request_id, s.score, s.tier, s.default_probability, decision FROM decisions d "
        "JOIN scores s ON s.application_id = d.application_id WHERE d.score IS NOT NULL"
    )
    parts = ("request_id", "score", "tier", "default_probability", "decision")
    assert len(decided) == len(kept) == NEW
    assert sorted(decided) == sorted([one[part] for part in parts] for one in kept.values())
    assert {tier for _, _, tier, _, _ in decided} == set("ABCDE")
    assert warehouse.ask("SELECT count(*), count(DISTINCT card) FROM scores") == [[61, 2]]

    assert warehouse.ask("SELECT outcome, since, result FROM outcomes_posted") == [
        ["repaid", today.isoformat(), "recorded"]
    ]
    # Told again when its day has come.
    assert warehouse.ask("SELECT outcome, since FROM outcomes_to_post") == [["repaid", soon]]
    sums = (
        "SELECT cast(sum(applications) as integer), cast(sum(defaults) as integer) FROM portfolio"
    )
    assert warehouse.ask(sums) == [[61, 4]]

    # Whoever does the page a second time has the loan once.
    (repaid,) = re.findall(r"^    sed .*$", NIGHT, re.MULTILINE)
    warehouse.run(repaid)
    seeds = (warehouse.folder / "seeds" / "raw_repayments.csv").read_text("utf-8")
    assert seeds.count("\napp-053,") == seeds.count("\napp-053,7500,7800,repaid,") == 1

    # Killed between the service and the warehouse, and done again.
    lost = "DELETE FROM decisions WHERE application_id > 'app-055'"
    assert warehouse.ask(lost) == []
    assert "6 applications" in warehouse.run(
        f"python batch.py score {DAY}", SCORING_KEY=key, SCORING_URL=warehouse.server.url
    )
    assert warehouse.kept(key) == kept
    names = "SELECT request_id FROM decisions WHERE score IS NOT NULL"
    assert {name for (name,) in warehouse.ask(names)} == set(kept)

    # One digit, the last, of one application.
    warehouse.ask(
        "UPDATE decisions SET default_probability = default_probability + 0.000001 "
        "WHERE application_id = 'app-057'"
    )
    compare = "dbt test --select the_service_says_the_same"
    code = warehouse.start(compare, warehouse.folder / "said")
    assert code.wait(RUN_S_MAX) == 1
    assert "Got 1 result, configured to fail" in (warehouse.folder / "said").read_text("utf-8")
    # It is none of the warehouse's where another model has said it.
    warehouse.ask("UPDATE decisions SET model = 'sha256:0' WHERE application_id = 'app-057'")
    warehouse.run(compare)


NEXT_DAY = "2026-11-18"
CHANGE = r"""
alama policy show > policy.toml
sed -i.before 's/score_min = 605/score_min = 615/; s/name = "B"/name = "B-longer"/' policy.toml
sed -i.before 's/"default KES"/"ours"/; s/amount = 10_000/amount = 4_000/' policy.toml
alama policy activate policy.toml
"""


def test_another_policy_leaves_the_nights_before_it_alone(warehouse: Warehouse) -> None:
    warehouse.add(
        "raw_applications",
        *(
            row | {"application_id": f"next-{number}", "applied_on": NEXT_DAY}
            for number, row in enumerate(applications())
        ),
    )
    warehouse.run(BUILD)
    key = warehouse.server.key()
    settings = {"SCORING_KEY": key, "SCORING_URL": warehouse.server.url}
    (build,) = re.findall(r"dbt build --exclude [^\"]+", (RECIPE / "nightly.py").read_text("utf-8"))
    assert "WARN=0" in warehouse.run(f"python batch.py score {DAY}\n{build}", **settings)

    warehouse.run(CHANGE)
    warehouse.server.stop()
    warehouse.server.start()
    said = warehouse.run(f"python batch.py score {NEXT_DAY}\n{build}", **settings)
    assert "WARN=1" in said
    assert f"Got {NEW} results, configured to warn" in said
    assert "in test the_last_day_is_of_this_model_and_policy" in said

    assert "WARN=0" in warehouse.run(f"python refresh.py\n{build}")
    differ = (
        "SELECT count(*) FROM decisions d JOIN scores s ON s.application_id = d.application_id "
        "WHERE (d.score <> s.score OR d.tier <> s.tier) AND d.day = "
    )
    assert warehouse.ask(f"{differ} '{DAY}'") > [[1]]
    assert warehouse.ask(f"{differ} '{NEXT_DAY}'") == [[0]]
    assert ["B-longer"] in warehouse.ask("SELECT DISTINCT tier FROM decisions")
    warehouse.ask("UPDATE decisions SET score = score + 1 WHERE application_id > 'app-059'")
    wrong = warehouse.start(build, warehouse.folder / "said")
    assert wrong.wait(RUN_S_MAX) == 1
    said = (warehouse.folder / "said").read_text("utf-8")
    assert f"Got {NEW} results, configured to fail" in said


MANY = 1_500


@pytest.mark.skipif(
    not (ROOT / ".venv-airflow/.installed").exists(), reason="no Airflow here: `make airflow`"
)
def test_a_night_of_airflow_scores_nobody_twice_though_the_service_is_killed(
    server: Server, tmp_path: Path
) -> None:
    warehouse = Warehouse(tmp_path, ".venv-airflow", server)
    rows = applications()
    warehouse.add(
        "raw_applications",
        *(
            rows[number % NEW] | {"application_id": f"more-{number}", "applicant_ref": f"a{number}"}
            for number in range(MANY)
        ),
    )
    warehouse.run(BUILD)
    key = server.key()
    settings = {
        "SCORING_URL": server.url,
        "SCORING_KEY": key,
        "AIRFLOW__CORE__DEFAULT_TASK_RETRY_DELAY": "1",
    }
    output = tmp_path / "night"
    night = warehouse.start(AIRFLOW, output, **settings)
    wait_for(lambda: len(warehouse.kept(key)) > 100)
    server.kill()
    wait_for(lambda: b"ConnectionFailed" in output.read_bytes())
    assert night.poll() is None
    server.start()
    broken_off = len(warehouse.kept(key))
    assert night.wait(RUN_S_MAX) == 0, output.read_text("utf-8", "replace")[-8000:]
    assert broken_off < MANY + NEW
    kept = warehouse.kept(key)
    names = "SELECT request_id FROM decisions WHERE problem IS NULL"
    assert len(kept) == MANY + NEW
    assert {name for (name,) in warehouse.ask(names)} == set(kept)

    warehouse.run(AIRFLOW.replace("airflow db migrate\n", ""), **settings)
    assert warehouse.kept(key) == kept


def wait_for(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + RUN_S_MAX
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.05)
