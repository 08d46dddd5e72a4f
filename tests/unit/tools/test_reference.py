"""The generated lists are those of the code."""

import pytest

from tools import reference


@pytest.mark.parametrize(("name", "text"), reference.pages().items())
def test_a_generated_page_is_what_the_code_says(name: str, text: str) -> None:
    assert (reference.FOLDER / name).read_text("utf-8") == text, "run `python -m tools.reference`"
