"""The figures of the suite `contention`: how services scale with threads."""

from collections.abc import Callable, Iterator
from functools import partial

from matplotlib.figure import Figure

from figures.against_load import Panel, Values, counter, draw
from figures.parts import what_is_shown, with_unit
from results.realtime import RealtimeResults

# The services for the question of finer locks: one lock around a heap or a wheel, and finer locks.
ONE_LOCK = ("locked_binary_heap", "locked_kafka_wheel_256", "locked_log_wheel_256")
FINER_LOCKS = ("ring_timer", "system_timer", "sharded_")

PATTERNS = {
    "own": "each thread has its own timers",
    "cross": "armed on one thread, cancelled on the next",
    "hot": "all threads on the same 64 timers",
}


def figures(
    results: RealtimeResults, width: float | None = None
) -> Iterator[tuple[str, Callable[[], Figure]]]:
    """Yields the name of each figure and the function that draws it."""
    processors = int(results.facts.get("num_cpus", "0")) or None
    on = f"{processors or 'unknown number of'} processor{'' if processors == 1 else 's'}"
    note = what_is_shown(results)
    drawn = partial(draw, results, limit=processors, width=width)
    if processors:
        note += "; shaded: more threads than processors"
    measured = [name for name in results.scenarios if _is_measured(results, name)]
    for scenario in measured:
        what = PATTERNS.get(scenario, scenario)
        title = f"{scenario}: {what}, {on}"
        yield (
            f"throughput_{scenario}",
            partial(drawn, title, note, _panels(results, scenario)),
        )
    ratios = [_relative(results, scenario) for scenario in measured]
    if ratios := [panel for panel in ratios if panel]:
        title = f"Does a wheel need finer locks than a heap? Throughput against one thread's, {on}"
        yield (
            "finer_locks",
            partial(drawn, title, note, ratios),
        )


def _is_measured(results: RealtimeResults, scenario: str) -> bool:
    return any(results.measured(scenario, size) for size in results.sizes(scenario))


def _panels(results: RealtimeResults, scenario: str) -> list[Panel]:
    wanted = (
        ("calls per second", "of all threads together", "calls_per_second", count),
        ("CPU time per call", "of the whole process", "cpu_ns_per_call", with_unit),
        ("schedule, p50", "duration of a call", "schedule_p50_ns", with_unit),
        ("schedule, p99.9", "duration of a call", "schedule_p99.9_ns", with_unit),
        ("cancel, p50", "duration of a call", "cancel_p50_ns", with_unit),
        ("cancel, p99.9", "duration of a call", "cancel_p99.9_ns", with_unit),
    )
    return [
        Panel(scenario, title, note, counter(results, scenario, name), unit)
        for title, note, name, unit in wanted
    ]


def count(value: float) -> str:
    """Formats a tick: 500 k, 2 M."""
    for unit, factor in (("M", 1e6), ("k", 1e3)):
        if value >= factor * 0.999:
            return f"{value / factor:g} {unit}"
    return f"{value:g}"


def _relative(results: RealtimeResults, scenario: str) -> Panel | None:
    """Returns a panel of throughput relative to the fewest threads, for the
    services in question.
    """
    first = results.sizes(scenario)[0]
    calls = counter(results, scenario, "calls_per_second")

    def values(size: int, service: str) -> list[float]:
        cell = results.cell(scenario, first, service)
        base = cell.value("calls_per_second") if cell else None
        wanted = service in ONE_LOCK or service.startswith(FINER_LOCKS)
        return [value / base for value in calls(size, service)] if wanted and base else []

    wanted = [name for name in results.measured(scenario, first) if values(first, name)]
    has_question = any(len(results.sizes(scenario, name)) > 1 for name in wanted)
    values_: Values = values
    note = f"calls/s, over those of {first} thread{'' if first == 1 else 's'}"
    if not has_question:
        return None
    return Panel(scenario, scenario, note, values_, "×{:g}".format, axis="throughput")
