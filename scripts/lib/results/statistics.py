"""What rounds say: intervals for medians, comparisons of pairs, and when to believe them.

Two contenders of a round are a pair: measured one soon after the other on the same trace. Of the
logarithms of the pairs' ratios the median is the effect, and its interval comes from order
statistics: however the noise is distributed, the true median lies below the k-th of n values with
the probability that fewer than k of n fair coins show heads (the sign test). Six rounds are the
least for 95 %. Of several comparisons at once each must be the surer (Holm 1979), so that the chance
of any false alarm among them is 5 %; of 20 that takes ten rounds.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from scipy.special import bdtr

LEAST_ROUNDS = 6
ALPHA = 0.05  # of any false alarm among the comparisons that are made together
LEAST_EFFECT = 0.01  # smaller ones are not worth a word, whatever the interval

# A read of memory that takes so many times as long as in the fastest tenth of a campaign's
# measurements has waited for others, and so has what was measured beside it.
SLOW_MEMORY = 1.5


@dataclass(frozen=True)
class Interval:
    """Around a median."""

    low: float
    middle: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """Of B with A: B's cost divided by A's."""

    ratio: Interval
    rounds: int  # in which both were measured
    p: float  # of the sign test: that as many rounds agree by chance
    word: str  # faster, slower, equivalent or unresolved: what B is


def median_interval(values: Sequence[float], alpha: float = ALPHA) -> Interval:
    """Exact by the sign test; infinite where there are too few values to be so sure."""
    ordered = sorted(values)
    rank = _rank(len(ordered), alpha)
    if rank < 1:
        return Interval(-math.inf, median(ordered), math.inf)
    return Interval(ordered[rank - 1], median(ordered), ordered[-rank])


def _rank(n: int, alpha: float) -> int:
    """The largest k for which the k-th values from both ends enclose the median so surely; or 0."""
    k = 0
    while k < n and bdtr(k, n, 0.5) <= alpha / 2:  # at most k of n coins show heads
        k += 1
    return k


def spread(values: Sequence[float]) -> float:
    """How far the true median may lie from theirs, as a share of it: up to the farther end of its
    interval, and where they are too few for one, up to the farthest of them.
    """
    known = _known_interval(values)
    if not known.middle:
        return 0
    return max(known.middle - known.low, known.high - known.middle) / known.middle


def relative_width(values: Sequence[float]) -> float:
    """Of the interval of a median cost, as a share of it; of few values the range stands for it."""
    known = _known_interval(values)
    return (known.high - known.low) / known.middle if len(values) > 1 else math.inf


def _known_interval(values: Sequence[float]) -> Interval:
    """That of the median; where they are too few for one, all that they span."""
    interval = median_interval(values)
    if math.isinf(interval.low):
        return Interval(min(values), interval.middle, max(values))
    return interval


def rounds_needed(comparisons: int) -> int:
    """How many rounds it takes that one of so many comparisons can be sure at all."""
    rounds = LEAST_ROUNDS
    while 2 ** (1 - rounds) > ALPHA / comparisons:
        rounds += 1
    return rounds


def paired_log_ratios(a: Mapping[int, float], b: Mapping[int, float]) -> list[float]:
    """Of the rounds, by number, in which both were measured."""
    return [math.log(b[round_] / a[round_]) for round_ in sorted(a.keys() & b.keys())]


def sign_test(values: Sequence[float]) -> float:
    """The two-sided p of the median being 0; zeros count half for either side."""
    n = len(values)
    if n == 0:
        return 1.0
    below = sum(value < 0 for value in values) + sum(value == 0 for value in values) / 2
    return min(1.0, 2 * float(bdtr(math.floor(min(below, n - below)), n, 0.5)))


def compare(pairs: Sequence[Sequence[float]], noise: float, margin: float) -> list[Comparison]:
    """Comparisons that are made together, each given by its paired log-ratios.

    `noise`: the effect that a contender has on itself, in logarithms. `margin`: up to which two are
    equivalent, as a share. B is faster or slower if the interval excludes 1 and the effect exceeds
    both the noise and LEAST_EFFECT; equivalent if the interval lies within the margin.
    """
    alphas = holm([sign_test(values) for values in pairs])
    least = max(noise, math.log1p(LEAST_EFFECT))
    made = []
    for values, alpha in zip(pairs, alphas):
        interval = median_interval(values, alpha) if values else Interval(-math.inf, 0, math.inf)
        made.append(
            Comparison(
                Interval(*map(_exp, (interval.low, interval.middle, interval.high))),
                len(values),
                sign_test(values),
                _word(interval, least, math.log1p(margin)),
            )
        )
    return made


def _word(interval: Interval, least: float, margin: float) -> str:
    if interval.low > 0 and interval.middle > least:
        return "slower"
    if interval.high < 0 and -interval.middle > least:
        return "faster"
    if -margin <= interval.low and interval.high <= margin:
        return "equivalent"
    return "unresolved"


def holm(ps: Sequence[float]) -> list[float]:
    """The alpha at which each of several tests is to be judged (Holm 1979).

    The surest is judged at ALPHA / m, the next at ALPHA / (m - 1), and so on; from the first on that
    fails, all others are judged as that one.
    """
    order = sorted(range(len(ps)), key=lambda i: ps[i])
    alphas = [0.0] * len(ps)
    alpha = 0.0
    has_failed = False
    for done, i in enumerate(order):
        if not has_failed:
            alpha = ALPHA / (len(ps) - done)
            has_failed = ps[i] > alpha
        alphas[i] = alpha
    return alphas


def noise_floor(twins: Sequence[Sequence[float]]) -> float:
    """The effect that contenders have on themselves, in logarithms: what nine of ten such pairs stay
    below, each given by its paired log-ratios. 0 if there are none.
    """
    effects = sorted(abs(median(values)) for values in twins if values)
    return effects[math.ceil(0.9 * len(effects)) - 1] if effects else 0.0


def undisturbed(ordered: Sequence[float]) -> float:
    """What reads of memory take when nobody else reads, of those of a campaign in ascending order."""
    return ordered[len(ordered) // 10]


def half_widths(twins: Sequence[Sequence[float]]) -> list[float]:
    """How far from 1 the intervals of these ratios reach, in logarithms and ascending; infinite
    where the rounds are too few.
    """
    intervals = [median_interval(values) for values in twins if values]
    return sorted(max(abs(one.low), abs(one.high)) for one in intervals)


def _exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf
