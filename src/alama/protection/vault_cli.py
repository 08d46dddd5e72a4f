"""`alama vault`: the keys that seal what applicants send, and their rotation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.lenders.installation import existing_installation
from alama.platform.book import Book, Mode
from alama.platform.errors import MasterKeyMissing
from alama.platform.terminal import terminal
from alama.platform.terminal.tables import plain_table
from alama.platform.terminal.terminal import add_yes, confirm, say_journal
from alama.protection.applicants_cli import add_applicant, add_by, reference_from
from alama.protection.rotation import Rotation, keys_in_use

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from rich.table import Table

    from alama.vault.keys import VaultKey
    from alama.vault.vault import Vault


DESCRIPTION: Final = """\
Look after the keys that seal what applicants send. The master key wraps a key of each lender, that
one wraps a key of each applicant (or record, where no applicant_ref was sent), and that one seals.
Each can be rotated while the service runs; for the master key every process is started anew, one by
one. The audit notes every rotation."""

STATUS_DESCRIPTION: Final = """\
Show the master key in force by its id, the keys of each lender and of the installation with their
age, and whether anything is left to do: keys under another master key, a rotation that was
interrupted. It exits with 1 where the master key is missing or another than that of the
database."""

ROTATE_DESCRIPTION: Final = """\
Replace a key by a new one. The service goes on, and everything that was sealed can still be opened;
the key that was replaced opens nothing any more. Only the master key wants every process to be
started anew before it. The key that applicants are found by cannot be replaced;
docs/data-protection.md says why."""

MASTER_DESCRIPTION: Final = """\
Bring every key under the master key that is set now. It takes a moment, and no
score is touched: only the few keys of lenders and of the installation are
wrapped anew. From then on a process that was not started with the new one
answers 503 to every request, and its /readyz too: start all of them with both
keys first. That cannot be seen from here, so it is asked."""

MASTER_EXAMPLES: Final = """\
how to:
  # 1. a new key, beside the old one
  openssl rand -hex 32 > /run/secrets/master-key-new
  # 2. every process is started again with both
  ALAMA_MASTER_KEY_FILE=/run/secrets/master-key-new
  ALAMA_MASTER_KEY_OLD_FILE=/run/secrets/master-key
  #    one by one is fine: until step 3 the old key is the one in use
  # 3. hand over; then ALAMA_MASTER_KEY_OLD_FILE can go, at the next start
  alama vault rotate master"""

LENDER_DESCRIPTION: Final = """\
Give a lender a new key. What is scored from now on is under it, in every process; what was under
the old one is handed over, batch by batch, while the service runs; then the old one is destroyed.
An interrupted run is gone on with by the next."""

APPLICANT_DESCRIPTION: Final = """\
Seal all that one applicant ever sent under a new key. The reference is asked for, as by
`alama applicants`."""

SIGNING_DESCRIPTION: Final = """\
Have the audit signed by a new key from now on. The public half of the old one stays, so that all
it has signed can be verified; the other half is destroyed."""

_EXIT_WRONG: Final = 1
_CONFIRMATION: Final = "rotate"
_SET_NEW: Final = (
    "To rotate it, set a new one in ALAMA_MASTER_KEY(_FILE) and the present one in "
    "ALAMA_MASTER_KEY_OLD(_FILE); `alama vault rotate master --help` has the steps."
)
_UNSET_OLD: Final = (
    "Every key is under the new master key: ALAMA_MASTER_KEY_OLD(_FILE) can be unset."
)
_YEAR_US: Final = 366 * 86_400 * 1_000_000


def register(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    shown = actions.add_parser(
        "status",
        help="which keys there are, and what is left to do",
        description=STATUS_DESCRIPTION,
    )
    shown.set_defaults(run=status)
    rotated = actions.add_parser(
        "rotate", help="replace a key by a new one", description=ROTATE_DESCRIPTION
    )
    _register_rotations(rotated)


def _register_rotations(parser: argparse.ArgumentParser) -> None:
    which = parser.add_subparsers(title="keys", metavar="KEY", required=True)
    master = which.add_parser(
        "master",
        help="the key of keys",
        description=MASTER_DESCRIPTION,
        epilog=MASTER_EXAMPLES,
    )
    add_yes(master)
    master.set_defaults(run=rotate_master)
    lender = which.add_parser("lender", help="that of a lender", description=LENDER_DESCRIPTION)
    lender.add_argument("lender", metavar="ID", help="`alama lenders list` shows them")
    lender.set_defaults(run=rotate_lender)
    applicant = which.add_parser(
        "applicant", help="that of one applicant", description=APPLICANT_DESCRIPTION
    )
    add_applicant(applicant)
    applicant.set_defaults(run=rotate_applicant)
    signing = which.add_parser(
        "signing", help="the one that signs the audit", description=SIGNING_DESCRIPTION
    )
    signing.set_defaults(run=rotate_signing)
    for one in (master, lender, signing):
        add_by(one)


def status(_: argparse.Namespace) -> int:
    """Show every key that stands, and say what is left to do."""
    with existing_installation() as opened:
        keys = keys_in_use(Rotation.at(opened).everything())
        applicants = Rotation.at(opened).count_applicants()
        endpoints = Rotation.at(opened).count_endpoints()
        at_hand, fits, advice = _masters(opened.vault, keys)
    terminal.say(f"master key {at_hand}\n")
    terminal.say(_table(keys, opened.clock()))
    named = "1 applicant has" if applicants == 1 else f"{applicants:,} applicants have"
    terminal.say(f"\n{named} a key of their own.")
    if endpoints:
        have = "endpoint has" if endpoints == 1 else "endpoints have"
        terminal.say(f"{endpoints:,} webhook {have} secrets under the key of their lender.")
    left = [*advice, *_interrupted(keys)]
    for line in left or ["Nothing is left to do."]:
        terminal.remark(line)
    for line in _old(keys, opened.clock()):
        terminal.remark(line)
    return 0 if fits else _EXIT_WRONG


def _masters(vault: Vault, keys: Sequence[VaultKey]) -> tuple[str, bool, list[str]]:
    """Name the master keys at hand, say whether they open all keys, and what can be done if not."""
    try:
        current, old = vault.masters
        others = sorted({key.master_id for key in keys if key.master_id != current.id})
        for other in others:
            vault.masters.named(other)
    except MasterKeyMissing as missing:
        told, other = str(missing), f"{missing.found}, which is not the one of this database"
        at_hand = "missing" if missing.found is None else other
        return at_hand, False, [f"{told[0].upper()}{told[1:]}: {missing.hint}."]
    beside = f", and the old one {old.id}" if old else ""
    if others:
        hand_over = (
            "Keys are under the old master key. Once every process was started with both: "
            "`alama vault rotate master`"
        )
        return f"{current.id}{beside}", True, [hand_over]
    return f"{current.id}{beside}", True, [_UNSET_OLD] if old else []


def rotate_master(args: argparse.Namespace) -> int:
    """Bring all keys under the master key that is set."""
    with existing_installation() as opened:
        current, old = opened.vault.masters
        master_id = current.id
        left = [
            key
            for key in keys_in_use(Rotation.at(opened).everything())
            if key.master_id != master_id
        ]
        if left and not args.yes:
            confirm(
                _CONFIRMATION,
                "Processes that were not started with the new master key as well as the old one "
                "will answer 503 from now on",
            )
        count = Rotation.at(opened).master(args.by)
        emptied = opened.database.empty_journal()
    say_journal(emptied)
    if not count:
        terminal.say(f"All keys are under the master key {master_id} already: nothing to do.")
        terminal.remark(_UNSET_OLD if old else _SET_NEW)
        return 0
    keys = "1 key is" if count == 1 else f"{count} keys are"
    terminal.say(f"{keys} under the master key {master_id} now.")
    terminal.remark("The old one opens nothing here any more: unset ALAMA_MASTER_KEY_OLD(_FILE).")
    terminal.remark("Backups of before need it still: keep it for as long as you keep them.")
    return 0


def rotate_lender(args: argparse.Namespace) -> int:
    """Give a lender a new key, and hand over to it what was under the old one."""
    with existing_installation() as opened:
        lender = opened.registry.lender(args.lender)
        total = Rotation.at(opened).begin_lender(lender.id, args.by)
        with terminal.progress("Handing over", total, unit="keys") as progress:
            new_id = Rotation.at(opened).finish_lender(lender.id, progress.advance)
        emptied = opened.database.empty_journal()
    say_journal(emptied)
    terminal.say(f"{lender.id} seals under {new_id} now; the old key is destroyed.")
    return 0


def rotate_applicant(args: argparse.Namespace) -> int:
    with existing_installation() as opened:
        lender = opened.registry.lender(args.lender)
        book = Book(lender.id, Mode(args.mode))
        count = Rotation.at(opened).applicant(book, reference_from(args), args.by)
        emptied = opened.database.empty_journal()
    say_journal(emptied)
    terminal.say(f"{count} records and replies are sealed under a new key.")
    return 0


def rotate_signing(args: argparse.Namespace) -> int:
    with existing_installation() as opened:
        new = Rotation.at(opened).signing(args.by)
        emptied = opened.database.empty_journal()
    say_journal(emptied)
    assert new.public is not None
    terminal.say(f"{new.id} signs from now on: {new.public.hex()}")
    terminal.remark(
        "Whoever verifies receipts needs its public key: `alama receipt key` lists all."
    )
    return 0


def _table(keys: Iterable[VaultKey], now_us: int) -> Table:
    table = plain_table("whose", "for", "key", "made (UTC)", "age")
    table.columns[2].no_wrap = True  # an id is copied whole
    for key in keys:
        retired = ", retired" if key.retired_us else ""
        table.add_row(
            key.lender or "this installation",
            f"{key.purpose}{retired}",
            key.id,
            terminal.minute(key.created_us),
            terminal.span(now_us - key.created_us),
        )
    return table


def _interrupted(keys: Iterable[VaultKey]) -> list[str]:
    return [
        f"A rotation was interrupted: `alama vault rotate lender {key.lender}` goes on with it"
        for key in keys
        if key.retired_us and key.lender
    ]


def _old(keys: Iterable[VaultKey], now_us: int) -> list[str]:
    """Say which keys that can be rotated are older than a year."""
    commands = {"seal": "lender", "sign": "signing"}
    return [
        f"{key.id} is older than a year: "
        f"`alama vault rotate {' '.join(filter(None, (commands[key.purpose], key.lender)))}`"
        for key in keys
        if key.purpose in commands and not key.retired_us and now_us - key.created_us > _YEAR_US
    ]
