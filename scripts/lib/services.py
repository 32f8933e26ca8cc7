"""Sets what services cost in one table: how late they fire, how many calls they take, and their CPU.

RESULTS are folders of the suites accuracy, contention and purgatory, as `scripts/bench service_peers`
makes them. The table has a line for each service.

  scripts/services results/local/service_peers/*
  scripts/services results/local/service_peers/* --into=docs/services.md

--into replaces what stands between the lines <!-- services --> and <!-- end of services --> of a
document.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from console import ArgumentParser, Failure, run_main, say
from files import fill, path_argument
from results.grid import read_files
from results.realtime import CONTROL, RealtimeCell, RealtimeResults, load_files
from tables.replays import markdown_table
from words import digits, grouped

NOTE = "\\* it does not keep up; † in some rounds it does not; an empty cell is not measured."


def main() -> int:
    arguments = _parse()
    text = services_table(arguments.results)
    if arguments.into is None:
        say(text)
    else:
        fill(arguments.into, "services", text)
    return 0


def services_table(folders: Sequence[Path]) -> str:
    """Returns the table in Markdown, and what its marks mean."""
    every = [load_files(read_files([folder])) for folder in folders]
    by_suite = {results.suite: results for results in every}
    for suite in dict.fromkeys(column.suite for column in COLUMNS):
        if suite not in by_suite:
            raise Failure(f"there are no results of the suite {suite}; scripts/bench makes them")
    titles = ["service", *(column.title for column in COLUMNS)]
    lines = [
        [f"`{service}`", *(column.text(by_suite, service) for column in COLUMNS)]
        for service in _in_order(by_suite["accuracy"])
    ]
    return f"{markdown_table(titles, lines, names=1)}\n\n{NOTE}\n"


def _in_order(results: RealtimeResults) -> list[str]:
    """Returns the control, then own services, then libraries."""

    def place(service: str) -> int:
        return 0 if service == CONTROL else 2 if results.is_library(service) else 1

    return sorted(results.backends, key=place)


def _rough(value: float) -> str:
    """Two digits, or all above the point: rounds differ by more."""
    if value >= 9.95:
        return grouped(round(value))
    return f"{value:.1f}" if value >= 0.95 else f"{value:.2f}"


def _time(ns: float) -> str:
    for unit, factor in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= factor * 0.9995:
            return f"{_rough(ns / factor)} {unit}"
    return f"{round(ns)} ns"


@dataclass(frozen=True)
class Column:
    """A figure of one scenario at one size."""

    title: str
    suite: str
    scenario: str
    size: int
    counter: str
    form: Callable[[float], str]

    def text(self, by_suite: Mapping[str, RealtimeResults], service: str) -> str:
        cell = by_suite[self.suite].cell(self.scenario, self.size, service)
        if cell is None:
            return ""
        value = cell.value(self.counter)
        return cell.status if value is None else self.form(value) + _mark(cell)


def _mark(cell: RealtimeCell) -> str:
    if not cell.saturated:
        return ""
    return " *" if cell.saturated == cell.measured_rounds else " †"


def _calls(title: str, threads: int) -> Column:
    def millions(value: float) -> str:
        return _rough(value / 1e6)

    return Column(title, "contention", "own", threads, "calls_per_second", millions)


def _cpu(ns: float) -> str:
    return digits(ns / 1e3)


COLUMNS = (
    Column("late p50", "accuracy", "rate", 10_000, "lateness_p50_ns", _time),
    Column("p99", "accuracy", "rate", 10_000, "lateness_p99_ns", _time),
    Column("at 10⁵ a second, p50", "accuracy", "rate", 100_000, "lateness_p50_ns", _time),
    Column("10⁵ at once, the last", "accuracy", "herd", 100_000, "last_lateness_ns", _time),
    _calls("million calls/s, 1 thread", 1),
    _calls("2 threads", 2),
    Column("µs of CPU a request", "purgatory", "low", 100_000, "cpu_ns_per_request", _cpu),
)


def _parse() -> argparse.Namespace:
    parser = ArgumentParser(
        prog="scripts/services",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("results", metavar="RESULTS", type=path_argument, nargs="+")
    parser.add_argument("--into", metavar="DOCUMENT", type=path_argument, help="write it into this")
    return parser.parse_args()


if __name__ == "__main__":
    run_main("scripts/services", main)
