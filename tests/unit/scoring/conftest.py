"""The application on a real database, with more scores than a page can hold."""

from collections.abc import Iterator

import pytest

from alama.lenders import installation, keys
from alama.platform import settings
from alama.scoring.scores_api import PAGE_MAX
from alama.scoring.store import Scores
from tests.entries import DEMO, an_entry
from tests.served import Service


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    home = tmp_path_factory.mktemp("home")
    installed = installation.open_installation(settings.read({"ALAMA_HOME": str(home)}))
    installed.vault.ring(DEMO.lender)
    Scores.at(installed).commit([an_entry() for _ in range(PAGE_MAX + 5)])
    key, _ = keys.issue(installed.registry, installed.clock, installed.pepper, DEMO)
    yield Service(installed, key)
    installed.close()
