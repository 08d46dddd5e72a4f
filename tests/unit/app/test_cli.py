from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from alama import __version__
from alama.app import cli as app_cli
from alama.core.errors import AlamaError
from alama.platform.terminal.command import Parser

ROOT = Path(__file__).parents[3]

Run = Callable[[argparse.Namespace], int]
Install = Callable[[Run], None]


class FakeCommand(ModuleType):
    """A command `try` that does what a test tells it to."""

    def __init__(self, run: Run) -> None:
        super().__init__("try_command")
        self.run = run

    def register(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--times", type=int, default=1)
        parser.set_defaults(run=self.run)


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    def put(run: Run) -> None:
        monkeypatch.setitem(sys.modules, "try_command", FakeCommand(run))
        noun = app_cli.Noun("try", "what the test says", "try_command")
        monkeypatch.setattr(app_cli, "NOUNS", (noun,))

    return put


def raiser(error: BaseException) -> Run:
    def run(_args: argparse.Namespace) -> int:
        raise error

    return run


def test_without_a_command_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert app_cli.main([]) == 0
    assert "examples:" in capsys.readouterr().out


def test_the_help_says_what_alama_is_and_shows_every_example(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as exit_info:
        app_cli.main(["--help"])
    assert exit_info.value.code == 0
    text = capsys.readouterr().out
    assert "scores loan applications" in text
    for command, meaning in app_cli.EXAMPLES:
        assert command in text
        assert meaning in text


@pytest.mark.parametrize("example", [command for command, _ in app_cli.EXAMPLES])
def test_every_example_of_the_help_is_a_command_that_exists(example: str) -> None:
    program, *arguments = shlex.split(example)
    assert program == "alama"
    assert callable(app_cli.build_parser().parse_args(arguments).run)


def test_no_help_is_wider_than_the_terminal_but_for_commands_to_copy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    every = list(parsers(app_cli.build_parser()))
    assert len(every) > 60
    for parser in every:
        copied = {line for line in (parser.epilog or "").splitlines() if line[:3] != "  #"}
        lines = [line for line in parser.format_help().splitlines() if line not in copied]
        assert [line for line in lines if len(line) > 80] == [], parser.prog


def test_lists_and_examples_keep_their_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    for columns in ("40", "80", "200"):
        monkeypatch.setenv("COLUMNS", columns)
        text = app_cli.build_parser().format_help()
        for command, meaning in app_cli.EXAMPLES:
            assert f"\n  # {meaning}\n  {command}\n" in text + "\n"


@pytest.mark.parametrize(
    ("typed", "wrong", "said"),
    [
        (["doctr"], "doctr", "did you mean doctor?"),
        (["db", "chek"], "chek", "did you mean check?"),
        (["xyzzy"], "xyzzy", "`alama --help` lists them"),
        (["onboard", "trian", "umoja"], "trian", "did you mean train?"),
    ],
)
def test_a_command_that_does_not_exist_gets_the_one_that_was_meant(
    typed: list[str], wrong: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_info:
        app_cli.main(typed)
    assert exit_info.value.code == app_cli.EXIT_MISTAKE
    err = capsys.readouterr().err
    assert err.endswith(f"there is no command '{wrong}'; {said}\n")
    assert len(err.splitlines()) == 2


def test_every_command_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    app_cli.build_parser().print_help()
    text = capsys.readouterr().out
    for noun in app_cli.NOUNS:
        assert re.search(rf"^    {noun.name} +{noun.help[:20]}", text, re.MULTILINE), noun


def test_every_command_and_every_action_has_a_description() -> None:
    silent = [parser.prog for parser in parsers(app_cli.build_parser()) if not parser.description]
    assert silent == []


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parser, and those of everything below it."""
    assert isinstance(parser, Parser)
    parser.fill()
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from parsers(below)


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_info:
        app_cli.main(["--version"])
    assert exit_info.value.code == 0
    assert capsys.readouterr().out == f"alama {__version__}\n"


def test_a_command_gets_its_arguments_and_gives_the_exit_code(install: Install) -> None:
    install(lambda args: args.times + 40)
    assert app_cli.main(["try", "--times", "2"]) == 42


def test_an_unknown_command_is_a_mistake(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install(lambda _args: 0)
    with pytest.raises(SystemExit) as exit_info:
        app_cli.main(["tyr"])
    assert exit_info.value.code == app_cli.EXIT_MISTAKE
    assert "tyr" in capsys.readouterr().err


def test_an_error_of_alama_is_told_with_its_hint(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install(raiser(AlamaError("there is no column [label]", hint="name it with --label")))
    assert app_cli.main(["try"]) == app_cli.EXIT_MISTAKE
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "error: there is no column [label]\n  hint: name it with --label\n"


def test_an_error_without_a_hint_is_one_line_however_long(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install(raiser(AlamaError("word " * 60 + "end")))
    assert app_cli.main(["try"]) == app_cli.EXIT_MISTAKE
    assert capsys.readouterr().err == "error: " + "word " * 60 + "end\n"


@pytest.mark.parametrize(
    ("module", "library", "extra", "image"),
    [
        ("pyarrow.parquet", "pyarrow", "batch", "alama-train"),
        ("interpret.glassbox", "interpret", "train", "alama-train"),
        ("psycopg", "psycopg", "postgres", "alama"),
    ],
)
def test_a_missing_library_is_named_with_what_brings_it(
    install: Install,
    capsys: pytest.CaptureFixture[str],
    module: str,
    library: str,
    extra: str,
    image: str,
) -> None:
    install(raiser(ModuleNotFoundError(f"No module named {module!r}", name=module)))
    assert app_cli.main(["try"]) == app_cli.EXIT_MISTAKE
    err = capsys.readouterr().err
    assert f"needs {library}," in err
    assert f"`pip install '.[{extra}]'` in the repository" in err  # it is on no index
    assert f"the image {image} has it" in err


def test_every_library_is_promised_from_an_extra_that_has_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    distributions = {"interpret": "interpret-core", "sklearn": "scikit-learn"}
    for library, extra in app_cli.EXTRA_BY_LIBRARY.items():
        names = [re.split(r"[\[<>=]", r)[0] for r in project["optional-dependencies"][extra]]
        assert distributions.get(library, library) in names


def test_a_missing_module_of_another_kind_is_a_defect_and_keeps_its_traceback(
    install: Install,
) -> None:
    install(raiser(ModuleNotFoundError("No module named 'alama.typo'", name="alama.typo")))
    with pytest.raises(ModuleNotFoundError):
        app_cli.main(["try"])


def test_an_interruption_ends_with_one_clean_line(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install(raiser(KeyboardInterrupt()))
    assert app_cli.main(["try"]) == app_cli.EXIT_INTERRUPTED
    assert capsys.readouterr().err == "\ninterrupted\n"


LOUD_COMMAND = """
import sys
from alama.app import cli as front_door
from alama.platform.terminal import terminal

class Loud:
    def register(self, parser):
        parser.set_defaults(run=self.run)

    def run(self, args):
        for _ in range(100_000):
            {speak}
        return 0

sys.modules["loud"] = Loud()
front_door.NOUNS = (front_door.Noun("loud", "loud", "loud"),)
sys.exit(front_door.main(["loud"]))
"""


@pytest.mark.parametrize("speak", ["sys.stdout.write('row\\n')", "terminal.stdout().print('row')"])
def test_a_reader_that_leaves_a_pipe_ends_the_command_in_silence(speak: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", LOUD_COMMAND.format(speak=speak)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "row\n"
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == app_cli.EXIT_PIPE_CLOSED


HEAVY = {"clarabel", "interpret", "joblib", "pyarrow", "psycopg", "scipy", "sklearn"}


def test_the_front_door_opens_fast_because_it_imports_no_command() -> None:
    loaded = modules_after("m.main([])")
    assert {"msgspec", "rich", "sqlalchemy"}.isdisjoint(loaded)
    assert {noun.module for noun in app_cli.NOUNS}.isdisjoint(loaded)


def test_no_command_loads_the_libraries_of_an_extra_before_it_runs() -> None:
    fill = "[p.fill() for p in m.build_parser()._subparsers._group_actions[0].choices.values()]"
    loaded = modules_after(fill)
    assert {noun.module for noun in app_cli.NOUNS} <= loaded
    assert HEAVY.isdisjoint(loaded)


def test_a_service_does_not_load_what_draws_in_a_terminal() -> None:
    commands = "m.build_parser()._subparsers._group_actions[0].choices"
    assert "rich" not in modules_after(f"{commands}['serve'].fill()")


def modules_after(statement: str) -> set[str]:
    """What is imported once the front door has done something."""
    probe = f"import sys, alama.app.cli as m; {statement}; print('\\n', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, check=True, text=True)
    return set(done.stdout.splitlines()[-1].split())


def test_alama_runs_as_a_module_too() -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "alama", "--version"],
        capture_output=True,
        check=True,
        text=True,
        env=os.environ,
    ).stdout
    assert answer == f"alama {__version__}\n"
