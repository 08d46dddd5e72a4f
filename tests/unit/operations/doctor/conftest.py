"""An installation for the doctor, made once for each module: whoever harms it harms a copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.operations.patients import copied, install


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("template") / "home"
    install(home)
    return home


@pytest.fixture
def home(template: Path, tmp_path: Path) -> Path:
    return copied(template, tmp_path / "home")
