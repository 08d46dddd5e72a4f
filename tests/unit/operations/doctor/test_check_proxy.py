"""The doctor in front: real servers with real certificates, each with one thing wrong."""

from __future__ import annotations

import json
import ssl
import threading
import time
import warnings
from datetime import timedelta
from pathlib import Path

import pytest

from alama import __version__
from alama.operations.doctor import check_proxy
from alama.operations.doctor.check_proxy import Front, InvalidFront, front_at
from alama.operations.findings import Finding
from alama.platform import clock
from tests.certificates import Authority
from tests.ports import free_port
from tests.unit.operations.fronts import NAME, Said, Standing
from tests.unit.operations.patients import BROKEN, LOOK, OK, UNCHECKED, by_check

HSTS = {"strict-transport-security": "max-age=63072000"}
HEALTH = json.dumps({"status": "ok", "version": __version__}).encode()
WELL = {"/v1/health": Said(200, HEALTH, HSTS)}
LONG = timedelta(days=60)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def seen(front: Front) -> dict[str, Finding]:
    found, skew = check_proxy.examine(front, clock.wall_us)
    return by_check([*found, skew])


def at(standing: Standing, authority: Authority | None, plain_port: int | None = None) -> Front:
    trusted = authority.file if authority is not None else None
    return Front(NAME, standing.port, trusted, plain_port or free_port())


def test_a_front_that_is_well_is_well(authority: Authority) -> None:
    with Standing(WELL, authority.server(NAME, LONG)) as standing:
        found = seen(at(standing, authority))
    assert {one.mark for one in found.values()} == {OK}, found
    assert "TLS 1.3" in found["front.certificate"].seen
    assert "in 59 days" in found["front.expiry"].seen
    assert set(standing.asked) == {"/v1/health", *check_proxy.CLOSED}


def test_a_certificate_that_nobody_vouches_for_is_broken_and_the_rest_is_asked(
    authority: Authority,
) -> None:
    with Standing(WELL, authority.server(NAME, LONG)) as standing:
        found = seen(at(standing, None))
    assert found["front.certificate"].mark is BROKEN
    assert "--ca FILE" in str(found["front.certificate"].todo)
    assert found["front.expiry"].mark is OK
    assert found["front.health"].mark is OK


@pytest.mark.parametrize(
    ("host", "lasts", "expiry"),
    [("other.example", LONG, OK), (NAME, timedelta(days=-1), BROKEN)],
)
def test_a_certificate_of_another_name_or_time_is_broken(
    authority: Authority, host: str, lasts: timedelta, expiry: str
) -> None:
    with Standing(WELL, authority.server(host, lasts)) as standing:
        found = seen(at(standing, authority))
    assert found["front.certificate"].mark is BROKEN
    assert "issued for this name" in str(found["front.certificate"].todo)
    assert found["front.expiry"].mark == expiry


def test_a_certificate_that_ends_soon_is_to_be_renewed(authority: Authority) -> None:
    with Standing(WELL, authority.server(NAME, timedelta(days=20))) as standing:
        found = seen(at(standing, authority))
    assert found["front.certificate"].mark is OK
    assert found["front.expiry"].mark is LOOK


def test_old_versions_of_tls_are_told(authority: Authority) -> None:
    context = authority.server(NAME, LONG)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.set_ciphers("ALL:@SECLEVEL=0")
    with Standing(WELL, context) as standing:
        one = seen(at(standing, authority))["front.versions"]
    assert one.mark is LOOK
    assert "TLS 1.1" in one.seen


def test_a_server_without_tls_is_told_from_one_that_does_not_answer() -> None:
    with Standing(WELL) as standing:
        found = seen(at(standing, None))
    assert "no TLS" in found["front.certificate"].seen
    assert found["front.health"].mark is UNCHECKED
    gone = seen(Front(NAME, free_port(), None, free_port()))
    assert "no connection" in gone["front.certificate"].seen
    assert gone["front.health"].mark is UNCHECKED  # of one cause one is told
    assert gone["front.health"].seen == "see certificate"
    assert gone["front.expiry"].mark is UNCHECKED
    assert gone["clock.front"].mark is UNCHECKED
    assert gone["front.plain"].mark is OK


@pytest.mark.parametrize(
    ("answer", "mark"),
    [
        (Said(200, HEALTH), BROKEN),
        (Said(308, headers={"location": "https://localhost/v1/health"}), OK),
        (Said(302, headers={"location": "http://localhost/elsewhere"}), OK),
        (Said(403), OK),
    ],
)
def test_answers_without_tls_are_broken_and_redirects_are_not(
    authority: Authority, answer: Said, mark: str
) -> None:
    with (
        Standing(WELL, authority.server(NAME, LONG)) as standing,
        Standing({"/v1/health": answer}) as plain,
    ):
        found = seen(at(standing, authority, plain.port))
    assert found["front.plain"].mark == mark


@pytest.mark.parametrize(
    ("answer", "mark", "told"),
    [
        (Said(502, b"<h1>Bad Gateway</h1>"), BROKEN, "the service behind it does not"),
        (Said(503, b"<h1>No server is available</h1>"), BROKEN, "the service behind it does not"),
        (Said(504), BROKEN, "the service behind it does not"),
        (Said(404, b"not here"), BROKEN, "404, and not by Alama"),
        (Said(200, b"[]"), BROKEN, "not by Alama"),
        (Said(503, b'{"status":"unavailable","reason":"x"}'), BROKEN, "not available"),
        (Said(200, b'{"status":"ok","version":"0.0.1"}'), LOOK, "version 0.0.1"),
    ],
)
def test_a_service_that_is_not_well_is_told(
    authority: Authority, answer: Said, mark: str, told: str
) -> None:
    with Standing({"/v1/health": answer}, authority.server(NAME, LONG)) as standing:
        found = seen(at(standing, authority))
    assert found["front.health"].mark == mark
    assert told in found["front.health"].seen
    assert found["front.hsts"].mark is LOOK


def test_paths_that_are_nobodys_business_are_to_be_closed(authority: Authority) -> None:
    opened = WELL | {"/metrics": Said(200), "/livez": Said(200)}
    with Standing(opened, authority.server(NAME, LONG)) as standing:
        one = seen(at(standing, authority))["front.closed"]
    assert one.mark is LOOK
    assert one.seen.startswith("/metrics and /livez")


@pytest.mark.parametrize(
    ("date", "mark"),
    [("Sun, 06 Nov 1994 08:49:37 GMT", BROKEN), ("yesterday", UNCHECKED), (None, OK)],
)
def test_the_clock_in_front_is_compared_with_ours(
    authority: Authority, date: str | None, mark: str
) -> None:
    with Standing(WELL, authority.server(NAME, LONG), date) as standing:
        assert seen(at(standing, authority))["clock.front"].mark == mark


@pytest.mark.parametrize(
    "url",
    [
        "http://scores.example",
        "scores.example",
        "https://",
        "https://a:b@scores",
        "https://x:port",
        "https://a..b",
        f"https://{'x' * 70}.example",
        "https://host/alama",
        "https://host/?a=b",
    ],
)
def test_an_address_that_callers_cannot_use_is_refused(url: str) -> None:
    with pytest.raises(InvalidFront):
        front_at(url, None)


def test_an_address_has_a_port_or_the_usual_one(tmp_path: Path) -> None:
    assert front_at("https://scores.example", None) == Front("scores.example", 443)
    assert front_at("https://scores.example:8443/", None).port == 8443
    assert front_at("https://[::1]:8443", None).host == "::1"
    with pytest.raises(InvalidFront, match="No such file"):
        front_at("https://scores.example", tmp_path / "none.pem")


def test_a_file_of_authorities_that_holds_none_is_a_mistake_and_no_finding(tmp_path: Path) -> None:
    (tmp_path / "no.pem").write_text("this is no certificate")
    with pytest.raises(InvalidFront, match="no certificates in PEM"):
        front_at("https://scores.example", tmp_path / "no.pem")
    with pytest.raises(InvalidFront, match="cannot use"):
        front_at("https://scores.example", tmp_path)


@pytest.mark.parametrize(
    ("error", "mark"),
    [
        (ssl.SSLError(1, "alert protocol version"), OK),
        (ConnectionResetError(104, "reset"), OK),
        (TimeoutError("timed out"), UNCHECKED),
        (ConnectionRefusedError(111, "refused"), UNCHECKED),
    ],
)
def test_only_who_refuses_an_old_version_is_said_to_refuse_it(
    error: OSError, mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shake_hands(*_: object) -> str:
        raise error

    monkeypatch.setattr(check_proxy, "_shake_hands", shake_hands)
    front = Front(NAME, 443)
    assert check_proxy._versions(front, check_proxy._old_tls()).mark == mark
    assert check_proxy._versions(front, None).mark is UNCHECKED


def test_a_machine_that_speaks_no_old_version_knows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def modern() -> ssl.SSLContext:
        context = ssl.create_default_context()
        context.options |= ssl.OP_NO_TLSv1 | ssl.OP_NO_TLSv1_1
        return context

    monkeypatch.setattr(check_proxy, "_unverified", modern)
    assert check_proxy._old_tls() is None


def test_who_answers_too_slowly_is_not_waited_for(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_proxy, "TIMEOUT_S", 2.0)
    released = threading.Event()

    def trickle(*_: object) -> None:
        released.wait(60)

    monkeypatch.setattr(check_proxy, "_get", trickle)
    with Standing(WELL, authority.server(NAME, LONG)) as standing:
        began_s = time.monotonic()
        found = seen(at(standing, authority))
        took_s = time.monotonic() - began_s
    released.set()
    assert took_s < 30
    assert found["front.health"].mark is BROKEN
    assert found["front.expiry"].mark is OK
    assert found["clock.front"].mark is UNCHECKED


def test_without_an_address_it_is_said_how_to_name_one() -> None:
    found, skew = check_proxy.examine(None, clock.wall_us)
    assert {one.mark for one in (*found, skew)} == {UNCHECKED}
    assert "alama doctor --url" in str(found[0].todo)
