"""Every code that the service can give has a meaning, and no other code has."""

import ast
import inspect

from alama.core import application, intake
from alama.platform.http import fields, problem_codes, problems
from alama.scoring import evidence, records, sandbox


def field_codes() -> set[str]:
    """Every code that is given to a broken rule, read from where it is given."""
    codes: set[str] = set()
    for module in (application, evidence, fields, intake, records, sandbox):
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            match node:
                case ast.Call(
                    func=ast.Name(id="FieldProblem"), args=[_, ast.Constant(str(code)), *_]
                ):
                    codes.add(code)
                case _:
                    pass
    return codes


def test_every_code_that_can_be_given_has_a_meaning_and_no_other_has() -> None:
    kinds = {*problems.kinds().values(), problems.INTERNAL}
    assert {kind.code for kind in kinds} == problem_codes.PROBLEMS.keys()
    assert field_codes() == problem_codes.FIELDS.keys()
