"""What a careful reader of the validation would point out, so that no reader misses it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.platform.pages import numbers
from alama.training.validation import metrics
from alama.training.validation.figures import Measure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alama.training.validation.metrics import Interval
    from alama.training.validation.validate import CardValidation, Validation


_DEFAULTS_MIN: Final = 200
_SLOPE_REACH: Final = 0.03
_PATTERN_GAP: Final = 0.01
_PSI_WATCH: Final = 0.1
_PRICE_HIGH: Final = 5e-4


def findings(validation: Validation) -> list[str]:
    """Say what stands out, each in a sentence, and last what the split cannot show."""
    found = [*_sample(validation), *_level(validation), *_patterns(validation)]
    for card in validation.cards:
        found += [*_slope(card), *_peers(card), *_prices(card), *_drift(card)]
    if not found:
        found.append("None of the checks of this page found anything to warn of.")
    return [*found, *_time(validation)]


def _sample(validation: Validation) -> Iterator[str]:
    defaults = validation.holdout.defaults
    if defaults < _DEFAULTS_MIN:
        yield (
            f"The hold-out rows hold {numbers.plural(defaults, 'default')} only: every figure on "
            "this page is rough, as the intervals say."
        )


def _level(validation: Validation) -> Iterator[str]:
    served = validation.served
    likely = metrics.wilson(validation.holdout.defaults, validation.holdout.rows)
    if not likely.low <= served.predicted_rate <= likely.high:
        side = "below" if served.predicted_rate < served.default_rate else "above"
        yield (
            f"As served, {numbers.percent(served.predicted_rate)} of loans were predicted to "
            f"default and {numbers.percent(served.default_rate)} did: the level is {side} what "
            "chance explains."
        )


def _patterns(validation: Validation) -> Iterator[str]:
    for pattern in validation.patterns:
        defaults = round(pattern.default_rate * pattern.rows)
        likely = metrics.wilson(defaults, pattern.rows)
        gap = abs(pattern.predicted_rate - pattern.default_rate)
        if gap > _PATTERN_GAP and not likely.low <= pattern.predicted_rate <= likely.high:
            yield (
                f"Where applicants give {pattern.described}, "
                f"{numbers.percent(pattern.predicted_rate)} was predicted and "
                f"{numbers.percent(pattern.default_rate)} happened."
            )


def _slope(card: CardValidation) -> Iterator[str]:
    slope = card.performance.figure(Measure.CALIBRATION_SLOPE)
    certain = not slope.interval.low <= 1.0 <= slope.interval.high
    if certain and slope.value < 1.0 - _SLOPE_REACH:
        yield (
            f"The {card.card} card is overconfident: its calibration slope is "
            f"{numbers.fixed(slope.value)} ({_between(slope.interval)}), where 1 is right."
        )
    elif certain and slope.value > 1.0 + _SLOPE_REACH:
        yield (
            f"The {card.card} card is too timid: its calibration slope is "
            f"{numbers.fixed(slope.value)} ({_between(slope.interval)}), where 1 is right."
        )


def _between(interval: Interval) -> str:
    return numbers.between(numbers.fixed(interval.low), numbers.fixed(interval.high))


def _time(validation: Validation) -> Iterator[str]:
    learned, judged = validation.train.period, validation.holdout.period
    if learned is None or judged is None:
        yield ("The rows carry no dates, so this page cannot say how the model holds up over time.")
    elif judged.first <= learned.last:
        yield (
            "The hold-out rows come from the same period as the training rows: the figures say how "
            "the model does on more of the same, not how it will hold up over time."
        )


def _peers(card: CardValidation) -> Iterator[str]:
    for peer in card.peers:
        if peer.ahead_interval.high < 0.0:
            yield (
                f"The {card.card} card ranks {numbers.fixed(-peer.ahead, 4)} AUC behind "
                f"{peer.name} on the same fields, more than chance explains."
            )


def _prices(card: CardValidation) -> Iterator[str]:
    for price in card.prices:
        if price.log_loss > _PRICE_HIGH:
            yield (
                f"Holding {price.field} to its risk direction costs the {card.card} card "
                f"{numbers.fixed(price.log_loss, 5)} of log loss a row: the fit disagrees."
            )


def _drift(card: CardValidation) -> Iterator[str]:
    moved = [shift for shift in card.stability.features if shift.psi > _PSI_WATCH]
    if moved:
        listed = ", ".join(f"{shift.field} ({numbers.fixed(shift.psi, 2)})" for shift in moved)
        yield f"Fields of the {card.card} card moved between training and hold-out: {listed}."
    if card.stability.score_psi > _PSI_WATCH:
        yield (
            f"Scores of the {card.card} card moved between training and hold-out: PSI "
            f"{numbers.fixed(card.stability.score_psi, 2)}."
        )
