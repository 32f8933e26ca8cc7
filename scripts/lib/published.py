"""The published campaigns, results/DATE-MACHINE-SUITE, and what sentences say of them.

Of each suite the latest folder counts. A second campaign of a suite is named SUITE-again, to compare
its orders. A campaign of service_peers is named after it and the suite:
service_peers_accuracy.
"""

import re
import textwrap
from functools import cache
from pathlib import Path

from console import Failure
from results import realtime, replays, survival
from results.grid import read_files
from results.passes import PASSES, PassResults, load_pass
from results.realtime import RealtimeResults
from results.replays import MARGIN, Cell, Results
from results.survival import SurvivalResults
from style import LIBRARY
from tables.chosen import rough_time
from words import power

ROOT = Path(__file__).resolve().parents[2]
FOLDER = re.compile(r"^\d+-\d+-\d+-[a-z0-9]+-[a-z0-9]+-")  # its date and its machine
WIDTH = 110

NO_BREAK = "\u00a0"  # becomes a space when lines are broken

AGAIN = "-again"  # after the suite of a second campaign
MAIN = "full"  # the suite that a reader meets first
DESIGNS = "ablation"  # has designs that nobody takes
LOGS = "log_"  # backends whose buckets are append-only logs

RUNTIMES = {  # what programs take, and the backend of the suite processes that is it
    "Go's timers": "go_runtime_timers",
    "Node's timers": "node_timers",
    "Java's `DelayQueue`": "java_delay_queue",
    "Java's `PriorityQueue`": "java_priority_queue",
}

FEW = 1_000
SIZE = 100_000
MANY = 10_000_000


def latest(suite: str) -> Path:
    """Returns the latest folder of a suite."""
    if folder := find(suite):
        return folder
    raise Failure(f"results: has no campaign of {suite}; put its folder there")


def find(suite: str) -> Path | None:
    """Returns the same, or None if there is none."""
    return _latest_by_suite().get(suite)


def latest_of_all() -> list[Path]:
    """Returns the latest folder of each suite: MAIN first, DESIGNS last, the others by name."""
    by_suite = _latest_by_suite()
    order = sorted(by_suite, key=lambda suite: (suite != MAIN, suite == DESIGNS, suite))
    return [by_suite[suite] for suite in order]


def repeated() -> list[str]:
    """Returns the suites that were measured twice, whose second campaign is SUITE-again."""
    suites = _latest_by_suite()
    return [suite for suite in suites if suite + AGAIN in suites]


def measured_once() -> list[str]:
    """Returns the other suites."""
    twice = repeated()
    return [suite for suite in _latest_by_suite() if suite.removesuffix(AGAIN) not in twice]


def place(folder: Path) -> str:
    """Returns the path of a folder as seen from docs/."""
    return f"../{folder.relative_to(ROOT)}"


def linked(suite: str, text: str) -> str:
    """Returns a link from docs/ to the table of the latest campaign of a suite."""
    return f"[{text}]({place(latest(suite))}/table.md)"


def _latest_by_suite() -> dict[str, Path]:
    folders = sorted(ROOT.glob("results/2*"))
    for folder in folders:
        if not FOLDER.match(folder.name):
            raise Failure(f"{folder}: is not named DATE-MAKER-KIND-SUITE, so its suite is unknown")
    return {FOLDER.sub("", folder.name): folder for folder in folders}


@cache
def costs_of(suite: str) -> Results:
    """Loads the latest campaign of a suite, of which several sentences tell."""
    return replays.load([latest(suite)])


@cache
def services_of(suite: str) -> RealtimeResults:
    """Does the same for a suite on the wall clock."""
    return realtime.load_files(read_files([latest(suite)]))


@cache
def survivors() -> SurvivalResults:
    """Does the same for the suite faults."""
    return survival.load_files(read_files([latest(survival.SUITE)]))


def cell_of(results: Results, workload: str, size: int, name: str) -> Cell:
    """Returns the cell of a backend that must have a figure."""
    cell = results.cell(workload, size, name)
    if not cell or not cell.has_figure:
        raise Failure(f"results: {name} has no figure for {workload} of {size} timers")
    return cell


def cost_of(results: Results, workload: str, size: int, name: str) -> float:
    """Returns the cost of a backend."""
    return cell_of(results, workload, size, name).cost


def costs(results: Results, workload: str, precision: str, size: int) -> dict[str, float]:
    """Returns the costs of backends, the cheapest first."""
    found = {
        name: cell.cost
        for name in results.backends_by_precision()[precision]
        if (cell := results.cell(workload, size, name)) and cell.has_figure
    }
    if not found:
        raise Failure(f"results: nobody has a figure for {workload} of {size} timers, {precision}")
    return dict(sorted(found.items(), key=lambda one: one[1]))


def best_without_logs(
    results: Results, workload: str, precision: str, size: int
) -> tuple[str, float]:
    """Returns the cheapest backend that has no logs, and its cost."""
    for name, cost in costs(results, workload, precision, size).items():
        if not name.startswith(LOGS):
            return name, cost
    raise Failure(f"results: only logs have a figure for {workload} of {size} timers, {precision}")


@cache
def tails(suite: str = "tails") -> PassResults:
    """Loads how long single calls take, of the latest campaign of a suite."""
    return load_pass(latest(suite) / PASSES["tails"])


def value_of(
    results: PassResults | RealtimeResults, scenario: str, size: int, name: str, counter: str
) -> float:
    """Returns a counter of a backend or service."""
    cell = results.cell(scenario, size, name)
    value = cell.value(counter) if cell else None
    if value is None:
        raise Failure(f"results: {name} has no {counter} in {scenario} at {power(size)}")
    return value


def cheapest(
    results: Results, workload: str, precision: str, size: int = SIZE
) -> tuple[list[str], float]:
    """Returns the cheapest backend, with those that cost as much, and its cost."""
    found = costs(results, workload, precision, size)
    [least, *_] = found.values()
    return [name for name, cost in found.items() if cost <= least * (1 + MARGIN)], least


def best_of_libraries(peers: Results, workload: str, size: int) -> list[str]:
    """Returns the cheapest exact backend of each library, the cheapest library first."""
    best: dict[str, str] = {}
    for name in costs(peers, workload, "exact" + LIBRARY, size):
        best.setdefault(name.partition("_")[0], name)
    return list(best.values())


def rough(ns: float) -> str:
    """Formats a duration with two digits, which stay in one line."""
    return rough_time(ns).replace(" ", NO_BREAK)


def bullet(text: str) -> str:
    """Breaks the lines of an item of a list."""
    return _filled(text, initial_indent="- ", subsequent_indent="  ")


def paragraph(text: str) -> str:
    """Breaks the lines of a paragraph."""
    return _filled(text)


def _filled(text: str, **indents: str) -> str:
    filled = textwrap.fill(
        text, WIDTH, break_long_words=False, break_on_hyphens=False, **indents  # type: ignore[arg-type]
    )
    return filled.replace(NO_BREAK, " ")
