"""The results of a suite on the wall clock: the counters of each cell, and whole distributions.

The label of a cell SUITE/SCENARIO/SIZE/SERVICE is "PRECISION, per ITEM", optionally followed by
"saturated" (the service did not keep up) and "interrupted" (measured for a shorter time).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from console import Failure
from results.counters import CounterCell, add_distributions, distributions_beside
from results.grid import Grid, Rounds, ResultFile, collect
from results.replays import Cell, Results

SUITES = {
    "accuracy": "timers per second",
    "contention": "threads",
    "purgatory": "requests per second",
    "durable": "clients",
}  # by what their sizes count, in most scenarios
CONTROL = "control"  # the machine itself, measured like a service
COSTS_PER_SECOND = ("wakeups_per_second",)  # of other figures per second more is better
NO_RATIO = "no ratio"  # the status of a cell whose figure is 0 in a round

# The one figure that represents a cell.
FIGURES = {
    "accuracy": "lateness_p50_ns",
    "contention": "calls_per_second",
    "purgatory": "cpu_ns_per_request",
    "durable": "timers_per_second",
}

# The scenarios of the suite durable that are represented by another figure than the suite.
FIGURES_OF_DURABLE = {
    **dict.fromkeys(("rate", "orders", "jobs"), FIGURES["accuracy"]),
    "idle": "cpu_ns_per_hour",
}

# What the sizes of other scenarios count.
SIZES_OF_DURABLE = {
    "batch": "timers a call",
    "payload": "bytes",
    "workers": "workers",
    "claims": "timers a call",
    "shards": "shards",
    "nodes": "masters",
    "rate": "timers per second",
    "orders": "orders",
    "jobs": "jobs",
    "idle": "timers",
    "pending": "timers",
}


@dataclass
class RealtimeCell(CounterCell):
    """The outcome of one service in one scenario at one size."""

    saturated: int = 0  # number of saturated rounds
    cut_short: bool = False


@dataclass
class RealtimeResults(Grid[RealtimeCell]):
    """Cells by (scenario, size, service), of one suite."""

    suite: str = ""
    without_distributions: list[str] = field(default_factory=list)  # files without distributions

    CELL_NAME = "SUITE/SCENARIO/SIZE/SERVICE"
    CELL_CONTENT = "its label and counters"
    FLAGS = {"saturated", "interrupted"}

    def new_cell(self) -> RealtimeCell:
        return RealtimeCell()

    def add_figures(self, cell: RealtimeCell, entry: Any, flags: list[str]) -> None:
        cell.add_counters(entry)
        cell.saturated += "saturated" in flags
        cell.cut_short |= "interrupted" in flags

    @property
    def services(self) -> list[str]:
        """The services, without the control."""
        return [name for name in self.backends if name != CONTROL]

    @property
    def rounds(self) -> Rounds:
        return Rounds.among(
            max((len(values) for values in cell.counters.values()), default=0)
            for cell in self.cells.values()
        )

    @property
    def cut_short(self) -> int:
        """The number of cells with a shorter measurement because the run was interrupted."""
        return sum(cell.cut_short for cell in self.cells.values())

    def as_costs(self, figure: str) -> Results:
        """Returns one figure of each cell as its cost; a speed becomes nanoseconds for each. A cell
        that lacks the figure in any round has no cost, nor has one that does not keep up with its load,
        but for a speed.
        """
        costs = Results(
            facts=self.facts,
            precisions=self.precisions,
            items=self.items,
            sources=self.sources,
            described=self.described,
            cells={key: _as_cost(cell, figure) for key, cell in self.cells.items()},
        )
        for name, cells in self.variants.items():
            costs.variants[name] = {key: _as_cost(cell, figure) for key, cell in cells.items()}
        return costs

    def figure(self, scenario: str) -> str:
        """Returns the one figure that represents a cell of the scenario."""
        return figure_of(self.suite, scenario)

    def size_is(self, scenario: str) -> str:
        """Returns what the scenario's sizes count; in some scenarios of the suite accuracy it is no
        rate.
        """
        if self.suite == "durable":
            return SIZES_OF_DURABLE.get(scenario, SUITES[self.suite])
        is_rate = self.suite != "accuracy" or re.match("rate|wait|granularity|poll|task", scenario)
        return SUITES[self.suite] if is_rate else "timers"

    def members(self, scenario: str) -> list[str]:
        """Returns the services that ran the scenario, the control first."""
        return [name for name in self.backends if self.sizes(scenario, name)]

    def measured(self, scenario: str, size: int) -> dict[str, RealtimeCell]:
        """Returns the services with figures at that size."""
        return {
            service: cell
            for service in self.members(scenario)
            if (cell := self.cell(scenario, size, service)) and cell.has_figure
        }

    def telling_size(self, scenario: str) -> int:
        """Returns the largest size, up to the middle one, at which three of
        four services keep up.
        """
        sizes = self.sizes(scenario)
        lower = sizes[: len(sizes) // 2 + 1]
        return next((size for size in reversed(lower) if self._keep_up(scenario, size)), lower[0])

    def _keep_up(self, scenario: str, size: int) -> bool:
        services = [name for name in self.members(scenario) if name != CONTROL]
        good = [
            cell
            for name, cell in self.measured(scenario, size).items()
            if name != CONTROL and not cell.saturated
        ]
        return len(good) >= 0.75 * len(services)


def figure_of(suite: str, scenario: str) -> str:
    """Returns the one figure that represents a cell of the scenario."""
    if suite == "durable" and scenario in FIGURES_OF_DURABLE:
        return FIGURES_OF_DURABLE[scenario]
    return FIGURES[suite]


def is_speed(figure: str) -> bool:
    """Whether it counts what is done in a second, so that its cost is the time for each."""
    return figure.endswith("_per_second") and figure not in COSTS_PER_SECOND


def _as_cost(cell: RealtimeCell, figure: str) -> Cell:
    values = cell.values(figure)
    rounds = cell.values("round") or list(range(len(values)))
    if not cell.failure:
        if not values or len(values) != len(rounds):
            return Cell(broken=f"without {figure} in each round")
        if min(values) <= 0:
            return Cell(broken=f"{NO_RATIO}: {figure} is 0 in a round")
        if 2 * cell.saturated > len(rounds) and not is_speed(figure):
            return Cell(broken="saturated: it does not keep up")
    if is_speed(figure):
        values = [1e9 / value for value in values]
    return Cell(
        broken=cell.broken,
        timeouts=cell.timeouts,
        noisy=cell.noisy,
        costs=values,
        rounds=[int(round_) for round_ in rounds],
        items=1,
    )


def load_files(files: Iterable[ResultFile]) -> RealtimeResults:
    """Reads the cells of files of one suite, and their distributions."""
    files = list(files)
    suites = list(dict.fromkeys(suite for file in files for suite in file.suites))
    if len(suites) > 1:
        odd = next(file for file in files if file.suites != suites[:1])
        raise Failure(
            f"{odd.path}: results of the suites {' and '.join(suites)} do not belong in one plot; "
            "draw each on its own"
        )
    results = collect(RealtimeResults(suite=suites[0]), files)
    for file in files:
        path = distributions_beside(file.path)
        if path.exists():
            add_distributions(results, path)
        else:
            results.without_distributions.append(str(path))
    return results
