"""cost_per_workload_<size>: a panel for each workload, a dot for each backend."""

import math
from dataclasses import dataclass

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures.parts import (
    FAINT,
    INK,
    SHADE,
    columns_within,
    footer_height,
    format_costs,
    limits_around,
    marker_of,
    note_on_marks,
    text_left_of,
    title_panel,
    what_is_shown,
    width_of_names,
    write_footer,
    write_title,
)
from results.replays import Cell, Results
from style import HEADINGS
from words import digits, power

LINE = 0.155  # inches of a backend's line
COLUMN = 2.5  # least inches of a panel's width
TITLE, AXIS, TOP = 0.8, 0.2, 1.0  # inches between the panels, below the last, and above all
PAGE = 8.3  # least inches of the page's width, unless given


def draw(results: Results, size: int, width: float | None = None) -> Figure:
    """Draws the panels. Backends are grouped by precision, the cheapest first."""
    panels = [(name, results.shown_size(name, size)) for name in results.workloads]
    lines = [_lines(results, *panel) for panel in panels]
    names = width_of_names(line.label for panel in lines for line in panel)
    columns = min(3, len(panels), columns_within(width, names + COLUMN, 0.3))
    rows = math.ceil(len(panels) / columns)
    panel_height = LINE * max(map(len, lines))
    panel_width = max(COLUMN, ((width or PAGE) - 0.3) / columns - names)
    wide = columns * (names + panel_width) + 0.3
    bottom = AXIS + footer_height(results, wide)
    height = rows * panel_height + (rows - 1) * TITLE + TOP + bottom
    figure, grid = plt.subplots(rows, columns, figsize=(wide, height), dpi=150, squeeze=False)
    figure.subplots_adjust(
        left=names / wide,
        right=1 - 0.3 / wide,
        wspace=names / panel_width,
        bottom=bottom / height,
        top=1 - TOP / height,
        hspace=TITLE / panel_height,
    )
    harness = [cell.cost for name, own in panels if (cell := results.harness[name].get(own))]
    costs = [*harness, *(cost for panel in panels for cost in results.costs(*panel))]
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    for axes, panel, panel_lines in zip(grid.flat, panels, lines):
        axes.set(xscale="log", xlim=limits_around(costs, margin=1.8, end=7))
        _draw_panel(axes, results, *panel, panel_lines)
    write_title(
        figure,
        f"Cost per workload at {power(size)} pending timers",
        f"{what_is_shown(results)}; each precision is ranked on its own"
        + ("; grey: the harness itself" if harness else "")
        + note_on_marks(results, *results.workloads),
    )
    write_footer(figure, results)
    return figure


@dataclass(frozen=True)
class DotLine:
    """A backend with its cell, or the heading of a precision."""

    label: str
    precision: str
    cell: Cell | None
    mark: str = ""


def _lines(results: Results, workload: str, size: int) -> list[DotLine]:
    lines = []
    for precision, backends in results.backends_by_precision().items():
        dots = [
            DotLine(name, precision, cell, results.mark(workload, size, name))
            for name in backends
            if (cell := results.cell(workload, size, name))
        ]
        if dots:
            lines += [DotLine(HEADINGS[precision], precision, None), *sorted(dots, key=_by_cost)]
    return lines


def _by_cost(line: DotLine) -> float:
    return line.cell.cost if line.cell and line.cell.has_figure else math.inf


def _draw_panel(
    axes: Axes, results: Results, workload: str, size: int, lines: list[DotLine]
) -> None:
    axes.set_ylim(len(lines) - 0.4, -0.6)
    if harness := results.harness[workload].get(size):
        axes.axvspan(axes.get_xlim()[0], harness.cost, color=SHADE, zorder=0, linewidth=0)
    for y, line in enumerate(lines):
        if line.cell:
            _draw_dot(axes, results, y, line, line.cell)
        else:
            text_left_of(axes, y, line.label, size=7, colour=FAINT, style="italic")
    axes.set_yticks([])
    axes.tick_params(axis="x", labelsize=7)
    format_costs(axes.xaxis)
    title_panel(axes, results, workload, f", {power(size)} timers")


def _draw_dot(axes: Axes, results: Results, y: int, line: DotLine, cell: Cell) -> None:
    look = results.looks[line.label]
    tint = look.colour
    left = axes.get_xlim()[0]
    axes.axhline(y, color="#eeeeee", linewidth=0.5, zorder=0.5)
    text_left_of(axes, y, line.label, size=7.5, colour=tint)
    if not cell.has_figure:
        axes.text(left * 1.15, y, f"✕ {cell.status}", va="center", fontsize=7, color=tint)
        return
    axes.plot((min(cell.costs), max(cell.costs)), (y, y), color=tint, linewidth=1)
    axes.plot(cell.cost, y, linestyle="", markersize=4, **marker_of(look))
    axes.annotate(
        digits(cell.cost) + line.mark,
        (max(cell.costs), y),
        (5, 0),
        textcoords="offset points",
        va="center",
        fontsize=6.5,
        color=INK,
    )
