from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from alama.core.lending import draft
from alama.core.lending.policy import Decision, Rule
from alama.lenders import installation as wiring
from alama.lenders.installation import Installation
from alama.lenders.records import Signed
from alama.onboarding.store import Stores
from alama.platform import clock, settings
from alama.platform.book import Book, Mode
from alama.platform.errors import StoreUnfit
from alama.platform.files.packaged import builtin
from alama.policies import policies
from alama.scoring import replay
from alama.scoring.records import Sealed, StoredScore, UnknownScore
from alama.scoring.replay import Difference, Record
from alama.scoring.store import Scores
from tests.lending import open_live
from tests.onboarded import a_pilot
from tests.policies import with_parts
from tests.stored import give_score


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    installation = wiring.open_installation(settings.Settings(home=str(tmp_path)))
    yield installation
    installation.close()


@pytest.fixture
def record(opened: Installation) -> Record:
    stored = replay.find(opened.registry, Scores.at(opened), give_score())
    return replay.recall(opened.registry, opened.vault, stored)


def forged(record: Record, **changes: object) -> Record:
    assessment = msgspec.structs.replace(record.sealed.assessment, **changes)
    return record._replace(sealed=Sealed(record.sealed.application, assessment))


def test_a_score_is_found_in_whichever_book_it_is(opened: Installation) -> None:
    open_live(opened.registry, Book("demo", Mode.LIVE))
    for mode in Mode:
        request_id = give_score(mode=mode)
        row = replay.find(opened.registry, Scores.at(opened), request_id).row
        assert (row.request_id, row.mode) == (request_id, mode)
    with pytest.raises(UnknownScore):
        replay.find(opened.registry, Scores.at(opened), "req_" + "0" * 28)


def test_a_stored_score_is_given_again_to_the_last_bit(record: Record) -> None:
    assert replay.replay(record) == ()


def test_a_score_of_the_days_when_a_word_held_any_character_is_given_again(record: Record) -> None:
    sent = msgspec.json.decode(record.sealed.application, type=dict[str, object])
    old = msgspec.json.encode({**sent, "applicant_ref": "a\x1b[2Jb"})
    assert replay.replay(record._replace(sealed=Sealed(old, record.sealed.assessment))) == ()


def test_a_score_that_was_held_is_given_again_as_it_was_held(opened: Installation) -> None:
    book = Book("demo", Mode.TEST)
    bounded = with_parts(draft.default_policy("KES"), daily={"volume_max": 0.0})
    text = draft.write(bounded).encode()
    policies.activate(opened.registry, book, text, Signed(clock.wall_us()), builtin)
    policies.pause(opened.registry, clock.wall_us, book, "payments are down")
    stored = replay.find(opened.registry, Scores.at(opened), give_score())
    opened.registry.resume(book)
    policies.reactivate(opened.registry, book, "default", Signed(clock.wall_us()), builtin)
    held = replay.recall(opened.registry, opened.vault, stored)
    assert stored.row.decision == Decision.REVIEW
    assert held.sealed.assessment.holds == (Rule.PAUSED, Rule.DAILY_VOLUME)
    assert replay.replay(held) == ()


def test_a_score_of_a_shadow_is_given_again_once_a_model_answers(opened: Installation) -> None:
    stores, live = Stores.at(opened), Book("demo", Mode.LIVE)
    stores.pilots.set(a_pilot())
    stores.pilots.begin_shadow("demo", clock.wall_us(), "W. Mutua")
    stored = replay.find(opened.registry, Scores.at(opened), give_score(mode=Mode.LIVE))
    open_live(opened.registry, live)
    held = replay.recall(opened.registry, opened.vault, stored)
    assert (stored.row.decision, stored.row.mode) == (Decision.REVIEW, "live")
    assert held.sealed.assessment.holds == (Rule.SHADOW,)
    assert replay.replay(held) == ()


def test_a_score_from_before_bands_were_kept_is_given_again(record: Record) -> None:
    packed = msgspec.msgpack.decode(msgspec.msgpack.encode(record.sealed))
    del packed["assessment"]["slots"]
    older = msgspec.msgpack.decode(msgspec.msgpack.encode(packed), type=Sealed)
    assert replay.replay(record._replace(sealed=older)) == ()


def test_a_band_that_differs_is_a_difference(record: Record) -> None:
    first, *others = record.sealed.assessment.slots
    (found,) = replay.replay(forged(record, slots=(first + 1, *others)))
    assert found == Difference("slots", (first + 1, *others), (first, *others))


def test_the_smallest_difference_is_named_by_its_part(record: Record) -> None:
    said = record.sealed.assessment
    price = msgspec.structs.replace(said.offer.price, margin=said.offer.price.margin + 0.01)
    offer = msgspec.structs.replace(said.offer, price=price)
    first, *others = said.contributions
    moved = msgspec.structs.replace(first, points=first.points + 1e-12)
    assert replay.replay(forged(record, offer=offer, contributions=(moved, *others))) == (
        Difference("offer.price.margin", price.margin, said.offer.price.margin),
        Difference(f"points of {first.feature}", moved.points, first.points),
    )


def test_contributions_that_come_and_go_are_differences_too(record: Record) -> None:
    first, *others = record.sealed.assessment.contributions
    names = [one.feature for one in others]
    found = replay.replay(forged(record, contributions=tuple(others)))
    assert found == (
        Difference("contributions", names, [first.feature, *names]),
        Difference(f"points of {first.feature}", None, first.points),
        Difference(f"value of {first.feature}", None, first.value),
    )


@pytest.mark.parametrize(
    ("column", "wrong"),
    [
        ("score", 300),
        ("tier", "Z"),
        ("default_probability", 0.5),
        ("decision", "MAYBE"),
        ("recommended_limit", 1.0),
        ("recommended_term_days", 1),
        ("recommended_apr", 1.0),
        ("expected_loss", -1.0),
    ],
)
def test_a_column_must_say_what_the_assessment_says(
    record: Record, column: str, wrong: object
) -> None:
    (found,) = replay.replay(record._replace(row=record.row._replace(**{column: wrong})))  # type: ignore[arg-type]
    assert (found.part, found.stored) == (f"column {column}", wrong)
    assert found.replayed == getattr(record.row, column)


def test_a_record_without_its_model_or_with_damage_is_unfit(
    opened: Installation, record: Record
) -> None:
    row = record.row
    cut = StoredScore(row._replace(sealed=row.sealed[:-1]), None)
    with pytest.raises(StoreUnfit, match="is damaged"):
        replay.recall(opened.registry, opened.vault, cut)
    orphan = StoredScore(row._replace(model_id="sha256:0"), None)
    with pytest.raises(StoreUnfit, match="does not hold sha256:0"):
        replay.recall(opened.registry, opened.vault, orphan)
