"""Scores that a challenger is asked about, and all that asks it: for tests of what keeps both."""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import select

from alama.core import document
from alama.core.assess import Assessment, assess
from alama.core.intake import Intake
from alama.core.lending.draft import default_text
from alama.core.lending.policy_text import read
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import Model, ReadyModel
from alama.core.product import PRODUCT
from alama.monitoring import schema
from alama.monitoring.challengers import Challenger, Challengers
from alama.monitoring.comparing import Comparing, Comparisons
from alama.monitoring.shadowing import SETTLED_US, Shadowing
from alama.platform import ids
from alama.platform.book import Book
from alama.platform.database.database import Database
from alama.platform.files.packaged import builtin, sample_application
from alama.scoring.records import Entry, Sealed, Unsealed, pack
from tests.entries import DEMO, NOON_US, an_entry
from tests.factories import a_model
from tests.stores import acts_in, registry_in, scores_in
from tests.vaults import vault_of

SECOND_US = 1_000_000
LATER_US = NOON_US + 2 * SETTLED_US
"""When whatever was scored at noon is old enough."""

MODEL = a_model(name="challenger")
OTHER = a_model(seed=5, name="another challenger")
POLICY_TEXT = default_text("KES")
POLICY_ID = read(POLICY_TEXT).id


@cache
def said_to_the_sample() -> Assessment:
    """What the built-in model said to the sample application."""
    model = ReadyModel(builtin(), "KES")
    policy = ReadyPolicy(read(POLICY_TEXT), model)
    return assess(model, policy, Intake(PRODUCT).read(sample_application()))


def a_challenger(book: Book = DEMO, model: Model = MODEL, **more: Any) -> Challenger:
    """A challenger that began a second before noon."""
    since_us = NOON_US - SECOND_US
    given: dict[str, Any] = {"reached": ids.first_of(since_us), "since_us": since_us} | more
    return Challenger(book, model.id, set_by="W. Mutua", reason="retrained", **given)


class House:
    """A database in which the built-in model decides, and what asks challengers in it."""

    def __init__(self, database: Database, at_once: int = 200) -> None:
        self.database = database
        self.vault = vault_of(database)
        self.registry = registry_in(database)
        self.challengers = Challengers(database, acts_in(database))
        self.now_us = LATER_US
        self.asking = Shadowing(
            self.challengers, self.registry, self.vault, lambda: self.now_us, at_once
        )
        comparisons = Comparisons(database)
        self.comparing = Comparing(
            self.challengers, comparisons, self.registry, lambda: self.now_us, builtin
        )

    def furnish(self) -> None:
        """Keep the policy and the model that scores name."""
        self.registry.keep_policy(POLICY_ID, POLICY_TEXT, NOON_US)
        self.registry.keep_model(builtin().id, document.encode(builtin()), NOON_US)

    def begin(self, book: Book = DEMO, model: Model = MODEL, **more: Any) -> Challenger:
        """Begin with a challenger."""
        challenger = a_challenger(book, model, **more)
        self.challengers.begin(challenger, document.encode(model))
        return challenger

    def score(
        self,
        count: int = 1,
        book: Book = DEMO,
        at_us: int = NOON_US,
        sent: bytes | None = None,
        reference: str | None = None,
        model_id: str | None = None,
    ) -> list[str]:
        """Keep scores of the sample application, or of what is sent; give their ids."""
        times = range(at_us, at_us + count)
        entries = [self._entry(book, one_us, sent, reference, model_id) for one_us in times]
        assert set(scores_in(self.database).commit(entries)) == {None}
        return [entry.score.request_id for entry in entries]

    def _entry(
        self,
        book: Book,
        at_us: int,
        sent: bytes | None,
        reference: str | None,
        model_id: str | None,
    ) -> Entry:
        ring, said = self.vault.ring(book.lender), said_to_the_sample()
        subject = None if reference is None else ring.subject(book.mode.value, reference)
        record = pack(Sealed(sent or sample_application(), said, b"salt of 16 bytes"))
        entry = an_entry(book, at_us=at_us, decision=said.decision)
        score = entry.score._replace(
            model_id=model_id or builtin().id,
            policy_id=POLICY_ID,
            score=said.score,
            tier=said.tier,
            default_probability=said.default_probability,
        )
        return entry._replace(score=score, unsealed=Unsealed(subject, ring, record, None))

    def now(self, book: Book = DEMO) -> Challenger:
        """The newest challenger of a book, as it stands."""
        return self.challengers.of(book)[0]

    def shadows(self) -> list[dict[str, Any]]:
        """All that challengers have said, in the order of the scores."""
        query = select(schema.shadow_scores).order_by(schema.shadow_scores.c.request_id)
        with self.database.reading() as connection:
            return [dict(row._mapping) for row in connection.execute(query)]
