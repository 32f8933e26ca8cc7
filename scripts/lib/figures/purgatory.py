"""The figures of the suite `purgatory`: the cost of holding requests, against the rate."""

from collections.abc import Callable, Iterator
from functools import partial

from matplotlib.figure import Figure

from figures.against_load import Panel, counter, draw
from figures.parts import what_is_shown, with_unit
from results.realtime import RealtimeResults


def figures(
    results: RealtimeResults, width: float | None = None
) -> Iterator[tuple[str, Callable[[], Figure]]]:
    """Yields the name of each figure and the function that draws it."""
    shown = what_is_shown(results)
    load = f"{shown}; the load's own time is in it, for all alike"
    expiry = f"{shown}; p99, behind the request's time-out"
    for name, title, note, quantity, unit in (
        ("cpu_by_rate", "Processors used", load, "cpu_share", _plain),
        ("cpu_per_request", "CPU time per request", load, "cpu_ns_per_request", with_unit),
        ("expiry_lateness", "How late requests time out", expiry, "lateness_p99_ns", with_unit),
    ):
        panels = [
            Panel(
                scenario,
                scenario,
                _timed_out(results, scenario),
                counter(results, scenario, quantity),
                unit,
                axis=quantity,
            )
            for scenario in results.scenarios
        ]
        if any(cell.value(quantity) for cell in results.cells.values()):
            title += ", against the rate of requests"
            yield name, partial(draw, results, title, note, panels, width=width)


def _plain(value: float) -> str:
    return f"{value:g}"


def _timed_out(results: RealtimeResults, scenario: str) -> str:
    """Returns the share of requests that time out, which distinguishes the scenarios."""
    for (name, _, _), cell in results.cells.items():
        share = cell.value("expected_timed_out_share")
        if name == scenario and share is not None:
            return f"{100 * share:.3g} % of the requests time out"
    return ""
