"""Cells of which every number of an entry is a counter, and the distributions beside them.

A percentile is absent where there were too few samples. The distributions of NAME.json stand in
NAME.distributions.json, or compressed in NAME.distributions.json.gz, or nowhere.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from console import Failure
from results.grid import Grid, Outcome, read_json


@dataclass(frozen=True)
class Distribution:
    """How many samples lie below each of the edges, in ns and ascending; all below the last."""

    edges: list[float]
    below: list[float]

    @property
    def count(self) -> float:
        return self.below[-1]


@dataclass
class CounterCell(Outcome):
    """What became of one contender in one scenario at one size."""

    counters: dict[str, list[float]] = field(default_factory=dict)  # of each round_
    histograms: dict[str, list[tuple[list[float], list[float]]]] = field(default_factory=dict)

    @property
    def measured_rounds(self) -> int:
        return max(map(len, self.counters.values()), default=0)

    def add_counters(self, entry: Any) -> None:
        """Of one more round_."""
        for name, value in entry.items():
            if isinstance(value, int | float) and math.isfinite(value):
                self.counters.setdefault(name, []).append(float(value))

    def add_distribution(self, quantity: str, content: Any) -> None:
        """Of one more round_. Raises one of Python's own errors if it is none."""
        edges, counts = map(_numbers, (content["edges"], content["counts"]))
        if counts:
            _check(edges, counts)
            self.histograms.setdefault(quantity, []).append((edges, counts))

    def values(self, counter: str) -> list[float]:
        """Of those rounds that have it, if there is a figure."""
        return self.counters.get(counter, []) if self.has_figure else []

    def value(self, counter: str) -> float | None:
        values = self.values(counter)
        return median(values) if values else None

    def distribution(self, name: str) -> Distribution | None:
        """Of all rounds together, if they have left any."""
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


def distributions_beside(path: Path) -> Path:
    """The file of the distributions of a file of results: compressed if a campaign has left it."""
    compressed = path.with_suffix(".distributions.json.gz")
    return compressed if compressed.exists() else compressed.with_suffix("")


def add_distributions(grid: Grid[Any], path: Path) -> None:
    """Gives the cells of the grid what stands in a file of distributions."""
    try:
        for name, rounds in read_json(path).items():
            _, scenario, size, contender = name.split("/")[:4]
            cell = grid.cell(scenario, int(size), contender)
            if cell is None:
                continue
            for round_ in rounds:
                for quantity, content in round_.items():
                    cell.add_distribution(quantity, content)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise Failure(
            f"{path}: not the distributions of 'timerbench run'; without the file, what they show "
            "is not drawn, and all else is"
        ) from None


def _numbers(values: Sequence[Any]) -> list[float]:
    return [float(value) for value in values]


def _check(edges: list[float], counts: list[float]) -> None:
    if len(edges) != len(counts) + 1 or edges != sorted(edges) or min(counts) < 0:
        raise ValueError(json.dumps(edges[:3]))
