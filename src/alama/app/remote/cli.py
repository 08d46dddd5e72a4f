"""`alama remote`: what can be done at a service elsewhere, with a key that `alama login` keeps.

Options, tables and words are those of the commands of the same names that work on the database of
this machine; where the public interface does not tell what they show, it is left out.
"""

from __future__ import annotations

import math
import shlex
import sys
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from alama.app.remote import answers, webhooks_cli
from alama.app.remote.client import Call
from alama.app.remote.commands import add_where, book_of, connected, in_doubt
from alama.core.application import visible_json
from alama.core.monitoring.figures import MonitoringReport
from alama.core.monitoring.news import State
from alama.monitoring import cli as monitoring_cli
from alama.monitoring import outcomes_cli
from alama.monitoring.outcomes_api import OutcomeResults
from alama.monitoring.scores_cli import (
    add_judgement,
    add_wanted,
    fact_of_rest,
    facts_of,
    none_of,
    request_id_from,
    say_list,
    say_older,
)
from alama.platform.days import moment
from alama.platform.errors import InvalidName
from alama.platform.http.status import Health
from alama.platform.terminal import terminal
from alama.platform.terminal.tables import facts
from alama.scoring.api import IDEMPOTENCY_KEY_MAX
from alama.scoring.explain_api import ExplainReply
from alama.scoring.explain_cli import ExplanationDrawing, add_sought, read_document
from alama.scoring.scores_api import ScoreListed, ScoreRecord, ScoreReview
from alama.scoring.sequels import Sequel

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence

    from alama.core.monitoring.news import News
    from alama.monitoring.outcomes import Result
    from alama.platform.terminal.command import Subparsers

    Run = Callable[[argparse.Namespace], int]


DESCRIPTION: Final = """\
Ask a service elsewhere over its public interface, with a key that `alama login` keeps. What the
commands of the same names do here they do there, for the lender and the mode of the key, as far
as the interface goes. Where several keys are kept, --at and --mode say which is meant."""

EXAMPLES: Final = """\
examples:
  alama login https://scores.example.org
  alama remote scores list --decision REVIEW --since 2026-11-01
  alama remote explain application.json --language sw
  alama remote outcomes load repayments.csv --refused refused.csv
  alama remote webhooks list
  alama remote monitor --days 30 --html report.html"""

_EXIT_UNWELL: Final = 1


def register(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    nouns = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _register_scores(nouns)
    _register_applications(nouns)
    _register_outcomes(nouns)
    monitored = _action(nouns, "monitor", monitor, "how a book goes", MONITOR_DESCRIPTION)
    monitoring_cli.add_report(monitored)
    webhooks_cli.register(nouns)
    health_of = _action(nouns, "health", health, "whether scores can be given", HEALTH_DESCRIPTION)
    _add_json(health_of)


def _action(
    actions: Subparsers, name: str, run: Run, summary: str, description: str
) -> argparse.ArgumentParser:
    """Add a command that asks a service."""
    parser = actions.add_parser(name, help=summary, description=description)
    add_where(parser)
    parser.set_defaults(run=run)
    return parser


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="the answer as it came, for programs")


def _say_json(answer: bytes) -> None:
    """Write an answer that was read for a program, indented as people can read it too."""
    sys.stdout.write(visible_json(msgspec.json.format(answer, indent=2).decode()) + "\n")
    sys.stdout.flush()


# ------------------------------------------------------------------------------------- scores


SCORES_DESCRIPTION: Final = "Read the scores that a service has given and kept, and review them."

LIST_DESCRIPTION: Final = """\
List scores, newest first. The filters can be combined: a score is listed where all of them hold.
A wide terminal shows the offers too. Times are UTC."""

SHOW_DESCRIPTION: Final = """\
Show one score as it was given: by which model and policy, what was sent, and where each point came
from; then what a person decided, and how the loan went."""

REVIEW_DESCRIPTION: Final = """\
Say what a person decided on a score: the end of REVIEW, or a decision of the service confirmed or
overridden. The first review of a score stands."""


def _register_scores(nouns: Subparsers) -> None:
    parser = nouns.add_parser(
        "scores", help="read and review the scores given", description=SCORES_DESCRIPTION
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    listed = _action(actions, "list", list_scores, "those given, newest first", LIST_DESCRIPTION)
    add_wanted(listed)
    listed.add_argument("--json", action="store_true", help="one JSON object a line, for programs")
    shown = _action(actions, "show", show_score, "one score, and why", SHOW_DESCRIPTION)
    shown.add_argument("request_id", metavar="REQUEST_ID", help="of the score")
    _add_json(shown)
    reviewed = _action(actions, "review", review, "say what a person decided", REVIEW_DESCRIPTION)
    reviewed.add_argument("request_id", metavar="REQUEST_ID", help="of the score")
    add_judgement(reviewed)


class _Page(msgspec.Struct, frozen=True):
    """A page of scores as they came."""

    data: list[msgspec.Raw]
    next_cursor: str | None


def list_scores(args: argparse.Namespace) -> int:
    before = None if args.before is None else request_id_from(args.before)
    with connected(args) as session:
        pages = session.client.pages("/v1/scores", _Page, _wanted(args), before, args.limit)
        *_, last = read = list(pages)
        found = [one for page in read for one in page.data]
        listed = [session.client.read(one, ScoreListed) for one in found]
    if args.json:
        for one in found:
            sys.stdout.write(visible_json(bytes(one).decode()) + "\n")
        sys.stdout.flush()
    elif listed:
        say_list([answers.summary(one) for one in listed], session.login.currency)
    else:
        terminal.remark(f"There are {none_of(args)}.")
    if last.next_cursor is not None:
        say_older(args, last.next_cursor)
    return 0


def _wanted(args: argparse.Namespace) -> Mapping[str, str]:
    given = {
        "from": None if args.since is None else moment(args.since).isoformat(),
        "to": None if args.until is None else moment(args.until).isoformat(),
        "decision": args.decision,
        "tier": args.tier,
        "applicant_ref": args.ref,
        "waiting": "true" if args.waiting else None,
    }
    return {name: value for name, value in given.items() if value is not None}


def show_score(args: argparse.Namespace) -> int:
    request_id = request_id_from(args.request_id)
    with connected(args) as session:
        answer = session.client.fetch(Call("GET", f"/v1/scores/{request_id}"))
        record = session.client.read(answer, ScoreRecord)
        sent = session.client.read(record.application, dict[str, Any])
    if args.json:
        _say_json(answer)
        return 0
    parts = answers.contributions(record.shap_values, sent)
    said = answers.assessment(record, record.base_score, parts, record.offer, record.offer.rules)
    given = f"{record.created_at:%Y-%m-%d %H:%M:%S} UTC, in {record.processing_ms} ms"
    terminal.say(record.request_id)
    terminal.say(
        facts(
            [
                ("given", given),
                ("to", f"{book_of(session.login)}, {record.key_id}"),
                ("model", record.model),
                ("policy", record.policy),
                *fact_of_rest(bytes(record.application), parts),
                *facts_of(answers.sequel(record)),
            ]
        )
    )
    console = terminal.stdout()
    drawn = answers.picture(said, record.model, record.policy, None, console)
    console.print(drawn, soft_wrap=True)
    return 0


def review(args: argparse.Namespace) -> int:
    request_id = request_id_from(args.request_id)
    said = {"decision": args.decision, "reason": args.reason, "name": args.by}
    body = msgspec.json.encode(said | {"note": args.note} if args.note else said)
    with connected(args) as session:
        call = Call("POST", f"/v1/scores/{request_id}/review", body=body)
        kept = session.client.ask(call, ScoreReview)
    terminal.say(request_id)
    terminal.say(facts(facts_of(Sequel(answers.review(kept), None))))
    return 0


# ------------------------------------------------------------------------------------- applications


SCORE_DESCRIPTION: Final = """\
Have one application scored and kept, and show where each point comes from. FILE is a JSON object
of fields; `-` reads it from standard input. Sent again after a lost connection it is scored once;
--idempotency-key makes that hold for another run of this command too, for 72 hours."""

EXPLAIN_DESCRIPTION: Final = """\
Have one application explained by the lender's own model and policy, and find what would change the
decision. FILE is a JSON object of fields; `-` reads it from standard input. Nothing is stored."""


def _register_applications(nouns: Subparsers) -> None:
    scored = _action(nouns, "score", score, "score one application", SCORE_DESCRIPTION)
    explained = _action(
        nouns, "explain", explain, "why, and what would help; stores nothing", EXPLAIN_DESCRIPTION
    )
    for parser in (scored, explained):
        parser.add_argument(
            "file", type=Path, metavar="FILE", help="a JSON object, - for standard input"
        )
        _add_json(parser)
    add_sought(explained)
    scored.add_argument("--language", metavar="CODE", help="of the reasons: en, sw or fr")
    scored.add_argument(
        "--idempotency-key",
        metavar="KEY",
        help="under which it is scored once, such as a loan's id",
    )


def score(args: argparse.Namespace) -> int:
    body = read_document(args.file)
    key = str(uuid.uuid4()) if args.idempotency_key is None else _idempotency_key(args)
    query = {"expand": answers.EXPAND, **({"language": args.language} if args.language else {})}
    call = Call("POST", "/v1/score", query, body, {"Idempotency-Key": key})
    once = f"It may have been scored. Ask again with --idempotency-key {shlex.quote(key)}"
    with connected(args) as session, in_doubt(once):
        answer = session.client.fetch(call)
        reply = session.client.read(answer, answers.ExpandedScore)
        if args.json:
            _say_json(answer)
            return 0
        parts = answers.contributions(reply.shap_values, msgspec.json.decode(body))
        said = answers.assessment(reply, reply.base_score, parts, reply.offer, reply.offer.rules)
    console = terminal.stdout()
    terminal.say(reply.request_id)
    drawn = answers.picture(said, reply.model, reply.policy, None, console)
    console.print(drawn, soft_wrap=True)
    drawing = ExplanationDrawing(reply.offer.currency, console)
    drawing.reasons(reply.decision, [reason.text for reason in reply.reasons])
    return 0


def _idempotency_key(args: argparse.Namespace) -> str:
    key: str = args.idempotency_key
    is_short = len(key) <= IDEMPOTENCY_KEY_MAX
    if not (key.isascii() and key.isprintable() and key.strip() and is_short):
        raise InvalidName(
            f"an idempotency key has 1 to {IDEMPOTENCY_KEY_MAX} printable ASCII characters"
        )
    return key


def explain(args: argparse.Namespace) -> int:
    body = read_document(args.file)
    query = {"target": args.target, "ways": str(args.limit), "language": args.language}
    if args.locked:
        query["locked"] = ",".join(args.locked)
    with connected(args) as session:
        answer = session.client.fetch(Call("POST", "/v1/explain", query, body))
        reply = session.client.read(answer, ExplainReply)
    if args.json:
        _say_json(answer)
        return 0
    sent = {one.feature: one.value for one in reply.shap_values}
    parts = answers.contributions(reply.shap_values, sent)
    said = answers.assessment(reply, reply.base_score, parts, None, reply.rules)
    console, currency = terminal.stdout(), session.login.currency
    drawn = answers.picture(said, reply.model, reply.policy, currency, console)
    console.print(drawn, soft_wrap=True)
    drawing = ExplanationDrawing(currency, console)
    drawing.reasons(reply.decision, [reason.text for reason in reply.reasons])
    answers.show_recourse(drawing, reply)
    return 0


# ------------------------------------------------------------------------------------- outcomes


OUTCOMES_DESCRIPTION: Final = "Say what became of loans, of one or of all in a file."

LOAD_DESCRIPTION: Final = """\
Send the outcomes in a file, a thousand rows at a time: CSV, Parquet, or JSON lines (.jsonl), with
the columns of POST /v1/outcomes. Every row is read by the rules of the service before it is sent.
A row that breaks one, or speaks of a score that is not there, keeps no other from being recorded:
it is listed, and the exit code is 1.

Broken off, it is simply done again: what was recorded before is not counted twice."""

RECORD_DESCRIPTION: Final = """\
Say what became of one loan. To say the same again does no harm. Exits with 1 where it is refused,
and says why."""


def _register_outcomes(nouns: Subparsers) -> None:
    parser = nouns.add_parser(
        "outcomes", help="say what became of loans", description=OUTCOMES_DESCRIPTION
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    loaded = _action(
        actions, "load", load_outcomes, "record the outcomes in a file", LOAD_DESCRIPTION
    )
    loaded.set_defaults(extra="batch")
    outcomes_cli.add_file(loaded)
    recorded = _action(actions, "record", record_outcome, "record one", RECORD_DESCRIPTION)
    add = recorded.add_argument
    add("request_id", metavar="REQUEST_ID", help="of the score that the loan was given on")
    add(
        "outcome",
        choices=[state.value for state in State],
        metavar="OUTCOME",
        help=", ".join(State),
    )
    add("--date", required=True, metavar="DAY", help="when it happened, such as 2026-11-16")
    add("--disbursed-amount", type=_amount, metavar="N", help="what was paid out")
    add("--repaid-amount", type=_amount, metavar="N", help="what has come back so far, in all")
    add("--defaulted-on", metavar="DAY", help="since when a default, where that is not --date")
    add("--corrects", action="store_true", help="in the place of all that was said of the loan")
    _add_json(recorded)


def _amount(text: str) -> float:
    amount = float(text)
    if not math.isfinite(amount):  # in JSON it would be none, which says that it is not known
        raise ValueError
    return amount


def load_outcomes(args: argparse.Namespace) -> int:
    source = outcomes_cli.open_loaded(args)
    with connected(args) as session:

        def send(news: Sequence[News]) -> Sequence[Result]:
            body = msgspec.json.encode({"outcomes": [answers.sent_outcome(one) for one in news]})
            told = session.client.ask(Call("POST", "/v1/outcomes", body=body), OutcomeResults)
            return [answers.outcome_result(one) for one in told.results]

        return outcomes_cli.record_all(args, source, send)


def record_outcome(args: argparse.Namespace) -> int:
    given = {
        "request_id": request_id_from(args.request_id),
        "outcome": args.outcome,
        "date": args.date,
        "disbursed_amount": args.disbursed_amount,
        "repaid_amount": args.repaid_amount,
        "defaulted_on": args.defaulted_on,
        "corrects": args.corrects or None,
    }
    body = msgspec.json.encode({name: told for name, told in given.items() if told is not None})
    with connected(args) as session:
        answer = session.client.fetch(Call("POST", "/v1/outcomes", body=body))
        (result,) = session.client.read(answer, OutcomeResults).results
    is_refused = result.message is not msgspec.UNSET
    if args.json:
        _say_json(answer)
    else:
        told = f": {result.message}" if is_refused else ""
        terminal.say(f"{result.request_id}: {result.result}{told}")
    return outcomes_cli.EXIT_REFUSED if is_refused else 0


# ------------------------------------------------------------------------------------- the rest


MONITOR_DESCRIPTION: Final = """\
Show how the book of the key goes: what to look at first, the decisions of the last days, and the
default rates that came true beside those that were predicted. --html writes the whole report,
--json all of its figures."""

HEALTH_DESCRIPTION: Final = """\
Ask whether the service can give scores. Exits with 0 where it can, else with 1."""


def monitor(args: argparse.Namespace) -> int:
    query = {"days": str(args.days), **({"model": args.model} if args.model else {})}
    with connected(args) as session:
        report = session.client.ask(Call("GET", "/v1/monitoring", query), MonitoringReport)
    monitoring_cli.give(args, report)
    return 0


def health(args: argparse.Namespace) -> int:
    call = Call("GET", "/v1/health", answers=frozenset({200, 503}))
    with connected(args) as session:
        answer = session.client.fetch(call)
        found = session.client.read(answer, Health)
    if args.json:
        _say_json(answer)
    else:
        told = msgspec.to_builtins(found)  # what was not said is not in it
        terminal.say(facts(told.items()))
    return 0 if found.status == "ok" else _EXIT_UNWELL
