"""The statistics of rounds: intervals of medians, paired comparisons, and their significance.

Two contenders of a round form a pair: they run soon after each other on the same trace. The effect
is the median of the logarithms of the pairs' ratios. Its interval comes from order statistics, for
any distribution of the noise: the true median lies below the k-th of n values with the probability
that fewer than k of n fair coins show heads (the sign test). A level of 95 % needs six rounds.
Several comparisons at once are corrected (Holm 1979), so that the chance of any false alarm among
them is 5 %; 20 comparisons need ten rounds.
"""

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from statistics import median

LEAST_ROUNDS = 6
ALPHA = 0.05  # the chance of any false alarm among comparisons that are made together
LEAST_EFFECT = 0.01  # smaller effects are ignored, whatever the interval

# A read of memory has waited for others, and so has the measurement beside it, if it takes this
# many times as long as the median read of the campaign. The fastest reads say little: they
# found in a cache what the process before had left there.
SLOW_MEMORY = 1.5

# A measurement is an outlier if it cost this many times the median of its cell.
OUTLIER = 1.5


@dataclass(frozen=True)
class Interval:
    """The interval around a median."""

    low: float
    middle: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """The comparison of B with A, as B's cost divided by A's."""

    ratio: Interval
    rounds: int  # rounds in which both were measured
    p: float  # of the sign test: the chance that as many rounds agree
    word: str  # the verdict on B: faster, slower, equivalent or unresolved


def median_interval(values: Sequence[float], alpha: float = ALPHA) -> Interval:
    """Returns the exact interval of the sign test; infinite if there are too few values."""
    ordered = sorted(values)
    rank = _rank(len(ordered), alpha)
    if rank < 1:
        return Interval(-math.inf, median(ordered), math.inf)
    return Interval(ordered[rank - 1], median(ordered), ordered[-rank])


def _rank(n: int, alpha: float) -> int:
    """Returns the largest k for which the k-th values from both ends enclose the median at the
    level; or 0.
    """
    return bisect_right(_chances_of_heads(n), alpha / 2, hi=n)


@cache
def _chances_of_heads(n: int) -> list[float]:
    """Returns the chances that at most 0, 1, ... n of n coins show heads. Takes n steps with integers
    of n bits, 11 ms for 5000 coins.
    """
    ways = accumulate(range(n), lambda ways, k: ways * (n - k) // (k + 1), initial=1)
    return [at_most / (1 << n) for at_most in accumulate(ways)]


def spread(values: Sequence[float]) -> float:
    """Returns how far the true median may lie from the sample median, as a share of it: up to the
    farther end of the interval, or with too few values, up to the farthest value.
    """
    known = known_interval(values)
    if not known.middle:
        return 0
    return max(known.middle - known.low, known.high - known.middle) / known.middle


def relative_width(values: Sequence[float]) -> float:
    """Returns the width of the median's interval as a share of the median; with few values, the
    range.
    """
    known = known_interval(values)
    return (known.high - known.low) / known.middle if len(values) > 1 else math.inf


def known_interval(values: Sequence[float]) -> Interval:
    """Returns the interval of the median; with too few values, their range."""
    interval = median_interval(values)
    if math.isinf(interval.low):
        return Interval(min(values), interval.middle, max(values))
    return interval


def rounds_needed(comparisons: int) -> int:
    """Returns how many rounds are needed so that one of so many comparisons can be significant."""
    rounds = LEAST_ROUNDS
    while 2 ** (1 - rounds) > ALPHA / comparisons:
        rounds += 1
    return rounds


def paired_log_ratios(a: Mapping[int, float], b: Mapping[int, float]) -> list[float]:
    """Returns the log-ratios of the rounds, by number, in which both were measured."""
    return [math.log(b[round_] / a[round_]) for round_ in sorted(a.keys() & b.keys())]


def sign_test(values: Sequence[float]) -> float:
    """Returns the two-sided p for a median of 0; zeros count half for each side."""
    n = len(values)
    if n == 0:
        return 1.0
    below = sum(value < 0 for value in values) + sum(value == 0 for value in values) / 2
    return min(1.0, 2 * _chances_of_heads(n)[math.floor(min(below, n - below))])


def compare(pairs: Sequence[Sequence[float]], noise: float, margin: float) -> list[Comparison]:
    """Makes comparisons together; each is given by its paired log-ratios.

    `noise`: how much a contender differs from itself, in logarithms. `margin`: the share up to
    which two are equivalent. B is faster or slower if the interval excludes 1 and the effect
    exceeds both the noise and LEAST_EFFECT. B is equivalent if the interval lies within the margin.
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
    """Returns the alpha of each of several tests (Holm 1979).

    The test with the smallest p gets ALPHA / m, the next ALPHA / (m - 1), and so on. After the
    first test that fails, all others get the same alpha as that one.
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
    """Returns how much contenders differ from themselves, in logarithms: nine of ten twins, each
    given by its paired log-ratios, stay below. Returns 0 without twins.
    """
    effects = sorted(abs(median(values)) for values in twins if values)
    return effects[math.ceil(0.9 * len(effects)) - 1] if effects else 0.0


def usual_read(ordered: Sequence[float]) -> float:
    """Returns the usual duration of a memory read, from the ascending reads of a campaign."""
    return ordered[len(ordered) // 2]


def half_widths(twins: Sequence[Sequence[float]]) -> list[float]:
    """Returns how far from 1 the intervals of these ratios reach, in logarithms and ascending;
    infinite with too few rounds.
    """
    intervals = [median_interval(values) for values in twins if values]
    return sorted(max(abs(one.low), abs(one.high)) for one in intervals)


def _exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf
