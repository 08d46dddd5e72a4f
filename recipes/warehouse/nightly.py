"""The night of a lender: score the day's applications, build the warehouse, post outcomes.

A run is named by its logical date, and may be repeated: see batch.py. Applicants' data goes from
the warehouse to Alama and back, never through Airflow's own database.
"""

from datetime import UTC, datetime
from pathlib import Path

import batch
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import CronDataIntervalTimetable, dag, task


@dag(
    schedule=CronDataIntervalTimetable("0 1 * * *", timezone="UTC"),  # for the day before
    start_date=datetime(2026, 11, 17, tzinfo=UTC),
    catchup=True,  # a night that was missed is done later, as its own day
    max_active_runs=1,
    default_args={"retries": 3},
)
def alama_nightly() -> None:
    @task
    def score(ds: str) -> None:
        batch.score(ds)

    @task
    def post() -> None:
        batch.post()

    build = BashOperator(
        task_id="build",
        bash_command="dbt build --exclude resource_type:seed",
        cwd=str(Path(__file__).parent),
    )
    score() >> build >> post()


alama_nightly()
