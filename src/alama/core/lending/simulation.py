"""Two policies on the same applications: what a new one would change, before anybody feels it.

Each application is scored and decided by both, exactly as `assess` would; only the explanation is
left out. What belongs to the day and not to the applicant, a pause or a daily bound, is not looked
at. Figures of money speak of what is APPROVED: what is left to a person may end either way. What
loans earn is in `earnings`: as it is expected, and as it came where that is known.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from alama.core import calibration
from alama.core.application import Application, Value, fold
from alama.core.lending.decision import Verdict, decide
from alama.core.lending.earnings import BAND_POINTS, Band, Earned, Known, Paired, Worth
from alama.core.lending.offer import number_at, owed_monthly, room_monthly
from alama.core.lending.policy import Decision, Policy, Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from alama.core.lending.ready_policy import ReadyPolicy
    from alama.core.model import Model, ReadyModel
    from alama.core.scorecard import Scorecard, Scored
    from alama.core.units import Apr, Money


REGION: Final = "region"
DEVICE: Final = "device_type"
GROUPS_MAX: Final = 12
"""Words that are told apart, the most frequent; the rest of them are `OTHER`."""

OTHER: Final = "other"
NOT_GIVEN: Final = "not given"

# On Python 3.11 a member of an enum takes longer to look up than a table of points does.
_APPROVED: Final = Decision.APPROVED
_REVIEW: Final = Decision.REVIEW
_DECLINED: Final = Decision.DECLINED


class Case(NamedTuple):
    """An application, and what its owner knows it by; its month, and what became of its loan."""

    reference: str
    application: Application
    month: str = ""
    known: Known | None = None


class Stance(NamedTuple):
    """What one policy says about one application; `rules` are the codes of what objected.

    Limit, term, APR and expected loss are those of the offer that `assess` makes. `worth` is the
    money of the loan where it is approved; `product` is the one of the policy that decides, if any.
    """

    score: int
    tier: str
    decision: Decision
    rules: tuple[str, ...]
    limit: int
    term_days: int
    apr: Apr
    expected_loss: Money
    worth: Worth | None = None
    product: str | None = None

    @property
    def offer(self) -> tuple[int, int, Apr] | None:
        """Give limit, term and APR; None where nothing is offered."""
        return (self.limit, self.term_days, self.apr) if self.limit else None


class Switch(NamedTuple):
    """An application that the two policies decide otherwise, or offer something else."""

    reference: str
    old: Stance
    new: Stance


class Figures:
    """What a policy makes of some applications, added up.

    `volume` is the sum of the limits of the approved and `expected_loss` what these are expected to
    lose, both in money.
    """

    __slots__ = (
        "_interest",
        "_term_days",
        "approved",
        "declined",
        "expected_loss",
        "review",
        "volume",
    )

    def __init__(self) -> None:
        # Not by decision in a table: on Python 3.11 members of an enum are slow to hash.
        self.approved = 0
        self.review = 0
        self.declined = 0
        self.volume = 0
        self.expected_loss = 0.0
        self._interest = 0.0
        self._term_days = 0

    def add(self, stance: Stance) -> None:
        if stance.decision is _APPROVED:
            self.approved += 1
            self.volume += stance.limit
            self.expected_loss += stance.expected_loss
            self._interest += stance.limit * stance.apr
            self._term_days += stance.term_days
        elif stance.decision is _REVIEW:
            self.review += 1
        else:
            self.declined += 1

    def merge(self, other: Figures) -> None:
        """Count everything that another has counted."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def decisions(self) -> dict[Decision, int]:
        """Give how many applications have each decision."""
        return {
            Decision.APPROVED: self.approved,
            Decision.REVIEW: self.review,
            Decision.DECLINED: self.declined,
        }

    @property
    def count(self) -> int:
        return self.approved + self.review + self.declined

    def share(self, decision: Decision) -> float | None:
        """Give the share of the applications with this decision; None where there are none."""
        return self.decisions[decision] / self.count if self.count else None

    @property
    def loss_share(self) -> float | None:
        """Give the expected loss as a share of the volume; None where nothing is lent."""
        return self.expected_loss / self.volume if self.volume else None

    @property
    def apr_mean(self) -> float | None:
        """Give the APR of the approved, weighted by their limits, in percent a year."""
        return self._interest / self.volume if self.volume else None

    @property
    def limit_mean(self) -> float | None:
        """Give the mean limit of the approved, in money."""
        return self.volume / self.approved if self.approved else None

    @property
    def term_mean(self) -> float | None:
        """Give the mean term of the approved, in days."""
        return self._term_days / self.approved if self.approved else None


@dataclass(frozen=True, slots=True)
class Portfolio:
    """What one policy makes of all the applications.

    `whole` is the policy with all its products, `policy` that of the default one.
    `tiers` stand as in the policy. `rules` counts how often each objected, `scores` how many have
    each score, `aprs` how many of the approved have each price. What the loans earn is in all, and
    by tier, by term, by the month of the application, `NOT_GIVEN` where that is not known, and by
    product, if the policy has any.
    """

    whole: Policy
    policy: Policy
    total: Figures
    tiers: Mapping[str, Figures]
    rules: Counter[str]
    scores: Counter[int]
    aprs: Counter[float]
    earned: Earned
    earned_by_tier: Mapping[str, Earned]
    earned_by_term: Mapping[str, Earned]
    earned_by_month: Mapping[str, Earned]
    earned_by_product: Mapping[str, Earned]


class Group(NamedTuple):
    """Applications that have a word in common, under either policy."""

    name: str
    old: Figures
    new: Figures


@dataclass(frozen=True, slots=True)
class Simulation:
    """What changes from the old policy to the new one.

    `moves` counts applications by their old and their new decision. `switches` are those that
    changed it, `reoffered` those that keep it, and are offered another limit, term or price, both
    in the order they came in. `regions` and `devices` stand with the most frequent first, then
    `OTHER`, then `NOT_GIVEN`; words are folded.

    `kept`, `let_in` and `left_out` are what the loans earn that both policies give, that only the
    new one gives, and that only the old one gives (by its own price). `bands` are the scores of the
    new policy: who is lendable there, whatever its cut-off says. `explored` counts the loans with a
    known outcome that were given by chance, `unremembered` the applications that come without the
    memory that one of the policies reads.
    """

    model: Model
    old: Portfolio
    new: Portfolio
    moves: Mapping[tuple[Decision, Decision], int]
    switches: Sequence[Switch]
    reoffered: Sequence[Switch]
    regions: Sequence[Group]
    devices: Sequence[Group]
    paired: Paired
    kept: Earned
    let_in: Earned
    left_out: Earned
    bands: Mapping[int, Band]
    explored: int
    unremembered: int

    @property
    def count(self) -> int:
        return self.new.total.count


def simulate(
    model: ReadyModel, old: ReadyPolicy, new: ReadyPolicy, cases: Iterable[Case]
) -> Simulation:
    """Decide every case by both policies, which are laid out for the model.

    A field that a policy forbids is taken as not sent: a request that holds it would be refused.
    Who asks for a product that a policy has not is decided on by its default one.
    """
    assert old.model is model
    assert new.model is model
    before, after = _Tally(old), _Tally(new)
    region, device = (_Reader(model, field) for field in (REGION, DEVICE))
    old_decider, new_decider = _Decider(old), _Decider(new)
    switches: list[Switch] = []
    reoffered: list[Switch] = []
    beside = _Beside()
    owed_place = old.catalogue.position["open_balance"]
    reading = (old, new, *old.products.values(), *new.products.values())
    reads_memory = any(policy.reads_memory for policy in reading)
    unremembered = 0
    for case in cases:
        reference, application = case.reference, case.application
        if reads_memory:
            unremembered += next(iter(application.values[owed_place:]), None) is None
        was, would, lendable = _decide_twice(old_decider, new_decider, application)
        words = region.word(application), device.word(application)
        before.add(was, words, case)
        after.add(would, words, case)
        beside.add(was, would, lendable, case.known)
        if was.decision is not would.decision:
            switches.append(Switch(reference, was, would))
        elif was.offer != would.offer:
            reoffered.append(Switch(reference, was, would))
    portfolio = before.portfolio()
    return Simulation(
        model=model.model,
        old=portfolio,
        new=after.portfolio(),
        moves=_moves(portfolio.total, switches),
        switches=switches,
        reoffered=reoffered,
        regions=_groups(before.by_word(0), after.by_word(0)),
        devices=_groups(before.by_word(1), after.by_word(1)),
        paired=beside.paired,
        kept=beside.kept,
        let_in=beside.let_in,
        left_out=beside.left_out,
        bands=beside.bands,
        explored=beside.explored,
        unremembered=unremembered,
    )


def _moves(was: Figures, switches: Iterable[Switch]) -> dict[tuple[Decision, Decision], int]:
    """Count from each decision to each other: who did not switch has stayed."""
    moves = {(one, other): 0 for one in Decision for other in Decision}
    for decision, count in was.decisions.items():
        moves[decision, decision] = count
    for _, old, new in switches:
        moves[old.decision, old.decision] -= 1
        moves[old.decision, new.decision] += 1
    return moves


_OF_TIERS: Final = frozenset({Rule.TIER_BELOW_CUTOFF.value, Rule.TIER_IN_REVIEW.value})


class _Beside:
    """Holds the two policies against each other, application by application."""

    def __init__(self) -> None:
        self.paired = Paired()
        self.kept, self.let_in, self.left_out = Earned(), Earned(), Earned()
        self.bands: dict[int, Band] = {}
        self.explored = 0

    def add(self, was: Stance, would: Stance, lendable: Worth | None, known: Known | None) -> None:
        old, new = was.worth, would.worth
        self.paired.add(old, new, known)
        if old is not None and new is not None:
            self.kept.add(new, known)
        elif new is not None:
            self.let_in.add(new, known)
        elif old is not None:
            self.left_out.add(old, known)
        low = would.score // BAND_POINTS * BAND_POINTS
        band = self.bands.get(low)
        if band is None:
            band = self.bands[low] = Band()
        band.count += 1
        band.approved += new is not None
        band.earned.add(lendable, known)
        self.explored += known is not None and known.propensity < 1.0


class _Decider:
    """A policy, and what it sees of an application."""

    __slots__ = ("_forbidden", "_products", "policy")

    def __init__(self, policy: ReadyPolicy) -> None:
        self.policy = policy
        self._forbidden = {place for place, _ in policy.forbidden}
        self._products: dict[str, _Decider] = {}

    def for_product(self, product: str | None) -> _Decider:
        """Give what decides on a product, as `ReadyPolicy.for_product` does."""
        policy = self.policy.for_product(product)
        if policy is self.policy or product is None:
            return self
        if product not in self._products:
            self._products[product] = _Decider(policy)
        return self._products[product]

    def allowed(self, application: Application) -> Application:
        """Give the application without what the policy forbids."""
        if not self._forbidden:
            return application
        values = enumerate(application.values)
        kept = tuple(None if place in self._forbidden else value for place, value in values)
        return msgspec.structs.replace(application, values=kept)

    def decide(
        self, scorecard: Scorecard, values: Sequence[Value], scored: Scored
    ) -> tuple[Stance, Worth | None]:
        """Decide; beside it the worth of a loan that nothing but the score may be against."""
        verdict = decide(self.policy, scorecard, values, scored)
        decision, loan = verdict.decision, verdict.loan
        tariff = self.policy.tariffs[loan.term]
        quote = tariff.quote(loan.probability, loan.amount)
        worth = None
        if decision is _APPROVED or self._is_lendable(verdict, values):
            worth = tariff.worth(loan.probability, loan.amount)
        stance = Stance(
            calibration.shown_score(scored.points),
            verdict.tier.name,
            decision,
            verdict.rules,
            0 if decision is _DECLINED else loan.amount,
            tariff.term_days,
            quote.apr,
            quote.expected_loss,
            worth if decision is _APPROVED else None,
            self.policy.product,
        )
        return stance, worth

    def _is_lendable(self, verdict: Verdict, values: Sequence[Value]) -> bool:
        """Say whether nothing but the tier is against a loan that can be repaid."""
        if not _OF_TIERS.issuperset(verdict.rules):
            return False
        if verdict.tier.decision is not _DECLINED:
            return True
        # Of a tier that is declined nothing else is told.
        policy, loan = self.policy, verdict.loan
        tariff, inflow = policy.tariffs[loan.term], number_at(values, policy.inflow_place)
        room = room_monthly(verdict.tier, inflow, owed_monthly(policy, values, inflow))
        return tariff.due_monthly(loan.probability, loan.amount) <= tariff.room(room, inflow)


def _decide_twice(
    old: _Decider, new: _Decider, application: Application
) -> tuple[Stance, Stance, Worth | None]:
    """Score once if both policies see the same: mostly so, unless they fill in another loan.

    Beside what both say it gives the worth of the loan that the new one would give but for a score.
    """
    model = old.policy.model
    product = application.product
    old, new = old.for_product(product), new.for_product(product)
    seen, seen_anew = old.allowed(application), new.allowed(application)
    scorecard = model.scorecard_for(seen)
    scorecard_anew = scorecard if seen_anew is seen else model.scorecard_for(seen_anew)
    values = old.policy.as_asked(seen.values)
    values_anew = new.policy.as_asked(seen_anew.values)
    scored = scored_anew = scorecard.score(values)
    if scorecard_anew is not scorecard or (values_anew is not values and values_anew != values):
        scored_anew = scorecard_anew.score(values_anew)
    was, _ = old.decide(scorecard, values, scored)
    would, lendable = new.decide(scorecard_anew, values_anew, scored_anew)
    return was, would, lendable


class _Reader:
    """Finds the word that a field of applications holds, as it was sent."""

    __slots__ = ("_place",)

    def __init__(self, model: ReadyModel, field: str) -> None:
        self._place = model.catalogue.position.get(field)

    def word(self, application: Application) -> Value:
        return None if self._place is None else application.values[self._place]


class _Tally:
    """Counts what one policy says.

    Every application is added once, to those of its tier and words; what is asked of these together
    is put together at the end.
    """

    __slots__ = ("_aprs", "_earned", "_figures", "_policy", "_rules", "_scores", "_whole")

    def __init__(self, ready: ReadyPolicy) -> None:
        self._whole, self._policy = ready.whole, ready.policy
        self._figures: dict[tuple[str, tuple[Value, Value]], Figures] = {}
        self._earned: dict[tuple[str, int, str, str | None], Earned] = {}
        self._rules: Counter[str] = Counter()
        self._scores: Counter[int] = Counter()
        self._aprs: Counter[float] = Counter()

    def add(self, stance: Stance, words: tuple[Value, Value], case: Case) -> None:
        whose = stance.tier, stance.term_days, case.month, stance.product
        earned = self._earned.get(whose)
        if earned is None:
            earned = self._earned[whose] = Earned()
        earned.add(stance.worth, case.known)
        key = stance.tier, words
        figures = self._figures.get(key)
        if figures is None:
            figures = self._figures[key] = Figures()
        figures.add(stance)
        self._scores[stance.score] += 1
        for code in stance.rules:
            self._rules[code] += 1
        if stance.decision is _APPROVED:
            self._aprs[stance.apr] += 1

    def portfolio(self) -> Portfolio:
        total = Figures()
        tiers = {tier.name: Figures() for tier in self._policy.tiers}
        for (tier, _), figures in self._figures.items():
            total.merge(figures)
            tiers[tier].merge(figures)
        earned = Earned()
        by_tier = {tier.name: Earned() for tier in self._policy.tiers}
        by_term = {days: Earned() for days in sorted(days for _, days, *_ in self._earned)}
        by_month = {month: Earned() for month in sorted(month for *_, month, _ in self._earned)}
        products = sorted(product for *_, product in self._earned if product is not None)
        by_product = {product: Earned() for product in products}
        for (tier, days, month, product), some in self._earned.items():
            for whole in (earned, by_tier[tier], by_term[days], by_month[month]):
                whole.merge(some)
            if product is not None:
                by_product[product].merge(some)
        return Portfolio(
            self._whole,
            self._policy,
            total,
            tiers,
            self._rules,
            self._scores,
            self._aprs,
            earned,
            by_tier,
            {f"{days} days": some for days, some in by_term.items()},
            {month or NOT_GIVEN: some for month, some in by_month.items()},
            by_product,
        )

    def by_word(self, place: int) -> dict[str | None, Figures]:
        """Put those together that have one of the two words in common, once it is folded."""
        found: dict[str | None, Figures] = {}
        for (_, words), figures in self._figures.items():
            word = words[place]
            name = None if word is None else fold(str(word))
            found.setdefault(name, Figures()).merge(figures)
        return found


def _groups(
    old: Mapping[str | None, Figures], new: Mapping[str | None, Figures]
) -> tuple[Group, ...]:
    """Set the figures of the same words beside each other: the frequent, the rest, the silent."""
    named = [Group(name, old[name], new[name]) for name in old if name is not None]
    named.sort(key=lambda group: (-group.new.count, group.name))
    frequent, rare = named[:GROUPS_MAX], named[GROUPS_MAX:]
    if rare:
        others = Group(OTHER, Figures(), Figures())
        for group in rare:
            others.old.merge(group.old)
            others.new.merge(group.new)
        frequent.append(others)
    if None in old:
        frequent.append(Group(NOT_GIVEN, old[None], new[None]))
    return tuple(frequent)


# ------------------------------------------------------------------------------------- what changes


DECISION: Final = "decision"
LIMIT: Final = "limit"
TERM: Final = "term"
PRICE: Final = "price"


def what_changes(switch: Switch) -> tuple[str, ...]:
    """Name what the two policies say differently on one application: decision, limit, term, price.

    An offer that is withdrawn or made anew has no term or price to compare with.
    """
    old, new = switch.old, switch.new
    found = [DECISION] if old.decision is not new.decision else []
    if old.limit != new.limit:
        found.append(LIMIT)
    if old.offer and new.offer:
        found += [TERM] if old.term_days != new.term_days else []
        found += [PRICE] if old.apr != new.apr else []
    return tuple(found)


class OfferChanges(NamedTuple):
    """How many are offered something else; one offer can change in several ways."""

    changed: int
    lower: int
    higher: int
    shorter: int
    longer: int
    cheaper: int
    dearer: int


def offer_changes(reoffered: Iterable[Switch]) -> OfferChanges:
    """Count in which way offers change; dearer is a higher APR, whatever the term."""
    found = [0] * len(OfferChanges._fields)
    for _, old, new in reoffered:
        found[0] += 1
        for place, was, would in (
            (1, old.limit, new.limit),
            (3, old.term_days, new.term_days),
            (5, old.apr, new.apr),
        ):
            if would != was:
                found[place + (would > was)] += 1
    return OfferChanges._make(found)


def told(changes: OfferChanges, count: Callable[[int], str]) -> str:
    """Say in which ways offers change: "12 with a lower limit, 3 dearer"."""
    phrases = (
        (changes.lower, "with a lower limit"),
        (changes.higher, "with a higher limit"),
        (changes.shorter, "for a shorter term"),
        (changes.longer, "for a longer term"),
        (changes.dearer, "dearer"),
        (changes.cheaper, "cheaper"),
    )
    return ", ".join(f"{count(number)} {phrase}" for number, phrase in phrases if number)
