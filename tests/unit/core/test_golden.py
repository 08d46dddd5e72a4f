"""Decisions of the past are replayed to the last bit by every later version."""

import json
from pathlib import Path

import pytest

from alama.core import model
from alama.core.application import read
from alama.core.assess import explain_score
from tests.golden.make import reply

FOLDER = Path(__file__).parents[2] / "golden"
CORPUS = [json.loads(line) for line in (FOLDER / "corpus.jsonl").read_text().splitlines()]
MODEL = model.decode((FOLDER / "model.json").read_bytes())
READY = {None: model.ReadyModel(MODEL), "UGX": model.ReadyModel(MODEL, "UGX")}


def test_every_answer_is_the_one_that_was_given(subtests: pytest.Subtests) -> None:
    for number, entry in enumerate(CORPUS):
        with subtests.test(number=number):
            application = read(MODEL.catalogue, entry["request"])
            assert reply(explain_score(READY[entry["currency"]], application)) == entry["reply"]


def test_both_cards_and_many_scores_are_in_the_corpus() -> None:
    assert {entry["reply"]["card"] for entry in CORPUS} == {"compact", "full"}
    assert len({entry["reply"]["score"] for entry in CORPUS}) > 80
