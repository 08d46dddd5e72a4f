"""The page of the reasons says what the dictionary says."""

from alama.core.reasons.tell import COMMON_SHARE, HELPFUL_POINTS, NOTICEABLE_POINTS, REASONS_MAX
from alama.platform.files.packaged import languages
from tests import reasons_page

PAGE = reasons_page.PAGE.read_text("utf-8")
PROSE = " ".join(PAGE.partition(reasons_page.BEGINNING)[0].split())


def test_every_code_stands_there_with_its_texts_and_nothing_else_does() -> None:
    # `python -m tests.reasons_page` writes this part anew.
    _, beginning, rest = PAGE.partition(reasons_page.BEGINNING)
    assert beginning + rest == reasons_page.codes()


def test_every_language_is_named_with_its_code() -> None:
    for language in languages():
        assert f"{language.name} (`{language.code}`)" in PROSE


def test_the_bounds_are_those_of_the_code() -> None:
    assert REASONS_MAX == 4
    assert "at most four reasons" in PROSE
    assert NOTICEABLE_POINTS == 1.0
    assert "less than one point" in PROSE
    assert HELPFUL_POINTS == 5.0
    assert "at least five points higher" in PROSE
    assert COMMON_SHARE == 0.05
    assert "fewer than one in twenty" in PROSE
