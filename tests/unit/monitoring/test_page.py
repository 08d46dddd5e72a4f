from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from msgspec.structs import replace

from alama.core.monitoring.figures import (
    BandShare,
    CardStability,
    MonitoringReport,
    Moved,
    Movement,
    WindowFigure,
)
from alama.core.monitoring.rates import Loans, rate
from alama.monitoring import page as monitoring_page
from alama.monitoring.page import headline
from tests.reports import report, scored, states

STATES = states()
HOSTILE = '<script>alert("&")</script>'
SPACE = "\N{NARROW NO-BREAK SPACE}"


def render(found: MonitoringReport) -> str:
    """The page, its lines joined as a browser joins them."""
    return re.sub("[ \n]+", " ", monitoring_page.monitoring_page(found))


@pytest.mark.parametrize("state", STATES)
def test_the_page_is_well_formed_and_asks_for_nothing(state: str) -> None:
    page = render(STATES[state])
    ET.fromstring(page.removeprefix("<!DOCTYPE html>\n"))  # noqa: S314  our own page
    assert "<script" not in page
    assert not re.search(r"(?:src|href)=\"(?!#)", page)
    assert "nan" not in page


@pytest.mark.parametrize("state", STATES)
def test_every_entry_of_the_contents_has_its_section(state: str) -> None:
    page = render(STATES[state])
    linked = re.findall(r'href="#(\w+)"', page)
    assert linked == re.findall(r'<section id="(\w+)"', page)
    assert linked[0] == "look"
    assert ("scores" in linked) == (state != "empty")


def test_the_headline_says_how_the_book_goes() -> None:
    said = {state: headline(found) for state, found in STATES.items()}
    assert said == {
        "empty": "There is nothing to look at yet",
        "no_outcomes": "Nothing to act on; one thing to watch",
        "young": "Nothing to act on; one thing to watch",
        "healthy": "Nothing stands out",
        "troubled": "Two things to act on",
    }


@pytest.mark.parametrize("state", STATES)
def test_what_to_look_at_stands_in_words_before_any_figure(state: str) -> None:
    found = STATES[state]
    page = render(found)
    first = found.findings[0].says
    assert page.index(first.split("`")[0].replace("'", "&#39;")) < page.index('id="volume"')


def test_a_rate_stands_beside_what_was_predicted() -> None:
    page = render(STATES["troubled"])
    assert f"16.6{SPACE}%" in page
    assert f"9.2{SPACE}% was predicted: more than predicted." in page
    assert 'class="dot-off"' in page
    assert 'class="dot-off"' not in render(STATES["healthy"])


def test_each_product_has_its_line_and_a_book_without_products_has_none() -> None:
    page = render(STATES["troubled"])
    row = re.search(r"<tr>(?:(?!</tr>).)*weekly.*?</tr>", page)
    assert row is not None
    cells = [re.sub("<.*?>", "", cell).strip() for cell in re.findall("<t[dh].*?</t[dh]>", row[0])]
    assert cells[0] == "weekly (no longer offered)"
    assert "15.0%" in "".join(cells[1:]).replace(SPACE, "").replace("\N{NO-BREAK SPACE}", "")
    assert "higher" in cells
    assert '<section id="products"' not in render(STATES["healthy"])


def test_a_field_that_moved_is_drawn_band_by_band() -> None:
    page = render(STATES["troubled"])
    assert "What moved, band by band" in page
    assert "avg_inflow, now and in training" in page
    assert "From window to window" in page
    assert "The two that moved most, band by band" in render(STATES["healthy"])


def test_young_months_are_said_to_be_young() -> None:
    assert "(young)" in render(STATES["healthy"])
    assert "none of them is mature" in render(STATES["young"])


def test_a_long_period_is_drawn_by_the_week() -> None:
    page = render(report(scored(days=200), days=200))
    assert "Scores by week" in page
    assert "Scores by day" not in page


def test_words_of_others_are_shown_as_text() -> None:
    found = _with_words(STATES["healthy"], HOSTILE)
    page = render(replace(found, lender=HOSTILE))
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def _with_words(found: MonitoringReport, word: str) -> MonitoringReport:
    """Let a field of words be the one that moved most."""
    bands = (
        BandShare(None, None, (word,), 0.5, 0.2),
        BandShare(None, None, (), 0.3, 0.3),
        BandShare(None, None, None, 0.2, 0.5),
    )
    card = found.stability[0]
    moved = Moved("loan_purpose", 0.9, 0.1, Movement.MOVED, bands)
    return replace(found, stability=(replace(card, fields=(moved, *card.fields)),))


def test_a_field_of_two_cards_is_counted_once_and_the_score_is_no_field() -> None:
    found = STATES["troubled"]
    (card,) = found.stability
    page = render(replace(found, stability=(card, replace(card, card="compact"))))
    names = {one.name for one in card.fields}
    (tile,) = re.findall(r"Fields that moved.{0,200}", page)
    assert re.findall(r">([^<> ][^<>]*)<", tile)[:2] == ["1", f"of {len(names)} looked at"]


def test_a_month_without_loans_has_none_yet_and_none_has_too_few() -> None:
    page = render(STATES["healthy"])
    assert re.search(r"2026-11 \(young\)(?:(?!</tr>).)*none yet", page)
    assert ">too few<" not in page
    assert ">Approved at once<" in page
    assert ">Of these known<" in page


def test_a_rate_of_too_few_loans_has_a_dot_and_no_interval_that_would_not_fit() -> None:
    found = STATES["healthy"]
    first, *others = found.rates.months
    few = replace(first, rate=rate(Loans(5, 0, 0.5)))
    rates = replace(found.rates, months=(few, *others))
    drawn = [
        re.findall(r"<svg(?:(?!</svg>).)*Default rate by month.*?</svg>", render(one))[0]
        for one in (found, replace(found, rates=rates))
    ]
    assert 'class="dot-few"' in drawn[1]
    assert drawn[0].count('class="whisker"') - drawn[1].count('class="whisker"') == 1


# -------------------------------------------------------------------------------- windows


def psi_chart(found: MonitoringReport) -> str:
    (drawing,) = re.findall(r"<svg(?:(?!</svg>).)*PSI on the card full.*?</svg>", render(found))
    return str(drawing)


def test_the_index_of_the_last_window_stands_beside_that_of_the_period() -> None:
    found = STATES["troubled"]
    drawing = psi_chart(found)
    assert ">last window<" in drawing
    assert ">0.41<" in drawing
    assert "The last window: 5 to 14 November." in render(found)
    assert "last window<" not in psi_chart(STATES["healthy"])


def test_windows_that_ended_before_the_period_are_not_its_last() -> None:
    found = STATES["troubled"]
    later = replace(found, first_day=found.last_day)
    assert "last window<" not in psi_chart(later)


def test_a_bar_has_the_colour_of_its_verdict_though_it_is_below_its_limit() -> None:
    found = STATES["healthy"]
    (card,) = found.stability
    first, *others = card.fields
    assert first.psi < first.limit
    drifted = replace(first, verdict=Movement.DRIFTED)
    with_it = replace(card, fields=(drifted, *others))
    assert 'class="bar-bad"' not in psi_chart(found)
    assert psi_chart(replace(found, stability=(with_it,))).count('class="bar-bad"') == 1


def test_every_limit_is_written_at_its_mark() -> None:
    drawing = psi_chart(STATES["troubled"])
    assert drawing.count(">limit 0.10<") == drawing.count('class="limit-mark"')


def windows_of(card: CardStability, *psi: dict[str, float]) -> tuple[WindowFigure, ...]:
    day = STATES["healthy"].last_day
    limits = ({"score": 0.1}, {"score": 0.25}, {"score": 0.1})
    return tuple(
        WindowFigure(day, day, card.scores, one, {**dict.fromkeys(one, 0.3), **limit}, ())
        for one, limit in zip(psi, limits, strict=True)
    )


def test_a_window_without_a_figure_leaves_a_gap_and_each_has_its_own_limit() -> None:
    found = STATES["healthy"]
    (card,) = found.stability
    windows = windows_of(card, {"score": 0.01, "region": 0.02}, {"score": 0.01}, {"score": 0.02})
    page = render(replace(found, stability=(replace(card, windows=windows),)))
    (drawing,) = re.findall(r"<svg(?:(?!</svg>).)*PSI of the card full, by window.*?</svg>", page)
    assert len(re.findall(r"region: ", drawing)) == 1
    assert len(re.findall(r"score: ", drawing)) == 3
    heights = re.findall(r'<line [^>]*y1="([\d.]+)"[^>]*class="limit"', drawing)
    assert len(heights) == 3
    assert heights[0] == heights[2] != heights[1]


def test_a_card_of_few_a_day_tells_of_its_scores() -> None:
    found = STATES["healthy"]
    (card,) = found.stability
    windows = windows_of(card, *({"score": 0.01},) * 3)
    few = replace(card, compared=0, windows=windows)
    page = render(replace(found, stability=(few,)))
    assert "Scores are compared all the same." in page
    assert "Only score is known." in page


def test_a_month_that_was_deleted_in_part_is_said_to_be() -> None:
    found = STATES["healthy"]
    first, *others = found.rates.months
    rates = replace(found.rates, months=(replace(first, partial=True), *others))
    assert "2026-03 (partly deleted)" in render(replace(found, rates=rates))
