"""The results of the passes beside the total cost: tails, memory, instructions and counters.

The label of a cell SUITE/WORKLOAD/SIZE/BACKEND is "PRECISION, per ITEM".
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from results.counters import CounterCell, add_distributions, distributions_beside
from results.grid import Grid, collect, read_files

# The files of the passes in a campaign's folder.
PASSES = {
    "total": "results.json",
    "tails": "tails.json",
    "memory": "memory.json",
    "instructions": "instructions.json",
    "counters": "counters.json",
}


@dataclass
class PassCell(CounterCell):
    """The outcome of one backend on one workload at one size."""

    # The longest advance() of each stretch of operations, in the columns op, max_ns, fired and
    # moved.
    timeline: dict[str, list[float]] = field(default_factory=dict)

    def add_distribution(self, quantity: str, content: Any) -> None:
        if quantity != "timeline":
            super().add_distribution(quantity, content)
            return
        self.timeline = {
            name: [float(value) for value in content[name]]
            for name in ("op", "max_ns", "fired", "moved")
        }
        if len(set(map(len, self.timeline.values()))) != 1:
            raise ValueError("columns of unequal length")


class PassResults(Grid[PassCell]):
    """Cells by (workload, size, backend), each with its counters."""

    CELL_NAME = "SUITE/WORKLOAD/SIZE/BACKEND"
    CELL_CONTENT = "its label and counters"

    def new_cell(self) -> PassCell:
        return PassCell()

    def add_figures(self, cell: PassCell, entry: Any, flags: list[str]) -> None:
        cell.add_counters(entry)


def load_pass(path: Path) -> PassResults:
    """Reads the file of a pass and its distributions."""
    grid = collect(PassResults(), read_files([path]))
    beside = distributions_beside(path)
    if beside.exists():
        add_distributions(grid, beside)
    return grid
