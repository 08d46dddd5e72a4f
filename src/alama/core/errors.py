"""Everything that can go wrong and that a person can put right.

AlamaError
├── BrokenRules             fields of what was sent break rules; carries every broken rule
│   └── InvalidApplication  an application breaks rules of the catalogue
├── MalformedDocument       a body is no JSON object at all, so no field of it can be named
├── InvalidCatalogue        a field catalogue contradicts itself
├── InvalidModel            a model artefact is not one, is damaged, or claims what its tables break
├── FaultyText              a text that a person writes has faults, each on its line
│   ├── InvalidPolicy       a policy is not one, is damaged, or contradicts itself or its model
│   └── InvalidFields       own fields cannot be declared so, or do not fit what reads them
├── InvalidReceipt          a file is no receipt, or not as it was given
├── InvalidJurisdiction     a jurisdiction pack is not one, or lacks the source of a figure
├── UnknownJurisdiction     no pack has this code; names those there are
├── InvalidExpression       a rule of a policy cannot be read; carries the column where it fails
├── UnknownCurrency         the model has no reference for the lender's currency
├── UnknownLanguage         there are no words in this language; names those there are
├── UnknownField            a name that no field has; names the nearest
├── UnknownGoal             recourse is sought for what is no decision, tier or score
├── FileProblem             a table cannot be read or written: the format, a column, a value
└── TrainingProblem         the data cannot carry a model: one class, too few rows, ...

An adapter translates the errors of the library it wraps into one of these; anything else that
surfaces is a defect of Alama.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Self


FAULTS_MAX: Final = 100
"""A body can break thousands of rules; the first hundred show what is wrong with it."""


class AlamaError(Exception):
    """What happened, in words for the person who meets it, and what to do next if we know."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint

    def to_callers(self) -> AlamaError:
        """Give the error as callers hear of it: of what they cannot help they hear less."""
        return self


class FieldProblem:
    """One broken rule of one field. The submitted value is never part of it."""

    __slots__ = ("code", "detail", "pointer")

    def __init__(self, field: str, code: str, detail: str, place: int | None = None) -> None:
        """Name the field as the caller spelled it; RFC 6901 escapes make it a JSON pointer.

        `place` is that of an element, from 0 on, where the field is a list and one of it is wrong.
        """
        within = "" if place is None else f"/{place}"
        self.pointer = "/" + field.replace("~", "~0").replace("/", "~1") + within
        self.code = code
        self.detail = detail

    def within(self, field: str, place: int) -> FieldProblem:
        """Give the same of an object that is an element of a list, which is a field."""
        outer = FieldProblem(field, self.code, self.detail, place)
        outer.pointer += self.pointer
        return outer

    def __repr__(self) -> str:
        return f"FieldProblem({self.pointer!r}, {self.code!r})"


class BrokenRules(AlamaError):
    """Fields of what was sent break rules."""

    what = "request"

    def __init__(self, problems: Sequence[FieldProblem], unlisted: int = 0) -> None:
        """Carry the first `FAULTS_MAX` problems: a caller mends them in one go.

        `unlisted` is how many more rules are broken that nobody put into words.
        """
        self.problems = tuple(problems[:FAULTS_MAX])
        self.count = len(problems) + unlisted
        listing = "; ".join(f"{p.pointer[1:]}: {p.detail}" for p in self.problems)
        more = self.count - len(self.problems)
        rest = f"; and {more} more" if more else ""
        super().__init__(f"the {self.what} is not valid: {listing}{rest}")


class InvalidApplication(BrokenRules):
    """The application breaks rules of the catalogue."""

    what = "application"


class MalformedDocument(AlamaError):
    """The body is no JSON object. What was sent is never part of the message."""

    def __init__(self, fault: str) -> None:
        super().__init__(f"the body {fault}")
        self.fault = fault


class InvalidCatalogue(AlamaError):
    """A field catalogue contradicts itself."""


class InvalidModel(AlamaError):
    """A model artefact is not one, is damaged, or claims what its tables break."""


class PolicyFault(NamedTuple):
    """One thing that is wrong with such a text, and where: a line of it, a key."""

    line: int | None
    key: str
    fault: str

    def __str__(self) -> str:
        """Say it in one line."""
        line = "" if self.line is None else f"line {self.line}: "
        return f"{line}{self.key} {self.fault}" if self.key else f"{line}{self.fault}"


class FaultyText(AlamaError):
    """A text that a person writes has faults."""

    what = "text"

    faults: tuple[PolicyFault, ...] = ()
    """In the order of the text; empty where it is not the text that is at fault."""

    @classmethod
    def of(cls, faults: Iterable[PolicyFault], hint: str | None = None) -> Self:
        """Refuse a text for what is wrong in it."""
        found = sorted(faults, key=lambda fault: fault.line or 0)
        listing = "; ".join(map(str, found[:FAULTS_MAX]))
        error = cls(f"{cls.what} not valid: {listing}", hint=hint)
        error.faults = tuple(found[:FAULTS_MAX])
        return error


class InvalidPolicy(FaultyText):
    """A lending policy is not one, is damaged, or contradicts itself or the model it is for."""

    what = "the policy is"


class InvalidFields(FaultyText):
    """A lender's own fields cannot be declared so, are damaged, or do not fit what reads them."""

    what = "the fields are"


class InvalidReceipt(AlamaError):
    """A file is no receipt, or is not written as receipts are given."""


class InvalidJurisdiction(AlamaError):
    """A jurisdiction pack is not one, or lacks the source of a figure."""


class UnknownJurisdiction(AlamaError):
    """No pack has this code."""

    def __init__(self, code: str, known: Sequence[str]) -> None:
        super().__init__(
            f"there is no jurisdiction pack {code[:40]!r}",
            hint=f"{did_you_mean(code.upper(), known)}there is one for {', '.join(known)}",
        )


class InvalidExpression(AlamaError):
    """The expression of a rule cannot be read; `alama.core.expressions` has the language."""

    def __init__(self, fault: str, *, column: int, hint: str) -> None:
        """Take what is wrong, the character it is wrong at, counted from 1, and what to write."""
        super().__init__(f"{fault}, at column {column}", hint=hint)
        self.fault = fault
        self.column = column


class UnknownCurrency(AlamaError):
    """The model has no reference inflow for a currency, so money cannot be compared."""

    def __init__(self, currency: str, known: Sequence[str]) -> None:
        """Name the currencies that would do, the one that may have been meant first."""
        near = did_you_mean(currency, known)
        super().__init__(
            f"{currency} is no currency that this model knows",
            hint=f"{near}it knows {', '.join(sorted(known))}"
            if known
            else "it was trained without one",
        )


class UnknownLanguage(AlamaError):
    """There are no words in this language."""

    def __init__(self, code: str, known: Sequence[str]) -> None:
        super().__init__(
            f"there are no reasons in the language {code[:40]!r}",
            hint=f"there are texts in {', '.join(known)}",
        )


class UnknownField(AlamaError):
    """No field has this name."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        """Name the fields there are, the one that may have been meant first."""
        super().__init__(
            f"there is no field {name[:40]!r}",
            hint=f"{did_you_mean(name, known)}the fields are {', '.join(known)}",
        )


class UnknownGoal(AlamaError):
    """What is sought is neither an approval, nor a tier of the policy, nor a score."""

    def __init__(self, text: str, known: str) -> None:
        super().__init__(
            f"{text[:40]!r} is nothing that recourse can be sought for", hint=f"ask for {known}"
        )


def did_you_mean(given: str, known: Sequence[str]) -> str:
    """Open a hint with the name that may have been meant, if one is near."""
    near = difflib.get_close_matches(given, known, n=1)
    return f"did you mean {near[0]}? " if near else ""


class FileProblem(AlamaError):
    """A table cannot be read or written as asked."""


class TrainingProblem(AlamaError):
    """The data cannot carry a model."""
