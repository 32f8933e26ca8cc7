"""How late timers are: a row for each service, with dots for the percentiles and the maximum."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from figures.parts import (
    FAINT,
    INK,
    columns_within,
    footer_height,
    format_costs,
    legend_below,
    legend_height,
    limits_around,
    text_left_of,
    write_above,
    write_footer,
    write_title,
)
from results.realtime import RealtimeCell, RealtimeResults

LINE = 0.16  # inches of a row
NAMES = 2.05  # inches of the names at the left
PANEL = 2.7  # inches of a panel's width
TITLE, BETWEEN = 0.98, 0.85  # inches above the first row of panels, and between rows

# The dots of a row: counter and label.
DOTS = (("lateness_p50_ns", "p50"), ("lateness_p99_ns", "p99"), ("lateness_max_ns", "max"))


@dataclass(frozen=True)
class Row:
    """A cell with its name; without a cell, a heading."""

    label: str
    service: str = ""
    cell: RealtimeCell | None = None


@dataclass(frozen=True)
class Panel:
    """Rows at one load. Panels side by side have the same rows."""

    title: str
    note: str
    rows: Sequence[Row]


def draw(
    results: RealtimeResults,
    title: str,
    note: str,
    panels: Sequence[Panel],
    columns: int,
    width: float | None = None,
) -> Figure:
    """Draws the panels. The names are at the left of the first panel of each line."""
    columns = min(columns, len(panels), columns_within(width, PANEL - 0.6, NAMES + 0.15))
    lines = math.ceil(len(panels) / columns)
    tall = LINE * max(len(panel.rows) for panel in panels)
    wide = width or max(NAMES + columns * (PANEL + 0.2) + 0.15, 7.5)
    panel_width = (wide - NAMES - 0.15) / columns - 0.2
    footer = footer_height(results, wide)
    below = 0.35 + legend_height(1, 4) + footer
    high = TITLE + lines * tall + (lines - 1) * BETWEEN + below
    figure, grid = plt.subplots(lines, columns, figsize=(wide, high), dpi=170, squeeze=False)
    figure.subplots_adjust(
        left=NAMES / wide,
        right=1 - 0.3 / wide,
        wspace=0.2 / panel_width,
        bottom=below / high,
        top=1 - TITLE / high,
        hspace=BETWEEN / tall,
    )
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    shown = [
        value
        for panel in panels
        for row in panel.rows
        for name, _ in DOTS
        if row.cell and (value := row.cell.value(name))
    ]
    for i, (axes, panel) in enumerate(zip(grid.flat, panels)):
        axes.set(
            xscale="log",
            xlim=limits_around(shown, margin=1.6, end=4 if columns == 1 else 14),
            ylim=(len(panel.rows) - 0.4, -0.6),
        )
        _draw_panel(
            axes, results, panel, has_names=i % columns == 0, every=1 if columns == 1 else 2
        )
    write_title(figure, title, note)
    handles = [Line2D([], [], label=text, **_dot(name, INK)) for name, text in DOTS]
    legend_below(figure, handles, 4, footer)
    write_footer(figure, results)
    return figure


def _draw_panel(
    axes: Axes, results: RealtimeResults, panel: Panel, has_names: bool, every: int
) -> None:
    for y, row in enumerate(panel.rows):
        tint = results.looks[row.service].colour if row.service else FAINT
        if has_names and row.service:
            text_left_of(axes, y, row.label, size=7.5, colour=tint)
        elif has_names:
            text_left_of(axes, y, row.label, size=7, colour=tint, style="italic")
        if row.cell:
            _draw_row(axes, y, row.cell, tint)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="x", labelsize=7)
    axes.set_xlabel("lateness", fontsize=8)
    format_costs(axes.xaxis, every)
    write_above(axes, panel.title, panel.note)


def _draw_row(axes: Axes, y: int, cell: RealtimeCell, tint: str) -> None:
    dots = [(name, value) for name, _ in DOTS if (value := cell.value(name))]
    values = [value for _, value in dots]
    axes.axhline(y, color="#eeeeee", linewidth=0.5, zorder=0.5)
    axes.plot(values, [y] * len(values), color=tint, linewidth=1)
    for name, value in dots:
        axes.plot(value, y, **_dot(name, tint))
    word = "saturated" if cell.saturated and cell.has_figure else f"✕ {cell.status}"
    if cell.saturated or not cell.has_figure:
        axes.annotate(
            word,
            (max(values, default=axes.get_xlim()[0]), y),
            (6, 0),
            textcoords="offset points",
            va="center",
            fontsize=6,
            color=tint,
        )


def _dot(name: str, tint: str) -> dict[str, object]:
    return {
        "color": tint,
        "linestyle": "",
        "marker": "|" if "max" in name else "o",
        "markersize": 6 if "max" in name else 4.2,
        "markerfacecolor": tint if "p50" in name else "white",
    }
