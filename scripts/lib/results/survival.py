"""The results of the suite `faults`: what durable timers survived.

The label of a cell faults/FAULT/RUNS/QUEUE is "PROMISE, per timer": what the engine promises to keep
when that happens. Rounds of a cell, and its sizes, are further runs.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from statistics import median
from typing import Any

from console import Failure
from results.counters import CounterCell, add_distributions, distributions_beside
from results.grid import Grid, ResultFile, Rounds, collect

SUITE = "faults"
KEEPS_ALL, LOSES_ALL = "keeps all", "may lose all"
SKIPPED = "skipped: "
# No power is cut of an engine without files, for everybody knows what would come of it.
POWER_CUT, NOTHING_ON_DISK = "power_cut", SKIPPED + "it keeps nothing on disk"
SPOILT = "last_block_spoilt"

# The sums over all runs, the maxima and the seeds of their runs, and the counts of runs.
SUMS = {
    "acknowledged": "acknowledged",
    "lost": "lost",
    "fired_twice": "fired twice",
    "fired_without_acknowledgement": "fired without acknowledgement",
    "fired_after_cancel": "fired after cancel",
    "failed_calls": "failed calls",
}
MAXIMA = {"latest_seconds": "latest", "silent_seconds": "silent"}
SEEDS = {"latest_seconds": "latest_seed", "silent_seconds": "silent_seed"}
MEDIAN_SILENT = "median_silent_seconds"
RUNS = {
    "lossy": "runs that lost a timer",
    "breaches": "runs that broke the promise",
    "no_starts": "runs after which the engine did not start again",
    "not_back": "runs after which the queue was not back in time",
}

# The counts for each step of a time line, and what they are called.
LINES = {"asked": "armed", "acknowledged": "acknowledged", "due": "due", "fired": "fired"}


class Verdict(Enum):
    """What became of a queue's promise in a fault; the values are words for readers."""

    KEPT = "lost nothing"
    ALLOWED = "lost what it may lose"
    BROKEN = "broke its promise"
    LOSES_ALL = "would lose all, as it keeps nothing on disk; not run"
    LEFT_OUT = "cannot happen to it, or not on this machine"
    UNKNOWN = "has no figure"


@dataclass(frozen=True)
class Timeline:
    """A run as counts in equal steps of time."""

    seed: int
    breach: str  # how the run broke the promise; empty: it did not
    no_start: str  # why the engine did not start again; empty: it did
    acknowledged: int
    lost: int
    seconds: float  # for which a repeated fault strikes
    step: float  # seconds
    strikes: list[tuple[float, float | None]]  # begin and end in seconds; None: never mended
    lines: dict[str, list[int]]  # by LINES, all of one length

    @classmethod
    def of(cls, content: Any) -> "Timeline":
        """Raises one of Python's own errors if `content` is none."""
        lines = {name: [int(count) for count in content[name]] for name in LINES}
        steps = max(map(len, lines.values()))
        step = float(content["step_seconds"])
        strikes = [
            (float(begin), None if end is None else float(end)) for begin, end in content["strikes"]
        ]
        if not step > 0 or not all(
            math.isfinite(at) for both in ((step, 0), *strikes) for at in both if at is not None
        ):
            raise ValueError(step)
        return cls(
            seed=int(content["seed"]),
            breach=str(content["breach"]),
            no_start=str(content["no_start"]),
            acknowledged=int(content["acknowledged_timers"]),
            lost=int(content["lost_timers"]),
            seconds=float(content["seconds"]),
            step=step,
            strikes=strikes,
            lines={name: counts + [0] * (steps - len(counts)) for name, counts in lines.items()},
        )

    @property
    def rank(self) -> tuple[bool, bool, int]:
        """Runs that tell more are larger."""
        return bool(self.breach), bool(self.no_start), self.lost


@dataclass
class SurvivalCell(CounterCell):
    """The runs of one queue with one fault that were started together."""

    promise: str = ""
    timelines: list[Timeline] = field(default_factory=list)  # the worst of each round

    def add_distribution(self, quantity: str, content: Any) -> None:
        if quantity == "timeline":
            self.timelines.append(Timeline.of(content))


@dataclass(frozen=True)
class Fate:
    """What became of a queue in all runs with a fault."""

    fault: str
    queue: str
    promise: str = ""
    runs: int = 0
    breaches: int = 0  # runs that broke the promise
    no_starts: int = 0  # runs after which the engine did not start again
    not_back: int = 0  # runs after which the queue did not answer in time
    lossy: int = 0  # runs that lost a timer
    sums: dict[str, int] = field(default_factory=dict)  # by SUMS
    maxima: dict[str, float] = field(default_factory=dict)  # by MAXIMA; seconds
    seeds: dict[str, int] = field(default_factory=dict)  # of their runs
    median_silent: float = 0  # seconds, of a run
    worst: Timeline | None = None  # the run that tells the most, if it was recorded
    worst_seed: int | None = None
    failure: str = ""  # why there is no run
    missing: Sequence[str] = ()  # why there are fewer runs than were asked for

    @property
    def verdict(self) -> Verdict:
        if (self.fault, self.failure) == (POWER_CUT, NOTHING_ON_DISK):
            return Verdict.LOSES_ALL
        if self.failure:
            is_skipped = self.failure.startswith(SKIPPED)
            return Verdict.LEFT_OUT if is_skipped else Verdict.UNKNOWN
        if self.breaches:
            return Verdict.BROKEN
        return Verdict.ALLOWED if self.lost or self.no_starts else Verdict.KEPT

    @property
    def lost(self) -> int:
        return self.sums["lost"]

    @property
    def acknowledged(self) -> int:
        return self.sums["acknowledged"]

    @property
    def has_figure(self) -> bool:
        return not self.failure

    @property
    def breach(self) -> str:
        """How the worst run broke the promise; empty if it did not, or if that is not recorded."""
        return self.worst.breach if self.worst else ""

    @property
    def no_start(self) -> str:
        """Likewise, why the engine did not start again."""
        return self.worst.no_start if self.worst else ""

    @property
    def repeat_line(self) -> str:
        """The command that repeats the worst run."""
        line = (
            f"scripts/bench {SUITE} --workloads={self.fault} --backends={self.queue} --sizes=1 "
            f"--seed={self.worst_seed}"
        )
        if self.worst and len(self.worst.strikes) > 1:
            line += f" --seconds={self.worst.seconds:g}"
        return line


@dataclass
class SurvivalResults(Grid[SurvivalCell]):
    """Cells by (fault, runs, queue)."""

    CELL_NAME = "faults/FAULT/RUNS/QUEUE"
    CELL_CONTENT = "its label and counters"

    def new_cell(self) -> SurvivalCell:
        return SurvivalCell()

    def add_figures(self, cell: SurvivalCell, entry: Any, flags: list[str]) -> None:
        cell.promise = entry["label"].partition(", per ")[0]
        for name in ("runs", *RUNS, *SUMS, *MAXIMA, *SEEDS.values(), MEDIAN_SILENT, "worst_seed"):
            if not entry[name] >= 0:
                raise ValueError(name)
        cell.add_counters(entry)

    def precision(self, backend: str) -> str:
        """Returns what the queue keeps after a power cut, as all suites call it; the label of a cell
        says what it keeps in this fault.
        """
        return str(self.described.get(backend, {}).get("precision", "unknown"))

    @property
    def rounds(self) -> Rounds:
        return Rounds.among(cell.measured_rounds for cell in self.cells.values())

    @property
    def runs(self) -> int:
        return sum(fate.runs for fate in self.fates.values())

    @cached_property
    def fates(self) -> dict[tuple[str, str], Fate]:
        """By fault and queue; those that were measured, failed or were skipped."""
        return {
            (fault, queue): _fate(fault, queue, cells)
            for fault in self.scenarios
            for queue in self.backends
            if (cells := list(self._cells_of(fault, queue)))
        }

    def _cells_of(self, fault: str, queue: str) -> Iterator[SurvivalCell]:
        return (
            cell for (one, _, other), cell in self.cells.items() if (one, other) == (fault, queue)
        )

    def summary_of(self, fault: str) -> str:
        """Returns what happens in the fault; empty if the file does not tell."""
        told = (
            facts.get("summary")
            for name, facts in self.inputs.items()
            if name.startswith(f"{fault}/")
        )
        return str(next(filter(None, told), ""))

    def of_queue(self, queue: str) -> list[Fate]:
        """Returns the fates of a queue that have a figure."""
        return [fate for fate in self.fates.values() if fate.queue == queue and fate.has_figure]


def _fate(fault: str, queue: str, cells: Sequence[SurvivalCell]) -> Fate:
    measured = [cell for cell in cells if cell.has_figure]
    if not measured:
        failures = sorted((cell.failure for cell in cells), key=lambda one: one.startswith(SKIPPED))
        return Fate(fault, queue, failure=failures[0] or "error: no figure")

    def values(name: str) -> list[float]:
        return [value for cell in measured for value in cell.counters[name]]

    def total(name: str) -> int:
        return int(sum(values(name)))

    seeds = zip(values("breaches"), values("lost"), values("worst_seed"))
    worst = max(
        (line for cell in measured for line in cell.timelines),
        key=lambda one: one.rank,
        default=None,
    )
    return Fate(
        fault,
        queue,
        promise=measured[0].promise,
        runs=total("runs"),
        breaches=total("breaches"),
        no_starts=total("no_starts"),
        not_back=total("not_back"),
        lossy=total("lossy"),
        sums={name: total(name) for name in SUMS},
        maxima={name: max(values(name)) for name in MAXIMA},
        seeds={name: int(max(zip(values(name), values(SEEDS[name])))[1]) for name in MAXIMA},
        median_silent=median(values(MEDIAN_SILENT)),
        missing=[why for cell in cells if (why := cell.failure or cell.doubt)],
        worst=worst,
        worst_seed=worst.seed
        if worst
        else int(max(seeds, key=lambda one: (one[0] > 0, one[1]))[2]),
    )


def load_files(files: Iterable[ResultFile]) -> SurvivalResults:
    """Reads the cells of files, and their time lines."""
    files = list(files)
    for file in files:
        if others := [suite for suite in file.suites if suite != SUITE]:
            raise Failure(
                f"{file.path}: results of the suites {SUITE} and {others[0]} do not belong in one "
                "table; show each on its own"
            )
    results = collect(SurvivalResults(), files)
    for file in files:
        if (path := distributions_beside(file.path)).exists():
            add_distributions(results, path)
    return results
