from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import msgspec
import numpy as np
import pytest

from alama.core import model as models
from alama.core.catalogue import Catalogue, Field, Kind
from alama.core.model import Model
from alama.training.recipe import CardNotes, ConstraintPrice, Stage, WithheldGain
from alama.training.validation.peers import beside_peers
from alama.training.validation.report import render
from alama.training.validation.unseen import Unseen
from alama.training.validation.validate import Validation, validate
from tests.coarse import coarse_training
from tests.factories import a_dataset, a_model

# One worker makes what the tests here share, once.
pytestmark = pytest.mark.xdist_group("report")

HOSTILE = '<script>alert("&")</script>'


def notes_for(model: Model) -> list[CardNotes]:
    return [
        CardNotes(
            card=card.name,
            stages=(
                Stage("floor", 0.77, 0.334),
                Stage("chosen", 0.78, 0.331),
                Stage("projected", 0.779, 0.332),
            ),
            prices=(ConstraintPrice(card.features[0].field, 2e-5),),
            withheld=(WithheldGain(card.features[0].field, 0.1, 3.0),),
            slope=1.01,
        )
        for card in model.cards
    ]


def validated(model: Model, rows: int = 2_000) -> Validation:
    return validate(apart(model, rows), notes_for(model), seed=5, draws=10)


def apart(model: Model, rows: int) -> Unseen:
    return Unseen.set_apart(model, *(a_dataset(model, seed=seed, rows=rows) for seed in (1, 2)))


@pytest.fixture(scope="module", autouse=True)
def coarse() -> Iterator[None]:
    """The page is the same whatever the peers have learnt from."""
    with coarse_training():
        yield


@pytest.fixture(scope="module")
def model() -> Model:
    return a_model(7, pairs=5)


@pytest.fixture(scope="module", params=["set apart, beside peers", "out of fold"])
def page(model: Model, request: pytest.FixtureRequest) -> str:
    if request.param == "out of fold":
        return render(model, judged_out_of_fold(model), notes_for(model))
    beside = beside_peers(validated(model), apart(model, 2_000), seed=5, draws=10)
    return render(model, beside, notes_for(model))


def judged_out_of_fold(model: Model) -> Validation:
    folds = (np.arange(3_000) % 2).astype(np.int8)
    unseen = Unseen.out_of_fold(model, (model, model), a_dataset(model, rows=3_000), folds)
    return validate(unseen, notes_for(model), seed=5, draws=10)


def words(page: str) -> str:
    return " ".join(page.split())


def test_the_page_says_what_judged(model: Model) -> None:
    apart_page = words(render(model, validated(model), notes_for(model)))
    folded_page = words(render(model, judged_out_of_fold(model), notes_for(model)))
    assert "were set apart: no step of its making has seen them" in apart_page
    assert "dealt into 2 folds" in folded_page
    assert "All figures on the out-of-fold rows" in folded_page
    assert "hold-out" not in folded_page
    assert "out-of-fold rows" not in apart_page
    assert "scored out of fold by the full card" in folded_page
    assert "hold-out rows against training rows" in apart_page


def test_what_each_step_of_the_making_is_stands_in_words(page: str) -> None:
    assert "floor: weights of evidence" in page
    assert "All figures are out of fold" in words(page)


def test_peers_are_shown_where_they_were_measured_and_else_how_to_get_them(model: Model) -> None:
    alone = validated(model)
    without = words(render(model, alone, []))
    beside = words(render(model, beside_peers(alone, apart(model, 2_000), seed=5, draws=10), []))
    assert "<code>alama train --peers</code> does" in without
    assert "boosted forests" not in without
    assert "Against a forest" not in without
    assert "Against a forest" in beside
    assert "alama train --peers" not in beside


class _Strict(HTMLParser):
    """Collects links and fails on an element closed out of turn."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.anchors: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(tag, attrs)
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def _note(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        for name, value in attrs:
            assert not name.startswith("on"), name
            if name in ("href", "src", "xlink:href"):
                self.links.append(value or "")
            if name == "id":
                self.anchors.add(value or "")


def parsed(page: str) -> _Strict:
    parser = _Strict()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return parser


def test_the_page_is_well_formed_html_and_xml(page: str) -> None:
    parsed(page)
    ET.fromstring(page.removeprefix("<!DOCTYPE html>\n"))  # noqa: S314 our own page


def test_the_page_stands_alone(page: str) -> None:
    found = parsed(page)
    assert not found.seen & {"script", "link", "img", "iframe", "object", "embed"}
    assert "http:" not in page
    assert "https:" not in page
    assert "url(" not in page
    assert "@import" not in page
    assert all(link.startswith("#") for link in found.links)
    assert {link[1:] for link in found.links} <= found.anchors


def test_every_drawing_says_what_it_shows(page: str) -> None:
    drawings = re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)
    assert len(drawings) > 20
    for drawing in drawings:
        root = ET.fromstring(drawing)  # noqa: S314 our own page
        assert root.get("role") == "img"
        assert root.get("aria-label")
        assert root.findtext("title")
        assert root.findtext("desc")


def test_every_field_and_every_pair_of_every_card_is_drawn(model: Model, page: str) -> None:
    for card in model.cards:
        for feature in card.features:
            assert page.count(f"<title>Points by {feature.field}</title>") >= 1
        for pair in card.pairs:
            first, second = (card.features[p].field for p in (pair.first, pair.second))
            assert f"<title>Points of {first} × {second}</title>" in page  # noqa: RUF001


def test_no_number_is_printed_that_is_none(page: str) -> None:
    shown = re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
    assert not re.search(r"\b(nan|NaN|inf|Infinity|None)\b", shown)
    assert not re.search(r"[^\w]-0(\.0+)?\b", shown)


def test_the_model_is_named_by_its_id(model: Model, page: str) -> None:
    assert model.id in page
    assert model.lineage.fingerprint in page


def test_the_same_model_gives_the_same_page(model: Model) -> None:
    one, other = (render(model, validated(model), notes_for(model)) for _ in range(2))
    assert one == other


def test_a_hostile_name_is_shown_and_never_run() -> None:
    catalogue = Catalogue(
        fields=(
            Field(name=HOSTILE, kind=Kind.NUMBER, meaning=HOSTILE, unit=HOSTILE),
            Field(name="word", kind=Kind.WORD, meaning="a\x00control\x1bcharacter"),
        )
    )
    model = models.seal(
        msgspec.structs.replace(a_model(1, catalogue=catalogue, pairs=1), name=HOSTILE)
    )
    page = render(model, validated(model), notes_for(model))
    assert "script" not in parsed(page).seen
    assert "&lt;script&gt;" in page
    ET.fromstring(page.removeprefix("<!DOCTYPE html>\n"))  # noqa: S314 our own page


@pytest.mark.parametrize("kind", list(Kind))
def test_a_model_of_one_field_has_a_report(kind: Kind) -> None:
    catalogue = Catalogue(fields=(Field(name="only", kind=kind),))
    model = a_model(2, catalogue=catalogue, pairs=0)
    page = render(model, validated(model, rows=400), [])
    parsed(page)
    assert "Fields that act together" not in page
    assert "How it was made" not in page


def test_tables_that_break_a_direction_are_not_called_proven(model: Model) -> None:
    full = model.cards[-1]
    place = next(p for p, f in enumerate(full.features) if f.field == "mm_months")
    turned = msgspec.structs.replace(
        full.features[place], main=tuple(reversed(full.features[place].main))
    )
    features = (*full.features[:place], turned, *full.features[place + 1 :])
    broken = msgspec.structs.replace(
        model, cards=(model.cards[0], msgspec.structs.replace(full, features=features))
    )
    page = render(broken, validated(model), [])
    assert "safer with more: not proven" in page
    assert "the tables do not keep to it: mm_months" in page
