"""The figures of the suite `durable`: what timers cost that outlive the process."""

from collections.abc import Callable, Iterator
from functools import partial

from matplotlib.figure import Figure

from figures.against_load import Panel, counter, draw
from figures.contention import count
from figures.parts import what_is_shown, with_unit
from results.realtime import RealtimeResults

# By figure: its title, and the scenarios and counters of its panels.
FIGURES = {
    "durable_throughput": (
        "Timers a second that outlive the process",
        (
            ("clients", "timers_per_second", "armed and cancelled, one a call"),
            ("batch", "timers_per_second", "armed together, cancelled one by one"),
            ("workers", "timers_per_second", "due at once, claimed and completed"),
        ),
    ),
    "durable_lateness": (
        "How late durable timers fire",
        (
            ("rate", "lateness_p50_ns", "p50, behind the deadline"),
            ("rate", "lateness_p99_ns", "p99, behind the deadline"),
            ("rate", "lateness_p99.9_ns", "p99.9, behind the deadline"),
            ("orders", "lateness_p50_ns", "p50, a minute in a second"),
            ("orders", "lateness_p99_ns", "p99, a minute in a second"),
            ("jobs", "lateness_p50_ns", "p50, a day in a second"),
        ),
    ),
    "durable_size": (
        "What pending timers cost",
        (
            ("pending", "arm_p50_ns", "an arming, p50"),
            ("pending", "bytes_in_memory", "bytes of a timer in memory"),
            ("pending", "bytes_on_disk", "bytes of a timer on disk"),
        ),
    ),
    "durable_syncs": (
        "How often an engine has the system write to the disk",
        (
            ("clients", "fsyncs_per_timer", "fsyncs a timer, armed and cancelled"),
            ("batch", "fsyncs_per_timer", "armed together, cancelled one by one"),
        ),
    ),
    "durable_idle": (
        "What an hour costs in which nothing is due",
        (
            ("idle", "cpu_ns_per_hour", "processor time of all processes"),
            ("idle", "worker_wakeups_per_hour", "wakeups of a worker"),
            ("idle", "server_wakeups_per_hour", "wakeups of the server"),
        ),
    ),
}


def figures(
    results: RealtimeResults, width: float | None = None
) -> Iterator[tuple[str, Callable[[], Figure]]]:
    """Yields the name of each figure and the function that draws it."""
    shown = what_is_shown(results)
    for name, (title, wanted) in FIGURES.items():
        panels = [
            Panel(
                scenario,
                scenario,
                note,
                counter(results, scenario, quantity),
                with_unit if "_ns" in quantity else count,
            )
            for scenario, quantity, note in wanted
            if _is_measured(results, scenario, quantity)
        ]
        if panels:
            yield name, partial(draw, results, title, shown, panels, width=width)


def _is_measured(results: RealtimeResults, scenario: str, quantity: str) -> bool:
    return any(
        cell.value(quantity) for (name, _, _), cell in results.cells.items() if name == scenario
    )
