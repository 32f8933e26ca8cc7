"""What rounds say: intervals for medians, comparisons of pairs, and when to believe them.

Two contenders of a round are a pair: measured one soon after the other on the same trace. Of the
logarithms of the pairs' ratios the median is the effect, and its interval comes from order
statistics: however the noise is distributed, the true median lies below the k-th of n values with
the probability that fewer than k of n fair coins show heads (the sign test). Six rounds are the
least for 95 %.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from scipy.special import bdtr

LEAST_ROUNDS = 6
LEVEL = 0.95  # of all intervals of a comparison together
LEAST_EFFECT = 0.01  # smaller ones are not worth a word, whatever the interval


@dataclass(frozen=True)
class Interval:
    """Around a median."""

    low: float
    middle: float
    high: float


def median_interval(values: Sequence[float], level: float = LEVEL) -> Interval:
    """Exact by the sign test; infinite where there are too few values for the level."""
    ordered = sorted(values)
    rank = _rank(len(ordered), level)
    if rank < 1:
        return Interval(-math.inf, median(ordered), math.inf)
    return Interval(ordered[rank - 1], median(ordered), ordered[-rank])


def _rank(n: int, level: float) -> int:
    """The largest k for which the k-th values from both ends enclose the median so surely; or 0."""
    k = 0
    while k < n and bdtr(k, n, 0.5) <= (1 - level) / 2:  # at most k of n coins show heads
        k += 1
    return k


def relative_width(values: Sequence[float]) -> float:
    """Of the interval of a median cost, as a share of it; of few values the range stands for it."""
    interval = median_interval(values)
    if math.isinf(interval.low):
        return (max(values) - min(values)) / median(values) if len(values) > 1 else math.inf
    return (interval.high - interval.low) / interval.middle
