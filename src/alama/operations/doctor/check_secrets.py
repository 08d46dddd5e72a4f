"""Secrets and keys: at hand, the right ones, closed to others; and the keys of callers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from alama.core.errors import AlamaError
from alama.lenders import keys, secrets
from alama.lenders.store import Registry
from alama.operations.doctor.findings import number, some
from alama.operations.doctor.patient import Patient, hint, said
from alama.operations.findings import Finding, Mark, broken, look, ok, unchecked
from alama.platform import book
from alama.platform.book import Mode
from alama.platform.errors import MasterKeyMissing
from alama.platform.files import secret_file
from alama.vault import keys as vault_keys
from alama.vault.store import MASTER_FACT, SqlVaultKeys

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from alama.lenders.records import Key
    from alama.platform.database.database import Database
    from alama.platform.settings import Settings
    from alama.vault.keys import Masters, VaultKey


SOON_US: Final = 30 * keys.US_PER_DAY
UNUSED_US: Final = 30 * keys.US_PER_DAY

_NONE_YET = "there is none yet"
_SEE_FILES = "its file is refused: see files"
_ONE = "there is one; whether it fits, only the database can tell"
_AS_BEFORE = "put it back as it was: the backup of the secrets has it"


def examine(patient: Patient) -> Iterator[Finding]:
    """Look at the secrets of the installation, then at the keys of its callers."""
    settings = patient.settings
    yield _files(patient)
    yield _environment(patient)
    if settings.pepper is None and _is_open(settings.pepper_path):
        yield unchecked("secrets.pepper", _SEE_FILES)
    else:
        yield _pepper(settings, patient.fit)
    masters = [settings.master_key_path] if settings.master_key is None else []
    masters += [Path(settings.master_key_old_file)] if settings.master_key_old_file else []
    if any(_is_open(file) for file in masters):
        yield unchecked("secrets.master_key", _SEE_FILES)
    else:
        yield from _master(settings, patient.fit)
    if patient.fit is not None:
        every = Registry(patient.fit).keys()
        standing = [key for key in every if key.revoked_us is None]
        yield from judged_keys(standing, patient.clock())


def _is_open(file: Path) -> bool:
    """Say whether a secret is refused because of its mode; whoever cannot look is told later."""
    try:
        return secret_file.is_open(file)
    except OSError:
        return False


def _files(patient: Patient) -> Finding:
    check, settings = "secrets.files", patient.settings
    named = (settings.database_file, settings.master_key_old_file)
    files = [settings.pepper_path, settings.master_key_path]
    files += [Path(name) for name in named if name is not None]
    rows = [patient.file] if patient.file is not None else []
    try:
        there = [file for file in (*files, *rows) if file.exists()]
        opened = [file for file in there if secret_file.is_open(file)]
        read = [file for file in opened if secret_file.others_reach(file)]
    except OSError as error:
        return broken(check, said(error), "let the user who runs Alama read it")
    if read:
        return broken(
            check,
            f"everyone on this machine can read {some([str(file) for file in read])}",
            secret_file.how_to_close(read[0]),
        )
    # Below a closed folder nobody can; a secret is refused all the same: folders are opened again.
    refused = [file for file in opened if file in files]
    if refused:
        return broken(
            check,
            f"its mode lets everyone read {some([str(one) for one in refused])}, which is refused",
            secret_file.how_to_close(refused[0]),
        )
    if not there:
        return unchecked(check, "none is in a file")
    return ok(check, f"{number(len(there), 'file')}, closed to everyone else")


def _environment(patient: Patient) -> Finding:
    check, settings = "secrets.environment", patient.settings
    fields = ["pepper", "master_key", "master_key_old"]
    url = patient.url
    has_password = url is not None and (url.password or "password" in url.query)
    set_there = [name for name in fields if getattr(settings, name) is not None]
    if settings.database is not None and has_password:
        set_there.append("database")
    if not set_there:
        return ok(check, "no secret is in it")
    names = [f"ALAMA_{name.upper()}" for name in set_there]
    return look(
        check,
        f"{some(names)} in it, for whoever may look at the process",
        f"put it into a file, and set {names[0]}_FILE to where that is",
    )


def _pepper(settings: Settings, database: Database | None) -> Finding:
    check = "secrets.pepper"
    try:
        found = secrets.pepper_at_hand(settings)
    except (AlamaError, OSError) as error:
        return broken(check, said(error), hint(error, _AS_BEFORE))
    if database is None:
        return unchecked(check, _NONE_YET if found is None else _ONE)
    wanted = Registry(database).fact(secrets.PEPPER_FACT)
    if wanted is None:
        return unchecked(check, "no key was made yet: the first start settles it")
    if found is None or keys.fingerprint(found) != wanted:
        gone, other = f"{settings.pepper_path} is gone", "another than keys were hashed with"
        return broken(check, f"{gone if found is None else other}: no key works", _AS_BEFORE)
    return ok(check, "the one that the keys of this database were hashed with")


def _master(settings: Settings, database: Database | None) -> Iterator[Finding]:
    """Look at the master key; without the right one nothing can be said of what it opens."""
    check = "secrets.master_key"
    try:
        masters = secrets.master_keys_at_hand(settings)
    except (AlamaError, OSError) as error:
        yield broken(check, said(error), hint(error, _AS_BEFORE))
        yield from _shut()
        return
    if database is None:
        yield unchecked(check, _NONE_YET if masters is None else _ONE)
        return
    wanted = Registry(database).fact(MASTER_FACT)
    if wanted is None:
        yield unchecked(check, "nothing was sealed yet: the first start settles it")
        return
    if masters is None:
        seen = f"{settings.master_key_path} is gone: nothing that applicants sent can be read"
        yield broken(check, seen, _AS_BEFORE)
        yield from _shut()
        return
    fits = _fits(masters, wanted)
    yield fits
    if fits.mark is Mark.BROKEN:
        yield from _shut()
        return
    rows = _wrapped(database)
    yield _opens(masters, rows)
    yield _old(settings, masters, wanted, rows)


def _shut() -> Iterator[Finding]:
    for check in ("secrets.vault", "secrets.old_master_key"):
        yield unchecked(check, "see master key")


def _fits(masters: Masters, wanted: str) -> Finding:
    check = "secrets.master_key"
    try:
        masters.named(wanted)
    except MasterKeyMissing as error:
        return broken(check, str(error), hint(error, _AS_BEFORE))
    return ok(check, f"the one of this database, {wanted}")


def _wrapped(database: Database) -> Sequence[VaultKey]:
    store = SqlVaultKeys(database)
    rows = {row.id: row for row in store.of(None)}
    for lender in Registry(database).lenders():
        rows |= {row.id: row for row in store.of(lender.id)}
    return list(rows.values())


def _opens(masters: Masters, rows: Sequence[VaultKey]) -> Finding:
    check, damaged = "secrets.vault", []
    for row in rows:
        try:
            vault_keys.unwrap(masters, row)
        except AlamaError:
            damaged.append(row.id)
    if damaged:
        return broken(
            check,
            f"{number(len(damaged), 'key')} of {len(rows)} cannot be opened: {some(damaged)}",
            "restore the table vault_keys from the backup that the scores are from; `alama audit "
            "verify` tells more",
        )
    return ok(check, f"{number(len(rows), 'key')}, and the master key opens each")


def _old(settings: Settings, masters: Masters, wanted: str, rows: Sequence[VaultKey]) -> Finding:
    check = "secrets.old_master_key"
    if masters.old is None:
        return ok(check, "none is set")
    left = [row for row in rows if row.master_id != masters.current.id]
    if wanted == masters.current.id and not left:
        variable = "ALAMA_MASTER_KEY_OLD"
        variable += "_FILE" if settings.master_key_old is None else ""
        return look(
            check,
            "still set, though no key needs it any more",
            f"leave {variable} out, and keep the old key for as long as backups need it",
        )
    return look(
        check,
        f"{number(len(left), 'key')} still under the old one",
        "`alama vault rotate master` hands them over",
    )


def judged_keys(standing: Sequence[Key], now_us: int) -> Iterator[Finding]:
    """Judge the keys of callers that were not revoked."""
    if not standing:
        for check in ("secrets.expiring", "secrets.unused", "secrets.wide"):
            yield unchecked(check, "no key was issued yet")
        return
    good = [key for key in standing if not key.expired(now_us)]
    count = f"{number(len(good), 'key')} in use"
    soon = [key for key in good if key.expires_us and key.expires_us - now_us < SOON_US]
    if soon:
        yield look(
            "secrets.expiring",
            f"{number(len(soon), 'key')} within 30 days: {_named(soon)}",
            f"`alama keys rotate {soon[0].id}` makes the next, and both work for a while",
        )
    else:
        yield ok("secrets.expiring", f"{count}, and none expires within 30 days")
    idle = [key for key in good if key.last_used_us is None and now_us - key.created_us > UNUSED_US]
    if idle:
        yield look(
            "secrets.unused",
            f"{number(len(idle), 'key')} never used in 30 days: {_named(idle)}",
            f"`alama keys revoke {idle[0].id}`, unless somebody is about to use it",
        )
    else:
        yield ok("secrets.unused", "none has gone unused for 30 days")
    wide = [
        key
        for key in good
        if key.mode is Mode.LIVE and any(scope in key.scopes for scope in book.PILOT_SCOPES)
    ]
    if wide:
        yield look(
            "secrets.wide",
            f"{number(len(wide), 'live key')} can change which model answers: {_named(wide)}",
            "where scores are asked for, use a key without pilot:write and pilot:read",
        )
    else:
        yield ok("secrets.wide", "no live key can change which model answers")


def _named(some_keys: Sequence[Key]) -> str:
    return some([f"{key.id} of {key.lender}" for key in some_keys])
