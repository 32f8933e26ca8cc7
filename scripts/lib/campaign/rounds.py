"""Who is measured next.

A round measures every cell once, input by input. Within an input the contenders take turns by
the Latin squares of Williams (1949): over as many rounds as there are contenders each has had every
place once, and has come after each other once; of an odd number it takes two squares, the second the
mirror of the first, for twice. Whoever leaves the caches, the free pages or the clock rate changed
thus does so to all alike. Every square, or pair of them, begins with a random order of its own.
"""

import random
from collections.abc import Iterator, Sequence
from statistics import median

from campaign.plan import Cell, Input, Plan
from results.statistics import relative_width


def order(cells: Sequence[Cell], round_: int, seed: int) -> list[Cell]:
    """Of the contenders of an input in a round, counted from 0."""
    count = len(cells)
    square, row = divmod(round_, count)
    is_mirrored = count % 2 == 1 and square % 2 == 1
    shuffled = list(cells)
    random.Random(f"{seed}/{square - is_mirrored}/{cells[0].name}").shuffle(shuffled)
    zigzag = (-(place // 2) if place % 2 == 0 else place // 2 + 1 for place in range(count))
    ordered = [shuffled[(step + row) % count] for step in zigzag]
    return ordered[::-1] if is_mirrored else ordered


def all_rounds(plan: Plan, rounds: int, seed: int) -> Iterator[tuple[Input, Cell, int]]:
    """Round by round."""
    for round_ in range(rounds):
        for one in plan.inputs:
            for cell in order(one.cells, round_, seed):
                yield one, cell, round_


def widest(plan: Plan, costs: dict[str, list[float]], least: int) -> Input | None:
    """The input whose contenders' intervals are the widest, in the middle of them.

    `costs` are those of the cells that have figures. Inputs that have fewer than `least` rounds come
    first, and of equals those that have had the fewest; None if there is nothing to measure.
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
