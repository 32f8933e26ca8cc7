"""Figures for papers: one column wide and without titles, because the caption has the text."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from figures.against_load import counter
from figures.contention import count
from figures.parts import format_costs, format_decades, line_of, with_unit
from results.grid import Grid
from results.realtime import RealtimeResults
from results.replays import Results
from results.statistics import median_interval
from words import power

WIDTH, HEIGHT = 3.33, 2.1  # inches: a column of most proceedings, and the plot
LEFT, BELOW = 0.62, 0.34  # inches of the axes' labels
ROW = 0.115  # inches of a line, in figures with a line per backend
LEGEND_SIZE = 5.5
LETTER, SAMPLE = 0.042, 0.24  # inches of a letter in the legend, and of the sample line

# Fonts that may be embedded in any PDF.
STYLE = {"pdf.fonttype": 42, "font.size": 7, "axes.linewidth": 0.5, "lines.linewidth": 0.9}

# The counters drawn of each wall-clock scenario with several sizes.
SHOWN: dict[str, dict[str, tuple[str, Callable[[float], str]]]] = {
    "accuracy": {
        "lateness_p50_ns": ("lateness, p50", with_unit),
        "lateness_p99_ns": ("lateness, p99", with_unit),
    },
    "contention": {
        "calls_per_second": ("calls per second", count),
        "schedule_p99.9_ns": ("schedule, p99.9", with_unit),
    },
    "purgatory": {
        "cpu_ns_per_request": ("CPU time per request", with_unit),
        "lateness_p99_ns": ("lateness, p99", with_unit),
    },
    "durable": {
        "timers_per_second": ("timers per second", count),
        "arm_p50_ns": ("arming, p50", with_unit),
        "lateness_p99_ns": ("lateness, p99", with_unit),
    },
}


@dataclass(frozen=True)
class Line:
    """A contender: the median at each size with an interval, or NaN. A contender without any median
    has its failure in the label.
    """

    name: str
    sizes: list[int]
    middles: list[float]
    lows: list[float]
    highs: list[float]
    saturated: Sequence[int] = ()  # sizes at which a service is saturated
    failure: str = ""

    @property
    def label(self) -> str:
        return f"{self.name}: {self.failure}" if self.failure else self.name


def paper_figures(
    results: Results | RealtimeResults, width: float | None = None
) -> Iterator[tuple[str, Callable[[], Figure]]]:
    """Yields the name of each figure that the results allow, and the function that draws it."""
    width = width or WIDTH
    if isinstance(results, Results):
        for workload in results.workloads:
            if results.costs(workload):
                draw = _draw_costs if len(results.sizes(workload)) > 1 else _draw_costs_at_one_size
                yield f"cost_{workload}", partial(draw, results, workload, width)
        return
    for scenario in results.scenarios:
        for name, (label, unit) in SHOWN[results.suite].items():
            lines = _lines_of_counter(results, scenario, name)
            if len(results.sizes(scenario)) > 1 and any(line.sizes for line in lines):
                shown = partial(
                    _draw, results, lines, results.size_is(scenario), label, unit, width
                )
                yield f"{results.suite}_{scenario}_{name.removesuffix('_ns').replace('.', '_')}", shown


def _draw_costs(results: Results, workload: str, width: float) -> Figure:
    """Draws the costs against size. Whiskers are 95 % intervals; there are none if the rounds are
    too few.
    """
    lines = []
    for backend in results.backends:
        sizes = results.sizes(workload, backend)
        cells = [results.cells[workload, size, backend] for size in sizes]
        costs = [cell.costs if cell.has_figure else [math.nan] for cell in cells]
        intervals = [median_interval(values) for values in costs]
        middles = [interval.middle for interval in intervals]
        if all(map(math.isnan, middles)):
            lines += [_failed(backend, cell.status) for cell in cells[:1]]
            continue
        lines.append(
            Line(
                backend,
                sizes,
                middles,
                [_finite(interval.low, interval.middle) for interval in intervals],
                [_finite(interval.high, interval.middle) for interval in intervals],
            )
        )
    label = f"cost per {results.item(workload)}"
    return _draw(results, lines, "pending timers", label, None, width)


def _draw_costs_at_one_size(results: Results, workload: str, width: float) -> Figure:
    """Draws a line for each backend, by precision, with the same intervals."""
    [size] = results.sizes(workload)
    cells = [
        (backend, cell)
        for backends in results.backends_by_precision().values()
        for backend in backends
        if (cell := results.cell(workload, size, backend))
    ]
    with plt.rc_context(STYLE):
        height = ROW * len(cells) + BELOW
        names = LETTER * 1.25 * max(len(backend) for backend, _ in cells) + 0.08
        figure = plt.figure(figsize=(width, height))
        across, up = names / width, BELOW / height
        axes = figure.add_axes((across, up, 1 - across - 0.14 / width, 1 - up))
        axes.set(xscale="log", ylim=(len(cells) - 0.4, -0.6))
        for y, (backend, cell) in enumerate(cells):
            if not cell.has_figure:
                place = {"xytext": (2, 0), "textcoords": "offset points"}
                said, across_ = f"✕ {cell.status}", axes.get_yaxis_transform()
                axes.annotate(said, (0, y), xycoords=across_, va="center", fontsize=5.5, **place)
                continue
            interval = median_interval(cell.costs)
            low, high = (_finite(end, interval.middle) for end in (interval.low, interval.high))
            whiskers = ([interval.middle - low], [high - interval.middle])
            style = line_of(results, backend, markersize=3)
            axes.errorbar(interval.middle, y, xerr=whiskers, elinewidth=0.6, capsize=1.4, **style)
        axes.set_yticks(range(len(cells)), [backend for backend, _ in cells])
        axes.tick_params(labelsize=6, length=2, width=0.5, pad=1.5)
        axes.tick_params(axis="y", length=0)
        format_decades(axes.xaxis, with_unit)
        axes.set_xlabel(f"cost per {results.item(workload)}, {power(size)} timers", labelpad=1.5)
    return figure


def _failed(name: str, status: str) -> Line:
    return Line(name, [], [], [], [], failure=status)


def _finite(bound: float, middle: float) -> float:
    return middle if math.isinf(bound) else bound


def _lines_of_counter(results: RealtimeResults, scenario: str, name: str) -> list[Line]:
    """Returns the lines of a counter; the intervals span all rounds."""
    values = counter(results, scenario, name)
    lines = []
    for service in results.members(scenario):
        sizes = results.sizes(scenario, service)
        points = [sorted(values(size, service)) or [math.nan] for size in sizes]
        if any(not math.isnan(point[0]) for point in points):
            middles = [median(point) for point in points]
            lows, highs = [point[0] for point in points], [point[-1] for point in points]
            saturated = [size for size in sizes if results.cells[scenario, size, service].saturated]
            lines.append(Line(service, sizes, middles, lows, highs, saturated))
        elif failures := [results.cells[scenario, size, service].status for size in sizes]:
            lines += [_failed(service, status) for status in failures[:1] if status]
    return lines


def _draw(
    results: Grid[Any],
    lines: Sequence[Line],
    xlabel: str,
    ylabel: str,
    unit: Callable[[float], str] | None,
    width: float,
) -> Figure:
    """Draws the lines. `unit` formats a tick; without it the axis is that of all cost figures. A
    cross marks the end of a line without figures at larger sizes, and the sizes at which a service
    is saturated.
    """
    with plt.rc_context(STYLE):
        longest = max(len(line.label) for line in lines)
        columns = min(4, max(1, int(width / (longest * LETTER + SAMPLE))))
        legend = math.ceil(len(lines) / columns) * LEGEND_SIZE * 1.3 / 72 + 0.06
        height = HEIGHT + BELOW + legend
        figure = plt.figure(figsize=(width, height))
        bottom = (legend + BELOW) / height
        axes = figure.add_axes((LEFT / width, bottom, 1 - (LEFT + 0.06) / width, 0.98 - bottom))
        drawn = [line for line in lines if not line.failure]
        for line in drawn:
            whiskers = (
                [middle - low for middle, low in zip(line.middles, line.lows)],
                [high - middle for middle, high in zip(line.middles, line.highs)],
            )
            style = line_of(results, line.name, linewidth=0.9, markersize=2.6)
            axes.errorbar(line.sizes, line.middles, whiskers, elinewidth=0.5, capsize=1.2, **style)
            known = [at for at, middle in enumerate(line.middles) if not math.isnan(middle)]
            crossed = set(line.saturated)
            if known[-1] + 1 < len(line.sizes):  # it failed at the next size
                crossed.add(line.sizes[known[-1]])
            for size, middle in zip(line.sizes, line.middles):
                if size in crossed:
                    axes.plot(
                        size, middle, "x", color=style["color"], markersize=5, markeredgewidth=0.9
                    )
        sizes = sorted({size for line in drawn for size in line.sizes})
        axes.set(xscale="log", yscale="log", xlim=(sizes[0] / 1.2, sizes[-1] * 1.2))
        axes.xaxis.set_major_locator(FixedLocator(sizes))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: power(round(size))))
        axes.set_xlabel(xlabel, labelpad=1.5)
        axes.set_ylabel(ylabel, labelpad=1.5)
        axes.tick_params(labelsize=6, length=2, width=0.5, pad=1.5)
        if unit:
            format_decades(axes.yaxis, unit)
        else:
            format_costs(axes.yaxis)
        handles = [
            Line2D(
                [],
                [],
                label=line.label,
                **line_of(results, line.name, linewidth=0.9, markersize=2.6)
                | ({"linestyle": "", "marker": "x"} if line.failure else {}),
            )
            for line in lines
        ]
        figure.legend(
            handles=handles,
            loc="lower left",
            bbox_to_anchor=(0, 0),
            ncols=columns,
            frameon=False,
            fontsize=LEGEND_SIZE,
            handlelength=2,
            columnspacing=1,
            labelspacing=0.25,
            handletextpad=0.4,
            borderpad=0.2,
        )
    return figure
