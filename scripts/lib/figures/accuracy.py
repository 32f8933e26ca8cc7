"""The figures of the suite `accuracy`: how late timers fire, by service, and why."""

import re
from collections.abc import Callable, Iterator
from functools import partial

from matplotlib.figure import Figure

from figures import against_load, dots, lateness_ecdf
from figures.parts import what_is_shown, with_unit
from results.realtime import RealtimeResults
from words import power

WAITING = re.compile(r"(?P<kind>wait)_(?P<what>\w+)")
LOOKING = re.compile(r"(?P<kind>granularity|poll)_(?P<what>\w+)")
HEADINGS = {"wait": "{}", "granularity": "granules of {}", "poll": "polled every {}"}
TASK = re.compile(r"task_(?P<cost>[^_]+)(_executor_(?P<threads>\d+))?")


def figures(
    results: RealtimeResults, size: int | None, width: float | None = None
) -> Iterator[tuple[str, Callable[[], Figure]]]:
    """Yields the name of each figure and the function that draws it. `size`: the rate of
    lateness_ecdf, if not the default.
    """
    if results.sizes("rate"):
        if size is None:
            shown = results.telling_size("rate")
        else:
            shown = results.shown_size("rate", size)
        if lateness_ecdf.cells_with_distribution(results, shown):
            yield "lateness_ecdf", partial(lateness_ecdf.draw, results, shown, width)
        if any(results.measured("rate", own) for own in results.sizes("rate")):
            yield "lateness_by_rate", partial(_draw_by_rate, results, width)
    for name, pattern, title in (
        ("waiting", WAITING, "Ways to wait: how late timers fire"),
        ("granularity", LOOKING, "Lateness of services that look once a granule or an interval"),
    ):
        if panel := _grouped(results, pattern):
            yield name, partial(dots.draw, results, title, _note(results), [panel], 1, width)
    if panels := _tasks(results):
        title = "Handlers that take their time, with and without threads to run them"
        yield "task_cost", partial(dots.draw, results, title, _note(results), panels, 3, width)


def _note(results: RealtimeResults) -> str:
    shown = what_is_shown(results, whiskers=False)
    return f"{shown}; a percentile only where there are samples enough"


def _draw_by_rate(results: RealtimeResults, width: float | None) -> Figure:
    panels = [
        against_load.Panel(
            "rate",
            name,
            "lateness",
            against_load.counter(results, "rate", f"lateness_{name}_ns"),
            with_unit,
            axis="lateness",
        )
        for name in ("p50", "p99", "p99.9")
    ]
    note = f"{what_is_shown(results)}; the control is how late the machine itself wakes up"
    title = "Lateness against the offered rate of timers"
    return against_load.draw(results, title, note, panels, width=width)


def _grouped(results: RealtimeResults, pattern: re.Pattern[str]) -> dots.Panel | None:
    """Returns a panel with a group of rows for each scenario that matches the pattern, and each rate of
    it; None if none has a figure.
    """
    rows: list[dots.Row] = []
    rates = set()
    for scenario in results.scenarios:
        if not (found := pattern.fullmatch(scenario)):
            continue
        said = HEADINGS[found["kind"]].format(_spaced(found["what"]))
        sizes = results.sizes(scenario)
        rates.update(sizes)
        for size in sizes:
            rows.append(dots.Row(said if len(sizes) == 1 else f"{said}, {power(size)}/s"))
            rows += [
                dots.Row(service, service, cell)
                for service in results.members(scenario)
                if (cell := results.cell(scenario, size, service))
            ]
    if not any(row.cell and row.cell.has_figure for row in rows):
        return None
    title = f"{', '.join(map(power, sorted(rates)))} timers per second"
    return dots.Panel(title, "whose handlers do nothing", rows)


def _tasks(results: RealtimeResults) -> list[dots.Panel]:
    """Returns a panel for each cost and rate."""
    variants: dict[str, list[tuple[str, str]]] = {}  # by cost: labels and scenarios
    for scenario in results.scenarios:
        if found := TASK.fullmatch(scenario):
            threads = found["threads"]
            said = f"{threads} threads run them" if threads else "no threads to run them"
            variants.setdefault(found["cost"], []).append((said, scenario))
    panels = []
    for cost, named in variants.items():
        sizes = sorted({size for _, scenario in named for size in results.sizes(scenario)})
        for size in sizes:
            rows = []
            for said, scenario in named:
                rows.append(dots.Row(said))
                rows += [
                    dots.Row(service, service, results.cell(scenario, size, service))
                    for service in results.members(scenario)
                ]
            if any(row.cell and row.cell.has_figure for row in rows):
                panels.append(
                    dots.Panel(f"{_spaced(cost)} each", f"at {power(size)} timers per second", rows)
                )
    return panels


def _spaced(cost: str) -> str:
    """Writes 10us as 10 µs, and sleep_then_spin as sleep then spin."""
    return re.sub(r"(\d+)", r"\1 ", cost).replace(" us", " µs").replace("_", " ")
