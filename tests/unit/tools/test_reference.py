"""The generated lists are those of the code."""

import pytest

from tools import reference

PAGES = reference.pages()


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_what_the_code_says(name: str) -> None:
    text = (reference.FOLDER / name).read_text("utf-8")
    assert text == PAGES[name], "run `python -m tools.reference`"
