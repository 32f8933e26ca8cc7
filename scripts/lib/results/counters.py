"""Cells whose entries have counters, and the distributions that belong to them.

A percentile is absent if there were too few samples. The distributions of NAME.json are in
NAME.distributions.json or NAME.distributions.json.gz, if there are any.
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
    """The number of samples below each edge. Edges are in ns and ascend; all samples are below the
    last.
    """

    edges: list[float]
    below: list[float]

    @property
    def count(self) -> float:
        return self.below[-1]


@dataclass
class CounterCell(Outcome):
    """The outcome of one contender in one scenario at one size."""

    counters: dict[str, list[float]] = field(default_factory=dict)  # values of each round
    histograms: dict[str, list[tuple[list[float], list[float]]]] = field(default_factory=dict)

    @property
    def measured_rounds(self) -> int:
        return max(map(len, self.counters.values()), default=0)

    def add_counters(self, entry: Any) -> None:
        """Adds the counters of one round."""
        for name, value in entry.items():
            if isinstance(value, int | float) and math.isfinite(value):
                self.counters.setdefault(name, []).append(float(value))

    def add_distribution(self, quantity: str, content: Any) -> None:
        """Adds the distribution of one round. Raises one of Python's own errors if `content` is
        none.
        """
        edges, counts = map(_numbers, (content["edges"], content["counts"]))
        if counts:
            _check(edges, counts)
            self.histograms.setdefault(quantity, []).append((edges, counts))

    def values(self, counter: str) -> list[float]:
        """Returns the values of the rounds that have the counter; nothing if the cell has no
        figure.
        """
        return self.counters.get(counter, []) if self.has_figure else []

    def value(self, counter: str) -> float | None:
        values = self.values(counter)
        return median(values) if values else None

    def distribution(self, name: str) -> Distribution | None:
        """Returns the sum over all rounds, or None if there is no distribution."""
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
    """Returns the file of distributions that belongs to a file of results; a campaign compresses
    it.
    """
    compressed = path.with_suffix(".distributions.json.gz")
    return compressed if compressed.exists() else compressed.with_suffix("")


def add_distributions(grid: Grid[Any], path: Path) -> None:
    """Adds a file of distributions to the cells of the grid."""
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
