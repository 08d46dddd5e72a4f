"""The front door: finds the command, runs it, and turns what went wrong into words.

Exit codes: 0 done; 1 what was compared is not the same, or what was judged did not hold; 2 a
person can put it right; 130 interrupted; 141 the reader of a pipe left.
Anything else that surfaces is a defect of Alama and keeps its traceback.
"""

from __future__ import annotations

import os
import resource
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

from alama import __version__
from alama.core.errors import AlamaError
from alama.platform.extras import how_to_install
from alama.platform.terminal.command import Parser

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Noun(NamedTuple):
    """A command of the front door; its module is a `Command`, imported when it is called."""

    name: str
    help: str
    module: str
    implied: str | None = None
    """The action that is meant where none is named."""


# In the order in which a newcomer meets them.
NOUNS: Final = (
    Noun("serve", "run the scoring service", "alama.app.serve_cli"),
    Noun("keys", "issue, list, rotate and revoke API keys", "alama.app.keys_cli"),
    Noun(
        "scores", "read, review, count and replay the scores given", "alama.monitoring.scores_cli"
    ),
    Noun("loans", "load what was lent and what came back", "alama.monitoring.loans_cli"),
    Noun("outcomes", "load what became of loans, or simulate it", "alama.monitoring.outcomes_cli"),
    Noun("monitor", "how a book goes, and whether predictions come true", "alama.monitoring.cli"),
    Noun("receipt", "prove a decision, or verify the proof of one", "alama.protection.receipt_cli"),
    Noun(
        "explain",
        "score one application, show where each point comes from and what would help",
        "alama.scoring.explain_cli",
    ),
    Noun("policy", "draft, check, simulate and activate lending rules", "alama.policies.cli"),
    Noun("fields", "declare fields of a lender's own", "alama.policies.fields_cli"),
    Noun(
        "population",
        "make synthetic loans whose true risk is known",
        "alama.training.population.cli",
    ),
    Noun("train", "train a model on loans whose outcome is known", "alama.training.cli"),
    Noun("statements", "derive fields from statements of wallets", "alama.statements.cli"),
    Noun("score", "score a whole file, however long", "alama.batch.cli"),
    Noun(
        "models",
        "read, challenge, compare and recalibrate models, go back to one",
        "alama.app.models_cli",
    ),
    Noun("lists", "block and watch applicants", "alama.scoring.lists_cli"),
    Noun("lenders", "add, list and pause lenders", "alama.app.lenders_cli"),
    Noun(
        "onboard",
        "take a lender from its loan history to a live key",
        "alama.onboarding.cli",
        "walk",
    ),
    Noun("webhooks", "where events are sent, and what came of it", "alama.webhooks.cli"),
    Noun("login", "keep a key for a service elsewhere", "alama.app.remote.login_cli"),
    Noun("logout", "forget it", "alama.app.remote.logout_cli"),
    Noun(
        "remote",
        "scores, outcomes, webhooks and more of a service elsewhere",
        "alama.app.remote.cli",
    ),
    Noun(
        "worker",
        "send webhooks and train models, where the service does not do it itself",
        "alama.app.worker_cli",
    ),
    Noun("applicants", "export, hold or erase one applicant", "alama.protection.applicants_cli"),
    Noun("retention", "delete scores whose time is over", "alama.protection.retention_cli"),
    Noun("vault", "the keys that seal what applicants send", "alama.protection.vault_cli"),
    Noun(
        "audit", "prove that nothing was changed, read what was done", "alama.protection.audit_cli"
    ),
    Noun("clock", "what time it is, and that it is right", "alama.operations.clock_cli"),
    Noun("settings", "every setting, and the value in force", "alama.operations.settings_cli"),
    Noun(
        "doctor",
        "look for what is wrong with an installation, and say what to do",
        "alama.operations.doctor_cli",
    ),
    Noun("db", "upgrade the database, back it up, restore and check it", "alama.operations.db_cli"),
    Noun("openapi", "print the OpenAPI document of the service", "alama.app.openapi_cli"),
)

EXIT_MISTAKE: Final = 2
EXIT_INTERRUPTED: Final = 128 + 2  # as the shell reports SIGINT
EXIT_PIPE_CLOSED: Final = 128 + 13  # as the shell reports SIGPIPE

# Which extra brings a library that the serving install goes without.
EXTRA_BY_LIBRARY: Final[Mapping[str, str]] = {
    "clarabel": "train",
    "interpret": "train",
    "joblib": "train",
    "psycopg": "postgres",
    "pyarrow": "batch",
    "scipy": "train",
    "sklearn": "train",
    "threadpoolctl": "train",
}

DESCRIPTION: Final = """\
Alama scores loan applications from mobile-money behaviour, on your own machines.

A model is a scorecard: small tables that add up to points, trained as accurately as a
boosted forest, and explained exactly, because the points of a field are what it added.
A score of 660 means a 5 % chance of default; every 40 points double the odds of repayment."""

EXAMPLES: Final[tuple[tuple[str, str], ...]] = (
    (
        "alama serve",
        "answer POST /v1/score and the rest of the interface, on this machine",
    ),
    (
        "alama keys issue --lender demo --mode test",
        "make the API key that a caller sends",
    ),
    (
        "alama explain",
        "score a sample application and show where each point comes from",
    ),
    (
        "alama policy init --jurisdiction KE --out policy.toml",
        "draft the rules of lending, to be changed, tried and put in force",
    ),
    (
        "alama population --rows 100000 --seed 1 --out loans.parquet",
        "make loans of people who do not exist, whose true risk is known",
    ),
    (
        "alama train loans.parquet --label default --out model.json --report report.html",
        "train a model on a history of loans and write its validation report",
    ),
    (
        "alama score loans.parquet --model model.json --out scores.parquet",
        "score a whole file, however long",
    ),
    (
        "alama models show model.json",
        "read the scorecard as a credit officer would",
    ),
    (
        "alama onboard umoja",
        "take a lender from its own loan history to a live key, step by step",
    ),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code for the shell."""
    # What a process that dies would leave behind holds the keys that it had in memory.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Whatever process is started from here, also by a library, imports nothing from the current
    # folder, where others than those who installed Alama may be able to write.
    os.environ["PYTHONSAFEPATH"] = "1"
    parser = build_parser()
    args = parser.parse_args(argv)
    if "run" not in args:
        parser.print_help()
        return 0
    try:
        code: int = args.run(args)
        sys.stdout.flush()  # a closed pipe shows here rather than at exit, beyond our reach
    except AlamaError as error:
        from alama.app.commands import hint_for  # noqa: PLC0415  most commands end well

        return _mistake(str(error), hint_for(error))
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library not in EXTRA_BY_LIBRARY:
            raise
        # A command that needs several libraries names the extra that brings them all.
        extra = getattr(args, "extra", EXTRA_BY_LIBRARY[library])
        return _mistake(
            f"this command needs {library}, which is not installed",
            how_to_install(extra),
        )
    except KeyboardInterrupt:
        return _interrupted()
    except BrokenPipeError:
        return _pipe_closed()
    return code


def build_parser() -> Parser:
    parser = Parser(prog="alama", description=DESCRIPTION, epilog=_examples())
    parser.add_argument("--version", action="version", version=f"alama {__version__}")
    subparsers = parser.add_subparsers(
        title="commands",
        metavar="COMMAND",
        description="`alama COMMAND --help` tells more about each",
    )
    for noun in NOUNS:
        subparsers.add_parser(noun.name, help=noun.help, module=noun.module, implied=noun.implied)
    return parser


def _examples() -> str:
    lines = ["examples:"]
    for command, meaning in EXAMPLES:
        lines += [f"  # {meaning}", f"  {command}", ""]
    return "\n".join(lines).rstrip()


def _mistake(message: str, hint: str | None) -> int:
    from alama.platform.terminal import terminal  # noqa: PLC0415  rich is not imported where all goes well

    terminal.error(message, hint)
    return EXIT_MISTAKE


def _interrupted() -> int:
    # The terminal has echoed ^C: a line of its own for the word.
    sys.stderr.write("\ninterrupted\n")
    return EXIT_INTERRUPTED


def _pipe_closed() -> int:
    # Python flushes stdout once more at exit and would complain there: give it somewhere to go.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return EXIT_PIPE_CLOSED
