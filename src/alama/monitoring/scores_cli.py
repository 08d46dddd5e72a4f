"""`alama scores`: read the scores given, review, count and replay them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from rich.console import Group
from rich.text import Text

from alama.batch.listing import Labels, number
from alama.core import model as models
from alama.core.application import visible
from alama.core.calibration import SCORE_MAX, SCORE_MIN
from alama.core.lending.policy import Decision
from alama.core.model import Model, money_factor
from alama.core.scorecard import cuts_in
from alama.core.tables import MISSING, Card
from alama.core.tally import SCORE_STEP, CardTally, Tally
from alama.lenders.installation import Installation, existing_installation
from alama.monitoring.reviews import Reviews
from alama.platform import ids
from alama.platform.book import Book, Mode
from alama.platform.days import DAY_US, date_of
from alama.platform.errors import InvalidName
from alama.platform.terminal import terminal
from alama.platform.terminal.command import Subparsers, add_mode, moment_us, whole
from alama.platform.terminal.tables import Glyphs, Scale, columns, facts, glyphs, plain_table
from alama.scoring import replay as replaying
from alama.scoring import waterfall
from alama.scoring.records import (
    ScoreSummary,
    StoredScore,
    UnknownScore,
    Wanted,
)
from alama.scoring.replay import Difference, Record, recall
from alama.scoring.sequels import RULINGS, Judgement, Outcome, Review, ReviewReason, Sequel
from alama.scoring.store import Scores

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console, RenderableType
    from rich.table import Table

    from alama.core.assess import Contribution
    from alama.core.memory import Remembered


DESCRIPTION: Final = """\
Read the scores that the service has given and kept, count them, say what a person decided on one,
and replay one: an auditor's proof that the same application, model and policy still give the same
answer, to the last digit."""

LIST_DESCRIPTION: Final = """\
List the scores of one lender in one mode, newest first: those of the lender demo in test mode
unless others are named. A score is listed where all that is asked for holds. A wide terminal shows
the offers too. Times are UTC.

--waiting lists those alone that wait for a person: they say REVIEW, nobody has reviewed them yet,
and their applicants were not erased. `alama scores review` says what was decided."""

SHOW_DESCRIPTION: Final = """\
Show one score as it was given: to whom, by which model and policy, what was sent, and where each
point came from; then what became of it: what a person decided, and how the loan went. Nothing is
calculated again."""

REPLAY_DESCRIPTION: Final = """\
Assess a stored application again, by the stored model and policy that its record names, and hold
every number of the result against the record. Exits with 0 where all are identical, and with 1
and a table of what differs where they are not."""

_LIMIT: Final = 20
_LIMIT_MAX: Final = 1_000
_OFFER_WIDTH: Final = 108
"""From this width on a line has room for the offer."""

_EXIT_DIFFERENT: Final = 1

_FILTERS: Final = ("since", "until", "decision", "tier", "ref")
_WAITING: Final = "that wait for a person"


def register(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    listed = actions.add_parser(
        "list",
        help="the latest scores of a lender, or those that wait for a person",
        description=LIST_DESCRIPTION,
    )
    add = listed.add_argument
    add("--lender", default="demo", metavar="ID", help="default: %(default)s")
    add_mode(listed, Mode.TEST)
    add_wanted(listed)
    listed.set_defaults(run=show_list)
    _register_tally(actions)
    _register_review(actions)
    for name, run, summary, description in (
        ("show", show, "one score, and where its points came from", SHOW_DESCRIPTION),
        ("replay", replay, "give a score again and compare", REPLAY_DESCRIPTION),
    ):
        action = actions.add_parser(name, help=summary, description=description)
        action.add_argument("request_id", metavar="REQUEST_ID", help="of any lender and mode")
        action.set_defaults(run=run)


def add_wanted(parser: argparse.ArgumentParser) -> None:
    """Let a command be told which scores to list, and how many."""
    add = parser.add_argument
    add("--since", type=moment_us, metavar="TIME", help="only those given then or later")
    add("--until", type=moment_us, metavar="TIME", help="only those given before")
    add("--decision", choices=[one.value for one in Decision], help="only those that say this")
    add("--tier", metavar="TIER", help="only those of this tier")
    add("--ref", metavar="REF", help="only those of one applicant, by the applicant_ref")
    add("--waiting", action="store_true", help="only those that a person has to decide on yet")
    add(
        "--limit",
        type=whole(1, _LIMIT_MAX),
        default=_LIMIT,
        metavar="N",
        help=f"how many, at most {_LIMIT_MAX} (default: %(default)s)",
    )
    add("--before", metavar="REQUEST_ID", help="go on with those older than this one")
    # Here, or at a service elsewhere.
    where, filters = ("--lender", "--at", "--mode"), (f"--{name}" for name in _FILTERS)
    terminal.repeat(parser, *where, *filters, "--waiting")


def show_list(args: argparse.Namespace) -> int:
    """List scores, and say how to go on where there are more."""
    before = None if args.before is None else request_id_from(args.before)
    with existing_installation() as opened:
        lender = opened.registry.lender(args.lender)
        # One more than asked for tells whether there are more.
        book = Book(lender.id, Mode(args.mode))
        wanted = _wanted(args, opened, book)
        found = Scores.at(opened).page(book, before, args.limit + 1, wanted)
    shown = found[: args.limit]
    if not shown:
        terminal.remark(f"{lender.id} has {none_of(args)} in {args.mode} mode.")
        return 0
    wait = f", scores {_WAITING}" if args.waiting else ""
    terminal.remark(f"{lender.id}, {args.mode} mode{wait}:")
    say_list(shown, lender.currency)
    if len(found) > len(shown):
        terminal.say_older(args, shown[-1].request_id)
    return 0


def none_of(args: argparse.Namespace) -> str:
    """Say that there are no scores, and which were sought."""
    is_filtered = any(getattr(args, name) is not None for name in _FILTERS)
    said = (
        "no",
        "older" if args.before else "",
        "scores",
        "of that kind" if is_filtered else "",
        _WAITING if args.waiting else "",
    )
    return " ".join(filter(None, said))


def _wanted(args: argparse.Namespace, opened: Installation, book: Book) -> Wanted:
    subject = None
    if args.ref is not None:
        # As the database knows an applicant: nowhere by the reference itself.
        subject = opened.vault.ring(book.lender).subject(book.mode.value, args.ref.strip())
    decision = None if args.decision is None else Decision(args.decision)
    return Wanted(args.since, args.until, decision, args.tier, subject, args.waiting)


def show(args: argparse.Namespace) -> int:
    """Show a record: the facts about it, then the answer that was given."""
    with existing_installation() as opened:
        record = recall(opened.registry, opened.vault, find_score(opened, args.request_id))
        sequel = Reviews.at(opened).sequel(record.row.book, record.row.request_id)
    terminal.say(record.row.request_id)
    terminal.say(facts([*_facts(record), *facts_of(sequel)]))
    console = terminal.stdout()
    said = record.sealed.assessment
    console.print(waterfall.drawing(record.model, record.policy, said, console), soft_wrap=True)
    return 0


def replay(args: argparse.Namespace) -> int:
    with existing_installation() as opened:
        record = replaying.recall(
            opened.registry, opened.vault, find_score(opened, args.request_id)
        )
    differences = replaying.replay(record)
    if not differences:
        terminal.say(_identical(record))
        return 0
    terminal.say(f"{record.row.request_id} differs:\n")
    terminal.say(difference_table("stored", differences))
    return _EXIT_DIFFERENT


def difference_table(source: str, differences: Sequence[Difference]) -> Table:
    """Give what a replay has found: by its part, what the source says, and what came out."""
    table = plain_table("part", source, "replayed")
    for different in differences:
        table.add_row(different.part, _shown(different.stored), _shown(different.replayed))
    return table


def say_list(scores: Sequence[ScoreSummary], currency: str | None) -> None:
    """Print a line for each score; a wide terminal has room for the offers."""
    roomy = terminal.stdout().width >= _OFFER_WIDTH
    offer = ("limit", "term", "APR") if roomy else ()
    table = plain_table("request", "given (UTC)", "score", "default", "decision", *offer)
    for column in table.columns:
        column.no_wrap = True
    for place in (3, *range(5, 5 + len(offer))):
        table.columns[place].justify = "right"
    for score in scores:
        cells = [
            score.request_id,
            terminal.minute(score.created_us),
            f"{score.score} {score.tier}",
            f"{score.default_probability:.2%}",
            score.decision,
        ]
        if roomy and score.recommended_limit:
            cells += [
                " ".join(filter(None, (currency, number(score.recommended_limit)))),
                f"{score.recommended_term_days} d",
                f"{score.recommended_apr:.2f}%",
            ]
        table.add_row(*cells)
    terminal.say(table)


def _facts(record: Record) -> list[tuple[str, str]]:
    """Tell what the drawing does not: who asked, when, and what no model reads."""
    row, said = record.row, record.sealed.assessment
    return [
        ("given", f"{terminal.second(row.created_us)} UTC, in {row.processing_ms} ms"),
        ("to", f"{row.lender}, {row.mode} mode, {row.key_id}"),
        ("model", row.model_id),
        ("policy", row.policy_id),
        *_fact_of_memory(said.memory),
        *fact_of_rest(record.sealed.application, said.contributions),
    ]


def _fact_of_memory(read: Remembered | None) -> list[tuple[str, str]]:
    """Give what was remembered of the borrower by then, as a line of facts."""
    if read is None:
        return []
    told = [
        f"{name} {number(value)}" for name, value in msgspec.structs.asdict(read).items() if value
    ]
    return [("memory", ", ".join(told) or "nothing of earlier loans or applications")]


def fact_of_rest(application: bytes, drawn: Iterable[Contribution]) -> list[tuple[str, str]]:
    """Give what was sent and no model reads, if there is any, as a line of facts."""
    names = {contribution.feature for contribution in drawn}
    sent = msgspec.json.decode(application, type=dict[str, object])
    also = [visible(f"{name} {value}") for name, value in sent.items() if name not in names]
    return [("also", ", ".join(also))] if also else []


def _identical(record: Record) -> str:
    row = record.row
    return (
        f"{row.request_id} is identical: score {row.score}, tier {row.tier}, {row.decision}\n"
        f"model  {row.model_id}\n"
        f"policy {row.policy_id}"
    )


def find_score(opened: Installation, request_id: str) -> StoredScore:
    """Find a score in whichever book it is, or raise `InvalidName` for whoever typed its id."""
    try:
        return replaying.find(opened.registry, Scores.at(opened), request_id_from(request_id))
    except UnknownScore:
        raise unknown(f"no lender has a score {request_id}") from None


def _shown(value: object) -> str:
    if isinstance(value, list | tuple):
        return visible(", ".join(map(str, value))) or "none"
    return "none" if value is None else visible(str(value))


REVIEW_DESCRIPTION: Final = """\
Say what a person decided on a score: the end of REVIEW, or a decision of the
service confirmed or overridden. The first review of a score stands. The audit
names who decided; the note is sealed with what the applicant sent. The same is
done over HTTP at POST /v1/scores/{request_id}/review."""

REVIEW_EXAMPLES: Final = """\
examples:
  alama scores review req_... --lender umoja-sacco --mode live \\
    --decision APPROVED --reason income_verified --by "W. Mutua" \\
    --note "payslips of three months seen\""""


def _register_review(actions: Subparsers) -> None:
    parser = actions.add_parser(
        "review",
        help="say what a person decided on a score",
        description=REVIEW_DESCRIPTION,
        epilog=REVIEW_EXAMPLES,
    )
    add = parser.add_argument
    add("request_id", metavar="REQUEST_ID", help="of the score")
    add("--lender", required=True, metavar="ID", help="`alama lenders list` shows them")
    add("--mode", required=True, choices=[mode.value for mode in Mode], help="of the score")
    add_judgement(parser)
    parser.set_defaults(run=review)


def add_judgement(parser: argparse.ArgumentParser) -> None:
    """Let a command be told what a person decided, and who it was."""
    add = parser.add_argument
    add("--decision", required=True, choices=RULINGS, help="what the person decided")
    add(
        "--reason",
        required=True,
        choices=[reason.value for reason in ReviewReason],
        metavar="REASON",
        help=f"what weighed most: {', '.join(ReviewReason)}",
    )
    add("--by", required=True, metavar="NAME", help="who decided, for the audit")
    add("--note", default="", metavar="TEXT", help="in their own words (default: none)")


def review(args: argparse.Namespace) -> int:
    request_id = request_id_from(args.request_id)
    said = Judgement(args.decision, ReviewReason(args.reason), args.by, args.note)
    with existing_installation() as opened:
        book = Book(opened.registry.lender(args.lender).id, Mode(args.mode))
        try:
            reviewed = Reviews.at(opened).review(book, request_id, said)
        except UnknownScore:
            whose = f"{book.lender} has no score {request_id} in {book.mode} mode"
            raise unknown(whose) from None
    terminal.say(request_id)
    terminal.say(facts(facts_of(Sequel(reviewed.review, None))))
    if not reviewed.is_new:
        terminal.remark("The same was said before; nothing has changed.")
    return 0


def facts_of(sequel: Sequel) -> list[tuple[str, str]]:
    """Give what became of a score, as far as it is known, as lines of its facts."""
    rows = []
    if sequel.review is not None:
        rows.append(("review", _decided(sequel.review)))
        if sequel.review.note:
            rows.append(("note", _noted(sequel.review)))
    if sequel.outcome is not None:
        rows.append(("outcome", _went(sequel.outcome)))
    return rows


def _decided(review: Review) -> str:
    which = f", which overrides {review.given_decision}" if review.overrides else ""
    reason = review.reason.value.replace("_", " ")
    when = f"{terminal.minute(review.reviewed_us)} UTC"
    return f"{review.decision}{which}: {reason}, by {visible(review.person)}, {when}"


def _noted(review: Review) -> str:
    return visible(" ".join(review.note.split()))


def _went(outcome: Outcome) -> str:
    said = [f"{outcome.state.value.replace('_', ' ')} on {date_of(outcome.happened_on)}"]
    if outcome.defaulted_on is not None and outcome.defaulted_on != outcome.happened_on:
        said.append(f"a default since {date_of(outcome.defaulted_on)}")
    if outcome.disbursed_amount is not None:
        said.append(f"{number(outcome.disbursed_amount)} lent")
    if outcome.repaid_amount is not None:
        said.append(f"{number(outcome.repaid_amount)} repaid")
    return ", ".join(said)


# ---------------------------------------------------------------------------------------------- ids


def request_id_from(text: str) -> str:
    """Read an id, or raise `InvalidName`."""
    if not ids.is_request_id(text):
        raise InvalidName(
            "this is not a request id",
            hint="it is req_ and 28 hexadecimal digits, as in the reply to the request",
        )
    return text


def unknown(message: str) -> InvalidName:
    """Give the error for an id that nothing has, with where others are."""
    return InvalidName(message, hint="`alama scores list` shows the latest")


TALLY_DESCRIPTION: Final = """\
Show how often each decision, tier and score was given in the last days, and into which bands each
field of the applications fell, next to the data that the model was trained on. A field that has
moved by 10% would look as in training if one in ten applicants were in another band. These are
counts that were made as the scores were given: what was deleted since, and whose applicants were
erased, is still in them. Days are UTC."""

TALLY_EXAMPLES: Final = """\
examples:
  alama scores tally demo --days 7
  alama scores tally demo --field avg_inflow"""

_DAYS: Final = 30
_DAYS_MAX: Final = 3_660


def _register_tally(actions: Subparsers) -> None:
    parser = actions.add_parser(
        "tally",
        help="decisions, scores and fields of some days, counted",
        description=TALLY_DESCRIPTION,
        epilog=TALLY_EXAMPLES,
    )
    add = parser.add_argument
    add("lender", nargs="?", default="demo", metavar="LENDER", help="default: %(default)s")
    add_mode(parser, Mode.TEST)
    add(
        "--days",
        type=whole(1, _DAYS_MAX),
        default=_DAYS,
        metavar="N",
        help="how many, today included (default: %(default)s)",
    )
    add("--field", metavar="NAME", help="every band of this field, and nothing else")
    parser.set_defaults(run=tally)


def tally(args: argparse.Namespace) -> int:
    """Show the counts of some days, model by model, the one that gave most scores first."""
    with existing_installation() as opened:
        last_day = opened.clock() // DAY_US
        first_day = last_day - args.days + 1
        lender = opened.registry.lender(args.lender)
        found = Scores.at(opened).tally(Book(lender.id, Mode(args.mode)), first_day, last_day)
        known = {one: models.stored(opened.registry.model(one), one) for one in found}
    days = f"{terminal.day(first_day * DAY_US)} to {terminal.day(last_day * DAY_US)}"
    if not found:
        terminal.remark(f"{lender.id} has no scores in {args.mode} mode, {days}.")
        return 0
    field = None if args.field is None else _field_read(args.field, known.values())
    terminal.remark(f"{lender.id}, {args.mode} mode, {days}:")
    for place, model_id in enumerate(sorted(found, key=lambda one: -found[one].count)):
        if place:
            terminal.say("")
        _say_tally(known[model_id], found[model_id], lender.currency, field)
    return 0


def _say_tally(model: Model, tally: Tally, currency: str, field: str | None) -> None:
    console = terminal.stdout()
    if field is not None:
        terminal.say(field_drawing(model, tally, currency, field, console))
        return
    terminal.say(tally_drawing(model, tally, currency, console))
    few = [name for name, card in tally.cards.items() if card.count < ENOUGH]
    if few:
        terminal.remark(
            f"Of fewer than {ENOUGH} scores (card {', '.join(few)}) it cannot be told "
            "how far a field has moved."
        )


def _field_read(name: str, models: Iterable[Model]) -> str:
    """Give the one spelling of a field that some card reads, whichever it was asked for by."""
    read: set[str] = set()
    for model in models:
        # The last card reads every field that another one does.
        read |= {feature.field for feature in model.cards[-1].features}
        if name in model.catalogue.position:
            name = model.catalogue.field(name).name
    if name not in read:
        raise InvalidName(
            "no model that gave these scores reads such a field",
            hint=f"they read {', '.join(sorted(read))}",
        )
    return name


ENOUGH: Final = 500
"""Scores from which on it says something how far a field has moved: of fewer, some twenty bands
look moved by chance alone."""

_STYLE: Final = "cyan"
_BAR_WIDTH: Final = 30
_BAND_WIDTH_MAX: Final = 32
_GAP: Final = 2
_FIGURES: Final = ("scores", "share", "in training")
_FIGURES_WIDTH: Final = sum(len(head) + _GAP for head in _FIGURES) + 3
"""Of their heads, and a little more: 1,000,000 and 100.0% are wider than what stands above them."""
_HEIGHT: Final = 5
_COLUMN_POINTS: Final = 10
_MARK_POINTS: Final = 100
_TRAINING_WIDTH: Final = 100
"""From this width on a line has room for the bands of the training data beside those of today."""


class Met(NamedTuple):
    """The bands of one field: what they hold, how often they were met, and their share in training.

    In the order of the table, except that the last of them is "not given".
    """

    field: str
    unit: str
    bands: tuple[str, ...]
    counts: tuple[int, ...]
    trained: tuple[float, ...]

    @property
    def shares(self) -> tuple[float, ...]:
        """How much of all that was met each band has."""
        return tuple(count / sum(self.counts) for count in self.counts)

    @property
    def moved(self) -> float:
        """The share of applicants that would have to be in another band to look as in training."""
        pairs = zip(self.shares, self.trained, strict=True)
        return sum(abs(share - trained) for share, trained in pairs) / 2.0


def tally_drawing(model: Model, tally: Tally, currency: str, console: Console) -> RenderableType:
    """Draw decisions, tiers and scores, and a line for each field of each card."""
    made_of = glyphs(console)
    parts: list[RenderableType] = [
        *_header(model),
        _given_table(tally, made_of),
        Text(),
        *_score_columns(tally.steps, made_of),
    ]
    for card, counted in _cards(model, tally):
        met = met_by(model, card, counted, currency)
        parts += [Text(), _card_title(card, counted), _field_table(met, counted.count, console)]
    return Group(*parts)


def field_drawing(
    model: Model, tally: Tally, currency: str, field: str, console: Console
) -> RenderableType:
    """Draw the bands of one field, for each card that reads it."""
    parts: list[RenderableType] = [*_header(model)]
    for card, counted in _cards(model, tally):
        for met in met_by(model, card, counted, currency):
            if met.field == field:
                parts += [_card_title(card, counted), _band_table(met, console), Text()]
    return Group(*parts[:-1])


def met_by(model: Model, card: Card, counted: CardTally, currency: str) -> list[Met]:
    """Give the bands of every field of a card, with money in a currency."""
    factor = money_factor(model, currency)
    found = []
    for feature, counts in zip(card.features, counted.bands, strict=True):
        field = model.catalogue.field(feature.field)
        labels = Labels(feature, field, cuts_in(feature, model.catalogue, factor))
        slots = [*range(1, len(feature.main)), MISSING]
        padded = [*counts, *[0] * (len(feature.main) - len(counts))]
        found.append(
            Met(
                field=feature.field,
                unit=field.unit.replace("money", currency),
                bands=tuple(labels.of([slot]) for slot in slots),
                counts=tuple(padded[slot] for slot in slots),
                trained=tuple(feature.shares[slot] for slot in slots),
            )
        )
    return found


def _cards(model: Model, tally: Tally) -> Iterator[tuple[Card, CardTally]]:
    for card in model.cards:
        if card.name in tally.cards:
            yield card, tally.cards[card.name]


def _header(model: Model) -> list[RenderableType]:
    return [Text(model.name, "bold"), Text(model.id, "dim"), Text()]


def _card_title(card: Card, counted: CardTally) -> Text:
    scores = f"{counted.count:,} score{'' if counted.count == 1 else 's'}"
    return Text.assemble((f"card {card.name}", "bold"), f": {scores}")


def _given_table(tally: Tally, made_of: Glyphs) -> RenderableType:
    """Draw how often each decision, each tier and each card was given."""
    table = plain_table("", "", "scores", "share", "")
    for place in (2, 3):
        table.columns[place].justify = "right"
    scale = Scale(0.0, 1.0, _BAR_WIDTH)
    decisions = {**{one.value: 0 for one in Decision}, **tally.decisions}
    tiers = {name: tally.tiers[name] for name in sorted(tally.tiers)}
    cards = {name: card.count for name, card in tally.cards.items()}
    for what, counts in (("decision", decisions), ("tier", tiers), ("card", cards)):
        for place, (name, count) in enumerate(counts.items()):
            share = count / tally.count
            table.add_row(
                Text("" if place else what, "dim"),
                name,
                f"{count:,}",
                f"{share:.1%}",
                scale.bar(0.0, share, made_of, guide=0.0, style=_STYLE) if count else "",
            )
        if what != "card":
            table.add_row()
    return table


def _score_columns(steps: Sequence[int], made_of: Glyphs) -> list[RenderableType]:
    """Draw the scores as columns over their range."""
    counts = [0] * ((SCORE_MAX - SCORE_MIN) // _COLUMN_POINTS + 1)
    for step, count in enumerate(steps):
        counts[step * SCORE_STEP // _COLUMN_POINTS] += count
    drawn = columns(counts, max(counts), _HEIGHT, made_of)
    marks = "".join(
        f"{mark:<{_MARK_POINTS // _COLUMN_POINTS}}"
        for mark in range(SCORE_MIN, SCORE_MAX + 1, _MARK_POINTS)
    )
    return [
        Text("scores", "dim"),
        *(Text(line.rstrip(), _STYLE) for line in drawn),
        Text(made_of.line * len(counts), "dim"),
        Text(marks.rstrip(), "dim"),
    ]


def _field_table(met: Sequence[Met], count: int, console: Console) -> RenderableType:
    """Draw a line for each field, those first that have moved most where that can be told."""
    roomy = console.width >= _TRAINING_WIDTH
    heads = ["field", "bands", *(["in training"] if roomy else []), "not given", "moved"]
    table = plain_table(*heads)
    for column in table.columns:
        column.no_wrap = True
    for column in table.columns[-2:]:
        column.justify = "right"
    made_of, told = glyphs(console), count >= ENOUGH
    for one in sorted(met, key=lambda one: -one.moved) if told else met:
        top = max(*one.shares, *one.trained)
        (now,), (trained,) = (columns(s[:-1], top, 1, made_of) for s in (one.shares, one.trained))
        table.add_row(
            one.field,
            Text(now, _STYLE),
            *([Text(trained, "dim")] if roomy else []),
            f"{one.shares[-1]:.1%}" if one.shares[-1] or one.trained[-1] else "",
            f"{one.moved:.1%}" if told else "",
        )
    return table


def _band_table(met: Met, console: Console) -> RenderableType:
    """Draw a line for each band of a field that was ever met, with a mark where training had it."""
    head = f"{met.field}, {met.unit}" if met.unit else met.field
    table = plain_table(head)
    band_width = min(max(len(text) for text in (head, *met.bands)), _BAND_WIDTH_MAX)
    table.columns[0].width = band_width
    for figure in _FIGURES:
        table.add_column(figure, justify="right", no_wrap=True)
    table.add_column("")
    made_of = glyphs(console)
    left = console.width - band_width - _FIGURES_WIDTH - _GAP
    scale = Scale(0.0, max(*met.shares, *met.trained), min(max(left, 1), _BAR_WIDTH))
    rows = zip(met.bands, met.counts, met.shares, met.trained, strict=True)
    for band, count, share, trained in rows:
        if count:
            bar = scale.bar(0.0, share, made_of, guide=trained, style=_STYLE)
        else:
            bar = Text(" " * scale.cell(trained) + made_of.guide, "dim")
        if count or trained:
            table.add_row(band, f"{count:,}", f"{share:.1%}", f"{trained:.1%}", bar)
    return table
