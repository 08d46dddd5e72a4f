"""The wheel as an operator gets it: built, installed and run with the serving lock alone."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import httpx
import pytest

import alama
from alama.core.product import PRODUCT
from alama.platform.files.packaged import sample_application
from tests.databases import sqlite_url
from tests.images.wheelhouse import clean_environment, wheelhouse
from tests.server import Server

ROOT = Path(__file__).parents[2]

# One group, so that parallel workers share the one environment that the fixtures make.
pytestmark = [pytest.mark.long, pytest.mark.wheel, pytest.mark.xdist_group("wheel")]


def run(*command: str | Path) -> str:
    """The output of a command in an environment that knows nothing of this repository."""
    clean = clean_environment()
    done = subprocess.run(command, capture_output=True, check=False, text=True, env=clean)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def pip(environment: Path, *arguments: str | Path) -> str:
    """The output of our own pip about another environment: to give it one takes seconds."""
    ours = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    return run(*ours, "--python", environment / "python", *arguments)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of a fresh environment with the wheel and the serving lock, no more."""
    folder = tmp_path_factory.mktemp("serve")
    venv.create(folder)
    # No dependency is looked for: the lock names them all, which `pip check` finds true below.
    # And nothing is compiled that is never imported.
    # Fetched once, for the image as well; the hashes of the lock hold for what was kept.
    kept = ("--no-index", "-f", wheelhouse())
    install = ("install", "--quiet", "--no-deps", "--no-compile", *kept)
    locked = ("--require-hashes", "--requirement", ROOT / "requirements" / "serve.txt")
    pip(folder / "bin", *install, *locked)
    pip(folder / "bin", *install, wheel)
    return folder / "bin"


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    metadata = f"alama-{alama.__version__}.dist-info/"
    strangers = [name for name in names if not name.startswith(("alama/", metadata))]
    assert strangers == []
    assert "alama/py.typed" in names
    assert f"{metadata}licenses/LICENSE" in names
    package = ROOT / "src" / "alama"
    files = {
        path.relative_to(package.parent).as_posix()
        for path in package.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert files <= set(names)


def test_the_metadata_is_complete_and_consistent(installed: Path) -> None:
    pip(installed, "check")
    shown = pip(installed, "show", "--verbose", "alama")
    assert f"Version: {alama.__version__}" in shown
    assert "alama = alama.app.cli:main" in shown


def test_the_help_teaches(installed: Path) -> None:
    assert "examples:" in run(installed / "alama", "--help")


def test_a_sample_application_is_explained_without_any_training_library(installed: Path) -> None:
    libraries = ["clarabel", "interpret", "pandas", "pyarrow", "scipy", "sklearn"]
    probe = f"import importlib.util as u; print([m for m in {libraries} if u.find_spec(m)])"
    assert run(installed / "python", "-c", probe).strip() == "[]"
    assert run(installed / "alama", "explain").strip()


def test_it_serves_without_any_training_library(installed: Path, tmp_path: Path) -> None:
    server = Server(sqlite_url(tmp_path), tmp_path, workers=2)
    server.command = (str(installed / "alama"),)
    with server:
        key = server.alama("keys", "issue", "--lender", "demo", "--mode", "test").strip()
        answer = httpx.post(
            f"{server.url}/v1/score",
            headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
            content=sample_application(),
            timeout=60,
        )
    assert answer.status_code == httpx.codes.OK, answer.text
    assert len(answer.json()["shap_values"]) == len(PRODUCT.model_fields)
