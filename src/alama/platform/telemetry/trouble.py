"""Trouble with the database and with the clock, told by its beginning and its end.

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

    from alama.platform.clock import Leap
    from alama.platform.telemetry.log import Log
    from alama.platform.telemetry.metrics import ClockGauges, Commit


QUIET_S: Final = 1.0
"""Requests that are refused now and then are one outage, not one each."""


class Outage:
    """The outage of now, if there is one. Lives in one event loop."""

    def __init__(self, log: Log, clock_s: Callable[[], float] = time.monotonic) -> None:
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
        self._keeping_fails = True
        self._failed_commits += 1
        self._begin(commit.error, scores_refused=commit.entries)

    def commit_done(self) -> None:
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


HINT: Final = (
    "set the clock of its machine; if the time is right as it is, `alama clock accept`. `alama "
    "clock` shows what is seen"
)
AHEAD: Final = "nothing is deleted, and nothing expires by this time"
BEHIND: Final = "nothing is deleted; stamps and ends of keys go by the last time seen"
HOST_HINT: Final = "have the clock of this host set by a time server: chrony, or systemd-timesyncd"

_SECOND_US: Final = 1_000_000


class ClockWatch:
    """Lines of a log, and figures where they are wanted."""

    def __init__(self, log: Log, gauges: ClockGauges | None) -> None:
        self._log = log
        self._gauges = gauges

    def leapt(self, leap: Leap | None) -> None:
        """Note the leap that stands now, or that none does any more."""
        ahead_s = 0 if leap is None else leap.ahead_us // _SECOND_US
        if self._gauges is not None:
            self._gauges.leap.set(abs(ahead_s))
        if leap is None:
            self._log.note("clock_trusted")
        else:
            message = AHEAD if leap.ahead_us > 0 else BEHIND
            self._log.doubt("clock_leapt", ahead_s=ahead_s, message=message, hint=HINT)

    def host_differs(self, ahead_us: int) -> None:
        """Note by how much the clock of the host is off; nothing where it is right again."""
        ahead_s = ahead_us // _SECOND_US
        if self._gauges is not None:
            self._gauges.host.set(abs(ahead_s))
        if ahead_us:
            self._log.doubt("clock_differs", ahead_s=ahead_s, hint=HOST_HINT)
        else:
            self._log.note("clock_agrees")
