"""Every act of the registry leaves one entry, in its own transaction, on every database."""

from collections.abc import Callable

import pytest

from alama.core import document
from alama.core.chain import MAIN
from alama.core.errors import AlamaError
from alama.core.lending import draft
from alama.lenders.records import Key, Lender, Pause, Signed
from alama.lenders.store import Registry
from alama.platform import acts
from alama.platform.acts import Act, ActKind, Detail
from alama.platform.book import USUAL_SCOPES, Book, Mode
from alama.platform.database.database import Database
from alama.protection.audit.store import Trail
from tests.audited import verdict_on
from tests.entries import NOON_US
from tests.factories import a_model
from tests.own_fields import TEXT, the_three
from tests.stores import registry_in

pytestmark = pytest.mark.alike

MODEL = a_model()
POLICY_ID = draft.default_policy("KES").id

DEMO = Lender("demo", "Demo lender", "KES", NOON_US)
LIVE = Book("demo", Mode.LIVE)
NOWHERE = Book("nobody", Mode.LIVE)
PAUSE = Pause(NOON_US, "payments are down")


@pytest.fixture
def registry(database: Database) -> Registry:
    registry = registry_in(database)
    registry.add_lender(DEMO)
    registry.keep_model(MODEL.id, document.encode(MODEL), NOON_US)
    registry.keep_policy(POLICY_ID, draft.default_text("KES"), NOON_US)
    registry.add_key(a_key(1))
    return registry


def a_key(number: int, lender: str = "demo") -> Key:
    digest = number.to_bytes(32, "big")
    return Key(f"key_{number}", lender, Mode.TEST, digest, "abcd", USUAL_SCOPES, NOON_US)


def terms(number: int) -> dict[str, Detail]:
    """What an act says of a key."""
    key = a_key(number)
    return {
        "scopes": " ".join(USUAL_SCOPES),
        "expires_us": None,
        "days": None,
        "created_us": NOON_US,
        "hint": "abcd",
        "digest": key.digest.hex(),
    }


def acts_of(database: Database) -> list[Act]:
    return [acts.decode(link.body) for link in Trail(database).links(MAIN, 0, 100)]


Deed = Callable[[Registry], object]

DEEDS: dict[ActKind, tuple[Deed, Act]] = {
    ActKind.LENDER_ADDED: (
        lambda registry: registry.add_lender(Lender("umoja", "Umoja Sacco", "XOF", NOON_US)),
        Act(
            ActKind.LENDER_ADDED,
            "umoja",
            details={"name": "Umoja Sacco", "currency": "XOF", "created_us": NOON_US},
            by="a test",
        ),
    ),
    ActKind.KEY_ISSUED: (
        lambda registry: registry.add_key(a_key(2)),
        Act(
            ActKind.KEY_ISSUED,
            "demo",
            "test",
            "key_2",
            terms(2),
            "a test",
        ),
    ),
    ActKind.KEY_ROTATED: (
        lambda registry: registry.replace_key("key_1", NOON_US + 7, a_key(3)),
        Act(
            ActKind.KEY_ROTATED,
            "demo",
            "test",
            "key_3",
            {"replaces": "key_1", "which_expires_us": NOON_US + 7, **terms(3)},
            "a test",
        ),
    ),
    ActKind.KEY_REVOKED: (
        lambda registry: registry.revoke_key("key_1", NOON_US),
        Act(ActKind.KEY_REVOKED, "demo", "test", "key_1", {"revoked_us": NOON_US}, "a test"),
    ),
    ActKind.DEPLOYED: (
        lambda registry: registry.deploy(LIVE, MODEL.id, None, NOON_US),
        Act(
            ActKind.DEPLOYED,
            "demo",
            "live",
            details={
                "model_id": MODEL.id,
                "policy_id": None,
                "note": None,
                "created_us": NOON_US,
                "signed_by": None,
            },
            by="a test",
        ),
    ),
    ActKind.POLICY_DEPLOYED: (
        lambda registry: registry.deploy_policy(
            LIVE, POLICY_ID, Signed(NOON_US, "W. Mutua", "cut-off 610, caf\u00e9")
        ),
        Act(
            ActKind.POLICY_DEPLOYED,
            "demo",
            "live",
            details={
                "model_id": None,
                "policy_id": POLICY_ID,
                "note": "cut-off 610, caf\u00e9",
                "created_us": NOON_US,
                "signed_by": "W. Mutua",
            },
            by="W. Mutua",
        ),
    ),
    ActKind.FIELDS_ACTIVATED: (
        lambda registry: registry.activate_fields(
            "demo", the_three().id, TEXT, Signed(NOON_US, "W. Mutua", "our bureau")
        ),
        Act(
            ActKind.FIELDS_ACTIVATED,
            "demo",
            details={
                "fields_id": the_three().id,
                "note": "our bureau",
                "created_us": NOON_US,
                "signed_by": "W. Mutua",
            },
            by="W. Mutua",
        ),
    ),
    ActKind.PAUSED: (
        lambda registry: registry.pause(LIVE, PAUSE),
        Act(
            ActKind.PAUSED,
            "demo",
            "live",
            details={"reason": PAUSE.reason, "paused_us": NOON_US},
            by="a test",
        ),
    ),
}


@pytest.mark.parametrize("kind", DEEDS)
def test_an_act_leaves_one_entry_that_says_what_was_done_and_by_whom(
    registry: Registry, database: Database, kind: ActKind
) -> None:
    before = acts_of(database)
    deed, act = DEEDS[kind]
    deed(registry)
    assert acts_of(database) == [*before, act]


def test_the_end_of_a_pause_says_since_when_it_was(registry: Registry, database: Database) -> None:
    registry.pause(LIVE, PAUSE)
    registry.resume(LIVE)
    assert acts_of(database)[-1] == Act(
        ActKind.RESUMED, "demo", "live", details={"paused_us": NOON_US}, by="a test"
    )


IN_VAIN: dict[str, Deed] = {
    "a lender there is": lambda registry: registry.add_lender(DEMO),
    "a key there is": lambda registry: registry.add_key(a_key(1)),
    "a key of nobody": lambda registry: registry.add_key(a_key(2, "nobody")),
    "no key to follow": lambda registry: registry.replace_key("key_9", NOON_US, a_key(3)),
    "a follower there is": lambda registry: registry.replace_key("key_1", NOON_US, a_key(1)),
    "no such model": lambda registry: registry.deploy(LIVE, "sha256:other", None, NOON_US),
    "no such book": lambda registry: registry.deploy_policy(NOWHERE, None, Signed(NOON_US)),
    "nobody to pause": lambda registry: registry.pause(NOWHERE, PAUSE),
}


@pytest.mark.parametrize("what", IN_VAIN)
def test_what_fails_leaves_none(registry: Registry, database: Database, what: str) -> None:
    before = acts_of(database)
    with pytest.raises(AlamaError):
        IN_VAIN[what](registry)
    assert acts_of(database) == before


def test_what_changes_nothing_leaves_none(registry: Registry, database: Database) -> None:
    registry.revoke_key("key_1", NOON_US)
    registry.pause(LIVE, PAUSE)
    before = acts_of(database)
    registry.revoke_key("key_1", NOON_US + 1)
    registry.revoke_key("key_9", NOON_US)
    registry.pause(LIVE, Pause(NOON_US + 1, "another reason"))
    registry.resume(Book("demo", Mode.TEST))
    registry.keep_model(MODEL.id, document.encode(MODEL), NOON_US)
    registry.note_key_use({"key_1": NOON_US})
    registry.settle_fact("pepper", "one")
    assert acts_of(database) == before


def test_acts_verify(registry: Registry, database: Database) -> None:
    for deed, _ in DEEDS.values():
        deed(registry)
    verdict = verdict_on(database)
    assert verdict.findings == []
    assert (verdict.chains, verdict.entries) == (1, 2 + len(DEEDS))
