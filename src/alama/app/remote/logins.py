"""Keys that `alama login` keeps: a file of the user's own, which nobody else may read."""

from __future__ import annotations

import fcntl
import os
import stat
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import SplitResult, urlsplit, urlunsplit

import msgspec

from alama.core.application import is_visible
from alama.core.errors import AlamaError
from alama.platform.book import Mode
from alama.platform.files import promise

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

FILE: Final = "logins.json"
_READ_BY_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_WRITTEN_BY_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH
_SIZE_MAX: Final = 1 << 20
_LOOPBACK_NAMES: Final = ("localhost", "localhost.")


class InvalidLogins(AlamaError):
    """The file of kept keys cannot be trusted or read."""


class InvalidAddress(AlamaError):
    """What was given is no address of a service, or one that no key may be sent to."""


class Login(msgspec.Struct, frozen=True):
    """A key for one service, and what the service said of it; None: it did not say."""

    url: str
    mode: Mode
    key: str
    lender: str | None
    currency: str | None

    def __repr__(self) -> str:
        return f"Login({self.url!r}, {self.mode!r})"  # never the key


class _Kept(msgspec.Struct, frozen=True):
    logins: tuple[Login, ...] = ()


class Wish(NamedTuple):
    """Which login is meant, as far as somebody has said it."""

    url: str | None = None
    mode: Mode | None = None

    def fits(self, login: Login) -> bool:
        return self.url in {None, login.url} and self.mode in {None, login.mode}


class Logins:
    """The file, as it is found below the user's own folder for settings."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Logins:
        """Those of the user: below XDG_CONFIG_HOME, or below .config at home."""
        named = environment.get("XDG_CONFIG_HOME", "")
        try:
            # A relative one is to be passed over, says the specification of these folders.
            base = Path(named) if Path(named).is_absolute() else Path.home() / ".config"
        except RuntimeError:
            raise InvalidLogins(
                "whoever runs this has no home to keep keys in", hint="set XDG_CONFIG_HOME"
            ) from None
        return cls(base / "alama" / FILE)

    def read(self) -> Sequence[Login]:
        """Give those that are kept, by address; `InvalidLogins` where others could have them."""
        try:
            # Who opens a pipe in the place of the file does not wait for somebody to write.
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise InvalidLogins(f"cannot read {self.path}: {error.strerror}") from error
        try:
            self._require_private(os.fstat(descriptor))
            self._require_own_folder()
        except InvalidLogins:
            os.close(descriptor)
            raise
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(_SIZE_MAX)
        try:
            return msgspec.json.decode(content, type=_Kept).logins
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise InvalidLogins(
                f"{self.path} is damaged", hint="remove it, and log in again"
            ) from None

    def keep(self, login: Login) -> None:
        """Keep one, in the place of what was kept for the same address and mode."""
        with self._alone():
            others = [one for one in self.read() if (one.url, one.mode) != (login.url, login.mode)]
            self._write([*others, login])

    def forget(self, forgotten: Sequence[Login]) -> None:
        with self._alone():
            left = [one for one in self.read() if one not in forgotten]
            if left:
                self._write(left)
            else:
                self.path.unlink(missing_ok=True)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep others from writing between what is read and what is written."""
        with promise.told_as_file_problem(self.path):
            promise.make_folder(self.path.parent)
            folder = os.open(self.path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            with suppress(OSError):  # some mounts cannot lock a folder
                fcntl.flock(folder, fcntl.LOCK_EX)
            with promise.told_as_file_problem(self.path):
                self._require_own_folder()
            yield
        finally:
            os.close(folder)

    def _require_own_folder(self) -> None:
        """Look at the folder that is named, and at the one that a symbolic link leads to."""
        for folder in (self.path.parent, Path(os.path.realpath(self.path)).parent):
            if folder.stat().st_mode & _WRITTEN_BY_OTHERS:
                raise InvalidLogins(
                    f"others can write in {folder}, and put a file of theirs there",
                    hint=f"`chmod 700 {folder}`",
                )

    def _write(self, logins: Sequence[Login]) -> None:
        in_order = sorted(logins, key=lambda one: (one.url, one.mode))
        content = msgspec.json.format(msgspec.json.encode(_Kept(tuple(in_order))), indent=2)
        if len(content) >= _SIZE_MAX:
            raise InvalidLogins(
                f"{self.path} would be too long to be read",
                hint="log out where a key is not needed",
            )
        with promise.promised_in_private(self.path) as output:
            output.write(content + b"\n")

    def _require_private(self, found: os.stat_result) -> None:
        if not stat.S_ISREG(found.st_mode):
            raise InvalidLogins(f"{self.path} is no file", hint="remove it, and log in again")
        if found.st_uid != os.geteuid():
            raise InvalidLogins(
                f"{self.path} is somebody else's", hint="remove it, and log in again"
            )
        if found.st_mode & _READ_BY_OTHERS:
            raise InvalidLogins(
                f"others on this machine can read the keys in {self.path}",
                hint=f"`chmod 600 {self.path}`; if anybody may have read it, have the keys rotated",
            )


def address(text: str, *, plain_http: bool = False) -> str:
    """Give the address of a service as it is kept, or raise `InvalidAddress`.

    Without TLS a key goes to this machine alone, unless `plain_http` says that it may be read on
    its way.
    """
    parts = _parts(text)
    host = parts.hostname or ""
    if parts.scheme == "http" and not (plain_http or is_loopback(host)):
        raise InvalidAddress(
            "without TLS everybody on the way could read the key",
            hint="begin the address with https://; or add --plain-http, where the way is yours",
        )
    literal = f"[{host}]" if ":" in host else host
    where = literal if parts.port is None else f"{literal}:{parts.port}"
    return urlunsplit((parts.scheme, where, parts.path.rstrip("/"), "", ""))


def _parts(text: str) -> SplitResult:
    wrong = InvalidAddress(
        "this is no address of a service",
        hint="it looks like https://scores.example.org, and ends before /v1",
    )
    try:
        parts = urlsplit(text)
        sound = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
        (parts.hostname or "").encode("idna")  # as it is looked up: labels have 1 to 63 letters
    except ValueError:
        raise wrong from None
    more = parts.username is not None or "?" in text or "#" in text
    if not sound or more or not text.isascii() or not is_visible(text) or " " in text:
        raise wrong
    if parts.path.rstrip("/").endswith("/v1"):
        raise wrong
    return parts


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, whoever asks."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host in _LOOPBACK_NAMES
