import tomllib
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core.lending.toml_lines import lines_of
from tests.tries import tries

POLICY = """\
# A policy as a person writes it.
name = "Nairobi branch"   # [not] = "a header"
terms_days = [7, 14, 30]
limits.step = 100
limits . "max" = 50_000

[standard_loan]
amount = 5_000
says = \"\"\"
[tiers]
score_min = 1 \\\"""
\"\"\"
term_days = 30

[[tiers]]
name = "A"
score_min = 690

[tiers.notes]
owner = 'risk'

[[tiers]]   # the second
name = "B"
score_min = 650
extra = { note = "x, [y] = {z}", caps = [
    1,
    { apr = 36.5, 'a.b' = "]" },  # }
    [2, 3,
     4],
] }

[law.kenya]
retention_days = 2_555
since = 2026-11-15 08:00:00

[law]
notice_days = 3
"""


def line_of(text: str, path: Sequence[str | int]) -> int | None:
    return lines_of(text, [path])[0]


def test_a_value_has_the_line_it_is_written_on(subtests: pytest.Subtests) -> None:
    places: list[tuple[list[str | int], int]] = [
        (["name"], 2),
        (["terms_days"], 3),
        (["terms_days", 1], 3),
        (["limits"], 4),
        (["limits", "step"], 4),
        (["limits", "max"], 5),
        (["standard_loan"], 7),
        (["standard_loan", "amount"], 8),
        (["standard_loan", "says"], 9),
        (["standard_loan", "term_days"], 13),
        (["tiers"], 15),
        (["tiers", 0], 15),
        (["tiers", 0, "score_min"], 17),
        (["tiers", 0, "notes"], 19),
        (["tiers", 0, "notes", "owner"], 20),
        (["tiers", 1], 22),
        (["tiers", 1, "score_min"], 24),
        (["tiers", 1, "extra", "note"], 25),
        (["tiers", 1, "extra", "caps"], 25),
        (["tiers", 1, "extra", "caps", 0], 26),
        (["tiers", 1, "extra", "caps", 1, "apr"], 27),
        (["tiers", 1, "extra", "caps", 1, "a.b"], 27),
        (["tiers", 1, "extra", "caps", 2], 28),
        (["tiers", 1, "extra", "caps", 2, 1], 28),
        (["tiers", 1, "extra", "caps", 2, 2], 29),
        (["law", "kenya"], 32),
        (["law", "kenya", "since"], 34),
        (["law"], 36),
        (["law", "notice_days"], 37),
    ]
    for path, line in places:
        with subtests.test(path=path, line=line):
            assert value_at(tomllib.loads(POLICY), path) is not None
            assert line_of(POLICY, path) == line
            assert line_of(POLICY.replace("\n", "\r\n"), path) == line


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (["standard_loan", "currency"], 7),
        (["standard_loan", "amount", "unit", 3], 8),
        (["tiers", 1, "decision"], 22),
        (["tiers", 7, "decision"], 15),
        (["terms_days", 9], 3),
        (["law", "uganda", "retention_days"], 36),
    ],
)
def test_what_is_missing_has_the_line_of_the_nearest_thing_above_it(
    path: list[str | int], line: int
) -> None:
    assert line_of(POLICY, path) == line


@pytest.mark.parametrize("path", [["pricing"], ["pricing", "margin"], ["step"], [0], []])
def test_where_nothing_of_a_path_is_written_there_is_no_line(path: list[str | int]) -> None:
    assert line_of(POLICY, path) is None


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ("", ["a"], None),
        ("a = 1", ["a"], 1),
        ("a=1 # b=2\nb=2", ["b"], 2),
        ('"" = 1\n"a\\u00e9\\n" = 2', ["aé\n"], 2),
        ('"" = 1', [""], 1),
        ("'a\"b' = ''\nc = ''''''\nd = 4", ["d"], 3),
        ("a = '''\n'''''\nb = 1", ["b"], 3),
        ('a = """x"""""\nb = 1', ["b"], 2),
        ('a = """\\\\"""\nb = 1', ["b"], 2),
        ('a = "\\\\"\nb = "\\""\nc = 3', ["c"], 3),
        ("a = []\nb = {}\nc = [[], {}]\nd = 4", ["d"], 4),
        ("[ a . 'b' ]\nc = 1", ["a", "b", "c"], 2),
        ("[[a.b]]\n[[a.b]]\n[a.b.c]\n[[a.b.c.d]]\ne = 1", ["a", "b", 1, "c", "d", 0, "e"], 5),
        ("1 = 1\n-_- = 2\n3.14 = 3", ["3", "14"], 3),
    ],
)
def test_corners_of_the_format(text: str, path: list[str | int], line: int | None) -> None:
    tomllib.loads(text)
    assert line_of(text, path) == line


def test_values_may_be_nested_as_deep_as_tomllib_reads_them() -> None:
    text = "deep = " + "[" * 200 + "\n1" + "]" * 200
    tomllib.loads(text)
    assert line_of(text, ["deep", *[0] * 200]) == 2


# ------------------------------------------------------------------------------------- properties
#
# Every number of a generated document is the line on which it stands, so a document proves itself.

Written = Mapping[str, object]


class Writer:
    """Writes a document, drawing each choice; a value is the number of its own line."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.text = ""

    @property
    def line(self) -> int:
        return self.text.count("\n") + 1

    def choose(self, *options: str) -> str:
        return self.draw(st.sampled_from(options))

    def filler(self) -> None:
        """Write lines that hold no number, but much that looks like a key."""
        lines = ["", "# x = [1", ' \t# """', "\n"]
        self.text += self.choose(*lines) + "\n"

    def key(self, name: str) -> None:
        self.text += self.choose(name, f'"{name}"', f"'{name}'", f'"\\u{ord(name[0]):04x}"')
        self.text += self.choose("", " ")

    def entries(self, names: str) -> None:
        for name in names:
            if self.draw(st.booleans()):
                self.filler()
            self.key(name)
            if self.draw(st.booleans()):
                self.text += "." + self.choose("", " ")
                self.key("z")
            self.text += self.choose("=", "= ")
            self.value(depth=0)
            self.text += self.choose("\n", " # [y]\n", "\t\n")

    def value(self, depth: int) -> None:
        kind = self.choose("number", "number", "string", *["array", "table"] * (depth < 3))
        match kind:
            case "number":
                self.text += str(self.line)
            case "string":
                self.text += self.choose(
                    *['"a # = ]"', "''", '"\\""', '"""\n"\nx = 1\n\\""""'],
                    *["'''\n[a]\n''''", '"\\\\"', "2026-11-15", "2026-11-15 10:00:00", "true"],
                )
            case "array":
                self.array(depth)
            case _:
                self.table(depth)

    def array(self, depth: int) -> None:
        self.text += "["
        for _ in range(self.draw(st.integers(0, 3))):
            self.text += self.choose("", " ", "\n", "\n # ],\n\t")
            self.value(depth + 1)
            self.text += self.choose(",", " ,", "\n,")
        self.text += self.choose("]", "\n]")

    def table(self, depth: int) -> None:
        self.text += "{ "
        for place, name in enumerate(self.choose("", "p", "pq")):
            self.text += ", " if place else ""
            self.key(name)
            self.text += "= "
            self.value(depth + 1)
        self.text += " }"


@st.composite
def documents(draw: st.DrawFn) -> str:
    writer = Writer(draw)
    writer.entries(draw(st.sampled_from(["", "a", "ab"])))
    for name in "tuv":
        header = writer.choose(f"[{name}]", f"[[{name}]]", f"[ {name} . 'w' ]")
        repeats = draw(st.integers(1, 3)) if header.startswith("[[") else 1
        for _ in range(repeats):
            writer.text += header + writer.choose("\n", " # [x]\n")
            writer.entries(draw(st.sampled_from(["", "c", "cd"])))
            if header.startswith("[[") and draw(st.booleans()):
                writer.text += f"[{name}.inner]\n"
                writer.entries("e")
    return writer.text


def value_at(parsed: object, path: Sequence[str | int]) -> object:
    for step in path:
        assert isinstance(parsed, dict | list)
        parsed = parsed[step]  # type: ignore[index]  # a list's steps are numbers, a table's names
    return parsed


def leaves(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The paths of all values that hold no others."""
    steps: list[str | int]
    match value:
        case dict():
            steps = list(value)
        case list():
            steps = list(range(len(value)))
        case _:
            return [path]
    return [leaf for step in steps for leaf in leaves(value_at(value, [step]), (*path, step))]


@tries(100)
@given(documents())
def test_every_number_of_a_document_stands_on_the_line_that_is_given_for_it(text: str) -> None:
    parsed = tomllib.loads(text)
    for path in leaves(parsed):
        number = value_at(parsed, path)
        line = line_of(text, path)
        assert line is not None
        if type(number) is int:
            assert line == number


@tries(150)
@given(documents(), st.integers(0), st.integers(0, 2), st.text("[]{}\"'\\=.,#\n ax1", max_size=3))
def test_whatever_tomllib_reads_has_lines(text: str, place: int, cut: int, piece: str) -> None:
    place %= len(text)
    damaged = text[:place] + piece + text[place + cut :]
    try:
        parsed = tomllib.loads(damaged)
    except tomllib.TOMLDecodeError:
        return
    for path in leaves(parsed):
        if path:
            assert line_of(damaged, path) is not None
