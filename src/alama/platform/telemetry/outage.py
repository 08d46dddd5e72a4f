"""An outage of the database, told by its beginning and its end, whichever statement met it first.

Keeping and reading fail apart: a full disk still reads well, and while every key is looked up in
vain nobody gets as far as keeping anything.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Final

from alama.core.errors import AlamaError

if TYPE_CHECKING:
    from collections.abc import Callable

    from alama.platform.telemetry.log import Log
    from alama.platform.telemetry.metrics import Commit


QUIET_S: Final = 1.0
"""Requests that are refused now and then are one outage, not one each."""


class Outage:
    """The outage of now, if there is one. Lives in one event loop."""

    def __init__(self, log: Log, clock_s: Callable[[], float] = time.monotonic) -> None:
        """Take where it is told, and a stopwatch in seconds."""
        self._log = log
        self._clock_s = clock_s
        self._began_s = math.nan
        self._refused_s = -math.inf
        self._keeping_fails = False
        self._failed_commits = 0
        self._refused_requests = 0
        self.lasts = False
        """Whether there is one."""

    def commit_failed(self, commit: Commit) -> None:
        """Note a group that could not be kept."""
        self._keeping_fails = True
        self._failed_commits += 1
        self._begin(commit.error, scores_refused=commit.entries)

    def commit_done(self) -> None:
        """Note a group that was kept."""
        self._keeping_fails = False
        self._end_if_quiet()

    def request_refused(self, error: Exception) -> None:
        """Note a request that was refused, whatever it wanted of the database."""
        self._refused_requests += 1
        # While nothing can be kept, that alone says when it is over.
        if not self._keeping_fails:
            self._refused_s = self._clock_s()
        self._begin(error)

    def request_answered(self) -> None:
        """Note a request that the database was asked for, and that went well."""
        if not self._keeping_fails:
            self._end_if_quiet()

    def _begin(self, error: BaseException | None, **fields: object) -> None:
        if not self.lasts:
            self.lasts = True
            self._began_s = self._clock_s()
            self._log.fail(
                "database_unavailable", error, **fields, **words(error and error.__cause__)
            )

    def _end_if_quiet(self) -> None:
        now_s = self._clock_s()
        if not self.lasts or now_s - self._refused_s < QUIET_S:
            return
        self._log.note(
            "database_recovered",
            seconds=round(now_s - self._began_s, 1),
            failed_commits=self._failed_commits,
            requests_refused=self._refused_requests,
        )
        self.lasts = False
        self._failed_commits = 0
        self._refused_requests = 0


def words(error: BaseException | None) -> dict[str, str]:
    """Give an error of ours in words: where nobody else is to blame, they hold no value of theirs.

    Of any other error nothing: its message could hold anything.
    """
    if not isinstance(error, AlamaError):
        return {}
    return {"message": str(error)} | ({"hint": error.hint} if error.hint else {})
