"""Sets what services cost in one table: how late they fire, how many calls they take, and their CPU.

RESULTS are folders of the suites accuracy, contention and purgatory, as `scripts/bench service_peers`
makes them. The table has a line for each service.

  scripts/services results/local/service_peers/*
  scripts/services results/local/service_peers/* --into=docs/services.md

--into replaces what stands between the lines <!-- services --> and <!-- end of services --> of a
document.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from console import ArgumentParser, Failure, run_main
from files import add_into, path_argument, say_or_fill
from results.grid import read_files
from results.realtime import CONTROL, RealtimeResults, load_files
from tables.chosen import Column, chosen_table, rough, rough_time
from words import digits, grouped


def main() -> int:
    arguments = _parse()
    text = services_table(arguments.results)
    say_or_fill(text, arguments.into, "services")
    return 0


def services_table(folders: Sequence[Path]) -> str:
    """Returns the table in Markdown, and what its marks mean."""
    every = [load_files(read_files([folder])) for folder in folders]
    by_suite = {results.suite: results for results in every}
    for suite in SUITES:
        if suite not in by_suite:
            raise Failure(f"there are no results of the suite {suite}; scripts/bench makes them")
    for fact in ("processor", "num_cpus", "commit"):
        found = {results.facts.get(fact, "unknown") for results in every}
        if len(found) > 1:
            raise Failure(
                f"the {fact} differs between the suites, {' and '.join(sorted(found))}: figures of a line must "
                "be of one machine and commit; measure the three suites together"
            )
    return chosen_table("service", _in_order(by_suite["accuracy"]), COLUMNS, by_suite)


def _in_order(results: RealtimeResults) -> list[str]:
    """Returns the control, then own services, then libraries."""

    def place(service: str) -> int:
        return 0 if service == CONTROL else 2 if results.is_library(service) else 1

    return sorted(results.backends, key=place)


def _calls(title: str, threads: int) -> Column:
    def millions(value: float) -> str:
        return rough(value / 1e6)

    return Column(title, "contention", "own", threads, "calls_per_second", millions)


def _count(value: float) -> str:
    return grouped(round(value))


def _cpu(ns: float) -> str:
    return digits(ns / 1e3)


COLUMNS = (
    Column("late p50", "accuracy", "rate", 10_000, "lateness_p50_ns", rough_time),
    Column("p99", "accuracy", "rate", 10_000, "lateness_p99_ns", rough_time),
    Column("idle wakeups/s", "accuracy", "idle", 1, "wakeups_per_second", _count),
    Column("at 10⁵ a second, p50", "accuracy", "rate", 100_000, "lateness_p50_ns", rough_time),
    Column("10⁵ at once, the last", "accuracy", "herd", 100_000, "last_lateness_ns", rough_time),
    _calls("million calls/s, 1 thread", 1),
    _calls("2 threads", 2),
    Column("schedule p99.9, 2 threads", "contention", "own", 2, "schedule_p99.9_ns", rough_time),
    Column("µs of CPU a request", "purgatory", "low", 100_000, "cpu_ns_per_request", _cpu),
)
SUITES = tuple(dict.fromkeys(column.suite for column in COLUMNS))


def _parse() -> argparse.Namespace:
    parser = ArgumentParser(
        prog="scripts/services",
        description=__doc__,
    )
    parser.add_argument("results", metavar="RESULTS", type=path_argument, nargs="+")
    add_into(parser)
    return parser.parse_args()


if __name__ == "__main__":
    run_main("scripts/services", main)
