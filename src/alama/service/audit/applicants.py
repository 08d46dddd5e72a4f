"""The third part of a verification: the keys of applicants against the acts that erase them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alama.service import ids
from alama.service.audit.acts import ERASED_US
from alama.service.audit.findings import Finding, Trouble
from alama.service.errors import StoreUnfit
from alama.service.records import ApplicantKey
from alama.service.vault import applicant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alama.service.audit.chains import Told
    from alama.service.audit.lender_keys import LenderKeys
    from alama.service.audit.trail import Moment
    from alama.service.vault.applicant import ApplicantKeyRow
    from alama.service.vault.vault import Vault


def check_applicants(
    moment: Moment, told: Told, vault: Vault, lender_keys: LenderKeys
) -> Iterator[Finding]:
    """Check every key: it stands and opens, or it was erased, and neither in between."""
    for row in moment.applicant_keys():
        if row.erased_us is not None:
            yield from _erased(row, told)
        elif row.id in told.erased:
            yield Finding(Trouble.RESTORED, row.id, f"of {row.lender}, {row.mode} mode")
        else:
            yield from _standing(row, vault, lender_keys)


def _erased(row: ApplicantKeyRow, told: Told) -> Iterator[Finding]:
    act = told.erased.get(row.id)
    if act is None:
        yield Finding(Trouble.ERASED, row.id, f"of {row.lender}, {row.mode} mode")
        return
    said = (act.lender, act.mode, act.details.get(ERASED_US))
    if (row.lender, row.mode, row.erased_us) != said:
        yield Finding(
            Trouble.APPLICANT, row.id, "it was erased in another book, or at another time"
        )
    if row.subject is not None or row.wrapped is not None:
        yield Finding(Trouble.RESTORED, row.id, "something of it is there again")
    yield from _its_time(row)


def _standing(row: ApplicantKeyRow, vault: Vault, lender_keys: LenderKeys) -> Iterator[Finding]:
    if row.subject is None:
        yield Finding(Trouble.APPLICANT, row.id, "nobody can be found by it any more")
    yield from _its_time(row)
    if not lender_keys.has(row.lender, row.lender_key_id):
        return
    try:
        key = ApplicantKey(row.id, row.lender_key_id, row.wrapped, row.erased_us)
        vault.data_key(row.lender, row.mode, key)
    except StoreUnfit:
        yield Finding(Trouble.APPLICANT, row.id, "it does not open")


def _its_time(row: ApplicantKeyRow) -> Iterator[Finding]:
    began = ids.beginning(applicant.PREFIX, row.created_us)
    if not row.id.startswith(began):
        yield Finding(Trouble.APPLICANT, row.id, "the time when it was made is another")
