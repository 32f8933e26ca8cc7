"""Runs a campaign: whatever of its plan is not in the journal yet, one process after the other."""

import math
import time
from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import RenderableType

from campaign.identity import cell_identity
from campaign.journal import Journal, Line
from campaign.plan import Cell, Input, Plan
from campaign.process import Interrupted, Limits, Measurement, count_instructions, measure
from campaign.rounds import all_rounds, order, widest
from campaign.scratch import scratch_folder
from campaign.verification import Contender
from console import Bar, Stop, duration
from results.grid import SLOWER
from results.realtime import FIGURES
from results.statistics import LEAST_ROUNDS, SLOW_MEMORY, undisturbed
from words import counted

MOST_ATTEMPTS = 3  # of a cell whose measurement was disturbed

# What may have come from outside, such as a kill: it takes two of them to fail a cell.
MOMENTARY = ("crash", "oom")

NOTABLE = ("wrong", "error", "crash", "unavailable", "oom")  # statuses that are told at once

REDRAWN_AFTER = 5  # seconds, that is what is shown above the bar between the ends of rounds

Step = tuple[Input, Cell, int]  # and the round


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


LEAST_PROBES = 20  # of memory, before one of them is judged by the others

# Callgrind takes fifty times as long.
MOST_COUNTED = 10_000

_PASS_OPTIONS = {
    "total": (),
    "tails": ("--pass=tails",),
    "memory": ("--pass=memory",),
    "instructions": ("--pass=once", "--replay-seconds=60"),
    "counters": ("--pass=counters",),
}


# Shows what there is so far, in so many columns and lines.
AboveBar = Callable[["Runner", int, int], Sequence[RenderableType]]


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
        # Of cells, how many measurements had a figure, took too long, or failed for a moment.
        self._figures: dict[str, int] = defaultdict(int)
        self._timeouts: dict[str, int] = defaultdict(int)
        self._strikes: dict[str, int] = defaultdict(int)
        self._probes: list[float] = []  # what reads of memory took beside measurements, ascending
        self._shown = -math.inf  # when
        is_once = pass_ != "total" or options.deadline is not None
        self._rounds = 1 if is_once else options.rounds
        self._own = [
            (one, cell) for one in plan.inputs for cell in one.cells if self._is_own(one, cell)
        ]
        self._seconds: dict[tuple[str, ...], list[float]] = defaultdict(list)
        cells = {cell.name: (one, cell) for one in plan.inputs for cell in one.cells}
        for line in journal.of_kind("cell"):
            is_own = line.get("pass", "total") == pass_
            if not is_own or self._identities.get(line["cell"]) != line["identity"]:
                continue
            if not self._may_go_well_now(line, *cells[line["cell"]]):
                self._take(line)

    def _is_own(self, one: Input, cell: Cell) -> bool:
        """Whether it is measured in this pass."""
        if self.pass_ != "total" and cell.variant:
            return False
        return self.pass_ != "instructions" or one.size <= MOST_COUNTED

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

    @property
    def total(self) -> int:
        """How many measurements the rounds are: each cell once in each of them."""
        return len(self._own) * self._rounds

    @property
    def settled(self) -> int:
        """How many of these have been made, or need not be, since the cell has failed."""
        made = Counter(
            name
            for (name, round_), lines in self._lines.items()
            if round_ < self._rounds and _settles(lines)
        )
        return sum(
            self._rounds if cell.name in self._failed else made[cell.name] for _, cell in self._own
        )

    def __str__(self) -> str:
        """How much it is, and how much of it is done."""
        of = "" if self.pass_ == "total" else f" of {self.pass_}"
        extent = f"{counted(len(self._own), 'cell')} × {counted(self._rounds, 'round')}"
        return f"{self.settled} of {self.total} measurements{of} ({extent})"

    def run(self, stop: Stop, above: AboveBar) -> None:
        """Measures until nothing is missing or `stop` is set; with a deadline each cell once, as far
        as there is time. Whatever was made is in the journal.
        """
        title = "Measuring" if self.pass_ == "total" else f"Measuring {self.pass_}"
        with Bar(title, self.total) as bar:
            if not bar.is_on_terminal:
                bar.line(f"{self} are done")
            while steps := list(self._steps(self._rounds)):
                with_left = self._with_left(steps, bar)
                self._run(with_left, bar, lambda: self.settled, stop, above)
                if stop.is_set or self._options.deadline is not None:
                    return  # else some have waited for smaller sizes

    def run_widest(self, stop: Stop, above: AboveBar) -> None:
        """Until the deadline, further rounds of the inputs whose intervals are the widest."""
        assert self._options.deadline is not None
        begin = time.monotonic()
        with Bar("Measuring", max(1, int(self._options.deadline - begin)), "s") as bar:
            self._run(self._widest(), bar, lambda: time.monotonic() - begin, stop, above)

    def _run(
        self,
        steps: Iterator[Step],
        bar: Bar,
        reached: Callable[[], float],
        stop: Stop,
        above: AboveBar,
    ) -> None:
        """`reached`: how far it is, as the bar counts."""
        stop.tell = bar.tell
        self._runs = sum(1 for _ in self._journal.of_kind("run"))
        bar.reach(reached())
        with scratch_folder() as scratch:
            for last, step in pairwise(chain([None], steps, [None])):
                if last and not (step and step[0] is last[0] and step[2] == last[2]):
                    self._show(last, step, bar, above)
                if step is None or stop.is_set:
                    break
                self._measure(*step, scratch, bar, stop)
                bar.reach(reached(), step[1].name)

    def _show(self, last: Step, next_: Step | None, bar: Bar, above: AboveBar) -> None:
        """What there is now that an input's round, or the round of all, has been measured."""
        one, _, round_ = last
        is_over = next_ is None or next_[2] != round_
        if bar.is_on_terminal and (is_over or time.monotonic() > self._shown + REDRAWN_AFTER):
            bar.show(lambda width, height: above(self, width, height))
            self._shown = time.monotonic()
        elif is_over and not bar.is_on_terminal:
            told = f"{one.workload}/{one.size}, round {round_ + 1}"
            if round_ < self._rounds:
                told = f"round {round_ + 1} of {self._rounds}: {self.settled} of {self.total}"
            left = bar.left if next_ else ""
            bar.line(", ".join(filter(None, [told, left])))

    def _steps(self, rounds: int) -> Iterator[Step]:
        """What is missing up to so many rounds, in order."""
        own = {cell.name for _, cell in self._own}
        for one, cell, round_ in all_rounds(self._plan, rounds, self._options.seed):
            if (
                cell.name in own
                and cell.name not in self._failed
                and not _settles(self._lines.get((cell.name, round_), []))
            ):
                yield one, cell, round_

    def _with_left(self, steps: list[Step], bar: Bar) -> Iterator[Step]:
        last = -math.inf
        for i, step in enumerate(steps):
            if self._options.deadline is not None and self._is_too_late_for([step]):
                return
            if self._seconds and time.monotonic() > last + 1:  # of thousands it takes some time
                last = time.monotonic()
                bar.left = f"about {duration(self._expect(steps[i:]))} left"
            if step[1].name not in self._failed and not self._waits(*step[:2]):
                yield step

    def _widest(self) -> Iterator[Step]:
        """Round by round."""
        while chosen := widest(self._plan, self._costs(), LEAST_ROUNDS):
            done = [round_ for name, round_ in self._lines if name in _names(chosen)]
            round_ = max(done, default=-1) + 1
            cells = order(chosen.cells, round_, self._options.seed)
            steps = [(chosen, cell, round_) for cell in cells if cell.name not in self._failed]
            if not steps or self._is_too_late_for(steps):
                return
            yield from steps

    def _is_too_late_for(self, steps: list[Step]) -> bool:
        assert self._options.deadline is not None
        return time.monotonic() + self._expect(steps) > self._options.deadline

    def _measure(
        self, one: Input, cell: Cell, round_: int, scratch: Path, bar: Bar, stop: Stop
    ) -> None:
        """All attempts at one cell in one round."""
        if failure := self._why_not(one, cell):
            self._keep(cell, round_, Measurement(failure.partition(":")[0], 0.0, failure))
        while not stop.is_set and cell.name not in self._failed:
            if _settles(self._lines.get((cell.name, round_), [])):
                break
            try:
                self._keep(cell, round_, self._process(cell, scratch, stop))
            except Interrupted:
                break
        if (failure := self._failed.get(cell.name, "")).startswith(NOTABLE):
            bar.line(f"{cell.name}  {failure}")

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
        for size, other in self._smaller(one, cell):
            if self._failed.get(other.name, "").startswith("timeout"):
                return f"skipped: timeout at size {size} already"
            saturated += self._is_saturated(other)
        return "skipped: saturated at two smaller sizes already" if saturated >= 2 else ""

    def _waits(self, one: Input, cell: Cell) -> bool:
        """Whether it is not known yet if a smaller size is hopeless."""
        return any(
            self._timeouts[other.name] > self._figures[other.name]
            and other.name not in self._failed
            for _, other in self._smaller(one, cell)
        )

    def _smaller(self, one: Input, cell: Cell) -> Iterator[tuple[int, Cell]]:
        """The same contender on the same workload, by smaller sizes."""
        for smaller in self._by_workload[one.workload]:
            for other in smaller.cells if smaller.size < one.size else ():
                if (other.backend, other.variant) == (cell.backend, cell.variant):
                    yield smaller.size, other

    def _is_saturated(self, cell: Cell) -> bool:
        """A service that did not keep up, in the first round."""
        lines = self._lines.get((cell.name, 0), [])
        return any(", saturated" in line.get("entry", {}).get("label", "") for line in lines)

    def _waited_for_memory(self, cell: Cell, measured: Measurement) -> float:
        """By how much too long a read of memory took beside it; 0 if that is bearable."""
        probe = measured.entry.get("memory_probe_ns", 0.0)
        if len(self._probes) < LEAST_PROBES or self._plan.is_remote(cell.backend):
            return 0.0
        ratio = float(probe / undisturbed(self._probes))
        return ratio - 1 if ratio > SLOW_MEMORY else 0.0

    def _keep(self, cell: Cell, round_: int, measured: Measurement) -> None:
        slower = self._waited_for_memory(cell, measured)
        if slower and measured.status == "ok":
            measured.status = "noisy"
        content: dict[str, Any] = {
            "cell": cell.name,
            "round": round_,
            "identity": self._identities[cell.name],
            "pass": self.pass_,
            "run": self._runs,
            "status": measured.status,
            "seconds": round(measured.seconds, 3),
            "disturbance": measured.disturbance + slower,
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
        failure = str(line.get("failure", ""))
        if failure and self._is_final(name, line, failure):
            self._failed[name] = failure
        self._figures[name] += not failure
        if (probe := line.get("entry", {}).get("memory_probe_ns", 0)) > 0:
            insort(self._probes, float(probe))
        _, workload, size, contender = name.rsplit("/", 3)
        if line["seconds"]:
            for kind in ((workload, size, contender), (size, contender), (contender,), ()):
                self._seconds[kind].append(line["seconds"])

    def _is_final(self, name: str, line: Line, failure: str) -> bool:
        """Whether one more failure means that the cell is not measured any more."""
        if line["seconds"] and failure.startswith("timeout"):
            # The machine may have been busy: hopeless is what mostly takes too long.
            self._timeouts[name] += 1
            enough = 1 if self._rounds == 1 else 2
            return self._timeouts[name] >= max(enough, self._figures[name] + 1)
        if line["seconds"] and failure.startswith(MOMENTARY):
            self._strikes[name] += 1
            return self._strikes[name] > 1
        return True

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

    def _expect(self, steps: list[Step]) -> float:
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


def _settles(lines: list[Line]) -> bool:
    """Whether a cell needs no further attempt in a round, after these."""
    return len(lines) >= MOST_ATTEMPTS or any(
        line["status"] in ("ok", "timeout", "skipped") for line in lines
    )


def _names(one: Input) -> set[str]:
    return {cell.name for cell in one.cells}
