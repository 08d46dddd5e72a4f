"""`alama audit`: prove that nothing was changed, and read what was done."""

from __future__ import annotations

import argparse
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Final

from alama.lenders.installation import existing_installation
from alama.platform.acts import FOR_PROGRAMS, Act, Detail, heads_in
from alama.platform.terminal import terminal
from alama.platform.terminal.command import whole
from alama.platform.terminal.tables import facts, plain_table
from alama.protection.audit import verify as verifying
from alama.protection.audit.chains import heads_to_keep
from alama.protection.audit.records import Trouble
from alama.protection.audit.store import OF_CHAINS, Done, Trail, newest_first

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rich.table import Table

    from alama.protection.audit.verify import Verdict


DESCRIPTION: Final = """\
Every act of administration and every score leaves an entry in a log that can only grow: each entry
carries the hash of the one before it and is signed. docs/audit.md says what each hash covers."""

VERIFY_DESCRIPTION: Final = """\
Go through the whole audit: every entry, hash and signature, every chain against
what was noted of it, every score against the digest under which it was logged,
lenders, keys, deployments, pauses, holds, webhook endpoints and applicants
against the acts, every model and policy against the hash that is its id, and
every loan history against the hash of its file.

A score whose applicant was erased is not proved any more; one that a retention
run has deleted is accounted for by the act that names it. The service may run
meanwhile, and nothing is written.

Exits with 0 where everything is in order, with 1 and a list of what is not, and
with 2 where it cannot be told because a key is missing or damaged.

Someone who has the database, the master key and time could write a new audit
from the start. They could not give it the hashes that you have written down
elsewhere: name one or more with --head."""

VERIFY_EXAMPLES: Final = """\
examples:
  # is everything as it was written?
  alama audit verify

  # and is it the audit of which this was the head last month?
  alama audit verify --head 5f0c6b0e94b1...

  # keep today's heads where nobody who runs Alama can change them
  alama audit head >> /mnt/elsewhere/alama-heads.txt"""

LOG_DESCRIPTION: Final = """\
List what was done, newest first: lenders added, keys issued, models and policies deployed, pauses,
erasures, exports, holds, retention runs, webhook endpoints added, changed, disabled and removed,
rotations. Times are UTC. What the service notes about its own chains is left out unless --all is
given."""

HEAD_DESCRIPTION: Final = """\
Print the heads to keep elsewhere, a line each: chain, number, hash. The first is that of `main`,
which bears witness to all other chains; those that have grown since are named too. One day, give
them to `alama audit verify --head`."""

_LIMIT: Final = 20
_LIMIT_MAX: Final = 10_000
_NUMBER_MAX: Final = 10**18
_SHOWN_MAX: Final = 20
"""Findings of one kind: a damaged table may have millions."""

_AFTER_FINDINGS: Final = (
    "Keep a copy of this database as it is: it is evidence. docs/audit.md says what to do next."
)
_AFTER_MISSING_KEY: Final = (
    "Restore the table vault_keys from a backup, or the master key, and verify again: so far "
    "nobody is to blame."
)

_HASH_LENGTH: Final = 64
_EXIT_DIFFERENT: Final = 1
_EXIT_UNTOLD: Final = 2


def register(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    verified = actions.add_parser(
        "verify",
        help="check every entry and every score",
        description=VERIFY_DESCRIPTION,
        epilog=VERIFY_EXAMPLES,
    )
    verified.add_argument(
        "--head",
        action="append",
        default=[],
        type=_hash,
        metavar="HASH",
        help="that was written down elsewhere, and must be found; may be repeated",
    )
    verified.set_defaults(run=verify)
    listed = actions.add_parser(
        "log", help="what was done, and by whom", description=LOG_DESCRIPTION
    )
    add = listed.add_argument
    add(
        "--limit",
        type=whole(1, _LIMIT_MAX),
        default=_LIMIT,
        metavar="N",
        help=f"how many, at most {_LIMIT_MAX} (default: %(default)s)",
    )
    add(
        "--before",
        type=whole(1, _NUMBER_MAX),
        metavar="NUMBER",
        help="go on with those before this one",
    )
    add("--all", action="store_true", help="with the notes about chains")
    terminal.repeat(listed, "--all")
    listed.set_defaults(run=show_log)
    head = actions.add_parser("head", help="hashes to keep elsewhere", description=HEAD_DESCRIPTION)
    head.set_defaults(run=show_heads)


def verify(args: argparse.Namespace) -> int:
    with existing_installation() as opened:
        lenders, wanted = opened.registry.lenders(), frozenset(args.head)
        verdict = verifying.verify(Trail(opened.database), opened.vault, lenders, wanted, _bar)
    if verdict.findings:
        _say_findings(verdict)
        return _EXIT_DIFFERENT if verdict.can_be_told else _EXIT_UNTOLD
    terminal.say("The audit holds.")
    terminal.say(facts(_facts(verdict, len(wanted))))
    if not wanted:
        terminal.remark(
            "Keep what `alama audit head` prints elsewhere, and name it here next time."
        )
    return 0


def show_log(args: argparse.Namespace) -> int:
    """List acts, and say how to go on where there are more."""
    with existing_installation() as opened:
        done = newest_first(Trail(opened.database), args.before)
        chosen = (one for one in done if args.all or one.kind not in OF_CHAINS)
        # One more than asked for tells whether there are more.
        found = list(islice(chosen, args.limit + 1))
    shown = found[: args.limit]
    if not shown:
        terminal.remark(
            "Nothing was done yet." if args.before is None else "Nothing was done before."
        )
        return 0
    terminal.say(act_table(shown))
    if len(found) > len(shown):
        terminal.say_older(args, shown[-1].number)
    # Numbers have no gaps but for those.
    if shown[0].number - shown[-1].number >= len(shown):
        terminal.remark("Left out: what the service notes about its own chains; --all shows it.")
    return 0


def show_heads(_: argparse.Namespace) -> int:
    """Print heads, as `verify` takes them."""
    with existing_installation() as opened:
        heads = heads_to_keep(Trail(opened.database))
    for head in heads:
        terminal.say(f"{head.writer} {head.number} {head.hash.hex()}")
    return 0


@contextmanager
def _bar(what: str, total: int) -> Iterator[Callable[[int], None]]:
    with terminal.progress(f"Verifying {what}", total, unit=what) as bar:
        yield bar.advance


def _facts(verdict: Verdict, heads: int) -> list[tuple[str, str]]:
    chains = "1 chain" if verdict.chains == 1 else f"{verdict.chains:,} chains"
    entries = f"{verdict.entries:,} in {chains}, each hash and each signature is right"
    rows = [
        ("entries", entries),
        ("scores", f"{verdict.proved:,} are what was given, to the last bit"),
    ]
    for count, meaning in (
        (verdict.erased, "more: not proved any more, their applicants were erased as acts say"),
        (verdict.deleted, "more: deleted, each named by a retention run"),
    ):
        if count:
            rows.append(("", f"{count:,} {meaning}"))
    if verdict.documents:
        hashes = "has the hash that is its id"
        rows.append(("documents", f"{verdict.documents:,}: each model and policy {hashes}"))
    if heads:
        found = "1 was" if heads == 1 else f"{heads} were"
        rows.append(("heads", f"{found} found again: nothing up to there was taken away"))
    return rows


def _say_findings(verdict: Verdict) -> None:
    findings = verdict.findings
    if verdict.can_be_told:
        count = "one thing is" if len(findings) == 1 else f"{len(findings):,} things are"
        terminal.say(f"The audit does not hold: {count} wrong.")
        if len(findings) > 1:
            terminal.say(f"The first of them: {findings[0].where}, {findings[0].what}.")
    else:
        terminal.say("It cannot be told whether the audit holds.")
    for trouble in Trouble:
        found = [finding for finding in findings if finding.trouble is trouble]
        if not found:
            continue
        terminal.say(f"\n{trouble}")
        terminal.say(facts((f"  {one.where}", one.what) for one in found[:_SHOWN_MAX]))
        if len(found) > _SHOWN_MAX:
            terminal.say(f"  and {len(found) - _SHOWN_MAX:,} more")
    terminal.remark(f"\n{_AFTER_FINDINGS if verdict.can_be_told else _AFTER_MISSING_KEY}")


def _hash(text: str) -> bytes:
    """Read a hash, or a line of `alama audit head`, whose last word is one."""
    try:
        digest = bytes.fromhex(text.rpartition(" ")[2])
    except ValueError:
        digest = b""
    if 2 * len(digest) != _HASH_LENGTH:
        raise argparse.ArgumentTypeError(f"a hash has {_HASH_LENGTH} hexadecimal digits")
    return digest


# -------------------------------------------------------------------------------- the table of acts


_BY_WIDTH: Final = 24
_DIGITS: Final = 12
_PREFIX: Final = "sha256:"


def act_table(done: Iterable[Done]) -> Table:
    """Lay acts out in their order, with all that is said of one in a single wide column."""
    table = plain_table("no.", "done (UTC)", "by", "act")
    table.columns[0].justify = "right"
    for place in (0, 1):
        table.columns[place].no_wrap = True
    table.columns[2].max_width = _BY_WIDTH
    for one in done:
        act = one.act
        said = ["cannot be read"] if act is None else _said(act)
        by = "" if act is None else act.by or ""
        what = ", ".join([one.kind.replace("_", " "), *said])
        table.add_row(str(one.number), _minute(one.at_us), by, what)
    return table


def _minute(at_us: int) -> str:
    """Give a time to the minute; what is listed was not verified, and may be none."""
    try:
        return terminal.minute(at_us)
    except (OverflowError, ValueError, OSError):
        return "at no time"


def _said(act: Act) -> Iterator[str]:
    if act.lender is not None:
        yield " ".join(filter(None, (act.lender, act.mode)))
    if act.kind in OF_CHAINS:
        yield from (f"{head.writer} at {head.number:,}" for head in heads_in(act))
        return
    if act.subject is not None:
        yield act.subject
    for name, value in act.details.items():
        if value is not None and name not in FOR_PROGRAMS:
            yield f"{name.removesuffix('_us').replace('_', ' ')}: {_shown(name, value)}"


def _shown(name: str, value: Detail) -> str:
    if isinstance(value, int) and name.endswith("_us"):
        return _minute(value)
    if isinstance(value, int):
        return f"{value:,}"
    if name == "kinds" and not value:
        return "all"
    text = str(value)
    return text.removeprefix(_PREFIX)[:_DIGITS] if text.startswith(_PREFIX) else text
