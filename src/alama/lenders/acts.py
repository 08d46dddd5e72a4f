"""What was done to lenders, keys and books, as the log of acts has it.

Each is an entry of the chain `main`, written in the transaction of the deed: there is no act
without its entry, and no entry of what did not happen. No act holds what an applicant said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from alama.platform.acts import REPLACED_EXPIRES_US, REPLACES, Act, ActKind, Detail, act_in_book

if TYPE_CHECKING:
    from alama.lenders.records import Deployment, FieldActivation, Key, Lender, Pause
    from alama.platform.book import Book

# ------------------------------------------------------------------------------- the registry


def lender_added(lender: Lender) -> Act:
    details: dict[str, Detail] = {
        "name": lender.name,
        "currency": lender.currency,
        "created_us": lender.created_us,
    }
    return Act(ActKind.LENDER_ADDED, lender.id, details=details)


def key_issued(key: Key) -> Act:
    return act_in_book(ActKind.KEY_ISSUED, key.book, key.id, _terms(key))


def key_rotated(new: Key, old_id: str, old_expires_us: int, by: str | None) -> Act:
    replaced: dict[str, Detail] = {REPLACES: old_id, REPLACED_EXPIRES_US: old_expires_us}
    return act_in_book(ActKind.KEY_ROTATED, new.book, new.id, replaced | _terms(new), by)


def key_revoked(key: Key) -> Act:
    return act_in_book(ActKind.KEY_REVOKED, key.book, key.id, {"revoked_us": key.revoked_us})


def deployed(book: Book, deployment: Deployment) -> Act:
    return act_in_book(
        ActKind.DEPLOYED, book, details=_in_force(deployment), by=deployment.signed.by
    )


def policy_deployed(book: Book, deployment: Deployment) -> Act:
    details = _in_force(deployment)
    return act_in_book(ActKind.POLICY_DEPLOYED, book, details=details, by=deployment.signed.by)


def _in_force(deployment: Deployment) -> dict[str, Detail]:
    signed = deployment.signed
    return {
        "model_id": deployment.model_id,
        "policy_id": deployment.policy_id,
        "note": signed.note,
        "created_us": signed.at_us,
        "signed_by": signed.by,
    }


def fields_activated(lender: str, activation: FieldActivation) -> Act:
    signed = activation.signed
    details: dict[str, Detail] = {
        "fields_id": activation.fields_id,
        "note": signed.note,
        "created_us": signed.at_us,
        "signed_by": signed.by,
    }
    return Act(ActKind.FIELDS_ACTIVATED, lender, details=details, by=signed.by)


def paused(book: Book, pause: Pause) -> Act:
    details: dict[str, Detail] = {"reason": pause.reason, "paused_us": pause.since_us}
    return act_in_book(ActKind.PAUSED, book, details=details)


def resumed(book: Book, pause: Pause) -> Act:
    return act_in_book(ActKind.RESUMED, book, details={"paused_us": pause.since_us})


def _terms(key: Key) -> dict[str, Detail]:
    return {
        "scopes": " ".join(key.scopes),
        "expires_us": key.expires_us,
        "days": key.days,
        "created_us": key.created_us,
        "hint": key.hint,
        "digest": key.digest.hex(),  # says nothing without the pepper
    }


# ------------------------------------------------------------------- how files are read


def mapping_kept(lender: str, files: str, version: int, by: str) -> Act:
    return Act(ActKind.MAPPING_KEPT, lender, None, files, {"version": version}, by)


def mapping_removed(lender: str, files: str, version: int, by: str) -> Act:
    return Act(ActKind.MAPPING_REMOVED, lender, None, files, {"version": version}, by)
