"""The service itself, asked on this machine: whether it runs, and whether it can score."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from alama import __version__
from alama.operations.doctor import check_proxy
from alama.operations.findings import Finding, broken, look, ok
from alama.platform import addresses

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from alama.platform.settings import Settings


NAME: Final = "served"
_READ_MAX: Final = 300


class Address(NamedTuple):
    """What is listened on."""

    host: str
    port: int


@contextmanager
def noted(home: Path, address: Address) -> Iterator[None]:
    """Keep a note below the home folder while the service runs.

    Without such a folder, or the right to write there, there is none: nothing but the doctor
    needs it.
    """
    file, text = home / NAME, f"{address.host} {address.port}\n"
    with suppress(OSError):
        file.write_text(text, "utf-8")
    try:
        yield
    finally:
        with suppress(OSError, ValueError):
            if file.read_text("utf-8") == text:  # and not of one that was started since
                file.unlink()


def note_in(home: Path) -> Address | None:
    """Give what was noted last. One that was killed leaves its note behind."""
    try:
        with (home / NAME).open(encoding="utf-8") as file:
            host, port = file.read(_READ_MAX).split()
        return Address(host, int(port))
    except (OSError, ValueError):
        return None


CHECK: Final = "settings.service"
_START: Final = "start it, or run the doctor where it runs"
_ANOTHER: Final = (
    "find who listens there (`ss -ltnp`): Alama cannot take the port, or ALAMA_PORT is another"
)


def examine(settings: Settings) -> Finding:
    """Ask whether the process lives, then whether scores can be given and kept.

    Where it says that it listens, which `alama serve --port` decides; where that is not so any
    more, also because another program has the port by now, where the settings say.
    """
    set_ = Address(settings.host, settings.port)
    noted = note_in(settings.home_folder)
    if noted is not None and noted != set_:
        found = _examined(noted)
        if found not in {None, _strange(_place(noted))}:
            return found
    found = _examined(set_)
    place = _place(set_)
    return found or look(CHECK, f"not running here: nobody answers on {place}", _START)


def _examined(address: Address) -> Finding | None:
    """Ask at an address; None where nobody listens."""
    host, port = _asked_at(address.host), address.port
    place = _place(address)
    try:
        check_proxy.ask(host, port, "/livez")
    except ConnectionRefusedError:
        return None
    except check_proxy.NoAnswer:
        return _strange(place)
    except TimeoutError:
        return _stuck(place)
    except OSError as error:
        why = error.strerror or type(error).__name__
        return look(CHECK, f"not running here: {place}: {why}", _START)
    try:
        ready = check_proxy.ask(host, port, "/readyz")
    except OSError:
        return _stuck(place)
    return _judged(ready, place)


def _judged(ready: check_proxy.Answer, place: str) -> Finding:
    told = ready.health()
    if told is None:
        return _strange(place)
    if told["status"] != "ok":
        reason = str(told.get("reason") or "it gives no reason")[:200]
        return broken(
            CHECK,
            f"it runs on {place}, and cannot score: {reason}",
            "see the other checks, then its log",
        )
    version = str(told.get("version"))[:20]
    if version != __version__:
        return look(
            CHECK,
            f"it runs on {place}, as version {version}; this is {__version__}",
            "finish the upgrade: start it again, with the version that is installed",
        )
    return ok(CHECK, f"it runs on {place}, and is ready to score")


def _strange(place: str) -> Finding:
    return broken(CHECK, f"{place} is answered by another program than Alama", _ANOTHER)


def _stuck(place: str) -> Finding:
    return broken(
        CHECK,
        f"{place} takes connections, and does not answer in {check_proxy.TIMEOUT_S:.0f} s",
        "see its log, and start it again",
    )


def _place(address: Address) -> str:
    return f"{_asked_at(address.host)}, port {address.port}"


def _asked_at(host: str) -> str:
    """Give an address of this machine; whoever listens on all of them listens on this one too."""
    address = addresses.parsed(host)
    if address is None or not address.is_unspecified:
        return host
    return "127.0.0.1" if address.version == 4 else "::1"  # noqa: PLR2004  of IP
