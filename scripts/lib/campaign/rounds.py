"""Who is measured next.

A round is one repetition of all cells, input by input. Within an input the contenders take turns by a
cyclic Latin square: over as many rounds as there are contenders each has had every place once, so that
whoever comes after a heavy one, or while the machine is warm, is not always the same. Every square
begins with a random order of its own.
"""

import random
from collections.abc import Iterator, Sequence
from statistics import median

from campaign.plan import Cell, Input, Plan
from statistics_of_rounds import relative_width


def order(cells: Sequence[Cell], round_: int, seed: int) -> list[Cell]:
    """Of the contenders of an input in a round, counted from 0."""
    square, row = divmod(round_, len(cells))
    shuffled = list(cells)
    random.Random(f"{seed}/{square}/{cells[0].name}").shuffle(shuffled)
    return shuffled[row:] + shuffled[:row]


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
