"""The application on a real database, empty or with more scores than a page can hold."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from alama.lenders import installation, keys
from alama.lenders.installation import Installation
from alama.platform import settings
from alama.scoring.scores_api import PAGE_MAX
from alama.scoring.store import Scores
from tests.entries import DEMO, an_entry
from tests.unit.api.service import Service
from tests.unit.api.webhooks import Lender


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    home = tmp_path_factory.mktemp("home")
    installed = installation.open_installation(settings.read({"ALAMA_HOME": str(home)}))
    yield installed
    installed.close()


@pytest.fixture
def lender(installed: Installation) -> Lender:
    return Lender(installed)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    home: Path = tmp_path_factory.mktemp("home")
    installed = installation.open_installation(settings.read({"ALAMA_HOME": str(home)}))
    installed.vault.ring(DEMO.lender)
    Scores.at(installed).commit([an_entry() for _ in range(PAGE_MAX + 5)])
    key, _ = keys.issue(installed.registry, installed.clock, installed.pepper, DEMO)
    yield Service(installed, key)
    installed.close()
