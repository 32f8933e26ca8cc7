"""Tells from the first traces whether there is time to make all of them."""

import time

from console import Failure, duration
from words import power

# The fixed work of a trace, expressed as a number of timers: even a small one has many operations.
LEAST_WORK = 100_000
SOON = 1  # seconds; an earlier forecast would be unreliable
SHARE = 0.5  # of the budget that the traces of proposed sizes may take


class Forecast:
    """Forecasts the time to make traces of the given sizes, one after the other."""

    def __init__(self, sizes: list[int], budget: float) -> None:
        self._sizes = sizes
        self._budget = budget
        self._begin = time.monotonic()
        self._done = 0

    def check(self) -> None:
        """Counts one more finished trace. Raises Failure if all traces will take longer than the
        budget.
        """
        self._done += 1
        took = time.monotonic() - self._begin
        if took < SOON or self._done >= len(self._sizes):
            return
        rate = took / _work(self._sizes[: self._done])
        expected = rate * _work(self._sizes)
        if expected <= self._budget:
            return
        raise Failure(
            f"--budget: {duration(self._budget)} are not enough for the traces, which take about "
            f"{duration(expected)} and are made before anything is measured; {self._advice(rate)}. "
            "Those that have been made are kept"
        )

    def _advice(self, rate: float) -> str:
        """Names sizes or a budget that would fit."""
        enough = duration(rate * _work(self._sizes) / SHARE)
        for size in sorted(set(self._sizes), reverse=True):
            expected = rate * _work([one for one in self._sizes if one <= size])
            if size < max(self._sizes) and expected <= SHARE * self._budget:
                return (
                    f"those of at most {power(size)} timers take about {duration(expected)}: choose "
                    f"them by --sizes, or a budget of {enough} and more"
                )
        return f"choose fewer --workloads, or a budget of {enough} and more"


def _work(sizes: list[int]) -> float:
    return sum(size + LEAST_WORK for size in sizes)
