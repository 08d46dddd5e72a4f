"""The secrets of an installation: from its settings, or from files of its own.

A database is settled on the secrets that it was first opened with, and refused any others.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from alama.lenders import keys
from alama.platform.errors import MasterKeyMissing, StoreUnfit
from alama.platform.files import secret_file
from alama.platform.settings import InvalidSetting, Settings
from alama.vault import keys as masters
from alama.vault.keys import Master, Masters
from alama.vault.store import MASTER_FACT

if TYPE_CHECKING:
    from alama.lenders.store import Registry

PEPPER_LENGTH_MIN: Final = 32
PEPPER_FACT: Final = "pepper"


def pepper(settings: Settings, wanted: str | None = None) -> bytes:
    """Give the secret that keys are hashed with; the first call makes one where none is set.

    `wanted` is the fingerprint of the one that the database knows, if it knows one.
    """
    if settings.pepper is not None:
        if len(settings.pepper) < PEPPER_LENGTH_MIN:
            raise InvalidSetting(
                f"ALAMA_PEPPER has fewer than {PEPPER_LENGTH_MIN} characters",
                hint="`openssl rand -hex 32` makes a good one",
            )
        return settings.pepper.encode()
    path = settings.pepper_path
    if settings.pepper_file is None and not path.exists():
        if wanted is not None:
            # Never a new one in the place of one that is lost: it would only hide what is wrong.
            raise another_pepper()
        secret_file.make(path)
    return _pepper_in(path)


def _pepper_in(path: Path) -> bytes:
    try:
        secret = secret_file.read(path, "pepper")
    except OSError as error:
        raise InvalidSetting(
            f"cannot read the pepper {path}: {error.strerror}",
            hint="ALAMA_PEPPER_FILE or ALAMA_HOME says where it is; put it back as it was, for the "
            "user who runs Alama to read",
        ) from error
    if len(secret) < PEPPER_LENGTH_MIN or not secret.isascii():
        raise StoreUnfit(
            f"{path} is no pepper: it wants {PEPPER_LENGTH_MIN} ASCII characters or more",
            hint="put it back as it was; only where no key was ever issued, remove it, and the "
            "next start makes a new one",
        )
    return secret


def pepper_at_hand(settings: Settings) -> bytes | None:
    """Give the pepper as it is, and make none: None where there is none yet."""
    if settings.pepper is None and settings.pepper_file is None:
        return _pepper_in(settings.pepper_path) if settings.pepper_path.exists() else None
    return pepper(settings)


def settled_pepper(settings: Settings, registry: Registry) -> bytes:
    """Give the pepper; refuse one under which no key of this database would be recognised."""
    secret = pepper(settings, registry.fact(PEPPER_FACT))
    found = keys.fingerprint(secret)
    if registry.settle_fact(PEPPER_FACT, found) != found:
        raise another_pepper()
    return secret


def another_pepper() -> StoreUnfit:
    """Give what is said where the pepper at hand is not that of the database."""
    return StoreUnfit(
        "the keys of this database were hashed with another pepper",
        hint="set ALAMA_PEPPER or ALAMA_PEPPER_FILE, or ALAMA_HOME with its file pepper, as it was "
        "before",
    )


def master_keys(settings: Settings, registry: Registry) -> Masters:
    """Give the key that all others are wrapped under, and the one before it while it is rotated.

    The first call makes one where none is set. A database that has one is refused any other.
    """
    wanted = registry.fact(MASTER_FACT)
    found = Masters(_master_key(settings, wanted), _old_master_key(settings))
    settled = wanted or registry.settle_fact(MASTER_FACT, found.current.id)
    found.named(settled)
    return found


def master_keys_at_hand(settings: Settings) -> Masters | None:
    """Give the master keys as they are, and make none: None where there is none yet."""
    is_set = settings.master_key is not None or settings.master_key_file is not None
    if not is_set and not settings.master_key_path.exists():
        return None
    return Masters(_master_key(settings, None), _old_master_key(settings))


def _master_key(settings: Settings, wanted: str | None) -> Master:
    if settings.master_key is not None:
        return _read_master(settings.master_key, "ALAMA_MASTER_KEY")
    path = settings.master_key_path
    if settings.master_key_file is None and not path.exists():
        if wanted is not None:
            # Never a new one in the place of one that is lost: it would only hide what is wrong.
            raise MasterKeyMissing(wanted, None)
        secret_file.make(path)
    return _master_in(path, "ALAMA_MASTER_KEY_FILE")


def _old_master_key(settings: Settings) -> Master | None:
    if settings.master_key_old is not None:
        return _read_master(settings.master_key_old, "ALAMA_MASTER_KEY_OLD")
    if settings.master_key_old_file is None:
        return None
    return _master_in(Path(settings.master_key_old_file), "ALAMA_MASTER_KEY_OLD_FILE")


def _master_in(path: Path, variable: str) -> Master:
    try:
        text = secret_file.read(path, "master key").decode("latin-1")
    except OSError as error:
        raise InvalidSetting(
            f"cannot read the master key {path}: {error.strerror}",
            hint=f"{variable} says where it is; put it back as it was",
        ) from error
    return _read_master(text, str(path))


def _read_master(text: str, source: str) -> Master:
    if not masters.is_master(text):
        raise InvalidSetting(
            f"{source} is no master key: it wants 64 hexadecimal digits",
            hint="put it back as it was; for a new installation `openssl rand -hex 32` makes one",
        )
    return masters.master(text)
