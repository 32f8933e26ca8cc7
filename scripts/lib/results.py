"""The cells of one or several result files, as timerbench run writes them.

A file is Google Benchmark's JSON. Each repetition of a cell is an entry of its own, named
SUITE/WORKLOAD/SIZE/BACKEND/...; the costs are the counter ns_per_item, and the label says
"PRECISION, per ITEM". A cell without a figure has an error message that begins with its status.
"""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

from console import Failure
from style import PROMISES
from words import FEWER

# Facts that are shown; those of BINDING must agree for figures to be set side by side.
BINDING = ("processor", "compiler", "flags", "build", "commit", "granularity", "seed")
FACTS = (*BINDING, "suite", "kernel", "command", "date", "not_verified", "busy")


@dataclass
class Cell:
    """What became of one backend on one workload at one size."""

    costs: list[float] = field(default_factory=list)  # ns per item, one a repetition
    items: float = 0  # that one replay measured
    failure: str = ""  # not empty: the status, and what is to be said about it

    @property
    def status(self) -> str:
        """The word for a cell without a figure, or nothing."""
        return "" if self.has_figure else self.failure.partition(":")[0].strip()

    @property
    def has_figure(self) -> bool:
        """Not if any of its repetitions failed: those that did not are the lucky ones."""
        return bool(self.costs) and not self.failure

    @property
    def cost(self) -> float:
        return median(self.costs)

    @property
    def spread(self) -> float:
        """The largest deviation from the median, as a share of it."""
        return max(max(self.costs) - self.cost, self.cost - min(self.costs)) / self.cost


@dataclass
class Results:
    """Cells by (workload, size, backend), and the facts about the machine that measured them.

    The orders of workloads and backends are those of the files.
    """

    facts: dict[str, str] = field(default_factory=dict)
    cells: dict[tuple[str, int, str], Cell] = field(default_factory=dict)
    precisions: dict[str, str] = field(default_factory=dict)  # of backends
    items: dict[str, str] = field(default_factory=dict)  # what workloads are costed per
    unreached: set[tuple[str, int, str]] = field(default_factory=set)  # a run was ended before

    @property
    def interrupted(self) -> int:
        """How many cells are not here, because a run was ended before them."""
        return len(self.unreached - self.cells.keys())

    @property
    def workloads(self) -> list[str]:
        return list(dict.fromkeys(workload for workload, _, _ in self.cells))

    @property
    def backends(self) -> list[str]:
        return list(dict.fromkeys(backend for _, _, backend in self.cells))

    @property
    def repetitions(self) -> int:
        return max((len(cell.costs) for cell in self.cells.values()), default=0)

    def sizes(self, workload: str, backend: str | None = None) -> list[int]:
        """At which the workload was run, by any backend or by one."""
        return sorted(
            {size for name, size, own in self.cells if name == workload and backend in (None, own)}
        )

    def costs(
        self, workload: str, size: int | None = None, backend: str | None = None
    ) -> list[float]:
        """Of all repetitions, or of those at one size or of one backend."""
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
    def marked(self) -> set[tuple[str, int, str]]:
        """The cells measured over less than half of the operations that others were, once loaded."""
        most: dict[tuple[str, int], float] = {}
        for (workload, size, _), cell in self.cells.items():
            most[workload, size] = max(cell.items, most.get((workload, size), 0))
        return {
            key
            for key, cell in self.cells.items()
            if cell.has_figure and cell.items < most[key[:2]] / 2
        }

    def mark(self, workload: str, size: int, backend: str) -> str:
        """The sign behind the cost of such a cell."""
        return f" {FEWER}" if (workload, size, backend) in self.marked else ""

    def mark_of(self, backend: str, workloads: Iterable[str]) -> str:
        """The sign of a backend of which any cell of the workloads bears it."""
        bears = any(key[0] in workloads and key[2] == backend for key in self.marked)
        return f" {FEWER}" if bears else ""

    def item(self, workload: str) -> str:
        """What the workload's costs are per."""
        return self.items.get(workload, "item")

    def cell(self, workload: str, size: int, backend: str) -> Cell | None:
        return self.cells.get((workload, size, backend))

    def precision(self, backend: str) -> str:
        """Its promise; the files do not tell that of a backend without any figure."""
        return self.precisions.get(backend, "unknown")

    def backends_by_promise(self) -> dict[str, list[str]]:
        """Those that promise the same together."""
        return {
            promise: backends
            for promise in PROMISES
            if (backends := [name for name in self.backends if self.precision(name) == promise])
        }

    def telling_size(self) -> int:
        """The largest size at which three quarters of the cells have a figure, or the best one."""
        swept = [name for name in self.workloads if len(self.sizes(name)) > 1] or self.workloads
        sizes = sorted({size for name, size, _ in self.cells if name in swept}, reverse=True)
        best = max(sizes, key=self._share_with_figure)
        return next((size for size in sizes if self._share_with_figure(size) >= 0.75), best)

    def shown_size(self, workload: str, size: int) -> int:
        """The size, or for a workload that was not run at it the nearest."""
        return min(self.sizes(workload), key=lambda own: max(own, size) / max(1, min(own, size)))

    def _share_with_figure(self, size: int) -> float:
        cells = [cell for (_, own, _), cell in self.cells.items() if own == size]
        return sum(cell.has_figure for cell in cells) / len(cells)


def load(paths: Iterable[Path]) -> Results:
    """Reads files, and folders with a results.json; the same cell in several is one, repeated."""
    results = Results()
    for path in paths:
        file = path / "results.json" if path.is_dir() else path
        content = _read(file)
        _merge_facts(results, content["context"], file)
        for entry in content["benchmarks"]:
            _add(results, entry, file)
    if not results.cells:
        raise Failure(f"{file}: the run was interrupted before any cell was measured")
    return results


def _read(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise Failure(f"{file}: {error.strerror}; scripts/bench makes results") from None
    except ValueError as error:
        raise Failure(f"{file}: not a complete JSON file ({error}); measure again") from None
    if not isinstance(content, dict) or not isinstance(content.get("benchmarks"), list):
        raise Failure(f"{file}: no results of 'timerbench run': it has no list 'benchmarks'")
    if not isinstance(content.setdefault("context", {}), dict):
        raise Failure(f"{file}: no results of 'timerbench run': its 'context' is no object")
    if not content["benchmarks"]:
        raise Failure(f"{file}: has no cells; was the run's choice empty?")
    return content


def _merge_facts(results: Results, context: dict[str, Any], file: Path) -> None:
    facts = {key: str(context[key]).strip() for key in FACTS if key in context}
    for key in BINDING:
        one, other = results.facts.get(key), facts.get(key)
        if one and other and one != other:
            raise Failure(
                f"{file}: its {key} is '{other}', that of the others is '{one}': "
                "figures of different machines, builds or settings do not belong in one plot"
            )
    for key, value in facts.items():
        known = results.facts.get(key, value)
        results.facts[key] = known if value in known.split("; ") else f"{known}; {value}"


def _add(results: Results, entry: Any, file: Path) -> None:
    try:
        if entry.get("run_type") == "aggregate":
            return
        _, workload, size, backend = entry["name"].split("/")[:4]
        key = (workload, int(size), backend)
        if entry.get("error_occurred"):
            _add_failure(results, key, entry.get("error_message") or "error")
            return
        precision, item = entry["label"].split(", per ", 1)
        cost = float(entry["ns_per_item"])
        items = float(entry["items"])
        if precision not in PROMISES or not 0 < cost < math.inf:
            raise ValueError
    except (AttributeError, KeyError, TypeError, ValueError):
        raise Failure(
            f"{file}: {json.dumps(entry)[:80]}... is not a cell SUITE/WORKLOAD/SIZE/BACKEND "
            "of 'timerbench run' with its label, items and ns_per_item"
        ) from None
    cell = results.cells.setdefault(key, Cell())
    cell.costs.append(cost)
    cell.items = items
    results.precisions[backend] = precision
    results.items[workload] = item


def _add_failure(results: Results, key: tuple[str, int, str], message: str) -> None:
    if message.startswith("interrupted"):
        results.unreached.add(key)
        return
    cell = results.cells.setdefault(key, Cell())
    if not cell.failure or message.startswith(("wrong", "error")):
        cell.failure = message
