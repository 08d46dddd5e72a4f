"""What a night does with Alama: score the applications of a day, and tell what became of loans.

Either may be done again, however it was broken off: nobody is scored twice. It runs without
Airflow too: `python batch.py score 2026-11-17`, then `dbt build`, then `python batch.py post`.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from alama_client import Alama, InvalidApplication

FIELDS = (  # noqa: SIM905  a line of words reads best
    "applicant_ref mm_months avg_inflow avg_outflow avg_balance balance_stability counterparties "
    "tx_frequency weekend_activity airtime_avg airtime_freq airtime_regularity device_type "
    "device_age_months requested_amount requested_term_days loan_purpose region"
).split()

NEW = f"""
SELECT application_id, {", ".join(FIELDS)} FROM stg_applications
WHERE applied_on = ? AND application_id NOT IN (SELECT application_id FROM decisions)
ORDER BY application_id"""

NEWS = "SELECT request_id, outcome, since, disbursed_amount, repaid_amount FROM outcomes_to_post"

POSTED_AT_ONCE = 1_000  # as many as one request may have


def score(day: str) -> None:
    """Score the applications of a day that have no decision yet, and keep each as it comes.

    Who was scored and not kept, because this was killed between, has the same score again by the
    idempotency key, for 72 hours.
    """
    with warehouse() as run, service() as alama:
        names: list[str] = []
        bodies: list[dict[str, Any]] = []
        keys: dict[int, str] = {}
        for name, *values in run(NEW, day):
            body = {field: v for field, v in zip(FIELDS, values, strict=True) if v is not None}
            names.append(name)
            bodies.append(body)
            keys[id(body)] = f"{name} {day}"
        answers = alama.score_many(
            bodies, expand=("model", "policy"), key_of=lambda body: keys[id(body)]
        )
        for row in answers:
            if isinstance(row.error, InvalidApplication):  # stays so until somebody mends the row
                broken = row.error.errors[0]
                kept: list[Any] = [None] * 8 + [f"{broken.field}: {broken.code}"]
            else:
                said = row.result()  # or raises: the rest is for the next attempt
                kept = [said.request_id, said.score, said.tier, said.default_probability]
                kept += [said.decision, said.recommended_limit, said.model, said.policy, None]
            run(f"INSERT INTO decisions VALUES (?, ?{', ?' * 9})", names[row.index], day, *kept)
    print(f"{len(names)} applications of {day}")


def post() -> None:
    """Tell Alama what it has not been told yet of the loans that it decided on."""
    with warehouse() as run, service() as alama:
        news = run(NEWS)
        for start in range(0, len(news), POSTED_AT_ONCE):
            part = news[start : start + POSTED_AT_ONCE]
            results = alama.record_outcomes(
                {
                    "request_id": request_id,
                    "outcome": outcome,
                    "date": since.isoformat(),
                    "disbursed_amount": disbursed,
                    "repaid_amount": repaid,
                }
                for request_id, outcome, since, disbursed, repaid in part
            )
            for told, answer in zip(part, results, strict=True):
                if answer.result != "in_the_future":  # that is told again when its day has come
                    run("INSERT INTO outcomes_posted VALUES (?, ?, ?, ?)", *told[:3], answer.result)
    print(f"{len(news)} outcomes")


def service() -> Alama:
    return Alama(os.environ["SCORING_URL"], os.environ["SCORING_KEY"], total_timeout=20)


@contextmanager
def warehouse() -> Iterator[Callable[..., list[tuple[Any, ...]]]]:
    """Open what profiles.yml names, by the same variables; every statement is committed at once."""
    if os.environ.get("WAREHOUSE") == "postgres":
        import psycopg2

        connection, mark = psycopg2.connect(""), "%s"  # PGHOST and the like
        connection.autocommit = True
    else:
        import duckdb

        file = os.environ.get("WAREHOUSE_FILE", "warehouse.duckdb")
        connection, mark = duckdb.connect(file), "?"

    def run(statement: str, *values: object) -> list[tuple[Any, ...]]:
        with closing(connection.cursor()) as cursor:
            cursor.execute(statement.replace("?", mark), values)
            return cursor.fetchall() if statement.lstrip().startswith("SELECT") else []

    with closing(connection):
        yield run


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["score", day]:
            score(day)
        case ["post"]:
            post()
        case _:
            sys.exit(__doc__)
