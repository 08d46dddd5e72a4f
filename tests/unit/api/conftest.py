"""The application, with more scores in its database than a page can hold."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from alama import settings, wiring
from alama.api.scores import PAGE_MAX
from alama.service import keys
from tests.entries import DEMO, an_entry
from tests.unit.api.service import Service


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    home: Path = tmp_path_factory.mktemp("home")
    installed = wiring.open_installation(settings.read({"ALAMA_HOME": str(home)}))
    installed.vault.ring(DEMO.lender)
    installed.scores.commit([an_entry() for _ in range(PAGE_MAX + 5)])
    key, _ = keys.issue(installed.registry, wiring.now_us, installed.pepper, DEMO)
    yield Service(installed, key)
    installed.close()
