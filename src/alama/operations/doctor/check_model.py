"""The model: what comes with the package scores as it should, and each book has what answers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from alama.core import calibration
from alama.core import model as models
from alama.core.assess import explain_score
from alama.core.errors import AlamaError
from alama.core.intake import Intake
from alama.core.lending import draft, policy_text
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import Model, ReadyModel
from alama.core.own_fields import reading
from alama.core.product import PRODUCT
from alama.lenders.own_fields import own_fields_in_force
from alama.lenders.store import Registry
from alama.operations.doctor.findings import number, some
from alama.operations.doctor.patient import Patient, hint, said
from alama.operations.findings import Finding, broken, ok
from alama.platform.book import Book, Mode
from alama.platform.files.packaged import builtin, sample_application
from alama.protection.audit.checks import damaged_copy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from alama.lenders.records import Lender
    from alama.platform.database.database import Database


_AGAIN = "install Alama again: a file of the package is not as it was made"
_RESTART = "start the service again: what comes with the package is then kept anew"
_SAMPLE_CURRENCY = "KES"


def examine(patient: Patient) -> Iterator[Finding]:
    """Score the sample by the built-in model, and lay out what answers in each book."""
    yield check_package(builtin, sample_application)
    if patient.fit is not None:
        yield check_books(patient.fit)


def check_package(make_model: Callable[[], Model], sample: Callable[[], bytes]) -> Finding:
    """Have the model that comes with the package score its sample, and add up what it says."""
    check = "model.builtin"
    try:
        model = ReadyModel(make_model(), _SAMPLE_CURRENCY)
        scored = explain_score(model, Intake(PRODUCT).read(sample()))
    except (AlamaError, OSError) as error:
        return broken(check, said(error), _AGAIN)
    total = math.fsum([scored.base, *(one.points for one in scored.contributions)])
    is_sum = abs(total - scored.points) < 1e-6  # noqa: PLR2004  exact but for this summing itself
    is_within = calibration.SCORE_MIN < scored.score < calibration.SCORE_MAX
    if not is_sum or not is_within:
        return broken(check, f"the sample scores {scored.score}, which cannot be", _AGAIN)
    return ok(
        check,
        f"loads, and gives the sample {scored.score} points "
        f"({scored.default_probability:.1%} default), which add up",
    )


def check_books(database: Database) -> Finding:
    """Lay out the model and the policy of each book as the service would; nothing is kept.

    What the package brings answers from there. Its copies, which scores name, are looked at too.
    """
    check, registry = "model.books", Registry(database)
    failed: dict[Book, AlamaError] = {}
    own = 0
    for lender in registry.lenders():
        for mode in Mode:
            book = Book(lender.id, mode)
            deployed = registry.deployed(book)
            own += deployed is not None and deployed[0] is not None
            try:
                _lay_out(registry, deployed or (None, None), lender)
            except AlamaError as unusable:
                failed[book] = unusable
    if failed:
        book, error = next(iter(failed.items()))
        named = some([f"{book.lender} ({book.mode.value})" for book in failed])
        return broken(
            check,
            f"nothing answers in {named}: {error}",
            hint(error, f"deploy another: `alama onboard {book.lender}`"),
        )
    if (damaged := damaged_copy(registry, builtin())) is not None:
        return broken(check, f"{damaged}; scores that name it cannot be replayed", _RESTART)
    lenders = number(len(registry.lenders()), "lender")
    return ok(check, f"{lenders}, {number(own, 'model')} of their own; each loads with its policy")


def _lay_out(
    registry: Registry, deployed: tuple[str | None, str | None], lender: Lender
) -> ReadyPolicy:
    model_id, policy_id = deployed
    stored = None if model_id is None else models.stored(registry.model(model_id), model_id)
    model = stored or builtin()
    if policy_id is None:
        policy = draft.default_policy(lender.currency)
    else:
        policy = policy_text.decode(registry.policy(policy_id), policy_id)
    own = own_fields_in_force(registry, lender.id)
    return ReadyPolicy(policy, ReadyModel(reading(model, own), policy.currency))
