"""The rules of the house that no linter knows, each with the reason it is one."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

import alama
from alama.app.cli import NOUNS

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "alama"
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))

Syntax = dict[Path, list[ast.AST]]

LINES_MAX_FUNCTION = 60  # fits a screen

# What `git` would leave out, for a copy of the repository that came as an archive.
NOT_OURS = re.compile(
    r"^(\.git|\.venv(s|-\w+)?|\.\w+_cache|\.hypothesis|__pycache__|node_modules|build|dist|htmlcov"
    r"|mutants)$"
    r"|\.egg-info$|^\.coverage"
)


@cache
def our_files() -> list[Path]:
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        answer = subprocess.run(listing, cwd=ROOT, capture_output=True, check=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return sorted(walk(ROOT))
    paths = (ROOT / name for name in answer.stdout.split("\0") if name)
    return sorted(path for path in paths if path.is_file())


def walk(folder: Path) -> Iterator[Path]:
    for here, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not NOT_OURS.search(name)]
        yield from (Path(here, name) for name in names if not NOT_OURS.search(name))


def offences(pattern: re.Pattern[str]) -> list[str]:
    found = []
    for path in our_files():
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue  # a picture or a table
        found += [
            f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
            for number, line in enumerate(text.splitlines(), start=1)
            if pattern.search(line)
        ]
    return found


def pins(lock: Path) -> dict[str, str]:
    """Each locked requirement by name: its version, marker and hashes."""
    logical_lines = lock.read_text("utf-8").replace("\\\n", " ").splitlines()
    requirements = [line for line in logical_lines if line.strip() and line.lstrip()[0] != "#"]
    parts = (line.partition("==") for line in requirements)
    return {name.partition("[")[0]: pin for name, _, pin in parts}


def dependencies() -> list[str]:
    """The name of everything pyproject.toml asks for."""
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    requirements = [
        *asked["build-system"]["requires"],
        *asked["project"]["dependencies"],
        *chain.from_iterable(asked["project"]["optional-dependencies"].values()),
        *chain.from_iterable(asked["dependency-groups"].values()),
    ]
    return sorted({re.split(r"[^a-z0-9-]", requirement)[0] for requirement in requirements})


def pages() -> list[Path]:
    return [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "sdk").glob("*/README.md"),
        ROOT / "recipes" / "README.md",
        *(ROOT / "recipes").glob("*/README.md"),
    ]


def test_no_file_names_a_place_on_someones_machine() -> None:
    # It works there and nowhere else, and tells strangers who made it and how.
    assert offences(re.compile(r"(?:^|[^\w.])/(?:home|root|Users|work)/")) == []


def test_no_file_names_a_package_index() -> None:
    # Everyone installs from the index their pip is set up with, often a mirror.
    assert offences(re.compile(r"index[-_]url(?!_)|//\S*/simple(?:[/\"']|$)|find[-_]links")) == []


def test_files_are_found_without_git_too() -> None:
    walked = set(walk(ROOT))
    assert ROOT / "pyproject.toml" in walked
    assert ROOT / ".ci" / "run" in walked
    assert not any(".venv" in path.parts for path in walked)


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_requirement_is_pinned_and_hashed(lock: Path) -> None:
    # A version can be uploaded again in its place; a hash cannot.
    assert pins(lock)
    for name, pin in pins(lock).items():
        assert re.match(r"\d", pin), f"{name} is not pinned"
        assert "--hash=sha256:" in pin, f"{name} has no hash"


HOUSES = {"airflow", "peers", "dice", "api", "clients", "deploy", "guide", "warehouse"}
"""Each of these lives in an environment of its own."""


def test_the_locks_agree_with_each_other() -> None:
    everything = unmarked(ROOT / "requirements" / "dev.txt")
    for lock in LOCKS:
        if lock.stem not in HOUSES:
            assert unmarked(lock).items() <= everything.items(), f"{lock.name} differs: `make lock`"


def unmarked(lock: Path) -> dict[str, str]:
    """Each pin without its marker: what one set needs on Windows alone, another needs anywhere."""
    return {name: re.sub(r" ; .*?(?= +--hash)", "", pin) for name, pin in pins(lock).items()}


def test_everything_asked_for_is_locked() -> None:
    locked = pins(ROOT / "requirements" / "dev.txt")
    assert [name for name in dependencies() if name not in locked] == []


def test_serving_needs_no_training_library() -> None:
    heavy = {"clarabel", "interpret-core", "pandas", "pyarrow", "scikit-learn", "scipy"}
    assert heavy.isdisjoint(pins(ROOT / "requirements" / "serve.txt"))
    assert heavy <= pins(ROOT / "requirements" / "train.txt").keys()


def test_every_dependency_is_argued_for() -> None:
    # What we depend on, someone has to watch: the reason must be worth that.
    decisions = (ROOT / "docs" / "decisions").glob("*.md")
    reasons = "\n".join(page.read_text("utf-8") for page in decisions)
    assert len(dependencies()) > 15
    assert [name for name in dependencies() if f"| `{name}` |" not in reasons] == []


def test_a_function_fits_a_screen(syntax: Syntax) -> None:
    long_functions = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}"
        for path, nodes in syntax.items()
        for node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno >= LINES_MAX_FUNCTION
    ]
    assert long_functions == []


def test_no_code_runs_data_as_code(syntax: Syntax) -> None:
    # A model artefact, a table or a name from a lender must never become a program.
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for path, nodes in syntax.items()
        for node in nodes
        for name in runs_data(node)
    ]
    assert found == []


@pytest.fixture(scope="module")
def syntax() -> Syntax:
    """Every source file of the package, parsed and walked once: that takes seconds."""
    sources = sorted((ROOT / "src").rglob("*.py"))
    assert sources
    return {path: list(ast.walk(ast.parse(path.read_text("utf-8")))) for path in sources}


def runs_data(node: ast.AST) -> list[str]:
    """What in a piece of syntax could turn data into a program."""
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names if loads_objects(alias.name)]
        case ast.ImportFrom(module="joblib", names=names) if {alias.name for alias in names} <= {
            "Parallel",
            "delayed",
            "parallel_config",
        }:
            return []  # it spreads work over processes of its own; it loads no file
        case ast.ImportFrom(module=str(module)) if loads_objects(module):
            return [module]
        case ast.Call(func=ast.Name(id="eval" | "exec" as call)):
            return [call]
        case ast.keyword(arg="shell" | "allow_pickle" as argument, value=ast.Constant(True)):
            return [f"{argument}=True"]
        case _:
            return []


def loads_objects(module: str) -> bool:
    library = module.partition(".")[0]
    return library in {"cloudpickle", "dill", "joblib", "marshal", "pickle", "shelve"}


SPEAKS_IN_THE_TERMINAL = re.compile(
    r"(cli|/terminal|/commands)\.py$|^operations/|^platform/(settings\.py$|terminal/)"
)
_TYPED = "only commands raise it, at who typed one of them"
_BROKEN = "an operator's way out: callers of HTTP hear no more than that something broke"
_LOGGED = "a log or the end of a start, which operators read"
_FIRST_KEY = "the way to a first key, which no operation of HTTP gives"
COMMANDS_LEFT = {
    "app/delivering.py": (2, _LOGGED),
    "app/openapi.py": (1, _FIRST_KEY),
    "core/lending/draft.py": (1, "the head of a drafted policy, a file that people change by hand"),
    "lenders/installation.py": (2, _TYPED),
    "lenders/keys.py": (1, _TYPED),
    "monitoring/comparing.py": (1, _TYPED),
    "monitoring/recalibration.py": (4, _TYPED),
    "onboarding/arguments.py": (3, "the options and questions of `alama onboard`"),
    "platform/clock_store.py": (1, _BROKEN),
    "platform/database/checkpoints.py": (1, _BROKEN),
    "platform/database/migrate.py": (2, _BROKEN),
    "platform/errors.py": (1, _TYPED),
    "platform/files/packaged.py": (2, _TYPED),
    "platform/files/texts.py": (1, _TYPED),
    "platform/http/reference.py": (1, _FIRST_KEY),
    "platform/telemetry/metrics.py": (1, _LOGGED),
    "platform/telemetry/trouble.py": (1, _LOGGED),
    "policies/policies.py": (2, _TYPED),
    "protection/applicants.py": (1, _BROKEN),
    "protection/audit/records.py": (1, "what `alama audit verify` says of a finding"),
    "protection/receipts.py": (2, _BROKEN),
    "scoring/telemetry.py": (1, _LOGGED),
    "training/history/load.py": (2, _TYPED),
    "webhooks/secrets.py": (1, _BROKEN),
}
"""How many texts elsewhere tell of a command, by file, and why they may."""


def test_commands_are_worded_where_the_terminal_is_written_to(syntax: Syntax) -> None:
    """What callers of HTTP read must not send them to a command that they may not run."""
    nouns = "|".join(noun.name for noun in NOUNS)
    command = re.compile(rf"`alama |(?<![\w.-])alama ({nouns})\b")
    found = Counter(
        name
        for path, nodes in syntax.items()
        if not SPEAKS_IN_THE_TERMINAL.search(name := path.relative_to(PACKAGE).as_posix())
        for text in told(nodes)
        if command.search(text)
    )
    assert dict(found) == {name: count for name, (count, _) in COMMANDS_LEFT.items()}


def told(nodes: list[ast.AST]) -> Iterator[str]:
    """Every text of a module but docstrings and the like, which stand alone."""
    alone = {id(one.value) for one in nodes if isinstance(one, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.value


def test_every_make_command_in_the_pages_exists() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    command = re.compile(r"(?:`|^ *)make ([a-z-]+)", re.MULTILINE)
    named = {name for page in pages() for name in command.findall(page.read_text("utf-8"))}
    assert named
    assert named <= targets


def test_every_link_between_the_pages_leads_somewhere() -> None:
    link = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
    broken = [
        f"{page.relative_to(ROOT)} -> {target}"
        for page in pages()
        for target in link.findall(page.read_text("utf-8"))
        if not (page.parent / target).exists()
    ]
    assert broken == []


def test_the_changelog_knows_the_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert f"\n## {alama.__version__}" in changelog


def test_every_test_belongs_to_one_lane() -> None:
    # What neither lane ran would be green for ever.
    lanes = recipes("test", "test-long")
    marks = [re.findall(r'\$\(PYTEST\) -m ("[^"]+"|\w+)(.*)', recipe) for recipe in lanes]
    assert marks == [[('"not long"', "")], [('"long or hypothesis"', "")]]
    # A property is in both: `make test` shows it some of its examples, the other one all of them.
    assert ["HYPOTHESIS_PROFILE=ci" in recipe for recipe in lanes] == [False, True]
    run = (ROOT / ".ci" / "run").read_text("utf-8")
    made = re.findall(r"^(?:exec )?make (.*)$", run, re.MULTILINE)
    assert made == ["test", "test-long"]
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["pytest"]
    assert settings["testpaths"] == ["tests"]
    assert not {"-m", "-k", "--ignore", "--deselect"}.intersection(settings["addopts"])
    named = [path.relative_to(ROOT) for path in our_files() if path.match("test_*.py")]
    assert [path for path in named if path.parts[0] != "tests"] == []


def test_the_quick_lane_is_a_part_of_the_others() -> None:
    (quick,) = recipes("quick-tests")
    assert '$(PYTEST) -m "not long" $(QUICK)' in quick
    makefile = (ROOT / "Makefile").read_text("utf-8").replace("\\\n", " ")
    lists = re.findall(r"^(?:NOT_)?QUICK := (.*)$", makefile, re.MULTILINE)
    assert len(lists) == 2
    paths = " ".join(lists).split()
    assert [path for path in paths if not (ROOT / path).exists()] == []


def recipes(*targets: str) -> list[str]:
    """What `make` does for each target, after what the target stands on."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    recipe_of = dict(re.findall(r"^([\w-]+):.*\n((?:\t.*\n)+)", makefile, re.MULTILINE))
    return [recipe_of[target] for target in targets]
