"""The doctor: looks at an installation from its settings to its proxy, and changes nothing.

What is broken in one place hides nothing elsewhere: without a database, the rest is looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.operations.doctor import (
    check_clock,
    check_database,
    check_disk,
    check_model,
    check_proxy,
    check_secrets,
    check_settings,
    check_webhooks,
)
from alama.operations.doctor.findings import CHECKS, GROUPS, complete
from alama.operations.doctor.patient import Patient, admit, hint, said
from alama.operations.findings import Finding, broken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from alama.operations.doctor.check_proxy import Front
    from alama.platform.clock import Clock


_NO_DATABASE: Final = "the database cannot be asked"
_TELLS_MORE: Final = "`alama db check` and `alama audit verify` tell more"
_ANSWERED: Final = "an earlier check of this group says why"


def examine(
    environment: Mapping[str, str],
    clock: Clock,
    front: Front | None,
    begun: Callable[[str], None] = lambda _: None,
) -> Sequence[Finding]:
    """Look at everything, and give a finding for each check there is, in the order of the screen.

    `begun` is told the title of each group before it is looked at.
    """
    settings, variables = check_settings.read_what_can_be(environment)
    patient = admit(environment, settings, clock)
    try:
        found = [variables]
        for group, look in _LOOKS.items():
            begun(GROUPS[group])
            found += _looked(group, look, patient, found)
    finally:
        if patient.database is not None:
            patient.database.close()
    begun(GROUPS["front"])
    of_the_front, skew = check_proxy.examine(front, clock)
    found += [*of_the_front, skew]
    why = _ANSWERED if patient.fit is not None else _NO_DATABASE
    return [finding for group in GROUPS for finding in complete(found, group, why)]


_LOOKS: Final[Mapping[str, Callable[[Patient], Iterable[Finding]]]] = {
    "settings": check_settings.examine,
    "database": check_database.examine,
    "clock": check_clock.examine,
    "disk": check_disk.examine,
    "secrets": check_secrets.examine,
    "model": check_model.examine,
    "webhooks": check_webhooks.examine,
}


def _looked(
    group: str,
    look: Callable[[Patient], Iterable[Finding]],
    patient: Patient,
    before: Sequence[Finding],
) -> Sequence[Finding]:
    """Give what a look finds; where it cannot go on, the check that it was at tells why."""
    found: list[Finding] = []
    try:
        found.extend(look(patient))
    except Exception as error:  # noqa: BLE001  a damaged row can raise anything; all else is still told
        done = {finding.check for finding in (*before, *found)}
        of_group = [check for check in CHECKS if check.startswith(f"{group}.")]
        at = next((check for check in of_group if check not in done), of_group[-1])
        found.append(broken(at, said(error), hint(error, _TELLS_MORE)))
    return found
