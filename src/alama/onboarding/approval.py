"""The last two steps: people sign, so that a model answers live, and live keys are issued."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from alama.core import model as models
from alama.core.errors import InvalidFields, InvalidModel, InvalidPolicy, UnknownCurrency
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel
from alama.core.own_fields import reading
from alama.lenders import keys
from alama.lenders.keys import is_open
from alama.lenders.own_fields import own_fields_in_force
from alama.lenders.records import (
    Deployment,
    Key,
    OnboardingIncomplete,
    Signed,
    require_person,
    require_reason,
)
from alama.onboarding.records import (
    ApprovalBlocked,
    Candidate,
    GateFailed,
    ModelWithdrawn,
    NothingBefore,
    Remedy,
    Signature,
    SignatureRefused,
    is_same_person,
)
from alama.onboarding.steps import Step, StepProgress, progress_of, that_count, way_back
from alama.onboarding.store import Counted, Dossier, Stores
from alama.platform.book import USUAL_SCOPES, Book, Mode, Scope
from alama.policies import policies

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.lenders.installation import Installation
    from alama.platform.clock import Clock, Time


class Signing(NamedTuple):
    """Who signs, and why; `key_id` is the API key it came with, None on the service's machine."""

    person: str
    reason: str
    key_id: str | None = None


class Approved(NamedTuple):
    """What became of a signature: all that count, and whether the model answers now."""

    candidate: Candidate
    signatures: Sequence[Signature]
    needed: int
    live: bool


class Approval:
    """Signs candidates and goes back to earlier models. Both act on the live book of a lender."""

    def __init__(self, stores: Stores, clock: Clock) -> None:
        self._stores = stores
        self._clock = clock

    @classmethod
    def at(cls, installed: Installation) -> Approval:
        """Who signs for the models of an installation, and the way back from them."""
        return cls(Stores.at(installed), installed.clock)

    def sign(self, lender: str, candidate_id: str, signing: Signing) -> Approved:
        """Sign a candidate. With the last signature that its lender asks for, it answers live.

        `ApprovalBlocked` where nobody could sign it as it is: a gate failed (`GateFailed`), the
        lender's terms have changed since, or the policy in force does not fit it.
        `SignatureRefused` where it answers already, or more than one must sign and this person, or
        over HTTP this key, has signed it before. What was signed before the model was left counts
        no more, neither for nor against anybody. `UnknownLender`, `UnknownCandidate`,
        `InvalidName`. What is refused leaves nothing behind. Every process of the service answers
        by the new model within a second, each request by one model from its beginning to its end.
        """
        signature = Signature(
            person=require_person(signing.person),
            reason=require_reason(signing.reason),
            signed_us=self._clock(),
            key_id=signing.key_id,
        )

        def judge(dossier: Dossier) -> Counted:
            counted = _count(dossier, signature)
            _, policy_id = dossier.live
            model_id = dossier.candidate.model_id
            self._require_fit(lender, model_id, dossier.document, policy_id)
            return counted

        counted = self._stores.candidates.sign(lender, candidate_id, signature, judge)
        candidate = self._stores.candidates.find(lender, candidate_id)
        return Approved(candidate, counted.signatures, counted.needed, live=counted.enough)

    def roll_back(self, lender: str, person: str, reason: str, key_id: str | None = None) -> str:
        """Go back to the model of its own that answered live before this one; give its id.

        The policy stays as it is. A model that was itself rolled back is nothing to go back to:
        one person would undo what several may have to sign. Said again, it goes further back;
        `ModelWithdrawn` where only such models are left, `NothingBefore` where there are none.
        `ApprovalBlocked` where the policy in force does not fit the model before. `UnknownLender`,
        `InvalidName`. `key_id` is the API key it came with, and stands beside the name.
        """
        by = require_person(person) + ("" if key_id is None else f" ({key_id})")
        signed = Signed(self._clock(), by, require_reason(reason))

        def choose(steps: Sequence[Deployment]) -> str:
            model_id = self._before(lender, steps)
            document = self._stores.registry.model(model_id)
            self._require_fit(lender, model_id, document, steps[-1].policy_id)
            return model_id

        return self._stores.candidates.roll_back(lender, signed, choose)

    def _before(self, lender: str, steps: Sequence[Deployment]) -> str:
        """Give the model that answered before the one of now and was never withdrawn."""
        models, withdrawn = way_back(steps)
        if len(models) > 1:
            return models[-2]
        if not withdrawn:
            raise NothingBefore(lender)
        model_id, signed = list(withdrawn.items())[-1]
        candidates = self._stores.candidates.of(lender)
        candidate_id = next((one.id for one in candidates if one.model_id == model_id), "ID")
        raise ModelWithdrawn(model_id, candidate_id, signed)

    def _require_fit(
        self, lender: str, model_id: str, document: bytes, policy_id: str | None
    ) -> None:
        """Raise where the model and the policy in force could not answer together."""
        book = Book(lender, Mode.LIVE)
        try:
            model = models.stored(document, model_id)
        except InvalidModel as error:
            raise ApprovalBlocked(
                str(error), hint="restore it from a backup, or train it again"
            ) from error
        try:
            policy = policies.policy_by_id(self._stores.registry, book, policy_id)
            own = own_fields_in_force(self._stores.registry, lender)
            ReadyPolicy(policy, ReadyModel(reading(model, own), policy.currency))
        except (InvalidFields, InvalidModel, InvalidPolicy, UnknownCurrency) as error:
            raise ApprovalBlocked(
                f"the model and the policy in force cannot answer together: {error}",
                hint=error.hint or "put another policy in force",
                remedy=None if error.hint else Remedy.CHANGE_POLICY,
            ) from error


def _count(dossier: Dossier, signature: Signature) -> Counted:
    """Give the signatures that count, this one with them, or raise why it does not."""
    pilot, candidate = dossier.pilot, dossier.candidate
    if pilot is None:
        raise ApprovalBlocked(
            f"{candidate.lender} has no terms, so nobody knows how many must sign",
            hint="set them first",
            remedy=Remedy.SET_TERMS,
        )
    if (candidate.days_past_due, candidate.limits) != (pilot.days_past_due, pilot.gates):
        raise ApprovalBlocked(
            "the terms of the lender have changed since this model was trained and judged",
            hint="train it again",
            remedy=Remedy.TRAIN,
        )
    if not candidate.passed:
        raise GateFailed(candidate.failed)
    live_id, _ = dossier.live
    if live_id == candidate.model_id:
        raise SignatureRefused(
            "this model answers in live mode already", hint="nothing is left to be signed"
        )
    earlier = that_count(dossier.signatures, candidate.model_id, dossier.deployments)
    # Where one person is enough, earlier signatures are of other terms: to stand for it now,
    # whoever signed may sign again.
    if pilot.approvers > 1:
        for one in earlier:
            _require_other(one, signature)
    return Counted([*earlier, signature], pilot.approvers)


def _require_other(earlier: Signature, signature: Signature) -> None:
    if is_same_person(earlier.person, signature.person):
        raise SignatureRefused(
            f"{earlier.person} has signed this model already",
            hint="four eyes are those of two people: somebody else has to sign",
        )
    if signature.key_id is not None and signature.key_id == earlier.key_id:
        raise SignatureRefused(
            "this API key has signed this model already",
            hint="whoever signs over HTTP has a key of their own",
        )


class LiveKeys:
    """Issues live keys to lenders with a model of their own, or who still collect repayments."""

    def __init__(self, stores: Stores, clock: Time, pepper: bytes) -> None:
        self._stores = stores
        self._clock = clock
        self._pepper = pepper

    @classmethod
    def at(cls, installed: Installation) -> LiveKeys:
        """Keys of lenders whose own model answers, or who collect a history for one."""
        return cls(Stores.at(installed), installed.clock, installed.pepper)

    def issue(
        self, lender: str, scopes: tuple[Scope, ...] = USUAL_SCOPES, days: int | None = None
    ) -> tuple[str, Key]:
        """Make a live key; the first of the pair is the secret.

        `OnboardingIncomplete` before a model of the lender was approved: it names the step that is
        missing. `UnknownLender`, `InvalidName`.
        """
        if not is_open(self._stores.registry, Book(lender, Mode.LIVE)):
            missing = progress_of(self._stores, lender, self._clock()).next
            assert missing is not None  # a book that is not open has not been approved
            raise _incomplete(missing)
        return self._make(lender, scopes, days)

    def issue_shadow(
        self,
        lender: str,
        by: str,
        scopes: tuple[Scope, ...] = USUAL_SCOPES,
        days: int | None = None,
    ) -> tuple[str, Key]:
        """Make a live key for a lender without a model, whose terms are set.

        From now on each of its live applications is scored by the built-in model, decided REVIEW by
        the rule `shadow`, and kept: a person decides, and in time there is a history to train on.
        Once a model is approved the same key is answered by it. `OnboardingIncomplete` where the
        lender has no terms; `UnknownLender`, `InvalidName`.
        """
        person = require_person(by)
        self._stores.registry.lender(lender)
        if self._stores.pilots.find(lender) is None:
            raise _incomplete(progress_of(self._stores, lender, self._clock()).steps[0])
        self._stores.pilots.begin_shadow(lender, self._clock(), person)
        return self._make(lender, scopes, days)

    def _make(self, lender: str, scopes: tuple[Scope, ...], days: int | None) -> tuple[str, Key]:
        book = Book(lender, Mode.LIVE)
        return keys.issue(self._stores.registry, self._clock, self._pepper, book, scopes, days)


def _incomplete(missing: StepProgress) -> OnboardingIncomplete:
    assert missing.step is not Step.KEY
    return OnboardingIncomplete(f"the step {missing.step} is missing: {missing.words}")
