"""Figures against the load: a panel for each counter, a line for each service."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from figures.parts import (
    FAINT,
    SHADE,
    columns_within,
    footer_height,
    format_decades,
    legend_below,
    legend_height,
    limits_around,
    line_of,
    write_above,
    write_footer,
    write_title,
)
from results.realtime import RealtimeResults
from words import power

WIDTH, HEIGHT = 3.05, 2.5  # inches of a panel
LEFT, GAP = 0.75, 0.62  # inches before the first panel, and between panels
TITLE, BETWEEN = 0.98, 0.95  # inches above the first row of panels, and between rows
AXIS = 0.48  # inches below the last row

Values = Callable[[int, str], Sequence[float]]  # of a size and a service, by round


@dataclass(frozen=True)
class Panel:
    """One counter of a scenario against its sizes."""

    scenario: str
    title: str
    note: str
    values: Values
    unit: Callable[[float], str]  # formats a tick
    axis: str = ""  # panels that name the same one have the same range of values


def counter(results: RealtimeResults, scenario: str, name: str, scale: float = 1) -> Values:
    """Returns the values of a counter for a panel."""

    def values(size: int, service: str) -> list[float]:
        cell = results.cell(scenario, size, service)
        return [value * scale for value in cell.values(name) if value > 0] if cell else []

    return values


def draw(
    results: RealtimeResults,
    title: str,
    note: str,
    panels: Sequence[Panel],
    columns: int = 3,
    limit: int | None = None,
    width: float | None = None,
) -> Figure:
    """Draws the panels, but not those without any value. Shades the sizes beyond `limit`."""
    panels = [panel for panel in panels if _members(results, panel)]
    services = [
        name for name in results.backends if any(name in _members(results, p) for p in panels)
    ]
    around = LEFT + 0.25
    columns = min(columns, len(panels), columns_within(width, WIDTH + GAP, around - GAP))
    rows = math.ceil(len(panels) / columns)
    wide = width or max(columns, 2) * (WIDTH + GAP) - GAP + around
    panel_width = (wide - around + GAP) / columns - GAP
    legend_columns = max(1, int(wide / 2.4))
    has_saturated = any(cell.saturated and cell.has_figure for cell in results.cells.values())
    legend = legend_height(len(services) + has_saturated, legend_columns)
    footer = footer_height(results, wide)
    high = TITLE + rows * HEIGHT + (rows - 1) * BETWEEN + AXIS + legend + footer
    figure, grid = plt.subplots(rows, columns, figsize=(wide, high), dpi=170, squeeze=False)
    figure.subplots_adjust(
        left=LEFT / wide,
        right=1 - 0.25 / wide,
        wspace=GAP / panel_width,
        bottom=(AXIS + legend + footer) / high,
        top=1 - TITLE / high,
        hspace=BETWEEN / HEIGHT,
    )
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    for axes, panel in zip(grid.flat, panels):
        alike = [one for one in panels if one.axis == panel.axis] if panel.axis else [panel]
        shown = [value for one in alike for value in _all_values(results, one)]
        axes.set(yscale="log", ylim=limits_around(shown, margin=1.35, end=1.6))
        _draw_panel(axes, results, panel, limit)
    write_title(figure, title, note)
    handles = [Line2D([], [], label=name, **line_of(results, name)) for name in services]
    if has_saturated:
        handles.append(Line2D([], [], label="saturated: achieved < 99 %", **_cross(FAINT)))
    legend_below(figure, handles, legend_columns, footer)
    write_footer(figure, results)
    return figure


def _members(results: RealtimeResults, panel: Panel) -> list[str]:
    """Returns the services with a value in the panel."""
    return [
        name
        for name in results.members(panel.scenario)
        if any(panel.values(size, name) for size in results.sizes(panel.scenario, name))
    ]


def _all_values(results: RealtimeResults, panel: Panel) -> list[float]:
    return [
        value
        for service in _members(results, panel)
        for size in results.sizes(panel.scenario, service)
        for value in panel.values(size, service)
    ]


def _draw_panel(axes: Axes, results: RealtimeResults, panel: Panel, limit: int | None) -> None:
    sizes = results.sizes(panel.scenario)
    for service in _members(results, panel):
        points = [panel.values(size, service) or [math.nan] for size in sizes]  # gaps in the line
        middles = [median(values) for values in points]
        whiskers = (
            [middle - min(values) for middle, values in zip(middles, points)],
            [max(values) - middle for middle, values in zip(middles, points)],
        )
        style = line_of(results, service, elinewidth=0.8, capsize=2)
        axes.errorbar(sizes, middles, whiskers, **style)
        for size, middle in zip(sizes, middles):
            cell = results.cell(panel.scenario, size, service)
            if cell and cell.saturated:
                axes.plot(size, middle, **_cross(style["color"]))
    spread = (sizes[-1] / sizes[0]) ** 0.05 if len(sizes) > 1 else 2
    axes.set(xscale="log", xlim=(sizes[0] / spread, sizes[-1] * spread))
    if limit and limit < sizes[-1]:
        axes.axvspan(limit, sizes[-1] * spread, color=SHADE, zorder=0, linewidth=0)
    _label_sizes(axes, sizes)
    axes.set_xlabel(results.size_is(panel.scenario), fontsize=8)
    axes.tick_params(labelsize=7.5)
    format_decades(axes.yaxis, panel.unit)
    write_above(axes, panel.title, panel.note)


def _label_sizes(axes: Axes, sizes: Sequence[int]) -> None:
    """Labels all sizes if they are few; else the powers of ten."""
    tens = [size for size in sizes if str(size).rstrip("0") == "1"]
    labelled = sizes if len(sizes) <= 5 or len(tens) < 2 else tens
    axes.xaxis.set_major_locator(FixedLocator(labelled))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: power(round(size))))


def _cross(tint: str) -> dict[str, object]:
    return {
        "color": tint,
        "marker": "x",
        "markersize": 9,
        "markeredgewidth": 1.5,
        "linestyle": "",
        "zorder": 4,
    }
