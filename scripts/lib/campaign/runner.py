"""Runs a campaign: measures each cell that the journal lacks, in a process of its own."""

import math
import tempfile
import time
from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
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
from results.realtime import FIGURES, figure_of
from results.statistics import LEAST_ROUNDS, SLOW_MEMORY, usual_read
from results.survival import SUITE as FAULTS
from words import counted

MOST_ATTEMPTS = 3  # at a cell whose measurement was disturbed

# Failures that may come from outside, such as a kill. Two of them fail a cell.
MOMENTARY = ("crash", "oom")

NOTABLE = ("wrong", "error", "crash", "unavailable", "oom")  # statuses that are printed at once

REDRAWN_AFTER = 5  # seconds between redraws of the table above the bar, within a round

Step = tuple[Input, Cell, int]  # with the round


@dataclass(frozen=True)
class Options:
    """How a campaign runs; none of these options changes what a figure means."""

    cache: Path  # of traces
    rounds: int  # of all cells
    deadline: float | None  # in time.monotonic(); rounds continue until then
    memory: int  # bytes for each cell
    cell_seconds: float | None  # for each process; None: the suite's limit
    processor: int | None  # to which measuring processes are bound
    slow_down: float = 0  # percent by which the SLOWER cells are slowed down
    seed: int = 1  # of the order
    retry: bool = False  # measure again what failed in an earlier start
    jobs: int = 1  # processes that measure at the same time


LEAST_PROBES = 20  # reads of memory that are needed to judge one of them

# A run of the suite faults ends by itself, for each of its waits has a limit: beside the time of its
# strikes, 60 s for the engine to start again after the last one, 60 s to fire what is left, and a minute
# for all else.
MOST_SECONDS_AFTER_STRIKES = 60 + 60 + 60

# A cell of the suite durable ends by itself if arming takes more than 45 s for each million of timers;
# an engine that is started again may take as long to read them.
SECONDS_A_PENDING_TIMER = 2 * 45 / 1e6

# Callgrind takes fifty times as long.
MOST_COUNTED = 10_000

_PASS_OPTIONS = {
    "total": (),
    "tails": ("--pass=tails",),
    "memory": ("--pass=memory",),
    "instructions": ("--pass=once", "--replay-seconds=60"),
    "counters": ("--pass=counters",),
}


# Returns what to show above the bar, for so many columns and lines.
AboveBar = Callable[["Runner", int, int], Sequence[RenderableType]]


class Runner:
    """The state of one pass of a campaign, built from its journal."""

    def __init__(
        self,
        plan: Plan,
        journal: Journal,
        options: Options,
        unverified: dict[Contender, str],
        pass_: str = "total",
        earlier: "Runner | None" = None,
    ) -> None:
        """`unverified`: known faults of backends; may be set again. `earlier`: a pass whose
        failures also apply to this one.
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
        # The lines of each cell and round, one for each attempt.
        self._lines: dict[tuple[str, int], list[Line]] = defaultdict(list)
        self._failed: dict[str, str] = {}  # the failure, by cell
        # By cell: the number of figures, time-outs and momentary failures.
        self._figures: dict[str, set[int]] = defaultdict(set)  # the rounds that have one
        self._timeouts: dict[str, int] = defaultdict(int)
        self._strikes: dict[str, int] = defaultdict(int)
        self._probes: list[float] = []  # durations of memory reads beside measurements, ascending
        self._shown = -math.inf  # time of the last redraw
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
        """Whether this pass measures the cell."""
        if self.pass_ != "total" and cell.variant:
            return False
        return self.pass_ != "instructions" or one.size <= MOST_COUNTED

    @property
    def chosen(self) -> dict[tuple[str, int], Line]:
        """The result of each cell and round: the least disturbed of several attempts."""
        return {key: _least_disturbed(lines) for key, lines in self._lines.items()}

    def failure(self, cell: Cell) -> str:
        """Why the cell has no figure; empty if it may have one."""
        return self._failed.get(cell.name, "")

    @property
    def total(self) -> int:
        """The number of measurements: every cell once in each round."""
        return len(self._own) * self._rounds

    @property
    def settled(self) -> int:
        """The number of measurements that are made, or not needed because the cell has failed."""
        made = Counter(
            name
            for (name, round_), lines in self._lines.items()
            if round_ < self._rounds and _settles(lines)
        )
        return sum(
            self._rounds if cell.name in self._failed else made[cell.name] for _, cell in self._own
        )

    def __str__(self) -> str:
        """Says how many measurements there are, and how many are made."""
        of = "" if self.pass_ == "total" else f" of {self.pass_}"
        extent = f"{counted(len(self._own), 'cell')} × {counted(self._rounds, 'round')}"
        return f"{self.settled} of {self.total} measurements{of} ({extent})"

    def run(self, stop: Stop, above: AboveBar) -> None:
        """Measures until nothing is missing or `stop` is set; with a deadline, each cell once as
        long as there is time. All measurements are in the journal.
        """
        title = "Measuring" if self.pass_ == "total" else f"Measuring {self.pass_}"
        with Bar(title, self.total) as bar:
            if not bar.is_on_terminal:
                bar.line(f"{self} are done")
            while steps := list(self._steps(self._rounds)):
                with_left = self._with_left(steps, bar)
                self._run(with_left, bar, lambda: self.settled, stop, above)
                if stop.is_set or self._options.deadline is not None:
                    return  # else some cells wait for smaller sizes

    def run_widest(self, stop: Stop, above: AboveBar) -> None:
        """Measures more rounds of the inputs with the widest intervals until the deadline."""
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
        """`reached`: the position of the bar."""
        stop.tell = bar.tell
        self._runs = sum(1 for _ in self._journal.of_kind("run"))
        bar.reach(reached())
        running: dict[Future[Measurement], Step] = {}
        with scratch_folder() as scratch, ThreadPoolExecutor(self._options.jobs) as pool:

            def begin(step: Step) -> None:
                running[pool.submit(self._task(*step, scratch, stop))] = step

            def await_one() -> None:
                for task in wait(running, return_when=FIRST_COMPLETED).done:
                    step = running.pop(task)
                    self._end(*step[1:], task, bar)
                    if not stop.is_set and not self._is_settled(*step[1:]):
                        begin(step)
                    bar.reach(reached(), step[1].name)

            try:
                for last, step in pairwise(chain([None], steps, [None])):
                    while running and (step is None or stop.is_set):
                        await_one()
                    if last and not (step and step[0] is last[0] and step[2] == last[2]):
                        self._show(last, step, bar, above)
                    if step is None or stop.is_set:
                        break
                    begin(step)
                    # The next step may depend on how this one ends.
                    while len(running) == self._options.jobs:
                        await_one()
            except BaseException:
                stop.end_at_once()  # else the pool waits for what runs
                raise

    def _show(self, last: Step, next_: Step | None, bar: Bar, above: AboveBar) -> None:
        """Updates the table after each round of an input, or of all inputs."""
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
        """Yields the missing steps of the first `rounds` rounds, in order."""
        own = {cell.name for _, cell in self._own}
        for one, cell, round_ in all_rounds(self._plan, rounds, self._options.seed):
            if cell.name in own and not self._is_settled(cell, round_):
                yield one, cell, round_

    def _with_left(self, steps: list[Step], bar: Bar) -> Iterator[Step]:
        last = -math.inf
        for i, step in enumerate(steps):
            if self._options.deadline is not None and self._is_too_late_for([step]):
                return
            if self._seconds and time.monotonic() > last + 1:  # a forecast takes time
                last = time.monotonic()
                seconds = self._expect(steps[i:]) / self._options.jobs
                bar.left = f"about {duration(seconds)} left"
            if step[1].name not in self._failed and not self._waits(*step[:2]):
                yield step

    def _widest(self) -> Iterator[Step]:
        """Yields the steps of further rounds, one round at a time."""
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

    def _task(
        self, one: Input, cell: Cell, round_: int, scratch: Path, stop: Stop
    ) -> Callable[[], Measurement]:
        """Returns what makes one attempt at a cell in one round."""
        if failure := self._why_not(one, cell):
            return partial(Measurement, failure.partition(":")[0], 0.0, failure)
        return partial(self._process, cell, round_, scratch, stop)

    def _end(self, cell: Cell, round_: int, attempt: Future[Measurement], bar: Bar) -> None:
        """Keeps what the attempt has found."""
        had_failed = cell.name in self._failed
        try:
            self._keep(cell, round_, attempt.result())
        except Interrupted:
            return
        failure = self._failed.get(cell.name, "")
        if failure.startswith(NOTABLE) and not had_failed:
            bar.line(f"{cell.name}  {failure}")

    def _is_settled(self, cell: Cell, round_: int) -> bool:
        """Whether the cell needs no further attempt in this round."""
        return cell.name in self._failed or _settles(self._lines.get((cell.name, round_), []))

    def _why_not(self, one: Input, cell: Cell) -> str:
        """Returns why the cell need not be measured; empty if it must be."""
        program = self._plan.build(cell).timerbench
        unverified = self.unverified.get((program, cell.backend), "")
        earlier = self._earlier.failure(cell) if self._earlier else ""
        return unverified or one.failure or earlier or self._skipped(one, cell)

    def _may_go_well_now(self, line: Line, one: Input, cell: Cell) -> bool:
        """Whether to repeat a measurement that failed in an earlier start."""
        if not (failure := str(line.get("failure", ""))):
            return False
        if self._options.retry or failure.startswith("unavailable"):
            return True
        if not line["seconds"]:  # it was not tried
            return not self._why_not(one, cell)
        now, then = self._allowed(cell), line.get("allowed", {})
        return any(now[key] > 1.1 * limit for key, limit in then.items())

    def _allowed(self, cell: Cell) -> dict[str, float]:
        """Returns the limits that apply to the cell."""
        limits = self._limits(cell)
        replay = self._plan.facts.get("replay_seconds", {})
        kind = "remote" if self._plan.is_remote(cell.backend) else "local"
        return {
            "seconds": limits.seconds,
            "memory": limits.memory,
            "replay_seconds": replay.get(kind, 0),
        }

    def _process(self, cell: Cell, round_: int, scratch: Path, stop: Stop) -> Measurement:
        command, limits = self._command(cell, round_), self._limits(cell)
        waits = not self._plan.is_replayed or self._plan.is_remote(cell.backend)
        sleeps = waits or self.pass_ != "total"  # the other passes measure disturbance themselves
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            own = Path(folder)
            if self.pass_ == "instructions":
                return count_instructions(command, cell.measured_name, own, limits, stop)
            return measure(command, cell.measured_name, own, limits, stop, sleeps=sleeps)

    def _command(self, cell: Cell, round_: int) -> list[str]:
        own: tuple[str, ...] = ("--backends=", "--process=")
        seed = []
        if self._plan.suite == FAULTS:  # a round has runs that no other has
            own += ("--seed=",)
            seed = [f"--seed={self._plan.facts['seed'] + round_ * cell.size}"]
        choice = [option for option in self._plan.choice if not option.startswith(own)]
        return [
            *(str(self._plan.build(cell).timerbench), "run", *choice),
            *self._plan.process_options(cell.backend),
            *seed,
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
            # Verification and measuring, and the same time again for loading the trace and the
            # rest.
            seconds = (
                60 + 6 * self._plan.facts["replay_seconds"]["remote" if is_remote else "local"]
            )
        elif seconds is None and self._plan.suite == FAULTS:
            a_run = self._plan.facts["seconds"] + MOST_SECONDS_AFTER_STRIKES
            seconds = 60 + a_run * cell.size
        elif seconds is None:
            seconds = 60 + 20 * self._plan.facts["seconds"]
            if self._plan.suite == "durable":
                seconds += SECONDS_A_PENDING_TIMER * cell.size
        is_bound = self._plan.is_replayed and not is_remote
        return Limits(seconds, self._options.memory, self._options.processor if is_bound else None)

    def _skipped(self, one: Input, cell: Cell) -> str:
        """Returns why a cell is skipped: its backend exceeded a limit at a smaller size."""
        saturated = 0
        for size, other in self._smaller(one, cell):
            if self._failed.get(other.name, "").startswith("timeout"):
                return f"skipped: timeout at size {size} already"
            saturated += self._is_saturated(other)
        return "skipped: saturated at two smaller sizes already" if saturated >= 2 else ""

    def _waits(self, one: Input, cell: Cell) -> bool:
        """Whether smaller sizes have not yet shown if the cell is feasible."""
        return any(
            self._timeouts[other.name] > len(self._figures[other.name])
            and other.name not in self._failed
            for _, other in self._smaller(one, cell)
        )

    def _smaller(self, one: Input, cell: Cell) -> Iterator[tuple[int, Cell]]:
        """Yields the same contender on the same workload at smaller sizes."""
        for smaller in self._by_workload[one.workload]:
            for other in smaller.cells if smaller.size < one.size else ():
                if (other.backend, other.variant) == (cell.backend, cell.variant):
                    yield smaller.size, other

    def _is_saturated(self, cell: Cell) -> bool:
        """Whether the service was saturated in its first round."""
        lines = self._lines.get((cell.name, 0), [])
        return any(", saturated" in line.get("entry", {}).get("label", "") for line in lines)

    def _waited_for_memory(self, cell: Cell, measured: Measurement) -> float:
        """Returns by how much a read of memory beside the measurement was too slow; 0 if that is
        acceptable.
        """
        probe = measured.entry.get("memory_probe_ns", 0.0)
        if len(self._probes) < LEAST_PROBES or self._plan.is_remote(cell.backend):
            return 0.0
        ratio = float(probe / usual_read(self._probes))
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
        """Updates the state from a line of the journal."""
        name = line["cell"]
        self._lines[name, line["round"]].append(line)
        failure = str(line.get("failure", ""))
        if failure and self._is_final(name, line, failure):
            self._failed[name] = failure
        if not failure:
            self._figures[name].add(line["round"])
        if (probe := line.get("entry", {}).get("memory_probe_ns", 0)) > 0:
            insort(self._probes, float(probe))
        _, workload, size, contender = name.rsplit("/", 3)
        if line["seconds"]:
            for kind in ((workload, size, contender), (size, contender), (contender,), ()):
                self._seconds[kind].append(line["seconds"])

    def _is_final(self, name: str, line: Line, failure: str) -> bool:
        """Whether this failure is the last one: the cell is not measured again."""
        if line["seconds"] and failure.startswith("timeout"):
            # The machine may have been busy, so a cell fails only if most of its rounds take too
            # long.
            self._timeouts[name] += 1
            enough = 1 if self._rounds == 1 else 2
            return self._timeouts[name] >= max(enough, len(self._figures[name]) + 1)
        if line["seconds"] and failure.startswith(MOMENTARY):
            self._strikes[name] += 1
            return self._strikes[name] > 1
        return True

    def _costs(self) -> dict[str, list[float]]:
        """Returns the costs by round of the cells that have figures."""
        suite = self._plan.suite
        costs = defaultdict(list)
        for (name, _), line in self.chosen.items():
            if name not in self._failed and "entry" in line:
                figure = figure_of(suite, name.split("/")[1]) if suite in FIGURES else "ns_per_item"
                value = float(line["entry"].get(figure, 0))
                if value > 0:
                    costs[name].append(value)
        return costs

    def _expect(self, steps: list[Step]) -> float:
        """Returns the seconds that these steps will take, from the times of the same or similar
        steps.
        """
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
    """Whether a cell needs no further attempt in a round."""
    return len(lines) >= MOST_ATTEMPTS or any(
        line["status"] in ("ok", "timeout", "skipped") for line in lines
    )


def _names(one: Input) -> set[str]:
    return {cell.name for cell in one.cells}
