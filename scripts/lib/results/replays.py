"""The results of a suite of replays: the cost of operations.

The costs of a cell SUITE/WORKLOAD/SIZE/BACKEND are its counter ns_per_item. Its label is
"PRECISION, per ITEM".
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

from results.grid import Grid, Key, Outcome, Rounds, ResultFile, collect, read_files, round_of
from results.statistics import (
    OUTLIER,
    compare,
    half_widths,
    noise_floor,
    paired_log_ratios,
    rounds_needed,
    spread,
)
from words import FEWER, LATE, MARKS, NOISY

MARGIN = 0.03  # a ratio within this margin counts as equivalent

HARNESS = "null"  # the control that does nothing: its cost is that of the replay itself
FLOOR = "one_store"  # the control that does the least that a backend can do
STORES_NOTHING = ("fire", "tick")  # items of workloads that only advance

FEW = 10  # cells; with fewer, each keeps its mark even if most have one


@dataclass
class Cell(Outcome):
    """The outcome of one backend on one workload at one size."""

    costs: list[float] = field(default_factory=list)  # ns per item, for each repetition
    rounds: list[int] = field(default_factory=list)  # the round of each cost
    items: float = 0  # number of items in one replay
    memory_reads: list[float] = field(default_factory=list)  # ns, beside rounds; may be missing

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
        """How far the true median cost may lie from the median."""
        return spread(self.costs)


@dataclass(frozen=True)
class Standings:
    """Backends of one precision on one workload at one size, the cheapest first.

    The backends in a group cannot be told apart. With too few rounds to be sure, each backend is a
    group of its own, sorted by cost.
    """

    groups: list[list[str]]
    rounds: int  # the least over the backends
    needed: int  # rounds needed to be sure

    @property
    def is_sure(self) -> bool:
        return self.rounds >= self.needed

    @property
    def best(self) -> list[str]:
        """The cheapest and all that are not surely slower; empty if there is only one backend."""
        return self.groups[0] if self.is_sure and len(self.ranks) > 1 else []

    @property
    def ranks(self) -> dict[str, int]:
        """The rank of each backend; a group shares one rank."""
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
        cell.rounds.append(round_of(entry))
        cell.items = float(entry["items"])
        if (read := float(entry.get("memory_probe_ns", 0))) > 0:
            cell.memory_reads.append(read)

    def keep(self, backends: set[str], scenarios: set[str]) -> None:
        self.twin_ratios, self.floors, self.harness  # computes them for all cells
        super().keep(backends, scenarios)

    @property
    def workloads(self) -> list[str]:
        return self.scenarios

    @property
    def rounds(self) -> Rounds:
        return Rounds.among(len(cell.costs) for cell in self.cells.values() if cell.has_figure)

    @cached_property
    def twin_ratios(self) -> list[list[float]]:
        """The logarithms of the ratios of twins in the same rounds."""
        pairs = [
            paired_log_ratios(self.cells[key].by_round, twin.by_round)
            for key, twin in self.twins.items()
            if twin.has_figure and key in self.cells and self.cells[key].has_figure
        ]
        return [ratios for ratios in pairs if ratios]

    @property
    def noise(self) -> float:
        """How much a backend differs from itself, in logarithms; 0 without twins."""
        return noise_floor(self.twin_ratios)

    @property
    def reach(self) -> list[float]:
        """How far from 1 the intervals of the twins' ratios reach, in logarithms and ascending."""
        return half_widths(self.twin_ratios)

    @cached_property
    def floors(self) -> dict[tuple[str, int], Cell]:
        """The cells of FLOOR with a figure, by workload and size; none where it stores nothing."""
        return {
            (workload, size): cell
            for (workload, size, backend), cell in self.cells.items()
            if backend == FLOOR and cell.has_figure and self.item(workload) not in STORES_NOTHING
        }

    @cached_property
    def harness(self) -> dict[str, dict[int, Cell]]:
        """The cells of HARNESS with a figure, by workload, then by size."""
        cells: dict[str, dict[int, Cell]] = {name: {} for name in self.workloads}
        for (workload, size, backend), cell in sorted(self.cells.items()):
            if backend == HARNESS and cell.has_figure:
                cells[workload][size] = cell
        return cells

    def distances(self, workload: str, size: int, backend: str) -> list[float]:
        """Returns the cost over that of FLOOR for each round that has both, ascending. The cost of
        the harness is in both: at small sizes a store adds less to it than the noise, so the rest
        would be no measure.
        """
        return self._over_floor(workload, size, self.cell(workload, size, backend))

    def harness_distances(self, workload: str, size: int) -> list[float]:
        """Returns the same for HARNESS."""
        return self._over_floor(workload, size, self.harness[workload].get(size))

    def _over_floor(self, workload: str, size: int, cell: Cell | None) -> list[float]:
        floor = self.floors.get((workload, size))
        if not (floor and cell and cell.has_figure):
            return []
        return sorted(map(math.exp, paired_log_ratios(floor.by_round, cell.by_round)))

    @property
    def memory_reads(self) -> list[float]:
        """The duration of a memory read beside each measurement, ascending."""
        return sorted(read for cell in self.cells.values() for read in cell.memory_reads)

    @property
    def outliers(self) -> list[tuple[float, Key, int]]:
        """Measurements that cost more than OUTLIER times the median of their cell: how many times
        as much, which cell, and which round from 0 on.
        """
        return [
            (cost / cell.cost, key, round_)
            for key, cell in self.cells.items()
            if cell.has_figure
            for round_, cost in cell.by_round.items()
            if cost > OUTLIER * cell.cost
        ]

    @cached_property
    def pace(self) -> dict[int, float]:
        """For each round, the median over the cells of cost over own median: 1.2 if the machine was
        a fifth slower. It cancels out in comparisons within a round, but not in deviations from
        medians.
        """
        shares: dict[int, list[float]] = {}
        for cell in self.cells.values():
            for round_, cost in cell.by_round.items() if cell.has_figure else ():
                shares.setdefault(round_, []).append(cost / cell.cost)
        return {round_: median(shares[round_]) for round_ in sorted(shares)}

    def ranking(self, workload: str, size: int, backends: Iterable[str]) -> list[list[str]]:
        """Returns the backends with figures in groups, the cheapest first. No backend in a group is
        surely slower than its first; all in later groups are. The comparisons with each first are
        corrected as one family.
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
        """Returns the first, which is the cheapest unless another is faster in their common rounds,
        and the verdict on each other backend.
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
        """Returns the first group; empty if the rounds are too few to be sure."""
        return self.standings(workload, size, backends).best

    def costs(
        self, workload: str, size: int | None = None, backend: str | None = None
    ) -> list[float]:
        """Returns the costs of all rounds, or of those at one size or of one backend."""
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
        """If so, marks at the disturbed cells would tell nothing."""
        figures = [cell for cell in self.cells.values() if cell.has_figure]
        return 2 * sum(cell.noisy > 0 for cell in figures) > len(figures) >= FEW

    @cached_property
    def marks(self) -> dict[Key, str]:
        """The marks (MARKS) of costs; cached. They mark cells with less than half as many
        operations as others, disturbed cells unless most are disturbed, and cells that took too
        long in a round.
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
        """Returns the marks of a cell's cost."""
        signs = self.marks.get((workload, size, backend))
        return f" {signs}" if signs else ""

    def mark_of(self, backend: str, workloads: Iterable[str]) -> str:
        """Returns the marks of all cells of a backend on the workloads."""
        borne = {
            sign
            for (workload, _, name), signs in self.marks.items()
            if workload in workloads and name == backend
            for sign in signs
        }
        return f" {''.join(sign for sign in MARKS if sign in borne)}" if borne else ""

    def telling_size(self) -> int:
        """Returns the largest size at which three quarters of the cells have a figure, or else the
        one with the largest share of figures.
        """
        swept = [name for name in self.workloads if len(self.sizes(name)) > 1] or self.workloads
        sizes = sorted({size for name, size, _ in self.cells if name in swept}, reverse=True)
        best = max(sizes, key=self._share_with_figure)
        return next((size for size in sizes if self._share_with_figure(size) >= 0.75), best)

    def _share_with_figure(self, size: int) -> float:
        cells = [cell for (_, own, _), cell in self.cells.items() if own == size]
        return sum(cell.has_figure for cell in cells) / len(cells)


def load(paths: Iterable[Path]) -> Results:
    """Reads files, and folders with a results.json. The entries of the same cell in several files
    count as its rounds.
    """
    return load_files(read_files(paths))


def load_files(files: Iterable[ResultFile]) -> Results:
    """Does the same for files that are already read."""
    return collect(Results(), files)
