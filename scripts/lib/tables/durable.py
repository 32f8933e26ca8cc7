"""The table of durable queues: how much they do, how late they are, what they take, and how soon they are
back.
"""

from collections.abc import Callable

from results.realtime import CONTROL, RealtimeResults
from tables.chosen import Column, chosen_table, rough, rough_time


def _column(
    title: str, scenario: str, size: int, counter: str, form: Callable[[float], str] = rough
) -> Column:
    return Column(title, "durable", scenario, size, counter, form)


def _seconds(value: float) -> str:
    return rough_time(value * 1e9)


COLUMNS = (
    _column("timers/s, 1 client", "clients", 1, "timers_per_second"),
    _column("16 clients", "clients", 16, "timers_per_second"),
    _column("100 a call", "batch", 100, "timers_per_second"),
    _column("fired/s, 4 workers", "workers", 4, "timers_per_second"),
    _column("late at 1 000/s, p50", "rate", 1_000, "lateness_p50_ns", rough_time),
    _column("p99", "rate", 1_000, "lateness_p99_ns", rough_time),
    _column("CPU of the server a timer", "clients", 16, "server_cpu_ns_per_timer", rough_time),
    _column("of the client", "clients", 16, "client_cpu_ns_per_timer", rough_time),
    _column("fsyncs a timer, 1 client", "clients", 1, "fsyncs_per_timer"),
    _column("bytes in memory a timer", "pending", 1_000_000, "bytes_in_memory"),
    _column("on disk", "pending", 1_000_000, "bytes_on_disk"),
    _column("back after", "pending", 1_000_000, "restart_seconds", _seconds),
)


NOTE = (
    "an empty cell is not measured, or 0. `control` is the machine itself. CPU and bytes are of a timer; bytes "
    "and *back after* with 10⁶ pending timers: from `kill -9` until the 64 timers that were due have been "
    "handed out, as far as they are not lost; *timeout*: arming so many takes more than 45 s"
)


def durable_table(results: RealtimeResults) -> str:
    """Returns the table in Markdown, and what its marks mean."""
    queues = [name for name in results.backends if name != CONTROL]
    return chosen_table("queue", [CONTROL, *queues], COLUMNS, {"durable": results}, NOTE)
