"""The dictionary of reasons in the package."""

from pathlib import Path

import pytest

import alama
from alama.core.errors import UnknownLanguage
from alama.platform.files.packaged import LANGUAGES, language, languages

FOLDER = Path(alama.__file__).parent / "reasons"


def test_there_is_a_file_for_each_language_and_one_for_the_codes() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == {"codes", *LANGUAGES}
    assert [each.code for each in languages()] == list(LANGUAGES)
    assert [each.name for each in languages()] == ["English", "Kiswahili", "Français"]


def test_a_language_is_had_by_its_code() -> None:
    assert language("sw") == languages()[1]


def test_an_unknown_language_is_refused_with_those_there_are() -> None:
    with pytest.raises(UnknownLanguage, match="no reasons in the language 'de'") as refused:
        language("de")
    assert refused.value.hint == "there are texts in en, sw, fr"
