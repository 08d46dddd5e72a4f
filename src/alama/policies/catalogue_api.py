"""/v1/catalogue: what may be sent in an application, the lender's own fields included."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Meta

from alama.core.errors import InvalidFields
from alama.core.own_fields import NOTHING, OwnFields, answering
from alama.core.product import PRODUCT
from alama.lenders.own_fields import own_fields_in_force
from alama.platform.errors import ModelUnavailable
from alama.platform.http import parameters
from alama.platform.http.exchange import Call, Reply, encode_json, private_json
from alama.platform.http.operation import Json, Operation, Success, reference
from alama.platform.http.problems import BadParameter
from alama.platform.timeouts import run_with_timeout
from alama.scoring.directory import ActiveModel

if TYPE_CHECKING:
    from collections.abc import Iterable

    from alama.core.catalogue import Field
    from alama.lenders.installation import Installation
    from alama.lenders.store import Registry
    from alama.scoring.admission import Admission


class SendableField(msgspec.Struct, frozen=True):
    """One field of an application."""

    name: Annotated[str, Meta(description="As it is sent.")]
    other_spelling: Annotated[str | None, Meta(description="Another name of the same field.")]
    own: Annotated[bool, Meta(description="Whether the lender has declared it.")]
    type: Annotated[str, Meta(description="integer, number or word.")]
    rule: Annotated[str, Meta(description="What a value must be, in words.")]
    required: Annotated[bool, Meta(description="Whether every application has to hold it.")]
    minimum: Annotated[float | None, Meta(description="The least that it may be.")]
    above: Annotated[float | None, Meta(description="What it must exceed.")]
    maximum: Annotated[float | None, Meta(description="The most that it may be.")]
    money: Annotated[bool, Meta(description="Whether it is in the lender's currency.")]
    unit: Annotated[str, Meta(description="Of its values; empty: it has none.")]
    meaning: Annotated[str, Meta(description="What it means.")]
    source: Annotated[str, Meta(description="Where an own field comes from; else empty.")]
    read_by: Annotated[
        str, Meta(description="model: by model and rules. policy: by rules. reference: by none.")
    ]
    direction: Annotated[
        str, Meta(description="`safer with more`, `riskier with more`, or `free`.")
    ]


class SendableFields(msgspec.Struct, frozen=True):
    """All that an application may hold."""

    fields_id: Annotated[
        str | None,
        Meta(description="Content hash of the lender's own fields; null: it has none."),
    ]
    version: Annotated[str | None, Meta(description="What the lender calls them; null: as above.")]
    fields: Annotated[list[SendableField], Meta(description="The product's, then the own ones.")]
    prohibited: Annotated[list[str], Meta(description="Names that are refused from everybody.")]
    products: Annotated[
        list[str],
        Meta(
            description="What `product` may name, the default one first; empty: the policy has "
            "none, and `product` is refused."
        ),
    ] = []


REPLIES: Final = (SendableFields,)


class CatalogueEndpoint:
    """Tells what may be sent."""

    def __init__(self, admission: Admission, registry: Registry) -> None:
        self._admission = admission
        self._registry = registry

    @classmethod
    def at(cls, admission: Admission, installed: Installation) -> CatalogueEndpoint:
        return cls(admission, installed.registry)

    @Operation(
        path="/v1/catalogue",
        method="GET",
        id="getCatalogue",
        tag="Scores",
        summary="Read what may be sent",
        description="Every field that an application of this key may hold: those of the product, "
        "then those that the lender has declared, which nobody else may send; and the products of "
        "the policy in force. Any key may ask, whatever its scopes.",
        any_key=True,
        replies={200: Success("The fields.", reference("SendableFields"), examples=("catalogue",))},
        refusals=(BadParameter, ModelUnavailable),
    )
    async def read(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, None)
        parameters.read(call, ())
        lender = caller.book.lender
        try:
            own = await run_with_timeout(lambda: own_fields_in_force(self._registry, lender))
        except InvalidFields as damaged:
            raise ModelUnavailable(damaged) from None
        active = caller.active
        products = active.policy.products if isinstance(active, ActiveModel) else ()
        return private_json(catalogue_reply(own, products), headers)


def catalogue_reply(own: OwnFields, products: Iterable[str] = ()) -> bytes:
    """Tell what may be sent to somebody who has these own fields, and a policy with products."""
    return encode_json(
        SendableFields(
            fields_id=own.id or None,
            version=own.version or None,
            fields=[_told(field) for field in answering(PRODUCT, own).fields],
            prohibited=list(PRODUCT.prohibited),
            products=list(products),
        )
    )


def _told(field: Field) -> SendableField:
    return SendableField(
        name=field.name,
        other_spelling=field.other_spelling,
        own=field.name not in PRODUCT.position,
        type=field.kind.value,
        rule=field.rule,
        required=field.required,
        minimum=field.minimum,
        above=field.above,
        maximum=field.maximum,
        money=field.money,
        unit=field.unit,
        meaning=field.meaning,
        source=field.source,
        read_by=field.use.value,
        direction=field.direction.value,
    )


def replies() -> dict[str, Json]:
    """Give the bodies of replies by name."""
    said = json.loads(catalogue_reply(NOTHING))
    return {"catalogue": {"summary": "A lender without own fields", "value": said}}
