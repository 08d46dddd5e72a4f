"""Keys that `alama login` keeps: where they may be sent, and who may read them."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from alama.app.remote import logins
from alama.app.remote.login_cli import Told
from alama.app.remote.logins import InvalidAddress, InvalidLogins, Login, Logins, address
from alama.core.errors import FileProblem
from alama.platform.book import Mode

KEY = "alama_test_" + "K" * 36
ONE = Login("https://one.example", Mode.TEST, KEY, "demo", "KES")
LIVE = Login("https://one.example", Mode.LIVE, KEY, None, None)


@pytest.fixture
def kept(tmp_path: Path) -> Logins:
    return Logins.of({"XDG_CONFIG_HOME": str(tmp_path / "config")})


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_is_kept_is_read_back_and_is_for_nobody_else(kept: Logins) -> None:
    assert kept.read() == ()
    kept.keep(ONE)
    kept.keep(LIVE)
    assert set(kept.read()) == {ONE, LIVE}
    assert mode_of(kept.path) == 0o600
    assert mode_of(kept.path.parent) == 0o700
    assert [path.name for path in kept.path.parent.iterdir()] == ["logins.json"]


def test_a_second_key_for_an_address_and_mode_takes_the_place_of_the_first(kept: Logins) -> None:
    kept.keep(ONE)
    kept.keep(Login(ONE.url, Mode.TEST, KEY[:-1] + "L", "other", "UGX"))
    (found,) = kept.read()
    assert found.lender == "other"


def test_what_is_forgotten_is_gone_and_the_last_takes_the_file_along(kept: Logins) -> None:
    kept.keep(ONE)
    kept.keep(LIVE)
    kept.forget([ONE])
    assert kept.read() == (LIVE,)
    assert mode_of(kept.path) == 0o600
    kept.forget([LIVE])
    assert not kept.path.exists()


@pytest.mark.parametrize("bits", [0o604, 0o640, 0o620, 0o606])
def test_a_file_that_others_can_read_or_write_is_refused(kept: Logins, bits: int) -> None:
    kept.keep(ONE)
    kept.path.chmod(bits)
    for use in (kept.read, lambda: kept.keep(LIVE), lambda: kept.forget([ONE])):
        with pytest.raises(InvalidLogins, match="others on this machine") as raised:
            use()
        assert "chmod 600" in str(raised.value.hint)
    assert mode_of(kept.path) == bits


def test_a_folder_that_others_can_write_in_is_refused(kept: Logins) -> None:
    kept.path.parent.mkdir(parents=True)
    kept.path.parent.chmod(0o777)
    with pytest.raises(InvalidLogins, match="others can write"):
        kept.keep(ONE)
    assert not kept.path.exists()


def test_a_folder_is_looked_at_where_a_link_leads_and_when_it_is_read(
    kept: Logins, tmp_path: Path
) -> None:
    kept.keep(ONE)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    target = kept.path.rename(elsewhere / "logins.json")
    kept.path.symlink_to(target)
    assert kept.read() == (ONE,)
    elsewhere.chmod(0o777)
    for use in (kept.read, lambda: kept.keep(LIVE), lambda: kept.forget([ONE])):
        with pytest.raises(InvalidLogins, match=f"others can write in {elsewhere}"):
            use()
    elsewhere.chmod(0o700)
    kept.path.parent.chmod(0o777)
    with pytest.raises(InvalidLogins, match="others can write"):
        kept.read()


def test_a_link_that_leads_nowhere_is_told(kept: Logins, tmp_path: Path) -> None:
    kept.path.parent.mkdir(parents=True, mode=0o700)
    kept.path.symlink_to(tmp_path / "nowhere" / "logins.json")
    with pytest.raises(FileProblem, match="cannot write"):
        kept.keep(ONE)


def test_logins_at_once_are_all_kept(kept: Logins) -> None:
    many = [msgspec.structs.replace(ONE, url=f"https://{i}.example") for i in range(12)]
    with ThreadPoolExecutor(len(many)) as threads:
        list(threads.map(kept.keep, many))
        assert set(kept.read()) == set(many)
        list(threads.map(lambda one: kept.forget([one]), many[1:]))
    assert kept.read() == (many[0],)


def test_what_could_not_be_read_again_is_not_written(
    kept: Logins, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.keep(ONE)
    monkeypatch.setattr(logins, "_SIZE_MAX", 300)
    with pytest.raises(InvalidLogins, match="too long"):
        kept.keep(msgspec.structs.replace(LIVE, lender="l" * 64))
    assert kept.read() == (ONE,)


def test_what_is_no_file_is_told_at_once(kept: Logins) -> None:
    kept.path.mkdir(parents=True, mode=0o700)
    with pytest.raises(InvalidLogins, match="is no file"):
        kept.read()
    kept.path.rmdir()
    os.mkfifo(kept.path, 0o600)
    with pytest.raises(InvalidLogins, match="is no file"):
        kept.read()


@pytest.mark.parametrize(
    ("lender", "currency"),
    [
        ("l" * 65, "KES"),
        ("demo\nerror: forged", "KES"),
        ("demo\n", "KES"),
        ("", "KES"),
        ("d\u202emo", "KES"),
        ("demo", "K" * 4),
        ("demo", "KES\n"),
    ],
)
def test_a_lender_and_its_currency_are_short_words(lender: str, currency: str) -> None:
    said = {"lender": "demo", "currency": "KES", "more": 1}
    assert msgspec.convert(said, Told) == Told("demo", "KES")
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(said | {"lender": lender, "currency": currency}, Told)


def test_somebody_elses_file_is_refused(kept: Logins, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.keep(ONE)
    monkeypatch.setattr("os.geteuid", lambda: kept.path.stat().st_uid + 1)
    with pytest.raises(InvalidLogins, match="somebody else's"):
        kept.read()


@pytest.mark.parametrize(
    "content", [b"", b"{", b'{"logins": [{"url": "x"}]}', b"[]", b'{"logins": "\xff"}']
)
def test_a_damaged_file_is_told_without_what_is_in_it(kept: Logins, content: bytes) -> None:
    kept.keep(ONE)
    kept.path.write_bytes(content)
    with pytest.raises(InvalidLogins, match="is damaged"):
        kept.read()


def test_no_key_is_shown_where_a_login_is() -> None:
    assert KEY not in repr(ONE)
    assert KEY not in f"{ONE} {[ONE]!r}"


def test_a_relative_folder_is_passed_over() -> None:
    at_home = Path.home() / ".config" / "alama" / "logins.json"
    assert Logins.of({"XDG_CONFIG_HOME": "config"}).path == at_home
    assert Logins.of({}).path == at_home


def test_who_has_no_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError

    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(InvalidLogins, match="no home") as raised:
        Logins.of({})
    assert raised.value.hint == "set XDG_CONFIG_HOME"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("https://Scores.Example.org/", "https://scores.example.org"),
        ("https://scores.example.org:8443", "https://scores.example.org:8443"),
        ("https://example.org/alama/", "https://example.org/alama"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://[::1]:8000", "http://[::1]:8000"),
        ("http://localhost:8000", "http://localhost:8000"),
    ],
)
def test_an_address_is_kept_in_one_spelling(given: str, kept: str) -> None:
    assert address(given) == kept


@pytest.mark.parametrize(
    "given",
    [
        "scores.example.org",
        "ftp://scores.example.org",
        "https://",
        "https://me:secret@scores.example.org",
        "https://scores.example.org/v1",
        "https://scores.example.org/?key=1",
        "https://scores.example.org#top",
        "https://scores.example.org:port",
        "https://scores.example.org:0",
        "https://scores example.org",
        "https://scores..example.org",
        f"https://{'a' * 64}.example.org",
        "https://scores.example.org/\n",
    ],
)
def test_what_is_no_address_is_refused_and_not_repeated(given: str) -> None:
    with pytest.raises(InvalidAddress) as raised:
        address(given, plain_http=True)
    assert "secret" not in f"{raised.value} {raised.value.hint}"


@pytest.mark.parametrize("host", ["scores.example.org", "10.0.0.8", "127.0.0.1.example.org"])
def test_without_tls_a_key_leaves_the_machine_only_where_somebody_says_so(host: str) -> None:
    with pytest.raises(InvalidAddress, match="without TLS"):
        address(f"http://{host}")
    assert address(f"http://{host}", plain_http=True) == f"http://{host}"
