"""The page of the errors says what the service says, code by code."""

import ast
import inspect
from pathlib import Path

import pytest

from alama.api import fields, meanings, problems, schemas
from alama.core import application, intake

PAGE = (Path(__file__).parents[3] / "docs" / "errors.md").read_text("utf-8")


def field_codes() -> set[str]:
    """Every code that is given to a broken rule, read from where it is given."""
    codes: set[str] = set()
    for module in (application, intake, fields):
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            match node:
                case ast.Call(
                    func=ast.Name(id="FieldProblem"), args=[_, ast.Constant(str(code)), *_]
                ):
                    codes.add(code)
                case _:
                    pass
    return codes


def test_every_problem_stands_on_the_page_as_the_service_tells_it(
    subtests: pytest.Subtests,
) -> None:
    for code, told in schemas.problem_codes().items():
        with subtests.test(code):
            assert f"| `{code}` | {told['status']} | {told['when']} | {told['remedy']} |\n" in PAGE


@pytest.mark.parametrize(("code", "meaning"), meanings.FIELDS.items())
def test_every_field_code_stands_there_too(code: str, meaning: meanings.Meaning) -> None:
    assert f"| `{code}` | {meaning.when} | {meaning.remedy} |\n" in PAGE


def test_every_code_that_can_be_given_has_a_meaning_and_no_other_has() -> None:
    kinds = {*problems.kinds().values(), problems.INTERNAL}
    assert {kind.code for kind in kinds} == meanings.PROBLEMS.keys()
    assert field_codes() == meanings.FIELDS.keys()


def test_no_code_stands_there_that_is_never_given() -> None:
    listed = [line.split("`")[1] for line in PAGE.splitlines() if line.startswith("| `")]
    assert sorted(listed) == sorted([*meanings.PROBLEMS, *meanings.FIELDS])
