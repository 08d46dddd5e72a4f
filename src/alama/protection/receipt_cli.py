"""`alama receipt`: prove a decision to somebody who has neither the database nor our word."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.text import Text

from alama.core import own_fields, receipts
from alama.core.application import visible
from alama.core.errors import AlamaError, InvalidReceipt
from alama.core.lending import draft, policy_text
from alama.lenders.installation import existing_installation
from alama.monitoring.scores_cli import difference_table, find_score
from alama.platform.files.packaged import model_at
from alama.platform.files.promise import promised_in_private
from alama.platform.files.texts import named, read_bytes, told_of
from alama.platform.terminal import terminal
from alama.platform.terminal.tables import facts, plain_table
from alama.protection import receipts as replaying
from alama.protection.receipts import Receipts, assessment_of
from alama.scoring.replay import Difference, replay

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.core.lending.policy import Policy
    from alama.core.own_fields import OwnFields
    from alama.core.receipts import Receipt
    from alama.platform.terminal.command import Subparsers


DESCRIPTION: Final = """\
A receipt is one decision, whole: what was sent, what was concluded, and the signature of the
installation. Make one for whoever asks, and verify one that somebody shows. docs/receipts.md
tells what it proves."""

VERIFY_DESCRIPTION: Final = """\
Say whether a receipt holds: that nothing in it was changed since it was signed,
and that its model and policy give the same answer again, to the last digit. It
needs no installation, no settings and no network: only the receipt, and the
files of the model and the policy that it names.

Without --key this proves that nothing was changed, not who signed it: anyone
can sign with a key of their own. Name the key that the lender has published,
or one that you noted on an earlier day.

Exits with 0 where the receipt holds, with 1 and a table where it does not, and
with 2 where it cannot be told, such as for another model than the one named."""

VERIFY_EXAMPLES: Final = """\
examples:
  # a decision of the built-in model and the default policy
  alama receipt verify receipt.json

  # of a lender's own, signed by the key that they have published
  alama receipt verify receipt.json --model model.json --policy policy.toml \\
    --key 4f1d2c7b9a035e68..."""

MAKE_DESCRIPTION: Final = """\
Write the receipt of a score, the same that GET /v1/scores/{request_id}/receipt gives to a caller.
It holds what the applicant sent: hand it to those alone who may know that."""

KEY_DESCRIPTION: Final = """\
Print the public keys that have signed for this installation, a line for each, the oldest first:
publish them where whoever gets a receipt will look, or give them to an auditor beforehand. Times
are UTC."""

_WHY: Final = {
    "record": "score, application or assessment are not those that were logged",
    "path": "it does not lead to the entry of the audit log: the score is not in it",
    "entry": "the entry of the audit log was changed: its hash is another",
    "signature": "the signature is not one by this key under this entry",
}
"""What it means that a step of `alama.core.receipts.Check` fails."""

_SIGNED: Final = "nothing in it was changed since it was signed"
_SIGNED_BY_NAMED: Final = (
    "it was signed by a key that you have named, nothing in it was changed since"
)
_SAME_ANSWER: Final = "model and policy give the same answer again, to the last digit"
_OTHER_ANSWER: Final = "\nIts model and policy give another answer:\n"
_OTHER_ANSWER_ALONE: Final = """\
Nothing in it was changed since it was signed, but its model and policy give another answer:
"""

_EXIT_BROKEN: Final = 1
_KEY: Final = re.compile(r"[0-9a-f]{64}")


def register(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    _register_verify(actions)
    made = actions.add_parser("make", help="the receipt of a score", description=MAKE_DESCRIPTION)
    made.add_argument("request_id", metavar="REQUEST_ID", help="of any lender and mode")
    made.add_argument("--out", type=Path, metavar="FILE", help="default: standard output")
    made.set_defaults(run=make)
    shown = actions.add_parser(
        "key", help="the public keys of this installation", description=KEY_DESCRIPTION
    )
    shown.add_argument("--current", action="store_true", help="only the one that signs now")
    shown.set_defaults(run=show_keys)


def _register_verify(actions: Subparsers) -> None:
    verified = actions.add_parser(
        "verify",
        help="does a receipt hold?",
        description=VERIFY_DESCRIPTION,
        epilog=VERIFY_EXAMPLES,
    )
    add = verified.add_argument
    add("file", type=Path, metavar="FILE", help="a receipt; - reads standard input")
    add("--model", type=Path, metavar="FILE", help="that it names (default: the built-in one)")
    add("--policy", type=Path, metavar="FILE", help="that it names (default: the default one)")
    add("--fields", type=Path, metavar="FILE", help="the lender's own that it names, if any")
    add(
        "--key",
        action="append",
        default=[],
        type=_public_key,
        metavar="PUBLIC",
        help="a key that may have signed it, 64 digits; give one more for each",
    )
    verified.set_defaults(run=verify)


def verify(args: argparse.Namespace) -> int:
    """Verify a receipt with nothing but files."""
    receipt = _read(args.file)
    broken = [(check.value, _WHY[check.value]) for check in receipts.failures(receipt)]
    if args.key and receipt.proof.public_key not in args.key:
        broken.append(("key", "the key that signed it is none of those that you named"))
    try:
        differences = _replayed(receipt, args)
    except AlamaError as error:
        if not broken:
            raise
        # What was changed may be the very thing that cannot be replayed: say that first.
        _say_broken(args.file, broken, ())
        terminal.remark(f"\nIt could not be replayed: {error}")
        return _EXIT_BROKEN
    if broken or differences:
        _say_broken(args.file, broken, differences)
        return _EXIT_BROKEN
    _say_held(args.file, receipt, args.key)
    return 0


def make(args: argparse.Namespace) -> int:
    with existing_installation() as opened:
        document = receipts.encode(Receipts.at(opened).of(find_score(opened, args.request_id)))
    if args.out is None:
        sys.stdout.buffer.write(document)
        return 0
    with promised_in_private(args.out) as output:
        output.write(document)
    return 0


def show_keys(args: argparse.Namespace) -> int:
    """Print each key alone on its line, and the words about it to stderr."""
    with existing_installation() as opened:
        found = Receipts.at(opened).signing_keys()
    for key in found:
        if args.current and key.retired_us is not None:
            continue
        assert key.public is not None  # it signs
        until = f" until {terminal.minute(key.retired_us)}" if key.retired_us else ", and signs now"
        terminal.say(key.public.hex())
        terminal.remark(f"  {key.id}, since {terminal.minute(key.created_us)}{until}")
    return 0


# -------------------------------------------------------------------------------- verifying


def _read(path: Path) -> Receipt:
    document = read_bytes(path, receipts.SIZE_MAX)
    try:
        document.decode()
    except UnicodeDecodeError:
        raise InvalidReceipt(
            f"{named(path)}: this is not a receipt: it is no text in UTF-8",
            hint="take the file as it was given; an editor may have saved it in another encoding",
        ) from None
    try:
        return receipts.decode(document)
    except InvalidReceipt as error:
        raise InvalidReceipt(f"{named(path)}: {error}", hint=error.hint) from error


def _replayed(receipt: Receipt, args: argparse.Namespace) -> Sequence[Difference]:
    model = model_at(args.model)
    policy, own = _policy(args.policy, receipt), _own_fields(args.fields, receipt)
    return replay(replaying.recall(receipt, model, policy, own))


def _own_fields(path: Path | None, receipt: Receipt) -> OwnFields:
    """Read a lender's own fields as they were when it decided; none where none are named."""
    if path is None:
        return own_fields.NOTHING
    text = read_bytes(path, own_fields.SIZE_MAX)
    with told_of(path):
        return own_fields.decode(text, receipt.fields_id or "")


def _policy(path: Path | None, receipt: Receipt) -> Policy:
    """Read a policy as it was when it decided, or take the default one of the currency."""
    if path is None:
        return draft.default_policy(assessment_of(receipt).offer.currency)
    text = read_bytes(path, policy_text.SIZE_MAX)
    with told_of(path):
        return policy_text.unjudged(text)


def _say_held(path: Path, receipt: Receipt, known_keys: Sequence[str]) -> None:
    score, proof = receipt.score, receipt.proof
    signed = _SIGNED_BY_NAMED if known_keys else _SIGNED
    terminal.say(Text(f"{named(path)} holds: {signed}, and its {_SAME_ANSWER}.\n"))
    # No name longer than this: a hash beside it then fits into 80 columns.
    rows = [
        ("score", f"{score.score}, tier {score.tier}, {score.decision}"),
        ("request", score.request_id),
        ("given", f"{terminal.second(score.created_us)} UTC to {score.lender}, {score.mode} mode"),
        ("model", score.model_id),
        ("policy", score.policy_id),
        ("log", f"entry {proof.entry.number} of {proof.entry.writer}"),
        ("key", proof.public_key),
    ]
    terminal.say(facts([(name, visible(value)) for name, value in rows]))
    if not known_keys:
        terminal.remark("")
        terminal.warn(
            "nobody has said whose key this is. Hold it against the one that the lender has "
            "published, or name that by --key: anyone can sign with a key of their own"
        )


def _say_broken(
    path: Path, broken: Sequence[tuple[str, str]], differences: Sequence[Difference]
) -> None:
    terminal.say(f"{named(path)} does not hold:\n")
    if broken:
        table = plain_table("what", "why")
        for row in broken:
            table.add_row(*row)
        terminal.say(table)
    if differences:
        terminal.say(_OTHER_ANSWER if broken else _OTHER_ANSWER_ALONE)
        terminal.say(difference_table("receipt", differences))


def _public_key(text: str) -> str:
    key = text.strip().lower()
    if not _KEY.fullmatch(key):
        raise argparse.ArgumentTypeError(
            "must be 64 hexadecimal digits, as `alama receipt key` prints them"
        )
    return key
