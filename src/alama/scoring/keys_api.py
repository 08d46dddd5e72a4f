"""/v1/key and /v1/keys/rotate: a key tells of itself, and makes the one that follows it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Meta

from alama.core.errors import FieldProblem
from alama.lenders import keys
from alama.lenders.keys import DAYS_MAX, OVERLAP_HOURS_MAX, Successor
from alama.lenders.limits import RateLimit
from alama.lenders.records import Key, Lender, UnknownKey
from alama.platform.book import Mode, Scope
from alama.platform.days import moment, moment_if
from alama.platform.errors import ClockLeapt, InvalidName, KeyRefused, StoreUnavailable
from alama.platform.http import fields, parameters
from alama.platform.http.bodies import optional_json_body
from alama.platform.http.exchange import Call, Reply, Utc, encode_json, private_json
from alama.platform.http.fields import Rule
from alama.platform.http.operation import AT_US, BODY, Json, Operation, Success, reference
from alama.platform.http.problems import BadParameter, InvalidRequest
from alama.platform.timeouts import run_with_timeout

if TYPE_CHECKING:
    from alama.lenders.installation import Installation
    from alama.lenders.store import Registry
    from alama.platform.clock import Time
    from alama.scoring.admission import Admission


_OVERLAP: Final = Successor().overlap_hours

RULES: Final = {
    "overlap_hours": Rule(int, f"must be a whole number from 0 to {OVERLAP_HOURS_MAX}"),
    "days": Rule(
        int,
        f"must be a whole number from 1 to {DAYS_MAX}, and no more than this key was given",
    ),
    "scopes": Rule(list, "must be a list of scopes that this key has", tuple(Scope)),
}
"""What the fields of the body must be, by their names."""


class KeyRotation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a key is followed by another."""

    overlap_hours: Annotated[
        int,
        Meta(
            ge=0,
            le=OVERLAP_HOURS_MAX,
            description="How long this key goes on working. 0: it ends at once.",
        ),
    ] = _OVERLAP
    days: Annotated[
        int | None,
        Meta(
            description="How long the new key lives, and no longer than this one was given; "
            "without it, as long.",
            extra_json_schema={"minimum": 1, "maximum": DAYS_MAX},
        ),
    ] = None
    scopes: Annotated[
        list[Scope] | None,
        Meta(
            description="What the new key may do: some of what this one may; without it, the same.",
            extra_json_schema={"minItems": 1},
        ),
    ] = None


class RotatedKey(msgspec.Struct, frozen=True):
    """A key that follows another."""

    key: Annotated[str, Meta(description="The new key. It is shown this once: keep it safe.")]
    id: Annotated[str, Meta(description="Names the new key in lists, scores and the audit.")]
    mode: Annotated[str, Meta(description="test or live, as before.")]
    scopes: Annotated[list[str], Meta(description="What it may do.")]
    expires_at: Annotated[Utc | None, Meta(description="In UTC; null: never.")]
    previous_id: Annotated[str, Meta(description="The key that asked.")]
    previous_expires_at: Annotated[
        Utc, Meta(description="Until then the key that asked works too. In UTC.")
    ]


class OwnKey(msgspec.Struct, frozen=True):
    """What a key is, as it is told to whoever has it; never the key itself."""

    id: Annotated[str, Meta(description="Names the key in lists, scores and the audit.")]
    lender: Annotated[str, Meta(description="Whose book it opens.")]
    currency: Annotated[str, Meta(description="Of all amounts in that book, by ISO 4217.")]
    mode: Annotated[str, Meta(description="test or live.")]
    scopes: Annotated[list[str], Meta(description="What it may do.")]
    created_at: Annotated[Utc, Meta(description="In UTC.")]
    expires_at: Annotated[Utc | None, Meta(description="In UTC; null: never.")]
    rate_limit: Annotated[int, Meta(description="How many requests a second it may send.")]
    burst: Annotated[int, Meta(description="How many it may send at once, after a pause.")]


REQUESTS: Final = (KeyRotation,)
REPLIES: Final = (OwnKey, RotatedKey)


class KeyEndpoint:
    """Tells of the key that asks, and follows it by another."""

    def __init__(
        self, admission: Admission, registry: Registry, clock: Time, pepper: bytes
    ) -> None:
        self._admission = admission
        self._registry = registry
        self._clock = clock
        self._pepper = pepper

    @classmethod
    def at(cls, admission: Admission, installed: Installation) -> KeyEndpoint:
        """Knows the keys of an installation."""
        return cls(admission, installed.registry, installed.clock, installed.pepper)

    @Operation(
        path="/v1/key",
        method="GET",
        id="getKey",
        tag="Keys",
        summary="Read what this key is",
        description="Whose book the key that asks opens, in which mode, what it may do, until when "
        "and how often. Any key may ask, whatever its scopes, also a live one before there is a "
        "model. The key itself is never told.",
        any_key=True,
        replies={200: Success("The key.", reference("OwnKey"), examples=("own_key",))},
        refusals=(BadParameter,),
    )
    async def read(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, None)
        parameters.read(call, ())
        key, lender = await run_with_timeout(lambda: self._found(caller.key.id))
        return private_json(own_reply(key, lender, self._admission.limit), headers)

    def _found(self, key_id: str) -> tuple[Key, Lender]:
        key = self._registry.key(key_id)  # as it is now: a rotation may just have set its end
        return key, self._registry.lender(key.lender)

    @Operation(
        path="/v1/keys/rotate",
        method="POST",
        id="rotateKey",
        tag="Keys",
        summary="Follow this key by a new one",
        description="Makes a key of the same lender and mode, with the scopes of the key that "
        f"asks or fewer. For {_OVERLAP} hours both work, unless you say otherwise, so that "
        "callers can change over; then the old one ends. The new key is shown this once: if the "
        "reply is lost, send the request again while the old key works, and have the operator "
        "revoke the one that nobody has. A key that others know is revoked by the operator, not "
        "rotated. The audit notes it.",
        scope=Scope.KEYS_ROTATE,
        body="KeyRotation",
        body_told="May be left out, with all its fields.",
        body_required=False,
        requests=("key_rotation",),
        replies={
            200: Success("The new key.", reference("RotatedKey"), examples=("rotated_key",)),
        },
        refusals=BODY,
    )
    async def rotate(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.KEYS_ROTATE)
        parameters.read(call, ())
        sent = fields.read(KeyRotation, await optional_json_body(call), RULES)
        _require_no_more(caller.key, sent)
        scopes = None if sent.scopes is None else tuple(sent.scopes)
        asked = Successor(sent.overlap_hours, sent.days, scopes)
        text, new, old = await run_with_timeout(lambda: self._rotated(caller.key.id, asked))
        return private_json(rotated_reply(text, new, old), headers)

    def _rotated(self, key_id: str, asked: Successor) -> tuple[str, Key, Key]:
        try:
            text, new = keys.rotate(
                self._registry, self._clock, self._pepper, key_id, asked, key_id
            )
        except (InvalidName, UnknownKey):  # it ended since it was admitted
            raise KeyRefused("this key is not known here, or was revoked") from None
        except ClockLeapt as error:
            raise StoreUnavailable("no key was made: the clock of the service is wrong") from error
        return text, new, self._registry.key(key_id)


def _require_no_more(key: Key, sent: KeyRotation) -> None:
    """Refuse what would give the new key more than the old one has."""
    faults = []
    longest = key.days or DAYS_MAX
    if sent.days is not None and not 1 <= sent.days <= longest:
        faults.append(FieldProblem("days", "out_of_range", RULES["days"].told))
    if sent.scopes is not None and not sent.scopes:
        faults.append(FieldProblem("scopes", "out_of_range", RULES["scopes"].told))
    faults += [
        FieldProblem("scopes", "out_of_range", RULES["scopes"].told, place)
        for place, scope in enumerate(sent.scopes or ())
        if scope not in key.scopes
    ]
    if faults:
        raise InvalidRequest(faults)


def own_reply(key: Key, lender: Lender, limit: RateLimit) -> bytes:
    """Tell of a key to whoever has it."""
    return encode_json(
        OwnKey(
            id=key.id,
            lender=lender.id,
            currency=lender.currency,
            mode=key.mode.value,
            scopes=list(key.scopes),
            created_at=moment(key.created_us),
            expires_at=moment_if(key.expires_us),
            rate_limit=limit.per_second,
            burst=limit.burst,
        )
    )


def rotated_reply(text: str, new: Key, old: Key) -> bytes:
    """Hand the new key over, and say how long the old one works."""
    assert old.expires_us is not None
    return encode_json(
        RotatedKey(
            key=text,
            id=new.id,
            mode=new.mode.value,
            scopes=list(new.scopes),
            expires_at=moment_if(new.expires_us),
            previous_id=old.id,
            previous_expires_at=moment(old.expires_us),
        )
    )


# ------------------------------------------------------------------------------ examples

_TEXT: Final = "alama_test_" + "0" * 36
_OLD: Final = Key(
    id="key_4f1d2c7b9a035e68",
    lender="demo",
    mode=Mode.TEST,
    digest=b"",
    hint="0000",
    scopes=(Scope.KEYS_ROTATE, Scope.READ),
    created_us=AT_US,
    expires_us=AT_US + _OVERLAP * keys.US_PER_HOUR,
)
_NEW: Final = msgspec.structs.replace(
    _OLD, id="key_b80e6d1f27c4935a", expires_us=AT_US + 90 * keys.US_PER_DAY
)


def requests() -> dict[str, Json]:
    """Give the bodies of requests by name, each with what it is for."""
    said = {"overlap_hours": _OVERLAP, "days": 90}
    return {"key_rotation": {"summary": "A key for 90 days, and a day to move", "value": said}}


def replies() -> dict[str, Json]:
    """Give the bodies of replies by name."""
    lender = Lender(_NEW.lender, "Demo", "KES", AT_US)
    own = json.loads(own_reply(_NEW, lender, RateLimit(1_000, 2_000)))
    told = json.loads(rotated_reply(_TEXT, _NEW, _OLD))
    return {
        "own_key": {"summary": "A key that may read and rotate", "value": own},
        "rotated_key": {"summary": "The new key", "value": told},
    }
