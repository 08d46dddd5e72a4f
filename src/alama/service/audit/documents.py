"""Whether each stored document is the one that its id names: an id is the hash of a content.

It takes no key and no act: what was put under an id since is told by the id alone.
"""

from __future__ import annotations

from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.core import model as models
from alama.core.errors import AlamaError
from alama.core.lending import draft, policy_text
from alama.service.audit.findings import Finding, Trouble
from alama.service.errors import StoreUnfit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alama.core.model import Model
    from alama.service.audit.trail import Trail
    from alama.service.audit.verify import Watch
    from alama.service.ports import Registry


class DocumentKind(StrEnum):
    """What a document is, and where it is kept."""

    MODEL = "model"
    POLICY = "policy"
    CANDIDATE = "candidate"


class StoredDocument(NamedTuple):
    """A document; `name` is what its row is known by, `id` the hash that it must have."""

    kind: DocumentKind
    name: str
    id: str
    content: bytes


_READ: Final = {
    DocumentKind.MODEL: models.stored,
    DocumentKind.POLICY: policy_text.decode,
    DocumentKind.CANDIDATE: models.stored,
}


def check_documents(trail: Trail, watch: Watch) -> Iterator[Finding]:
    """Hash every document against its id, one after the other."""
    with watch("documents", trail.document_count()) as done:
        for kind, name, document_id, content in trail.documents():
            try:
                _READ[kind](content, document_id)
            except AlamaError as error:
                yield Finding(Trouble.DOCUMENT, f"{kind} {name}", str(error))
            done(1)


def damaged_copy(registry: Registry, builtin: Model) -> AlamaError | None:
    """Say what is wrong with a kept copy of what the package brings; before a score is none."""
    policy_ids = {draft.default_policy(one.currency).id for one in registry.lenders()}
    try:
        with suppress(StoreUnfit):
            models.stored(registry.model(builtin.id), builtin.id)
        for policy_id in policy_ids:
            with suppress(StoreUnfit):
                policy_text.decode(registry.policy(policy_id), policy_id)
    except AlamaError as damaged:
        return damaged
    return None
