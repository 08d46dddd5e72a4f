"""A reader of Containerfiles: what one says, instruction by instruction.

It knows what ours use. Nothing is guessed: an instruction or a form of one that it does not know is
an error.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

KNOWN = {
    *("ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK"),
    *("LABEL", "RUN", "STOPSIGNAL", "USER", "VOLUME", "WORKDIR"),
}

KEPT_BACK = ("__pycache__",)
"""What .dockerignore leaves out of every folder."""


class UnknownInstruction(ValueError):
    """The file says something that this reader does not understand."""


class Instruction(NamedTuple):
    name: str
    flags: Mapping[str, str]
    value: str
    line: int

    def words(self) -> list[str]:
        """The value in the form of a JSON list, which no shell touches."""
        try:
            words = json.loads(self.value)
        except json.JSONDecodeError as error:
            message = f"line {self.line}: {self.name} is not in the form of a list"
            raise UnknownInstruction(message) from error
        assert isinstance(words, list)
        assert all(isinstance(word, str) for word in words)
        return words

    def pairs(self) -> dict[str, str]:
        """The value as `NAME=VALUE NAME=VALUE`."""
        return dict(word.split("=", 1) for word in shlex.split(self.value))


class Stage(NamedTuple):
    name: str
    origin: str
    """The stage or the image that it starts from."""
    instructions: Sequence[Instruction]


def instructions(text: str) -> list[Instruction]:
    found = []
    lines = iter(enumerate(text.splitlines(), start=1))
    for number, line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        whole = line.strip()
        while whole.endswith("\\"):
            _, more = next(lines)
            whole = whole[:-1].rstrip() + " " + more.strip()
        name, _, rest = whole.partition(" ")
        if name not in KNOWN:
            raise UnknownInstruction(f"line {number}: {name}")
        if name == "RUN" and rest.startswith(("[", "--", "<<")):
            raise UnknownInstruction(f"line {number}: RUN is read in its shell form alone")
        found.append(Instruction(name, *_flags(rest.strip()), number))
    return found


def stages(text: str) -> list[Stage]:
    """All stages, in their order. An ARG before the first FROM is not understood."""
    found: list[tuple[str, str, list[Instruction]]] = []
    for instruction in instructions(text):
        if instruction.name == "FROM":
            origin, word, name = instruction.value.split()
            assert word == "AS"
            found.append((name, origin, []))
        elif found:
            found[-1][2].append(instruction)
        else:
            raise UnknownInstruction(f"line {instruction.line}: {instruction.name} before FROM")
    return [Stage(*parts) for parts in found]


def is_sent(source: str, dockerignore: str) -> bool:
    """Whether a file of the repository gets to the engine past a .dockerignore such as ours."""
    lines = [line for line in dockerignore.splitlines() if line and not line.startswith("#")]
    everywhere = [f"**/{name}" for name in KEPT_BACK]
    sent = [line[1:] for line in lines if line.startswith("!")]
    if lines != ["*", *(f"!{name}" for name in sent), *everywhere]:
        raise UnknownInstruction("a .dockerignore that is not: nothing, but these")
    return any(f"{source}/".startswith(f"{name}/") for name in sent)


def filled(value: str, variables: Mapping[str, str]) -> str:
    """The value with each `${NAME}` in its place; one that is not set is an error."""
    return re.sub(r"\$\{(\w+)\}", lambda found: variables[found[1]], value)


def _flags(rest: str) -> tuple[dict[str, str], str]:
    flags = {}
    while found := re.match(r"--([a-z-]+)=(\S+)\s+", rest):
        flags[found[1]] = found[2]
        rest = rest[found.end() :]
    return flags, rest
