"""Runs a campaign: whatever of its plan is not in the journal yet, one process after the other."""

import math
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from campaign.identity import cell_identity
from campaign.journal import Journal, Line
from campaign.plan import Cell, Input, Plan
from campaign.process import Interrupted, Limits, Measurement, count_instructions, measure
from campaign.rounds import all_rounds, order, widest
from campaign.verification import Contender
from console import Bar, Stop, duration
from results.grid import SLOWER
from results.realtime import FIGURES
from results.statistics import LEAST_ROUNDS

MOST_ATTEMPTS = 3  # of a cell whose measurement was disturbed

# What may have come from outside, such as a kill: it takes two of them to fail a cell.
MOMENTARY = ("crash", "oom")


@dataclass(frozen=True)
class Options:
    """How a campaign is run; nothing of it changes what a figure means."""

    cache: Path  # of traces
    rounds: int  # of all cells
    deadline: float | None  # of time.monotonic(); then as many rounds as fit
    memory: int  # bytes, that a cell may use
    cell_seconds: float | None  # that a process may take; None: as its suite says
    processor: int | None  # to which measuring processes are bound
    slow_down: float = 0  # percent, of the cells that are slowed down
    seed: int = 1  # of the order
    extent: str = ""  # how many rounds or how much time, as an option, if not what the suite says
    retry: bool = False  # what has failed in an earlier start


# Callgrind takes fifty times as long.
MOST_COUNTED = 10_000

_PASS_OPTIONS = {
    "total": (),
    "tails": ("--pass=tails",),
    "memory": ("--pass=memory",),
    "instructions": ("--pass=once", "--replay-seconds=60"),
    "counters": ("--pass=counters",),
}


class Runner:
    """The state of one pass of a campaign, as its journal has it."""

    def __init__(
        self,
        plan: Plan,
        journal: Journal,
        options: Options,
        unverified: dict[Contender, str],
        pass_: str = "total",
        earlier: "Runner | None" = None,
    ) -> None:
        """`unverified`: what is wrong with backends, as far as is known; may be set again. `earlier`: a
        pass whose failures hold for this one too.
        """
        self.unverified = unverified
        self.pass_ = pass_
        self._plan = plan
        self._journal = journal
        self._options = options
        self._earlier = earlier
        self._runs = sum(1 for _ in journal.of_kind("run"))
        self._has_context = any(journal.of_kind("context"))
        self._identities = {
            cell.name: cell_identity(plan, one, cell, [pass_, *self._slow_down(cell)])
            for one in plan.inputs
            for cell in one.cells
        }
        self._by_workload: dict[str, list[Input]] = defaultdict(list)
        for one in plan.inputs:
            self._by_workload[one.workload].append(one)
        # Of each cell and round the lines, an attempt each.
        self._lines: dict[tuple[str, int], list[Line]] = defaultdict(list)
        self._failed: dict[str, str] = {}  # cells, with what became of them
        self._strikes: dict[str, int] = defaultdict(int)  # of cells, how often they have failed
        self._seconds: dict[tuple[str, ...], list[float]] = defaultdict(list)
        cells = {cell.name: (one, cell) for one in plan.inputs for cell in one.cells}
        for line in journal.of_kind("cell"):
            is_own = line.get("pass", "total") == pass_
            if not is_own or self._identities.get(line["cell"]) != line["identity"]:
                continue
            if not self._may_go_well_now(line, *cells[line["cell"]]):
                self._take(line)

    @property
    def extent(self) -> str:
        """The option that remakes as much."""
        return self._options.extent

    @property
    def chosen(self) -> dict[tuple[str, int], Line]:
        """Of each cell and round, the result: of several attempts the least disturbed."""
        return {key: _least_disturbed(lines) for key, lines in self._lines.items()}

    def failure(self, cell: Cell) -> str:
        """Not empty: why it has no figure."""
        return self._failed.get(cell.name, "")

    def missing(self) -> int:
        """How many measurements the rounds still need."""
        return sum(1 for _ in self._steps(self._options.rounds))

    def run(self, stop: Stop) -> int:
        """Measures until nothing is missing or `stop` is set; with a deadline each cell once, as far as
        there is time.

        Returns how many measurements were made. Whatever was made is in the journal.
        """
        title = "Measuring" if self.pass_ == "total" else f"Measuring {self.pass_}"
        is_limited = self._options.deadline is not None
        total = sum(1 for _ in self._steps(1)) if is_limited else self.missing()
        with Bar(title, total) as bar:
            return self._run(self._once() if is_limited else self._steps_with_left(bar), bar, stop)

    def run_widest(self, stop: Stop) -> int:
        """Until the deadline, further rounds of the inputs whose intervals are the widest."""
        assert self._options.deadline is not None
        begin = time.monotonic()
        with Bar("Measuring", max(1, int(self._options.deadline - begin)), "s") as bar:
            return self._run(self._widest(bar, begin), bar, stop)

    def _run(self, steps: Iterator[tuple[Input, Cell, int]], bar: Bar, stop: Stop) -> int:
        made = 0
        self._runs = sum(1 for _ in self._journal.of_kind("run"))
        with tempfile.TemporaryDirectory(prefix="timerbench-") as scratch:
            for one, cell, round_ in steps:
                if stop.is_set:
                    break
                made += self._measure(one, cell, round_, Path(scratch), bar, stop)
        return made

    def _steps(self, rounds: int) -> Iterator[tuple[Input, Cell, int]]:
        """What is missing up to so many rounds, in order."""
        if self.pass_ != "total":
            rounds = 1
        for one, cell, round_ in all_rounds(self._plan, rounds, self._options.seed):
            if self.pass_ != "total" and cell.variant:
                continue
            if self.pass_ == "instructions" and one.size > MOST_COUNTED:
                continue
            if cell.name not in self._failed and not self._is_done(cell, round_):
                yield one, cell, round_

    def _steps_with_left(self, bar: Bar) -> Iterator[tuple[Input, Cell, int]]:
        steps = list(self._steps(self._options.rounds))
        last = -math.inf
        for i, step in enumerate(steps):
            if self._seconds and time.monotonic() > last + 1:  # of thousands it takes some time
                last = time.monotonic()
                bar.left = f"about {duration(self._expect(steps[i:]))} left"
            if step[1].name not in self._failed:
                yield step

    def _once(self) -> Iterator[tuple[Input, Cell, int]]:
        for step in self._steps(1):
            if self._is_too_late_for([step]):
                return
            yield step

    def _widest(self, bar: Bar, begin: float) -> Iterator[tuple[Input, Cell, int]]:
        """Round by round."""
        while chosen := widest(self._plan, self._costs(), LEAST_ROUNDS):
            done = [round_ for name, round_ in self._lines if name in _names(chosen)]
            round_ = max(done, default=-1) + 1
            cells = order(chosen.cells, round_, self._options.seed)
            steps = [(chosen, cell, round_) for cell in cells if cell.name not in self._failed]
            if not steps or self._is_too_late_for(steps):
                return
            for step in steps:
                bar.reach(time.monotonic() - begin)
                yield step

    def _is_too_late_for(self, steps: list[tuple[Input, Cell, int]]) -> bool:
        assert self._options.deadline is not None
        return time.monotonic() + self._expect(steps) > self._options.deadline

    def _measure(
        self, one: Input, cell: Cell, round_: int, scratch: Path, bar: Bar, stop: Stop
    ) -> int:
        """All attempts at one cell in one round; how many."""
        if failure := self._why_not(one, cell):
            self._keep(cell, round_, Measurement(failure.partition(":")[0], 0.0, failure))
            bar.step(cell.name, failure, notable=True)
            return 0
        made = 0
        while not self._is_done(cell, round_) and cell.name not in self._failed and not stop.is_set:
            try:
                measured = self._process(cell, scratch, stop)
            except Interrupted:
                break
            self._keep(cell, round_, measured)
            made += 1
        if attempts := self._lines.get((cell.name, round_)):
            result = _least_disturbed(attempts)
            bar.step(cell.name, _sentence(result), notable="failure" in result)
        return made

    def _why_not(self, one: Input, cell: Cell) -> str:
        """Why it need not be measured, if so."""
        program = self._plan.build(cell).timerbench
        unverified = self.unverified.get((program, cell.backend), "")
        earlier = self._earlier.failure(cell) if self._earlier else ""
        return unverified or one.failure or earlier or self._skipped(one, cell)

    def _may_go_well_now(self, line: Line, one: Input, cell: Cell) -> bool:
        """Whether what has failed in an earlier start is to be tried again."""
        if not (failure := str(line.get("failure", ""))):
            return False
        if self._options.retry or failure.startswith("unavailable"):
            return True
        if not line["seconds"]:  # it was not tried then
            return not self._why_not(one, cell)
        now, then = self._allowed(cell), line.get("allowed", {})
        return any(now[key] > 1.1 * limit for key, limit in then.items())

    def _allowed(self, cell: Cell) -> dict[str, float]:
        """What it may take, of all that it could exceed."""
        limits = self._limits(cell)
        replay = self._plan.facts.get("replay_seconds", {})
        kind = "remote" if self._plan.is_remote(cell.backend) else "local"
        return {
            "seconds": limits.seconds,
            "memory": limits.memory,
            "replay_seconds": replay.get(kind, 0),
        }

    def _process(self, cell: Cell, scratch: Path, stop: Stop) -> Measurement:
        command, limits = self._command(cell), self._limits(cell)
        if self.pass_ == "instructions":
            return count_instructions(command, cell.measured_name, scratch, limits, stop)
        waits = not self._plan.is_replayed or self._plan.is_remote(cell.backend)
        sleeps = waits or self.pass_ != "total"  # those find out themselves what is their own
        return measure(command, cell.measured_name, scratch, limits, stop, sleeps=sleeps)

    def _command(self, cell: Cell) -> list[str]:
        choice = [option for option in self._plan.choice if not option.startswith("--backends=")]
        return [
            *(str(self._plan.build(cell).timerbench), "run", *choice),
            *(f"--backends={cell.backend}",)
            * (self._plan.is_replayed or cell.backend != "control"),
            f"--cache={self._options.cache}",
            *self._slow_down(cell),
            *_PASS_OPTIONS[self.pass_],
        ]

    def _slow_down(self, cell: Cell) -> list[str]:
        return [f"--slow-down={self._options.slow_down}"] if cell.variant == SLOWER else []

    def _limits(self, cell: Cell) -> Limits:
        seconds = self._options.cell_seconds
        is_remote = self._plan.is_remote(cell.backend)
        if seconds is None and self._plan.is_replayed:
            # Checking, measuring, and as much again for its trace and all else.
            seconds = (
                60 + 6 * self._plan.facts["replay_seconds"]["remote" if is_remote else "local"]
            )
        elif seconds is None:
            seconds = 60 + 20 * self._plan.facts["seconds"]
        is_bound = self._plan.is_replayed and not is_remote
        return Limits(seconds, self._options.memory, self._options.processor if is_bound else None)

    def _skipped(self, one: Input, cell: Cell) -> str:
        """Why a cell need not be tried: its backend has not managed a smaller size in time."""
        saturated = 0
        for smaller in self._by_workload[one.workload]:
            if smaller.size >= one.size:
                continue
            for other in smaller.cells:
                is_same = (other.backend, other.variant) == (cell.backend, cell.variant)
                if is_same and self._failed.get(other.name, "").startswith("timeout"):
                    return f"skipped: timeout at size {smaller.size} already"
                saturated += is_same and self._is_saturated(other)
        return "skipped: saturated at two smaller sizes already" if saturated >= 2 else ""

    def _is_saturated(self, cell: Cell) -> bool:
        """A service that did not keep up, in the first round."""
        lines = self._lines.get((cell.name, 0), [])
        return any(", saturated" in line.get("entry", {}).get("label", "") for line in lines)

    def _keep(self, cell: Cell, round_: int, measured: Measurement) -> None:
        content: dict[str, Any] = {
            "cell": cell.name,
            "round": round_,
            "identity": self._identities[cell.name],
            "pass": self.pass_,
            "run": self._runs,
            "status": measured.status,
            "seconds": round(measured.seconds, 3),
            "disturbance": measured.disturbance,
        }
        if measured.failure:
            content["failure"] = measured.failure
            allowed = self._allowed(cell) if measured.seconds else {}
            exceeded = {"timeout": ("seconds", "replay_seconds"), "oom": ("memory",)}
            kept = exceeded.get(measured.status, ())
            content["allowed"] = {key: allowed[key] for key in kept if key in allowed}
        else:
            content["entry"] = measured.entry
        if measured.distributions:
            content["distributions"] = measured.distributions
        if measured.context and not self._has_context:
            self._journal.append("context", context=measured.context)
            self._has_context = True
        self._take(self._journal.append("cell", **content))

    def _take(self, line: Line) -> None:
        """Into the state, what has been done."""
        name = line["cell"]
        self._lines[name, line["round"]].append(line)
        if failure := line.get("failure"):
            self._strikes[name] += 1
            is_momentary = line["seconds"] and failure.startswith(MOMENTARY)
            if not is_momentary or self._strikes[name] > 1:
                self._failed[name] = failure
        _, workload, size, contender = name.rsplit("/", 3)
        if line["seconds"]:
            for kind in ((workload, size, contender), (size, contender), (contender,), ()):
                self._seconds[kind].append(line["seconds"])

    def _is_done(self, cell: Cell, round_: int) -> bool:
        lines = self._lines.get((cell.name, round_), [])
        return len(lines) >= MOST_ATTEMPTS or any(line["status"] == "ok" for line in lines)

    def _costs(self) -> dict[str, list[float]]:
        """Of the cells that have figures, those of each round."""
        figure = FIGURES.get(self._plan.suite, "ns_per_item")
        costs = defaultdict(list)
        for (name, _), line in self.chosen.items():
            if name not in self._failed and "entry" in line:
                value = float(line["entry"].get(figure, 0))
                if value > 0:
                    costs[name].append(value)
        return costs

    def _expect(self, steps: list[tuple[Input, Cell, int]]) -> float:
        """Seconds that these steps will take, by what the same or similar ones took."""
        total = 0.0
        for one, cell, _ in steps:
            contender = cell.name.rsplit("/", 1)[1]
            kinds = ((one.workload, str(one.size), contender), (str(one.size), contender))
            known = next((k for k in (*kinds, (contender,), ()) if k in self._seconds), None)
            total += fmean(self._seconds[known]) if known is not None else 0
        return total


def _least_disturbed(attempts: list[Line]) -> Line:
    return min(
        attempts,
        key=lambda line: ("failure" in line, line["status"] == "noisy", line["disturbance"]),
    )


def _names(one: Input) -> set[str]:
    return {cell.name for cell in one.cells}


_TOLD = {
    "ns_per_item": "ns",
    "worst_ns": "ns, the longest advance",
    "bytes_per_timer": "bytes per timer",
    "instructions_per_item": "instructions",
    "cycles_per_item": "cycles",
}


def _sentence(result: Line) -> str:
    if failure := result.get("failure"):
        return str(failure)
    entry = result["entry"]
    figure = next(
        (f"{entry[key]:.2f} {unit}" for key, unit in _TOLD.items() if key in entry),
        entry.get("label", ""),
    )
    return f"round {result['round'] + 1}: {figure}{', noisy' * (result['status'] == 'noisy')}"
