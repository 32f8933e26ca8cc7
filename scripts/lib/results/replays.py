"""The results of a suite of replays: what operations cost.

The costs of a cell SUITE/WORKLOAD/SIZE/BACKEND are its counter ns_per_item, and the label says
"PRECISION, per ITEM".
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

from results.grid import Grid, Key, Outcome, Rounds, ResultFile, collect, read_files
from results.statistics import (
    compare,
    half_widths,
    noise_floor,
    paired_log_ratios,
    rounds_needed,
    spread,
)
from words import FEWER, LATE, MARKS, NOISY

MARGIN = 0.03  # within which two are equivalent

FEW = 10  # cells, of which each may as well bear its sign


@dataclass
class Cell(Outcome):
    """What became of one backend on one workload at one size."""

    costs: list[float] = field(default_factory=list)  # ns per item, one a repetition
    rounds: list[int] = field(default_factory=list)  # in which they were measured
    items: float = 0  # that one replay measured
    memory_reads: list[float] = field(
        default_factory=list
    )  # ns, beside its rounds, as far as known

    @property
    def measured_rounds(self) -> int:
        return len(self.costs)

    @property
    def cost(self) -> float:
        return median(self.costs)

    @property
    def by_round(self) -> dict[int, float]:
        return dict(zip(self.rounds, self.costs))

    @property
    def spread(self) -> float:
        """Of the costs, around their median."""
        return spread(self.costs)


@dataclass(frozen=True)
class Standings:
    """Backends of one precision on one workload at one size, the cheapest first.

    Those of a group are not told apart. While the rounds are too few to be sure, each is a group of
    its own, in the order so far.
    """

    groups: list[list[str]]
    rounds: int  # of whoever has the fewest
    needed: int  # to be sure

    @property
    def is_sure(self) -> bool:
        return self.rounds >= self.needed

    @property
    def best(self) -> list[str]:
        """The cheapest, and all that are not surely slower; empty where there is no contest."""
        return self.groups[0] if self.is_sure and len(self.ranks) > 1 else []

    @property
    def ranks(self) -> dict[str, int]:
        """By backend; those of a group share one."""
        ranks: dict[str, int] = {}
        for group in self.groups:
            ranks |= dict.fromkeys(group, len(ranks) + 1)
        return ranks


@dataclass
class Results(Grid[Cell]):
    """Cells by (workload, size, backend), each with its costs."""

    CELL_NAME = "SUITE/WORKLOAD/SIZE/BACKEND"
    CELL_CONTENT = "its label, items and ns_per_item"

    def new_cell(self) -> Cell:
        return Cell()

    def add_figures(self, cell: Cell, entry: Any, flags: list[str]) -> None:
        cost = float(entry["ns_per_item"])
        if not 0 < cost < math.inf:
            raise ValueError(cost)
        cell.costs.append(cost)
        cell.rounds.append(int(entry.get("round", entry.get("repetition_index", 0))))
        cell.items = float(entry["items"])
        if (read := float(entry.get("memory_probe_ns", 0))) > 0:
            cell.memory_reads.append(read)

    def keep(self, backends: set[str], scenarios: set[str]) -> None:
        self.twin_ratios  # so that they are known
        super().keep(backends, scenarios)

    @property
    def workloads(self) -> list[str]:
        return self.scenarios

    @property
    def rounds(self) -> Rounds:
        return Rounds.among(len(cell.costs) for cell in self.cells.values() if cell.has_figure)

    @cached_property
    def twin_ratios(self) -> list[list[float]]:
        """Of what was measured twice, in the same rounds, the logarithms of the ratios."""
        pairs = [
            paired_log_ratios(self.cells[key].by_round, twin.by_round)
            for key, twin in self.twins.items()
            if twin.has_figure and key in self.cells and self.cells[key].has_figure
        ]
        return [ratios for ratios in pairs if ratios]

    @property
    def noise(self) -> float:
        """What a backend differs from itself by, in logarithms; 0 if nothing was measured twice."""
        return noise_floor(self.twin_ratios)

    @property
    def reach(self) -> list[float]:
        """How far from 1 the intervals of the twins' ratios reach, in logarithms and ascending."""
        return half_widths(self.twin_ratios)

    @property
    def memory_reads(self) -> list[float]:
        """What a read of memory took beside each measurement, ascending."""
        return sorted(read for cell in self.cells.values() for read in cell.memory_reads)

    @cached_property
    def pace(self) -> dict[int, float]:
        """Of each round, what a cell in the middle took, over its own median: 1.2 if the machine was
        slower by a fifth. Comparisons within a round are free of it, deviations from medians are not.
        """
        shares: dict[int, list[float]] = {}
        for cell in self.cells.values():
            for round_, cost in cell.by_round.items() if cell.has_figure else ():
                shares.setdefault(round_, []).append(cost / cell.cost)
        return {round_: median(shares[round_]) for round_ in sorted(shares)}

    def ranking(self, workload: str, size: int, backends: Iterable[str]) -> list[list[str]]:
        """Those that have figures, the cheapest first, in groups. Nobody in a group is surely slower
        than its first, and all of the next are; the comparisons with a first are made together.
        """
        costs = {
            name: cell
            for name in backends
            if (cell := self.cell(workload, size, name)) and cell.has_figure
        }
        left = sorted(costs, key=lambda name: costs[name].cost)
        groups = []
        while left:
            first, words = self._first({name: costs[name] for name in left})
            others = [name for name in left if name != first]
            left = [name for name in others if words[name] == "slower"]
            groups.append([first, *(name for name in others if name not in left)])
        return groups

    def _first(self, cells: dict[str, Cell]) -> tuple[str, dict[str, str]]:
        """The first of these, unless another is faster in the rounds that they share; and what the
        others are to it.
        """
        first, *_ = cells
        beaten = set()
        while True:
            others = [name for name in cells if name != first]
            rounds = cells[first].by_round
            pairs = [paired_log_ratios(rounds, cells[name].by_round) for name in others]
            compared = compare(pairs, self.noise, MARGIN)
            words = {name: one.word for name, one in zip(others, compared)}
            beaten.add(first)
            faster = [name for name in others if words[name] == "faster" and name not in beaten]
            if not faster:
                return first, words
            first = faster[0]

    def standings(self, workload: str, size: int, backends: Iterable[str]) -> Standings:
        groups = self.ranking(workload, size, backends)
        costs = {name: self.cells[workload, size, name] for group in groups for name in group}
        rounds = min((len(cell.costs) for cell in costs.values()), default=0)
        needed = rounds_needed(max(1, len(costs) - 1))
        if rounds < needed:
            groups = [[name] for name in sorted(costs, key=lambda name: costs[name].cost)]
        return Standings(groups, rounds, needed)

    def best(self, workload: str, size: int, backends: Iterable[str]) -> list[str]:
        """The first group; empty where the rounds are too few to tell so many apart."""
        return self.standings(workload, size, backends).best

    def costs(
        self, workload: str, size: int | None = None, backend: str | None = None
    ) -> list[float]:
        """Of all rounds, or of those at one size or of one backend."""
        return [
            cost
            for (name, own_size, own), cell in self.cells.items()
            if name == workload
            and size in (None, own_size)
            and backend in (None, own)
            and cell.has_figure
            for cost in cell.costs
        ]

    @cached_property
    def is_mostly_disturbed(self) -> bool:
        """Then a sign at each cell that was would say nothing."""
        figures = [cell for cell in self.cells.values() if cell.has_figure]
        return 2 * sum(cell.noisy > 0 for cell in figures) > len(figures) >= FEW

    @cached_property
    def marks(self) -> dict[Key, str]:
        """The signs of MARKS that costs bear, once loaded: of those measured over less than half of the
        operations that others were, of those that were disturbed, unless most were, and of those that
        took too long in a round.
        """
        most: dict[tuple[str, int], float] = {}
        for (workload, size, _), cell in self.cells.items():
            most[workload, size] = max(cell.items, most.get((workload, size), 0))
        signs = {
            key: FEWER * (cell.items < most[key[:2]] / 2)
            + NOISY * (cell.noisy > 0 and not self.is_mostly_disturbed)
            + LATE * bool(cell.doubt)
            for key, cell in self.cells.items()
            if cell.has_figure
        }
        return {key: borne for key, borne in signs.items() if borne}

    def mark(self, workload: str, size: int, backend: str) -> str:
        """The signs behind the cost of a cell."""
        signs = self.marks.get((workload, size, backend))
        return f" {signs}" if signs else ""

    def mark_of(self, backend: str, workloads: Iterable[str]) -> str:
        """The signs that any cell of a backend on the workloads bears."""
        borne = {
            sign
            for (workload, _, name), signs in self.marks.items()
            if workload in workloads and name == backend
            for sign in signs
        }
        return f" {''.join(sign for sign in MARKS if sign in borne)}" if borne else ""

    def telling_size(self) -> int:
        """The largest size at which three quarters of the cells have a figure, or the best one."""
        swept = [name for name in self.workloads if len(self.sizes(name)) > 1] or self.workloads
        sizes = sorted({size for name, size, _ in self.cells if name in swept}, reverse=True)
        best = max(sizes, key=self._share_with_figure)
        return next((size for size in sizes if self._share_with_figure(size) >= 0.75), best)

    def _share_with_figure(self, size: int) -> float:
        cells = [cell for (_, own, _), cell in self.cells.items() if own == size]
        return sum(cell.has_figure for cell in cells) / len(cells)


def load(paths: Iterable[Path]) -> Results:
    """Reads files, and folders with a results.json; the same cell in several is one, repeated."""
    return load_files(read_files(paths))


def load_files(files: Iterable[ResultFile]) -> Results:
    """The same of files that are read already."""
    return collect(Results(), files)
