"""An expression that has been read and can be asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alama.core.expressions.certainty import Slope, certainty_of, slope_of
from alama.core.expressions.meaning import judge_of
from alama.core.expressions.parser import tree_of
from alama.core.expressions.tree import ConditionNode, fields_read, fields_sought

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.core.application import Value
    from alama.core.catalogue import Catalogue


class Expression:
    """A condition over the fields of an application: its text, what it reads and what it says.

    `fields` are the names of the catalogue, whichever spelling the text has.
    """

    __slots__ = ("_catalogue", "_judge", "_tree", "fields", "text")

    def __init__(self, text: str, tree: ConditionNode, catalogue: Catalogue) -> None:
        self.text = text
        self.fields = fields_read(tree)
        self._tree = tree
        self._catalogue = catalogue
        self._judge = judge_of(tree)

    def fires(self, values: Sequence[Value]) -> bool:
        """Say whether the condition is definitely true of the values, in the catalogue's order."""
        return self._judge(values) is True

    def slope(self, field_name: str) -> Slope:
        """Say how firing moves as this field, in either spelling, grows and all else stays.

        RISES: what fires goes on firing as the value grows. FALLS: as it shrinks. Both values are
        given. UNKNOWN promises nothing, and is the slope of every word that is read.
        """
        return slope_of(self._tree, self._catalogue.field(field_name).name)

    @property
    def sought(self) -> frozenset[str]:
        """The fields of which it asks whether they are given."""
        return fields_sought(self._tree)

    @property
    def certainly(self) -> bool | None:
        """Say what is true whatever the application: True, False, or None where it depends.

        Of fields that may be missing this speaks for values that are given.
        """
        return certainty_of(self._tree)

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"


def parse(text: str, catalogue: Catalogue) -> Expression:
    """Read an expression, or raise `InvalidExpression` with a column and what to write instead."""
    return Expression(text, tree_of(text, catalogue), catalogue)
