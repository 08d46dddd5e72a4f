"""Which policy answers in a book: put in force by somebody, and taken back by somebody."""

from typing import Any

import msgspec
import pytest

from alama.core import document
from alama.core import model as models
from alama.core.errors import InvalidPolicy
from alama.core.lending import draft, policy_text
from alama.core.lending.policy import Decision, OwnRule, Policy, StandardLoan
from alama.core.lending.policy_check import seal
from alama.core.units import Money
from alama.lenders.keys import is_open
from alama.lenders.records import Deployment, Pause, Signed, UnknownLender, UnknownPolicy
from alama.lenders.store import Registry
from alama.platform.book import Book, Mode
from alama.platform.errors import InvalidName
from alama.policies import policies
from tests.clocks import HandClock
from tests.entries import DEMO, NOON_US
from tests.factories import a_model

LIVE = Book("demo", Mode.LIVE)
NOBODY = Book("nobody", Mode.TEST)
MODEL = a_model()
SIGNED = Signed(NOON_US, "W. Mutua", "cut-off C 610")
DEFAULT = draft.default_policy("KES")


def named(name: str, currency: str = "KES", **changes: Any) -> bytes:
    """The text of a policy that differs from the default by its name at least."""
    policy = msgspec.structs.replace(draft.default_policy(currency), name=name, **changes)
    return draft.write(seal(policy)).encode()


def activate(registry: Registry, text: bytes, signed: Signed = SIGNED) -> Policy:
    return policies.activate(registry, DEMO, text, signed, lambda: MODEL)


def reactivate(registry: Registry, reference: str, signed: Signed = SIGNED) -> None:
    policies.reactivate(registry, DEMO, reference, signed, lambda: MODEL)


# ------------------------------------------------------------------------------------ in force


def test_the_default_of_its_currency_answers_for_a_lender_without_a_policy(
    registry: Registry,
) -> None:
    assert policies.text_in_force(registry, DEMO) == draft.default_text("KES")
    registry.deploy(DEMO, None, None, NOON_US)
    assert policies.text_in_force(registry, DEMO) == draft.default_text("KES")
    with pytest.raises(UnknownLender):
        policies.text_in_force(registry, NOBODY)


def test_a_policy_answers_as_it_was_written_comments_and_all(registry: Registry) -> None:
    text = b"# ours\r\n" + named("ours") + b"# as agreed on Monday\n"
    policy = activate(registry, text)
    assert policies.text_in_force(registry, DEMO) == text
    assert registry.deployments(DEMO) == [Deployment(None, policy.id, SIGNED)]
    assert registry.deployed(LIVE) is None


def test_only_a_model_opens_a_live_book(registry: Registry) -> None:
    assert is_open(registry, DEMO)
    assert not is_open(registry, LIVE)
    policies.activate(registry, LIVE, named("ours"), SIGNED, lambda: MODEL)
    assert not is_open(registry, LIVE)
    registry.keep_model(MODEL.id, document.encode(MODEL), NOON_US)
    registry.deploy(LIVE, MODEL.id, None, NOON_US)
    assert is_open(registry, LIVE)


# ------------------------------------------------------------------------------------ refused


FAR_OFF: dict[str, Any] = {"terms_days": (300,), "standard_loan": StandardLoan(Money(10_000), 300)}
"""Terms that the model never saw."""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"schema = ", "not TOML"),
        (named("ours").replace(b"limit_step = 500", b"limit_step = 0"), "limit_step must be"),
        (named("ours", "UGX"), "lends in UGX, but demo lends in KES"),
        (named("ours", **FAR_OFF), "no term that the model has learned on"),
    ],
)
def test_a_policy_that_cannot_be_lent_by_is_refused_and_changes_nothing(
    registry: Registry, text: bytes, told: str
) -> None:
    before = activate(registry, named("ours"))
    with pytest.raises(InvalidPolicy, match=told):
        activate(registry, text)
    assert registry.deployed(DEMO) == (None, before.id)
    assert len(registry.deployments(DEMO)) == 1


def test_a_policy_must_fit_the_model_that_answers_not_the_built_in_one(
    registry: Registry,
) -> None:
    fields = tuple(field for field in MODEL.catalogue.fields if field.name != "region")
    smaller = a_model(catalogue=msgspec.structs.replace(MODEL.catalogue, fields=fields))
    registry.keep_model(smaller.id, document.encode(smaller), NOON_US)
    registry.deploy(DEMO, smaller.id, None, NOON_US)
    rule = OwnRule("cities", "region in ['nairobi']", Decision.REVIEW)
    with pytest.raises(InvalidPolicy, match="the rule cities cannot be read for this model"):
        activate(registry, named("ours", rules=(rule,)))
    assert registry.deployed(DEMO) == (smaller.id, None)


@pytest.mark.parametrize("said", ["", "  ", "two\nlines", "\x1b[2J", "x" * 201])
def test_who_signs_and_why_are_lines_of_text(registry: Registry, said: str) -> None:
    for signed in (Signed(NOON_US, by=said), Signed(NOON_US, note=said)):
        with pytest.raises(InvalidName, match="1 to 200 characters, all on one line"):
            activate(registry, named("ours"), signed)
        with pytest.raises(InvalidName):
            reactivate(registry, policies.DEFAULT, signed)
    assert registry.deployments(DEMO) == []


# ------------------------------------------------------------------------------------ going back


@pytest.mark.parametrize("digits", [4, 12, 64])
@pytest.mark.parametrize("prefix", ["", "sha256:"])
def test_a_policy_that_answered_before_answers_again_by_its_first_digits(
    registry: Registry, prefix: str, digits: int
) -> None:
    first, second = activate(registry, named("first")), activate(registry, named("second"))
    again = Signed(NOON_US + 5, "A. Njeri", "second lost too much")
    reactivate(registry, prefix + first.id.removeprefix("sha256:")[:digits], again)
    assert registry.deployments(DEMO) == [
        Deployment(None, first.id, SIGNED),
        Deployment(None, second.id, SIGNED),
        Deployment(None, first.id, again),
    ]


def test_the_default_answers_again_by_its_word_or_its_digits(registry: Registry) -> None:
    for reference in (policies.DEFAULT, DEFAULT.id, DEFAULT.id[:15]):
        activate(registry, named("ours"))
        assert policies.text_of(registry, DEMO, reference) == draft.default_text("KES")
        reactivate(registry, reference)
        assert registry.deployed(DEMO) == (None, None)


def test_a_policy_is_not_known_that_never_answered_in_this_book(registry: Registry) -> None:
    ours = activate(registry, named("ours"))
    digits = ours.id.removeprefix("sha256:")
    for reference in ("000000", "ours", digits.upper() + "0", "%"):
        with pytest.raises(UnknownPolicy, match="ever answered here"):
            reactivate(registry, reference)
    for reference in ("", "sha256:", digits[:3]):
        with pytest.raises(InvalidName, match="is too short to name a policy") as refused:
            reactivate(registry, reference)
        assert refused.value.hint == "give the first 4 digits of its id or more"
    with pytest.raises(UnknownPolicy):
        policies.recall(registry, LIVE, digits)
    with pytest.raises(UnknownLender):
        policies.recall(registry, NOBODY, digits)
    assert registry.deployed(DEMO) == (None, ours.id)


def test_digits_that_two_policies_begin_with_are_not_enough(registry: Registry) -> None:
    for end in ("a", "b"):
        policy_id = f"sha256:123456{end}"
        registry.keep_policy(policy_id, b"", NOON_US)
        registry.deploy_policy(DEMO, policy_id, SIGNED)
    with pytest.raises(InvalidName, match="2 policies that answered here begin with 123456"):
        policies.recall(registry, DEMO, "123456")
    assert policies.recall(registry, DEMO, "123456b") == "sha256:123456b"


def test_a_policy_comes_back_only_if_it_fits_the_model_of_today(registry: Registry) -> None:
    old = activate(registry, named("ours", terms_days=(30,)))
    outcome = msgspec.structs.replace(MODEL.outcome, shortest_term_days=60)
    model = models.seal(msgspec.structs.replace(MODEL, outcome=outcome))
    registry.keep_model(model.id, document.encode(model), NOON_US)
    registry.deploy(DEMO, model.id, None, NOON_US)
    with pytest.raises(InvalidPolicy, match="no term that the model has learned on"):
        reactivate(registry, old.id)
    assert registry.deployed(DEMO) == (model.id, None)


def test_the_history_has_every_change_of_the_policy_and_no_other(registry: Registry) -> None:
    assert policies.history(registry, DEMO) == []
    registry.keep_model(MODEL.id, document.encode(MODEL), NOON_US)
    registry.deploy(DEMO, MODEL.id, None, NOON_US)
    ours = activate(registry, named("ours"))
    activate(registry, named("ours"), Signed(NOON_US + 1, "somebody else"))
    registry.deploy(DEMO, None, ours.id, NOON_US + 2)
    back = Signed(NOON_US + 3)
    reactivate(registry, policies.DEFAULT, back)
    assert policies.history(registry, DEMO) == [
        Deployment(MODEL.id, ours.id, SIGNED),
        Deployment(None, None, back),
    ]


def test_what_is_stored_can_be_read_under_its_id(registry: Registry) -> None:
    policy = activate(registry, b"# a comment\n" + named("ours"))
    assert policy_text.decode(registry.policy(policy.id), policy.id) == policy


# ------------------------------------------------------------------------------------ the pause


def test_the_first_pause_goes_on_with_its_reason(registry: Registry, clock: HandClock) -> None:
    first = Pause(NOON_US, "payments are down")
    assert policies.pause(registry, clock, DEMO, " payments are down ") == first
    clock.now_us += 5
    assert policies.pause(registry, clock, DEMO, "something else") == first
    assert registry.pause_of(LIVE) is None


@pytest.mark.parametrize("reason", ["", " ", "a\nb", "\x1b[2J", "x" * 201])
def test_a_reason_is_a_line_of_text(registry: Registry, clock: HandClock, reason: str) -> None:
    with pytest.raises(InvalidName, match="1 to 200 characters, all on one line"):
        policies.pause(registry, clock, DEMO, reason)
    assert registry.pause_of(DEMO) is None


def test_nobody_pauses_a_lender_that_is_not_there(registry: Registry, clock: HandClock) -> None:
    with pytest.raises(UnknownLender):
        policies.pause(registry, clock, NOBODY, "payments are down")
