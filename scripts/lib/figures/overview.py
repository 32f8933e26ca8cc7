"""overview: every backend, workload and size on one page.

Each line is a backend, each panel a workload, and each dot a size. Cost increases to the right;
larger dots have more timers. All panels have the same order of backends, because there is no rank
over all workloads.
"""

import math

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from figures.parts import (
    FAINT,
    INK,
    SHADE,
    TITLE_LETTER,
    columns_within,
    footer_height,
    format_costs,
    limits_around,
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
from words import power

LINE = 0.15  # inches of a backend's line
PANELS, PANEL = 9.2, 1.2  # inches of all panels in a row, and the least of one
LETTER = 0.042  # inches of a letter beside the dots, on average
TITLE, AXIS, TOP = 0.75, 0.15, 0.95  # inches between rows of panels, below the last, and above all


def draw(results: Results, width: float | None = None) -> Figure:
    """Draws few panels in one row, more in two rows, or in as many as the width requires."""
    lines: list[tuple[str, bool]] = []  # a backend, or the heading of a precision
    for precision, backends in results.backends_by_precision().items():
        lines += [(HEADINGS[precision], False), *((name, True) for name in backends)]
    rows = 1 if len(results.workloads) <= 3 else 2
    names = width_of_names(name for name, _ in lines)
    wide = width or names + PANELS + 0.2
    panel = TITLE_LETTER * max(len(name) for name in results.workloads)
    most = columns_within(wide, max(PANEL, panel), names + 0.2)
    columns = min(most, math.ceil(len(results.workloads) / rows))
    rows = math.ceil(len(results.workloads) / columns)
    panel_height = LINE * len(lines)
    bottom = AXIS + footer_height(results, wide)
    height = rows * panel_height + (rows - 1) * TITLE + TOP + bottom
    figure, grid = plt.subplots(rows, columns, figsize=(wide, height), dpi=170, squeeze=False)
    figure.subplots_adjust(
        left=names / wide,
        right=1 - 0.2 / wide,
        wspace=0.08,
        bottom=bottom / height,
        top=1 - TOP / height,
        hspace=TITLE / panel_height,
    )
    for axes in grid.flat[len(results.workloads) :]:
        axes.set_visible(False)
    harness = {
        workload: min(cell.cost for cell in cells.values())
        for workload in results.workloads
        if (cells := results.harness[workload])
    }
    costs = [cost for workload in results.workloads for cost in results.costs(workload)]
    costs += harness.values()
    for axes, workload in zip(grid.flat, results.workloads):
        axes.set(xscale="log", xlim=limits_around(costs, margin=1.8), ylim=(len(lines) - 0.4, -0.6))
        if workload in harness:
            left, _ = axes.get_xlim()
            axes.axvspan(left, harness[workload], color=SHADE, zorder=0, linewidth=0)
        _draw_panel(axes, results, workload, lines)
    for axes in grid[:, 0]:
        _name_lines(axes, results, lines)
    write_title(
        figure,
        "What timer operations cost",
        what_is_shown(results, whiskers=False)
        + ("; grey: the least that the harness itself costs" if harness else "")
        + note_on_marks(results, *results.workloads),
    )
    _explain_dots(figure, results)
    write_footer(figure, results)
    return figure


def _name_lines(axes: Axes, results: Results, lines: list[tuple[str, bool]]) -> None:
    for y, (name, is_backend) in enumerate(lines):
        if is_backend:
            label = name + results.mark_of(name, results.workloads)
            text_left_of(axes, y, label, size=7.5, colour=results.looks[name].colour)
        else:
            text_left_of(axes, y, name, size=6.5, colour=FAINT, style="italic")


def _draw_panel(axes: Axes, results: Results, workload: str, lines: list[tuple[str, bool]]) -> None:
    for y, (backend, is_backend) in enumerate(lines):
        if is_backend:
            axes.axhline(y, color="#eeeeee", linewidth=0.5, zorder=0.5)
            cells = [
                (size, results.cells[workload, size, backend])
                for size in results.sizes(workload, backend)
            ]
            _draw_dots(axes, y, results.looks[backend].colour, cells)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="x", labelsize=6.5, length=2)
    format_costs(axes.xaxis, every=2)
    sizes = results.sizes(workload)
    title_panel(axes, results, workload, f", {power(sizes[0])} timers" if len(sizes) == 1 else "")


def _draw_dots(axes: Axes, y: int, tint: str, cells: list[tuple[int, Cell]]) -> None:
    shown = [(size, cell.cost) for size, cell in cells if cell.has_figure]
    axes.plot([cost for _, cost in shown], [y] * len(shown), color=tint, linewidth=1)
    for size, cost in reversed(shown):  # small dots lie on large ones
        axes.plot(
            cost,
            y,
            "o",
            color=tint,
            markersize=_diameter(size),
            markeredgecolor="white",
            markeredgewidth=0.3,
        )
    failed = [(size, cell.status) for size, cell in cells if not cell.has_figure]
    if failed:
        size, status = failed[0]
        _write_beside(axes, y, [cost for _, cost in shown], f"✕ {status} {power(size)}", tint)


def _write_beside(axes: Axes, y: int, costs: list[float], text: str, tint: str) -> None:
    """Writes the text behind the dots, or before them if there is no room."""
    left, right = axes.get_xlim()
    width = axes.get_position().width * axes.figure.get_figwidth()
    room = width * math.log(right / max(costs, default=left)) / math.log(right / left)
    is_left = room < LETTER * (len(text) + 2)
    anchor = left if not costs else min(costs) if is_left else max(costs)
    axes.annotate(
        text,
        (anchor, y),
        (-4 if is_left else 4, 0),
        textcoords="offset points",
        ha="right" if is_left else "left",
        va="center",
        fontsize=6,
        color=tint,
    )


def _diameter(size: int) -> float:
    return 1.6 + 0.7 * math.log10(max(size, 10))


def _explain_dots(figure: Figure, results: Results) -> None:
    sizes = sorted(
        {
            size
            for name in results.workloads
            for size in results.sizes(name)
            if len(results.sizes(name)) > 1
        }
    )
    handles = [
        Line2D(
            [],
            [],
            linestyle="",
            marker="o",
            color=INK,
            markersize=_diameter(size),
            label=f"{power(size)} timers",
        )
        for size in sizes
    ]
    if handles:
        figure.legend(
            handles=handles,
            loc="upper right",
            bbox_to_anchor=(1, 1),
            ncols=len(sizes),
            frameon=False,
            fontsize=7.5,
            handletextpad=0,
            columnspacing=1,
        )
