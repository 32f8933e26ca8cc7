"""The results of a suite on the wall clock: counters of each cell, and whole distributions.

Of a cell SUITE/SCENARIO/SIZE/SERVICE every number of its entry is a counter; a percentile is absent
where there were too few samples. The label says "PRECISION, per ITEM", and then perhaps "saturated"
(the service did not keep up) and "interrupted" (measured for a shorter time than the others). The
distributions stand in NAME.distributions.json beside NAME.json, or nowhere.
"""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from console import Failure
from grid import Grid, Outcome, ResultFile, collect, read_json

SUITES = {
    "accuracy": "timers per second",
    "contention": "threads",
    "purgatory": "requests per second",
}  # with what their sizes count
CONTROL = "control"  # the machine itself, among the services


@dataclass(frozen=True)
class Distribution:
    """How many samples lie below each of the edges, in ns and ascending; all below the last."""

    edges: list[float]
    below: list[float]

    @property
    def count(self) -> float:
        return self.below[-1]


@dataclass
class RealtimeCell(Outcome):
    """What became of one service in one scenario at one size."""

    counters: dict[str, list[float]] = field(default_factory=dict)  # of each repetition
    histograms: dict[str, list[tuple[list[float], list[float]]]] = field(default_factory=dict)
    saturated: int = 0  # so many repetitions
    cut_short: bool = False

    @property
    def is_measured(self) -> bool:
        return bool(self.counters)

    def values(self, counter: str) -> list[float]:
        """Of those repetitions that have it, if there is a figure."""
        return self.counters.get(counter, []) if self.has_figure else []

    def value(self, counter: str) -> float | None:
        values = self.values(counter)
        return median(values) if values else None

    def distribution(self, name: str) -> Distribution | None:
        """Of all repetitions together, if they have left any."""
        buckets: dict[float, float] = {}  # by upper edge
        lowest = math.inf
        for edges, counts in self.histograms.get(name, []) if self.has_figure else []:
            lowest = min(lowest, edges[0])
            for edge, count in zip(edges[1:], counts):
                buckets[edge] = buckets.get(edge, 0) + count
        if not sum(buckets.values()):
            return None
        edges, below = [lowest], [0.0]
        for edge in sorted(buckets):
            edges.append(edge)
            below.append(below[-1] + buckets[edge])
        return Distribution(edges, below)


@dataclass
class RealtimeResults(Grid[RealtimeCell]):
    """Cells by (scenario, size, service), of one suite."""

    suite: str = ""
    without_distributions: list[str] = field(default_factory=list)  # files that have none beside

    CELL_NAME = "SUITE/SCENARIO/SIZE/SERVICE"
    CELL_CONTENT = "its label and counters"
    FLAGS = {"saturated", "interrupted"}

    def new_cell(self) -> RealtimeCell:
        return RealtimeCell()

    def add_figures(self, cell: RealtimeCell, entry: Any, flags: list[str]) -> None:
        for name, value in entry.items():
            if isinstance(value, int | float) and math.isfinite(value):
                cell.counters.setdefault(name, []).append(float(value))
        cell.saturated += "saturated" in flags
        cell.cut_short |= "interrupted" in flags

    @property
    def services(self) -> list[str]:
        """Those of the files, without the control."""
        return [name for name in self.backends if name != CONTROL]

    @property
    def repetitions(self) -> int:
        counts = [len(v) for cell in self.cells.values() for v in cell.counters.values()]
        return max(counts, default=0)

    @property
    def cut_short(self) -> int:
        """How many cells were measured for a shorter time, because the run was ended."""
        return sum(cell.cut_short for cell in self.cells.values())

    def members(self, scenario: str) -> list[str]:
        """The services that the scenario was run with, the control first."""
        return [name for name in self.backends if self.sizes(scenario, name)]

    def measured(self, scenario: str, size: int) -> dict[str, RealtimeCell]:
        """The services that have figures there."""
        return {
            service: cell
            for service in self.members(scenario)
            if (cell := self.cell(scenario, size, service)) and cell.has_figure
        }

    def telling_size(self, scenario: str) -> int:
        """The middle of its sizes, or the largest below at which three of four services keep up."""
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


def load_files(files: Iterable[ResultFile]) -> RealtimeResults:
    """The cells of files that are all of one suite, with the distributions beside them."""
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
        _add_distributions(results, file)
    return results


def _add_distributions(results: RealtimeResults, file: ResultFile) -> None:
    path = file.path.with_suffix(".distributions.json")
    if not path.exists():
        results.without_distributions.append(str(path))
        return
    try:
        for name, repetitions in read_json(path).items():
            _, scenario, size, service = name.split("/")[:4]
            cell = results.cell(scenario, int(size), service)
            for repetition in repetitions if cell else []:
                for quantity, histogram in repetition.items():
                    edges, counts = map(_numbers, (histogram["edges"], histogram["counts"]))
                    if counts and cell:
                        _check(edges, counts)
                        cell.histograms.setdefault(quantity, []).append((edges, counts))
    except (AttributeError, KeyError, TypeError, ValueError):
        raise Failure(
            f"{path}: not the distributions of 'timerbench run'; without the file, lateness_ecdf "
            "is not drawn, and all else is"
        ) from None


def _numbers(values: list[Any]) -> list[float]:
    return [float(value) for value in values]


def _check(edges: list[float], counts: list[float]) -> None:
    if len(edges) != len(counts) + 1 or edges != sorted(edges) or min(counts) < 0:
        raise ValueError(json.dumps(edges[:3]))
