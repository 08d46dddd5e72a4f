"""Calls of a service elsewhere, over its public interface: the way out of `alama remote`.

It asks only the address that whoever started it has logged in at. What is sent again, and when,
follows the table of docs/errors.md.
"""

from __future__ import annotations

import ssl
import time
from concurrent.futures import Future
from http.client import HTTPException, IncompleteRead
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import (
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    build_opener,
)

import msgspec

from alama import __version__
from alama.core.application import visible
from alama.core.errors import AlamaError
from alama.platform.http.problem_codes import PROBLEMS
from alama.platform.terminal import terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


class Page(Protocol):
    """A part of a list, and where it goes on."""

    @property
    def data(self) -> Sequence[object]: ...
    @property
    def next_cursor(self) -> str | None: ...


T = TypeVar("T")
P = TypeVar("P", bound=Page)

TIMEOUT_S: Final = 40.0
"""The longest that the service takes itself, for a report, is 30."""
DEADLINE_S: Final = 120.0
"""For all of an answer, however slowly it comes: `TIMEOUT_S` ends a silence alone."""
ATTEMPTS: Final = 5
PAGE_MAX: Final = 100
"""As every list of the service has it, which a test holds: `login` does not wait for its arrays."""
WAIT_S_MAX: Final = 60
BODY_MAX: Final = 64 << 20
"""What comes is no answer of Alama where it is larger."""

_LIMITED: Final = 429
_UNAVAILABLE: Final = 503
_NOBODY_KNOWS: Final = frozenset({408, 500, 502, _UNAVAILABLE, 504})
_MAY_BE_DONE: Final = frozenset({*_NOBODY_KNOWS, *range(500, 600)})
"""What is in front of a service has more of them than are sent again, such as 524."""
_IN_FLIGHT: Final = "idempotency_in_flight"
GOOD: Final = frozenset({200, 201, 202, 204})
_SHOWN_MAX: Final = 200
_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Broken(msgspec.Struct, frozen=True):
    """One broken rule of one field."""

    pointer: str = ""
    code: str = ""
    detail: str = ""


class Problem(msgspec.Struct, frozen=True):
    """A problem as the service tells it; what stands in front of one has no code."""

    code: str
    detail: str = ""
    title: str = ""
    request_id: str = ""
    errors: tuple[Broken, ...] = ()


class Failed(AlamaError):
    """What was asked for has not come."""

    may_be_done = True
    """Whether it may have been done all the same, when it was sent first or again."""


class Unreachable(Failed):
    """No answer came, or none of Alama."""


class Refused(Failed):
    """The service has answered with a problem; `code` is None where something before it has."""

    def __init__(self, status: int, problem: Problem | None, message: str, hint: str) -> None:
        super().__init__(message, hint=hint or None)
        self.status = status
        self.code = None if problem is None else problem.code


class Call(NamedTuple):
    """What is asked. A call that is not `repeatable` must not be done twice."""

    method: str
    path: str
    query: Mapping[str, str] = {}
    body: bytes | None = None
    headers: Mapping[str, str] = {}
    repeatable: bool = True
    answers: frozenset[int] = GOOD
    """The statuses of what was asked for."""


class _Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes


class Client:
    """Asks one service with one key; `sleep` is called with seconds."""

    def __init__(self, url: str, key: str, sleep: Callable[[float], None] = time.sleep) -> None:
        self.url = url
        self._key = key
        self._sleep = sleep
        self._opener = _opener(url)
        self._has_answered = False

    def ask(self, call: Call, kind: type[T]) -> T:
        """Give the answer as what it is promised to be; `Refused`, `Unreachable`."""
        return self.read(self.fetch(call), kind)

    def read(self, answer: bytes | msgspec.Raw, kind: type[T]) -> T:
        try:
            # As text: what is passed over as not known would else be no UTF-8 for all we know.
            return msgspec.json.decode(bytes(answer).decode(), type=kind)
        except _UNREADABLE as error:
            raise Unreachable(
                f"{self.url} has answered something that Alama {__version__} does not know",
                hint="is it the address of an Alama, and is this one as new?",
            ) from error

    def pages(
        self, path: str, kind: type[P], query: Mapping[str, str], cursor: str | None, limit: int
    ) -> Iterator[P]:
        """Read a list from a cursor on, until so many lines have come; `Refused`, `Unreachable`."""
        left = limit
        while left > 0:
            asked = {**query, "limit": str(min(left, PAGE_MAX))}
            page = self.ask(
                Call("GET", path, asked if cursor is None else {**asked, "cursor": cursor}), kind
            )
            yield page
            cursor, left = page.next_cursor, left - len(page.data)
            if cursor is None or not page.data:
                return

    def fetch(self, call: Call) -> bytes:
        """Give the body of an answer, sent again where that can help; `Refused`, `Unreachable`."""
        may_be_done = False
        for attempt in range(1, ATTEMPTS + 1):
            may_wait = attempt < ATTEMPTS
            backoff_s = 2.0 ** (attempt - 2)
            try:
                answer = self._send(call)
            except Unreachable as error:
                may_be_done = error.may_be_done = error.may_be_done or may_be_done
                # An address that never answered is wrong as a rule: who typed it is told at once.
                if not (may_wait and call.repeatable and self._has_answered):
                    raise
                self._wait(backoff_s, str(error))
                continue
            self._has_answered = True
            if answer.status in call.answers:
                return answer.body
            problem = _problem(answer.body)
            is_open = answer.status in _MAY_BE_DONE and not _nothing_was_done(answer, problem)
            may_be_done = may_be_done or is_open
            wait_s = max(_retry_after_s(answer), 1.0 if problem is None else 0.0)
            may_wait = may_wait and wait_s <= WAIT_S_MAX
            if not (may_wait and self._may_help(call, answer, problem)):
                refused = _refused(self.url, answer, problem)
                refused.may_be_done = may_be_done
                raise refused
            self._wait(wait_s or backoff_s, _in_short(answer, problem))
        raise AssertionError

    def _may_help(self, call: Call, answer: _Answer, problem: Problem | None) -> bool:
        code = None if problem is None else problem.code
        if _nothing_was_done(answer, problem) or code == _IN_FLIGHT:
            return True
        return call.repeatable and answer.status in _NOBODY_KNOWS

    def _wait(self, wait_s: float, why: str) -> None:
        terminal.remark(f"{why}; trying again in {wait_s:g} s")
        self._sleep(wait_s)

    def _send(self, call: Call) -> _Answer:
        """Ask once, in a thread that is left behind where the service does not come to an end."""
        future: Future[_Answer] = Future()

        def exchange() -> None:
            try:
                future.set_result(self._exchange(call))
            except BaseException as error:  # noqa: BLE001  raised where it is waited for
                future.set_exception(error)

        Thread(target=exchange, daemon=True).start()
        try:
            return future.result(DEADLINE_S)
        except TimeoutError:
            raise Unreachable(
                f"{self.url} had not answered in full after {DEADLINE_S:.0f} s"
            ) from None

    def _exchange(self, call: Call) -> _Answer:
        query = f"?{urlencode(call.query, errors='surrogateescape')}" if call.query else ""
        headers = {
            "Accept": "application/json",
            "Authorization": f"Bearer {self._key}",
            "User-Agent": f"alama/{__version__}",
            **({} if call.body is None else {"Content-Type": "application/json"}),
            **call.headers,
        }
        request = Request(  # noqa: S310  `logins.address` lets http and https through, nothing else
            f"{self.url}{call.path}{query}", call.body, headers, method=call.method
        )
        try:
            try:
                reply: Any = self._opener.open(request, timeout=TIMEOUT_S)
            except HTTPError as error:  # an answer like any other
                reply = error
            with reply:
                body = reply.read(BODY_MAX + 1)
                if reply.length and len(body) <= BODY_MAX:  # `read` does not tell by itself
                    raise IncompleteRead(b"", reply.length)
                named = {name.lower(): value for name, value in reply.headers.items()}
                return _Answer(reply.status, named, body)
        except (OSError, HTTPException) as error:
            failed = self._unreachable(error)
            failed.may_be_done = not isinstance(error, URLError)  # that is told before all is sent
            raise failed from error

    def _unreachable(self, error: OSError | HTTPException) -> Unreachable:
        cause = error.reason if isinstance(error, URLError) else error
        if isinstance(cause, ssl.SSLCertVerificationError):
            return Unreachable(
                f"the certificate of {self.url} is not to be trusted: {cause.verify_message}",
                hint="is it the right address? SSL_CERT_FILE=FILE.pem names an authority of your "
                "own, if that has signed it",
            )
        if isinstance(cause, ssl.SSLError):
            why = (cause.reason or "it failed").lower().replace("_", " ")
            return Unreachable(f"no TLS with {self.url}: {why}", hint="does it serve https there?")
        if isinstance(cause, TimeoutError):
            return Unreachable(f"{self.url} did not answer within {TIMEOUT_S:.0f} s")
        if isinstance(error, URLError):
            why = getattr(cause, "strerror", None) or str(cause)
            return Unreachable(
                f"cannot reach {self.url}: {why}", hint="compare the address, and see that it runs"
            )
        return Unreachable(
            f"{self.url} broke off before it had answered", hint="is that an Alama, and https?"
        )


class _NoRedirects(HTTPRedirectHandler):
    """The key is for one address: it follows nobody elsewhere."""

    def http_error_302(self, *_: object, **_named: object) -> None:
        return None

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


def _opener(url: str) -> OpenerDirector:
    """Speak TLS as the system trusts it; without TLS no proxy gets to see a key."""
    if urlsplit(url).scheme == "http":
        return build_opener(_NoRedirects, ProxyHandler({}))
    return build_opener(_NoRedirects, HTTPSHandler(context=ssl.create_default_context()))


def _problem(body: bytes) -> Problem | None:
    try:
        return msgspec.json.decode(body, type=Problem)
    except _UNREADABLE:
        return None


def _nothing_was_done(answer: _Answer, problem: Problem | None) -> bool:
    """Whether that is certain: what stands in front may answer 503 for what went through."""
    return answer.status == _LIMITED or (answer.status == _UNAVAILABLE and problem is not None)


def _retry_after_s(answer: _Answer) -> float:
    told = answer.headers.get("retry-after", "")
    return float(told) if told.isascii() and told.isdigit() else 0.0


def _in_short(answer: _Answer, problem: Problem | None) -> str:
    if problem is None:
        return f"something in front of the service answered {answer.status}"
    return f"the service says {visible(problem.code)}"


def _refused(url: str, answer: _Answer, problem: Problem | None) -> Refused:
    if problem is None:
        return Refused(answer.status, None, *_of_another(url, answer))
    meaning = PROBLEMS.get(problem.code)
    detail = (problem.detail or problem.title).replace(": see errors.", ":")  # they stand below
    lines = [f"{problem.code}: {detail}"]
    lines += [f"  {one.pointer.removeprefix('/')} {one.detail}" for one in problem.errors]
    if problem.request_id:
        lines.append(f"  request {problem.request_id}")
    remedy = "" if meaning is None else meaning.remedy
    return Refused(answer.status, problem, "\n".join(map(visible, lines)), remedy)


def _of_another(url: str, answer: _Answer) -> tuple[str, str]:
    """Say what was answered by something that is not Alama, and what to do."""
    if answer.status in range(300, 400):
        target = visible(answer.headers.get("location", "")[:_SHOWN_MAX])
        return f"{url} sends callers elsewhere: {target}", "log in at the address that serves"
    said = f"{url} answered {answer.status}, and not as Alama does"
    if answer.status in _NOBODY_KNOWS | {_LIMITED}:
        return (
            said,
            "what stands in front of the service speaks; its operator knows whether it runs",
        )
    return said, "compare the address: it ends before /v1"
