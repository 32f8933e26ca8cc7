"""The figures of the suite `durable`: what timers cost that outlive the process."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from matplotlib.figure import Figure

from figures.against_load import Panel, counter, draw
from figures.contention import count
from figures.parts import what_is_shown, with_unit
from results.realtime import CONTROL, RealtimeResults

# By figure: its title, and the scenarios and counters of its panels.
FIGURES = {
    "durable_throughput": (
        "Timers a second that outlive the process",
        (
            ("clients", "timers_per_second", "timers/s, armed and cancelled"),
            ("batch", "timers_per_second", "timers/s, armed together"),
            ("workers", "timers_per_second", "timers/s, due and completed"),
        ),
    ),
    "durable_lateness": (
        "How late durable timers fire",
        (
            ("rate", "lateness_p50_ns", "p50 late"),
            ("rate", "lateness_p99_ns", "p99 late"),
            ("orders", "lateness_p50_ns", "p50 late, a minute in a second"),
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


# Those that have a row of panels for each promise: only queues that promise the same are compared.
BY_PROMISE = ("durable_throughput", "durable_lateness")


def figures(
    results: RealtimeResults, width: float | None = None
) -> Iterator[tuple[str, Callable[[], Figure]]]:
    """Yields the name of each figure and the function that draws it."""
    shown = what_is_shown(results)
    for name, (title, wanted) in FIGURES.items():
        rows: list[str | None] = [None]
        if name in BY_PROMISE:
            rows = [*_promises(results)]
        panels = [
            _panel(results, scenario, quantity, note, promise)
            for promise in rows
            for scenario, quantity, note in wanted
            if _is_measured(results, scenario, quantity)
        ]
        if panels:
            columns = len(panels) // len(rows)
            yield name, partial(draw, results, title, shown, panels, columns, width=width)


def _promises(results: RealtimeResults) -> list[str]:
    queues = [name for name in results.backends if name != CONTROL]
    return list(dict.fromkeys(map(results.precision, queues)))


def _panel(
    results: RealtimeResults, scenario: str, quantity: str, note: str, promise: str | None
) -> Panel:
    values = counter(results, scenario, quantity)

    def of_promise(size: int, queue: str) -> Sequence[float]:
        is_shown = promise in (None, results.precision(queue)) or queue == CONTROL
        return values(size, queue) if is_shown else []

    unit = with_unit if "_ns" in quantity else count
    title = scenario if promise is None else f"{scenario}, {promise}"
    return Panel(scenario, title, note, of_promise, unit, axis=f"{scenario} {quantity}")


def _is_measured(results: RealtimeResults, scenario: str, quantity: str) -> bool:
    return any(
        cell.value(quantity) for (name, _, _), cell in results.cells.items() if name == scenario
    )
