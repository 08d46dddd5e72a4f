"""What the tests of the worker share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from alama.webhooks import worker
from alama.webhooks.worker import Pace
from tests.outboxes import opened
from tests.unit.webhooks.setting import PACE, Behaviour, Given, Receivers, Setting


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Given]:
    """Makes a setting, once, with a receiver for each lender that is named."""
    with ExitStack() as stack:

        def make(pace: Pace = PACE, **behaviour: Behaviour) -> Setting:
            outbox = stack.enter_context(opened(tmp_path, *behaviour))
            setting = Setting(Receivers(**behaviour), outbox, pace)
            monkeypatch.setattr(worker, "_now_s", setting.clock.stopwatch_s)
            return setting

        yield make
