"""One decision, wherever it is asked for: core, the service, its records, files, simulations."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.app.cli import main
from alama.core.application import Application, Value
from alama.core.assess import assess
from alama.core.catalogue import Catalogue, Field, Kind
from alama.core.intake import Intake
from alama.core.lending import draft
from alama.core.lending.draft import default_policy
from alama.core.lending.policy import Affordability, Decision, Policy, Sufficiency
from alama.core.lending.policy_check import seal
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.lending.simulation import Case, Stance, simulate
from alama.core.model import ReadyModel
from alama.lenders.records import Key
from alama.platform.book import USUAL_SCOPES
from alama.platform.files.packaged import builtin, languages
from alama.platform.http.exchange import Arrival
from alama.scoring import api as scoring_api
from alama.scoring import scores_api
from alama.scoring.directory import ActiveModel, Caller
from alama.scoring.records import Earlier, Entry
from alama.scoring.scoring import Scoring
from alama.scoring.sequels import Sequel
from tests.applications import random_application
from tests.entries import DEMO, NOON_US, a_request_id, nothing_stored
from tests.factories import a_model, write_model
from tests.policies import one_of, random_policy
from tests.tries import tries
from tests.vaults import a_vault, to_be_kept

APPLICATIONS = 25
VAULT = a_vault()


class Said(NamedTuple):
    """What is decided about an application."""

    score: int
    default_probability: float
    tier: str
    decision: str
    limit: float
    term_days: int
    apr: float
    rules: tuple[str, ...]


@dataclass(frozen=True)
class Question:
    """Applications to a policy; `names` are the names of the fields as their owner spells them."""

    policy: ReadyPolicy
    names: tuple[str, ...]
    applications: tuple[Application, ...]

    @property
    def model(self) -> ReadyModel:
        return self.policy.model

    def answers(self) -> list[Said]:
        """What the core says, by which the others are measured."""
        said = [assess(self.model, self.policy, one) for one in self.applications]
        return [
            Said(
                one.score,
                one.default_probability,
                one.tier,
                one.decision.value,
                one.offer.limit,
                one.offer.term_days,
                one.offer.apr,
                one.rules,
            )
            for one in said
        ]


@cache
def ready_model(seed: int, currency: str) -> ReadyModel:
    """Give one of a few models; seed 0 is the built-in one."""
    return ReadyModel(a_model(seed, pairs=8) if seed else builtin(), currency)


def random_question(seed: int) -> Question:
    rng = np.random.default_rng(seed)
    currency = one_of(rng, "KES", "KES", "UGX")
    model = ready_model(int(rng.integers(0, 6)), currency)
    drawn = default_policy(currency) if rng.random() < 0.3 else random_policy(rng)
    policy = seal(msgspec.structs.replace(drawn, currency=currency, id=""))
    respelled = rng.random() < 0.5
    names = tuple(
        (field.other_spelling if respelled else None) or field.name
        for field in model.catalogue.fields
    )
    # Some fields are known to no one: their columns are missing from the file.
    unknown = {
        field.name for field in model.catalogue.fields if not field.required and rng.random() < 0.2
    }
    applications = tuple(
        sound(model.catalogue, random_application(rng, model), unknown) for _ in range(APPLICATIONS)
    )
    return Question(ReadyPolicy(policy, model), names, applications)


def sound(catalogue: Catalogue, application: Application, unknown: set[str]) -> Application:
    """Give the application with whole numbers where they belong, and without some fields."""
    pairs = zip(catalogue.fields, application.values, strict=True)
    return Application(
        tuple(None if field.name in unknown else _whole(field, value) for field, value in pairs)
    )


def _whole(field: Field, value: Value) -> Value:
    if value is None or field.kind is not Kind.INTEGER:
        return value
    return max(int(value), int(field.minimum or 0))


QUESTIONS = st.integers(0, 2**32 - 1).map(random_question)


def test_the_questions_meet_every_decision_and_loans_both_asked_for_and_not() -> None:
    questions = [random_question(seed) for seed in range(30)]
    answers = [said for question in questions for said in question.answers()]
    assert {said.decision for said in answers} == set(Decision)
    assert any(len(said.rules) > 1 for said in answers)
    assert any(rule.startswith("rule_") for said in answers for rule in said.rules)
    asked = {
        application.values[question.policy.amount_place or 0] is not None
        for question in questions
        for application in question.applications
    }
    assert asked == {True, False}


# ---------------------------------------------------------------------------------- the service


@given(QUESTIONS)
@tries(100)
def test_the_service_replies_and_records_what_the_core_says(question: Question) -> None:
    replies, kept = asyncio.run(served(question))
    answers = question.answers()
    assert [as_replied(msgspec.json.decode(reply)) for reply in replies] == answers
    assert [as_stored(entry) for entry in kept] == answers
    records = [
        msgspec.json.decode(
            scores_api.score_record(entry.score, to_be_kept(entry), Sequel(None, None))
        )
        for entry in kept
    ]
    assert [as_replied(record) for record in records] == answers


class Keeper:
    """A ledger that has kept an entry as soon as it is appended."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    async def append(self, entry: object) -> Earlier | None:
        if isinstance(entry, Entry):  # a question about a borrower finds nobody
            self.entries.append(entry)
        return None


async def served(question: Question) -> tuple[list[bytes], list[Entry]]:
    keeper = Keeper()
    scoring = Scoring(keeper, VAULT, nothing_stored)
    key = Key("key_1", DEMO.lender, DEMO.mode, b"", "abcd", USUAL_SCOPES, NOON_US)
    intake = Intake(question.model.catalogue)
    active = ActiveModel(question.model, question.policy, intake=intake)
    caller = Caller(key, DEMO, active, VAULT.ring(DEMO.lender))
    with_offer = scoring_api.expanded(frozenset({"offer"}), languages()[0])
    replies = []
    for application in question.applications:
        arrival = Arrival(a_request_id(), NOON_US, time.perf_counter())
        sent = dict(zip(question.names, application.values, strict=True))
        body = msgspec.json.encode({name: v for name, v in sent.items() if v is not None})
        answer = await scoring.score(caller, arrival, body, with_offer, None)
        replies.append(answer.reply)
    return replies, keeper.entries


def as_replied(reply: dict[str, Any]) -> Said:
    return as_named(reply, tuple(reply["offer"]["rules"]))


def as_stored(entry: Entry) -> Said:
    return as_named(entry.score._asdict(), to_be_kept(entry).assessment.rules)


def as_named(parts: dict[str, Any], rules: tuple[str, ...]) -> Said:
    """Read what goes by the same names in replies, columns of the database and of files."""
    return Said(
        parts["score"],
        parts["default_probability"],
        parts["tier"],
        parts["decision"],
        parts["recommended_limit"],
        parts["recommended_term_days"],
        parts["recommended_apr"],
        rules,
    )


# ---------------------------------------------------------------------------------------- files


@given(QUESTIONS, st.sampled_from([".csv", ".parquet"]))
@tries(60)
def test_a_file_is_decided_on_as_the_core_says(
    tmp_path_factory: pytest.TempPathFactory, question: Question, ending: str
) -> None:
    folder = tmp_path_factory.mktemp("decisions")
    model, policy = folder / "model.json", folder / "policy.toml"
    loans, out = folder / f"loans{ending}", folder / f"decisions{ending}"
    write_model(question.model.model, model)
    policy.write_text(draft.write(question.policy.policy))
    write(table_of(question), loans)

    options = ["--model", str(model), "--policy", str(policy), "--out", str(out)]
    assert main(["score", str(loans), *options]) == 0

    found = read(out).to_pylist()
    rules = [tuple(filter(None, row["rules"].split(";"))) for row in found]
    assert list(map(as_named, found, rules)) == question.answers()


def table_of(question: Question) -> pa.Table:
    """Give the applications as a table; a field that none of them gives has no column."""
    kinds = {Kind.WORD: pa.string(), Kind.INTEGER: pa.int64(), Kind.NUMBER: pa.float64()}
    by_field = zip(*(application.values for application in question.applications), strict=True)
    columns = {
        name: pa.array(list(values), kinds[field.kind])
        for name, field, values in zip(
            question.names, question.model.catalogue.fields, by_field, strict=True
        )
        if any(value is not None for value in values)
    }
    return pa.table(columns)


def write(table: pa.Table, path: Path) -> None:
    if path.suffix == ".csv":
        pyarrow.csv.write_csv(table, path)
    else:
        pyarrow.parquet.write_table(table, path)


def read(path: Path) -> pa.Table:
    if path.suffix == ".parquet":
        return pyarrow.parquet.read_table(path)
    # A column of nothing but empty text would be guessed to be one of nulls.
    words = pyarrow.csv.ConvertOptions(column_types={"rules": pa.string()})
    return pyarrow.csv.read_csv(path, convert_options=words)


# ---------------------------------------------------------------------------------- simulations


@given(QUESTIONS)
@tries(100)
def test_a_simulation_decides_as_the_core_says(question: Question) -> None:
    answers = question.answers()
    cases = [Case(str(row), application) for row, application in enumerate(question.applications)]
    shown: dict[str, Stance] = {}
    for other in (a_refusing_policy(question), a_generous_policy(question)):
        simulation = simulate(question.model, question.policy, other, cases)
        shown |= {switch.reference: switch.old for switch in simulation.switches}
        old = simulation.old
        assert Counter(old.total.decisions) == Counter(said.decision for said in answers)
        assert old.rules == Counter(rule for said in answers for rule in said.rules)
        assert old.scores == Counter(said.score for said in answers)
        in_tiers = Counter({tier: figures.count for tier, figures in old.tiers.items()})
        assert in_tiers == Counter(said.tier for said in answers)

    # It shows who changes decision, one by one: all that the policy does not decline, and more.
    kept_declined = {str(row) for row, said in enumerate(answers) if said.decision == "DECLINED"}
    assert {case.reference for case in cases} - shown.keys() <= kept_declined
    for row, stance in shown.items():
        assert as_simulated(stance) == answers[int(row)]._replace(default_probability=0.0)


def as_simulated(stance: Stance) -> Said:
    """Read a stance, which leaves the probability out."""
    return Said(
        stance.score,
        0.0,
        stance.tier,
        stance.decision.value,
        stance.limit,
        stance.term_days,
        stance.apr,
        stance.rules,
    )


def a_refusing_policy(question: Question) -> ReadyPolicy:
    """Give the policy as one that declines everybody."""
    policy = question.policy.policy
    tiers = tuple(msgspec.structs.replace(t, decision=Decision.DECLINED) for t in policy.tiers)
    return ready(question, policy, tiers=tiers)


def a_generous_policy(question: Question) -> ReadyPolicy:
    """Give the policy as one that approves nearly everybody who has any money left."""
    policy = question.policy.policy
    best = msgspec.structs.replace(
        policy.tiers[0], score_min=300, decision=Decision.APPROVED, inflow_share=1.0
    )
    return ready(
        question,
        policy,
        tiers=(best,),
        rules=(),
        affordability=Affordability(existing_repayments_share=0.0),
        sufficiency=Sufficiency(),
    )


def ready(question: Question, policy: Policy, **changes: Any) -> ReadyPolicy:
    return ReadyPolicy(seal(msgspec.structs.replace(policy, id="", **changes)), question.model)
