"""Decides which cell is measured next.

A round measures every cell once, input by input. The contenders of an input follow the balanced
Latin squares of Williams (1949). Over as many rounds as there are contenders, each contender has
every place once and follows every other contender once. An odd number of contenders takes two
squares, and each order occurs twice; the second square mirrors the first. So a contender that
changes the caches, the free pages or the clock rate affects all others alike. Every square, or pair
of squares, starts with a new random order.
"""

import random
from collections.abc import Iterator, Sequence
from statistics import median

from campaign.plan import Cell, Input, Plan
from results.statistics import relative_width


def order(cells: Sequence[Cell], round_: int, seed: int) -> list[Cell]:
    """Returns the contenders of an input in their order for a round, counted from 0."""
    count = len(cells)
    square, row = divmod(round_, count)
    is_mirrored = count % 2 == 1 and square % 2 == 1
    shuffled = list(cells)
    random.Random(f"{seed}/{square - is_mirrored}/{cells[0].name}").shuffle(shuffled)
    zigzag = (-(place // 2) if place % 2 == 0 else place // 2 + 1 for place in range(count))
    ordered = [shuffled[(step + row) % count] for step in zigzag]
    return ordered[::-1] if is_mirrored else ordered


def all_rounds(plan: Plan, rounds: int, seed: int) -> Iterator[tuple[Input, Cell, int]]:
    """Yields the steps of all rounds, round by round."""
    for round_ in range(rounds):
        for one in plan.inputs:
            for cell in order(one.cells, round_, seed):
                yield one, cell, round_


def widest(plan: Plan, costs: dict[str, list[float]], least: int) -> Input | None:
    """Returns the input with the widest intervals, by the median over its contenders.

    `costs` has the cells with figures. Inputs with fewer than `least` rounds come first. Among
    equals the input with the fewest rounds comes first. Returns None if there is nothing to
    measure.
    """

    def width(one: Input) -> float:
        known = [costs[cell.name] for cell in one.cells if costs.get(cell.name)]
        if not known:
            return -1.0
        return median(relative_width(values) for values in known)

    def key(one: Input) -> tuple[bool, float, int]:
        rounds = max((len(costs.get(cell.name, [])) for cell in one.cells), default=0)
        return (0 < rounds < least, width(one), -rounds)

    best = max(plan.inputs, key=key, default=None)
    return best if best and width(best) >= 0 else None
