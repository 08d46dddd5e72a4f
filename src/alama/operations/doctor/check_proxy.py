"""In front: what callers meet at the address that an operator names.

No key is sent, and nothing but GET. What the certificate cannot prove is told first; the rest is
then asked all the same.
"""

from __future__ import annotations

import json
import socket
import ssl
import time
import warnings
from contextlib import closing
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

from cryptography import x509

from alama import __version__
from alama.core.errors import AlamaError
from alama.lenders.keys import US_PER_SECOND
from alama.operations.doctor import check_clock
from alama.operations.doctor.findings import complete, number
from alama.operations.findings import Finding, broken, look, ok, unchecked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from alama.platform.clock import Clock


TIMEOUT_S: Final = 5.0

_READ_MAX: Final = 64 * 1024


class NoAnswer(OSError):
    """Somebody is there, and what they say is no HTTP."""


class Answer(NamedTuple):
    """What came back for a path."""

    status: int
    headers: dict[str, str]
    body: bytes

    def health(self) -> dict[str, Any] | None:
        """Give what Alama says of its health; None where somebody else has answered."""
        try:
            told = json.loads(self.body)
        except ValueError:
            return None
        return told if isinstance(told, dict) and "status" in told else None


def ask(host: str, port: int, path: str, tls: ssl.SSLContext | None = None) -> Answer:
    """Ask for a path, with TLS or without; an `OSError` where there is no answer."""
    connection = (
        HTTPConnection(host, port, timeout=TIMEOUT_S)
        if tls is None
        else HTTPSConnection(host, port, timeout=TIMEOUT_S, context=tls)
    )
    with closing(connection):
        try:
            connection.request("GET", path, headers={"user-agent": f"alama-doctor/{__version__}"})
            reply = connection.getresponse()
            headers = {name.lower(): value for name, value in reply.getheaders()}
            return Answer(reply.status, headers, reply.read(_READ_MAX))
        except HTTPException as error:
            raise NoAnswer(0, "no HTTP") from error


EXPIRES_LOOK_DAYS: Final = 21
CLOSED: Final = ("/metrics", "/livez", "/readyz")
"""For whoever runs the service: nobody else needs to know."""

_HEALTH: Final = "/v1/health"
_REDIRECTS: Final = range(300, 400)
_ANSWERED: Final = range(200, 300)
_NOBODY_BEHIND: Final = frozenset({502, 503, 504})
_UNKNOWN_ISSUER: Final = frozenset({2, 18, 19, 20, 21})
"""OpenSSL's codes for a certificate whose issuer is not known, or that vouches for itself."""
_NOT_NAMED: Final = "no address named"
_NO_TLS: Final = "see certificate"
_SILENT: Final = "it did not answer"
HOW: Final = "`alama doctor --url https://NAME` asks it"


class InvalidFront(AlamaError):
    """The address to look at is none."""


class Front(NamedTuple):
    """The address that callers use, and who vouches for it: the system's authorities, or a file."""

    host: str
    port: int
    authorities: Path | None = None
    plain_port: int = 80


class Timed(NamedTuple):
    """An answer, and when by our clock it was asked for."""

    answer: Answer
    began_us: int
    took_us: int


def front_at(url: str, authorities: Path | None) -> Front:
    """Read the address that callers use, or raise `InvalidFront`."""
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname or ""
        host.encode("idna")  # as it is asked for
    except ValueError:  # of names, too: a UnicodeError is one
        parts, port, host = urlsplit(""), None, ""
    has_more = parts.path not in {"", "/"} or parts.query or parts.fragment
    if parts.scheme != "https" or not host or parts.username is not None or has_more:
        raise InvalidFront(
            "--url wants the address that callers use, without a path",
            hint="https://scores.example.org, with a port or without",
        )
    front = Front(host, port or 443, authorities)
    try:
        _trusting(front)
    except OSError as error:  # an SSLError is one
        why = "no certificates in PEM" if isinstance(error, ssl.SSLError) else error.strerror
        raise InvalidFront(
            f"--ca: cannot use {authorities}: {why}",
            hint="it names a file of certificates in PEM: those of the authorities",
        ) from error
    return front


def examine(front: Front | None, clock: Clock) -> tuple[Sequence[Finding], Finding]:
    """Ask an address as a caller would; the second finding compares its clock with ours."""
    if front is None:
        unasked = unchecked("front.certificate", _NOT_NAMED, HOW)
        return complete([unasked], "front", _NOT_NAMED), unchecked("clock.front", _NOT_NAMED)
    certificate, speaks_tls = _certificate(front)
    old = _old_tls() if speaks_tls else None  # here: what it does to warnings is not for threads
    asked: dict[str, Callable[[], object]] = {"plain": lambda: _plain(front)}
    if speaks_tls:
        asked |= {
            "expiry": lambda: _expiry(front),
            "versions": lambda: _versions(front, old),
            _HEALTH: lambda: _timed(front, clock),
        }
        asked |= {path: partial(_get, front, path) for path in CLOSED}
    answers = _together(asked)
    found = [certificate]
    found += [one for one in answers.values() if isinstance(one, Finding)]
    if not speaks_tls:
        return complete(found, "front", _NO_TLS), unchecked("clock.front", _NO_TLS)
    timed = answers.get(_HEALTH)
    if not isinstance(timed, Timed):
        found.append(
            broken(
                "front.health",
                f"GET {_HEALTH} has no answer",
                "does the proxy run, and know the port of the service (ALAMA_PORT)?",
            )
        )
        return complete(found, "front", _SILENT), unchecked("clock.front", _SILENT)
    opened = [path for path in CLOSED if _is_answered(answers.get(path))]
    found += [_health(timed.answer), _hsts(timed.answer), _closed(opened)]
    return complete(found, "front", _SILENT), _skew(timed)


def _certificate(front: Front) -> tuple[Finding, bool]:
    """Shake hands as a caller does; and say whether TLS is spoken there at all."""
    check = "front.certificate"
    try:
        version = _shake_hands(front, _trusting(front))
    except ssl.SSLCertVerificationError as error:
        return broken(check, f"a caller refuses it: {error.verify_message}", _todo(error)), True
    except ssl.SSLError as error:
        reason = (error.reason or "no TLS").replace("_", " ").lower()
        todo = "let the proxy in front terminate TLS"
        return broken(check, f"no TLS there: {reason}", todo), False
    except OSError as error:
        why = error.strerror or "no answer in time"
        return broken(
            check,
            f"no connection to {front.host}, port {front.port}: {why}",
            "does the proxy in front run, does the name lead to it, and is the port open?",
        ), False
    seen = f"valid for {front.host}, from an authority that is trusted; {version}"
    return ok(check, seen), True


def _todo(error: ssl.SSLCertVerificationError) -> str:
    if error.verify_code in _UNKNOWN_ISSUER:
        return (
            "have it issued by an authority that callers trust, and send the whole chain; of an "
            "authority of your own, name the certificate with --ca FILE"
        )
    return "have a certificate issued for this name, and the proxy loaded again with it"


def _expiry(front: Front) -> Finding:
    check = "front.expiry"
    try:
        certificate = x509.load_der_x509_certificate(_shown(front))
    except (OSError, ValueError):
        return unchecked(check, "the certificate cannot be read")
    left = certificate.not_valid_after_utc - datetime.now(UTC)
    day = f"{certificate.not_valid_after_utc:%Y-%m-%d}"
    renew = "renew it, and have the proxy load it: most issuers have a program that does both"
    if left.total_seconds() < 0:
        return broken(check, f"expired on {day}: callers are refused", renew)
    seen = f"in {number(left.days, 'day')}, on {day}"
    return look(check, seen, renew) if left.days < EXPIRES_LOOK_DAYS else ok(check, seen)


def _versions(front: Front, old: ssl.SSLContext | None) -> Finding:
    check = "front.versions"
    if old is None:
        return unchecked(check, "the OpenSSL of this machine speaks nothing older than TLS 1.2")
    try:
        version = _shake_hands(front, old)
    except (ssl.SSLError, ConnectionResetError):
        return ok(check, "nothing older than TLS 1.2 is spoken")
    except OSError:
        return unchecked(check, "it did not say")
    return look(check, f"it still speaks {version}", "let the proxy take TLS 1.2 and 1.3 alone")


def _plain(front: Front) -> Finding:
    """Ask without TLS: whoever answers so has keys sent to it in the clear."""
    check = "front.plain"
    answer = _asked(front.host, front.plain_port, _HEALTH)
    where = f"port {front.plain_port}"
    if answer is None:
        return ok(check, f"nobody answers on {where}")
    if answer.status in _REDIRECTS and answer.headers.get("location", "").startswith("https://"):
        return ok(check, f"{where} sends callers on to https")
    if answer.status in _ANSWERED:
        return broken(
            check,
            f"{where} answers without TLS: keys and applications can be read on the way",
            "let it redirect to https, or close it",
        )
    return ok(check, f"{where} refuses with {answer.status}")


def _health(answer: Answer) -> Finding:
    check = "front.health"
    told = answer.health()
    if told is None and answer.status in _NOBODY_BEHIND:
        return broken(
            check,
            f"GET {_HEALTH} is answered with {answer.status}: what stands in front answers, and "
            "the service behind it does not",
            "start it; where it runs, does what stands in front know its port (ALAMA_PORT)?",
        )
    if told is None:
        return broken(
            check,
            f"GET {_HEALTH} is answered with {answer.status}, and not by Alama",
            "is the proxy in front pointed at this service, with the path as it is?",
        )
    if told["status"] != "ok":
        return broken(check, "the service says that it is not available", "see the checks above")
    if told.get("version") != __version__:
        return look(
            check,
            f"ok, from version {str(told.get('version'))[:20]}; this is {__version__}",
            "finish the upgrade, or run this check with the version that serves",
        )
    return ok(check, f"GET {_HEALTH} is answered: ok, version {__version__}")


def _hsts(answer: Answer) -> Finding:
    check = "front.hsts"
    if "strict-transport-security" in answer.headers:
        return ok(check, "browsers are told to come by https alone")
    return look(
        check,
        "the header Strict-Transport-Security is missing",
        "let the proxy add it: the reference page is opened in browsers",
    )


def _closed(opened: Sequence[str]) -> Finding:
    check = "front.closed"
    if opened:
        return look(
            check,
            f"{' and '.join(opened)} answered from outside, without a key",
            "let the proxy answer them with 404: they are for whoever runs the service",
        )
    return ok(check, f"{', '.join(CLOSED)} are not passed on")


def _is_answered(answer: object) -> bool:
    return isinstance(answer, Answer) and answer.status in _ANSWERED


def _skew(timed: Timed) -> Finding:
    check = "clock.front"
    try:
        theirs = parsedate_to_datetime(timed.answer.headers["date"])
    except (KeyError, ValueError):
        return unchecked(check, "it gave no time")
    # A date has whole seconds: it is half a second later on average.
    ahead_us = int(theirs.timestamp() * US_PER_SECOND) + US_PER_SECOND // 2
    ahead_us -= timed.began_us + timed.took_us // 2
    return check_clock.compared(check, ahead_us, (timed.took_us + US_PER_SECOND) // 2, "the front")


# -------------------------------------------------------------------------------- the wire


def _trusting(front: Front) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=front.authorities)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _unverified() -> ssl.SSLContext:
    """Give what takes any certificate: nothing secret is said over it."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _old_tls() -> ssl.SSLContext | None:
    """Give what speaks TLS 1.0 and 1.1 alone; None where this machine speaks neither."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # we ask for what is deprecated
        context = _unverified()
        try:
            context.minimum_version = ssl.TLSVersion.TLSv1
            context.maximum_version = ssl.TLSVersion.TLSv1_1
            context.set_ciphers("ALL:@SECLEVEL=0")
            context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO()).do_handshake()
        except ssl.SSLWantReadError:  # it has said hello, and waits for an answer
            return context
        except (ssl.SSLError, ValueError):
            return None
    return None


def _shake_hands(front: Front, context: ssl.SSLContext) -> str:
    place = (front.host, front.port)
    with (
        socket.create_connection(place, TIMEOUT_S) as plain,
        context.wrap_socket(plain, server_hostname=front.host) as secure,
    ):
        return (secure.version() or "TLS").replace("TLSv", "TLS ")


def _shown(front: Front) -> bytes:
    place = (front.host, front.port)
    with (
        socket.create_connection(place, TIMEOUT_S) as plain,
        _unverified().wrap_socket(plain, server_hostname=front.host) as secure,
    ):
        return secure.getpeercert(binary_form=True) or b""


def _together(asked: Mapping[str, Callable[[], object]]) -> Mapping[str, object]:
    """Ask everything at once; what has no answer in time is left out, however slowly it comes."""
    answers: dict[str, object] = {}

    def ask(name: str, question: Callable[[], object]) -> None:
        answers[name] = question()

    # Daemons: nobody waits for who trickles, at the end of the program neither.
    threads = [Thread(target=ask, args=one, daemon=True) for one in asked.items()]
    for thread in threads:
        thread.start()
    ends_s = time.monotonic() + 2 * TIMEOUT_S
    for thread in threads:
        thread.join(max(0.0, ends_s - time.monotonic()))
    return dict(answers)


def _timed(front: Front, clock: Clock) -> Timed | None:
    began_us = clock()
    answer = _get(front, _HEALTH)
    return None if answer is None else Timed(answer, began_us, clock() - began_us)


def _get(front: Front, path: str) -> Answer | None:
    return _asked(front.host, front.port, path, _unverified())


def _asked(host: str, port: int, path: str, context: ssl.SSLContext | None = None) -> Answer | None:
    """Ask for a path; None: nobody answered."""
    try:
        return ask(host, port, path, context)
    except OSError:
        return None
