"""Whether two campaigns put backends into the same order.

A contest is a workload, a size and a precision. Its first three, the cheapest first, are what tables
and answers name. Of each pair that changed places both campaigns are asked, by the sign test at the
level of 95 %. If each says that the other's first is slower, they contradict each other. By chance
alone, with two that are equal, that happens to one pair of 800.

The excess is what a reader of A loses on B's machine.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from results.replays import MARGIN, Results
from results.statistics import LEAST_ROUNDS, compare, paired_log_ratios
from style import RANKED

FIRST = 3

SAME = "same"
UNRESOLVED = "unresolved"
CONTRADICTORY = "contradictory"

Pair = tuple[str, str]


@dataclass(frozen=True)
class Contest:
    """What became of it in campaigns A and B."""

    workload: str
    size: int
    precision: str
    firsts: tuple[list[str], list[str]]  # in A and in B
    contradictions: list[Pair]  # the first is cheaper in A, and the second in B
    rounds: int  # the least over the backends of both
    excess: float  # the log-ratio in B of the cost of A's first to that of the cheapest

    @property
    def has_rounds_enough(self) -> bool:
        """Whether it can be contradictory."""
        return self.rounds >= LEAST_ROUNDS

    @property
    def word(self) -> str:
        if self.contradictions:
            return CONTRADICTORY
        return SAME if self.firsts[0] == self.firsts[1] else UNRESOLVED


def contests(a: Results, b: Results) -> Iterator[Contest]:
    """Yields the contests of at least two backends that both campaigns have, in A's order."""
    for workload in a.workloads:
        for size in a.sizes(workload):
            for precision, backends in a.backends_by_precision().items():
                both = [name for name in backends if _is_in_both(a, b, workload, size, name)]
                if precision in RANKED and len(both) > 1:
                    yield _contest(a, b, workload, size, precision, both)


def dearer(contests_: Iterable[Contest]) -> list[Contest]:
    """Returns those whose first in A is not the cheapest in B, by their excess, the greatest first."""
    found = [contest for contest in contests_ if contest.excess > 0]
    return sorted(found, key=lambda contest: -contest.excess)


def _is_in_both(a: Results, b: Results, workload: str, size: int, backend: str) -> bool:
    one, other = (results.cell(workload, size, backend) for results in (a, b))
    return (
        one is not None
        and other is not None
        and one.has_figure
        and other.has_figure
        and a.trace_of(workload, size, backend) == b.trace_of(workload, size, backend)
    )


def _contest(
    a: Results, b: Results, workload: str, size: int, precision: str, backends: Sequence[str]
) -> Contest:
    standings = [results.standings(workload, size, backends) for results in (a, b)]
    orders = [[name for group in one.groups for name in group] for one in standings]
    firsts = orders[0][:FIRST], orders[1][:FIRST]
    swapped = [
        (one, other)
        for one, other in combinations(orders[0], 2)
        if {one, other} & {*firsts[0], *firsts[1]} and orders[1].index(one) > orders[1].index(other)
    ]
    contradictions = [
        (one, other)
        for one, other in swapped
        if _is_cheaper(a, workload, size, one, other) and _is_cheaper(b, workload, size, other, one)
    ]
    rounds = min(one.rounds for one in standings)
    costs = {name: b.cells[workload, size, name].cost for name in backends}
    excess = math.log(costs[firsts[0][0]] / min(costs.values()))
    return Contest(workload, size, precision, firsts, contradictions, rounds, excess)


def _is_cheaper(results: Results, workload: str, size: int, one: str, other: str) -> bool:
    ours, theirs = (results.cells[workload, size, name].by_round for name in (one, other))
    [compared] = compare([paired_log_ratios(ours, theirs)], results.noise, MARGIN)
    return compared.word == "slower"
