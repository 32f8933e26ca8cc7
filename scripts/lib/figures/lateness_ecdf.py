"""lateness_ecdf: the distribution of lateness and of its parts.

Each panel shows one service with its lateness and the three parts of it. The grey line, the same in
all panels, is the lateness of a sleep on the machine itself.
"""

import math

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter

from results.counters import Distribution
from figures.parts import (
    INK,
    TITLE_LETTER,
    columns_within,
    footer_height,
    format_decades,
    legend_below,
    legend_height,
    with_unit,
    write_above,
    write_footer,
    write_title,
)
from results.realtime import CONTROL, RealtimeCell, RealtimeResults
from words import power, time

WIDTH, HEIGHT = 2.35, 1.75  # inches of a panel
GAP = 0.42  # inches between panels
TITLE, BETWEEN = 1.0, 0.75  # inches above the first row of panels, and between rows
LEAST = 1e3  # ns at the left of the axis; smaller lateness does not matter

PARTS = {
    "lateness": {"linewidth": 1.9},
    "rounding": {"linewidth": 1.1, "linestyle": (0, (1, 1))},
    "wakeup": {"linewidth": 1.1, "linestyle": (0, (4, 1.5))},
    "processing": {"linewidth": 1.1, "linestyle": (0, (6, 1.5, 1, 1.5))},
}
MEANINGS = {
    "lateness": "lateness, the sum of the three",
    "rounding": "rounding, by the structure",
    "wakeup": "wakeup, by the system",
    "processing": "processing, behind other timers",
}


def cells_with_distribution(results: RealtimeResults, size: int) -> dict[str, RealtimeCell]:
    """Returns the services that have distributions."""
    return {
        service: cell
        for service, cell in results.measured("rate", size).items()
        if service != CONTROL and cell.distribution("lateness")
    }


def draw(results: RealtimeResults, size: int, width: float | None = None) -> Figure:
    """Draws the figure for `size` timers per second. REQUIRES: there are cells
    with distributions.
    """
    cells = cells_with_distribution(results, size)
    machine = results.cell("rate", size, CONTROL)
    control = machine.distribution("lateness") if machine else None
    panel = max(0.7 * WIDTH, TITLE_LETTER * max(map(len, cells)))
    most = columns_within(width, panel + GAP, 0.5)
    columns = min(4, max(3, math.ceil(len(cells) / 2)), most)
    rows = math.ceil(len(cells) / columns)
    wide = width or 0.5 + columns * (WIDTH + GAP)
    panel_width = (wide - 0.5) / columns - GAP
    legend_columns = 3 if wide > 8 else 2
    legend = legend_height(5, legend_columns)
    footer = footer_height(results, wide)
    high = TITLE + rows * HEIGHT + (rows - 1) * BETWEEN + 0.45 + legend + footer
    figure, grid = plt.subplots(rows, columns, figsize=(wide, high), dpi=170, squeeze=False)
    figure.subplots_adjust(
        left=0.55 / wide,
        right=1 - 0.35 / wide,
        wspace=GAP / panel_width,
        bottom=(0.45 + legend + footer) / high,
        top=1 - TITLE / high,
        hspace=BETWEEN / HEIGHT,
    )
    for axes in grid.flat[len(cells) :]:
        axes.set_visible(False)
    everyone = [*cells.values(), machine] if control and machine else [*cells.values()]
    latest = max(cell.value("lateness_max_ns") or LEAST for cell in everyone)
    for i, (axes, (service, cell)) in enumerate(zip(grid.flat, cells.items())):
        axes.set(xscale="log", xlim=(LEAST, max(latest * 1.3, 10 * LEAST)), ylim=(-0.03, 1.03))
        if control:
            axes.plot(
                *_steps(control), color=results.looks[CONTROL].colour, linewidth=2.6, alpha=0.55
            )
        _draw_service(axes, service, cell, results.looks[service].colour)
        axes.yaxis.set_major_locator(FixedLocator([0, 0.25, 0.5, 0.75, 1]))
        is_first = i % columns == 0
        axes.yaxis.set_major_formatter(
            FuncFormatter(lambda share, _, shown=is_first: f"{share:.0%}" if shown else "")
        )
        axes.tick_params(labelsize=7)
        format_decades(axes.xaxis, with_unit)
        axes.set_xlabel("late by at most", fontsize=7.5)
    write_title(
        figure,
        f"Lateness of timers at {power(size)} a second, and the reasons",
        "share of the timers that are late by so much at most; a part that is 0 for all is a line "
        "along the top",
    )
    handles = [
        Line2D([], [], color=INK, label=MEANINGS[part], **style) for part, style in PARTS.items()
    ]
    if control:
        label = "control: how late the machine itself wakes up"
        handles.append(
            Line2D(
                [], [], color=results.looks[CONTROL].colour, linewidth=2.6, alpha=0.55, label=label
            )
        )
    legend_below(figure, handles, legend_columns, footer)
    write_footer(figure, results)
    return figure


def _draw_service(axes: Axes, service: str, cell: RealtimeCell, tint: str) -> None:
    for part, style in PARTS.items():
        if distribution := cell.distribution(part):
            axes.plot(*_steps(distribution), color=tint, **style)
    known = [
        f"{name} {time(value)}"
        for name in ("p50", "p99")
        if (value := cell.value(f"lateness_{name}_ns")) is not None
    ]
    note = ", ".join(known) + (", saturated" if cell.saturated else "")
    write_above(axes, service, note)


def _steps(distribution: Distribution) -> tuple[list[float], list[float]]:
    """Returns the steps of the curve, from the left of the axis to far beyond its right."""
    edges = [LEAST / 10, *(max(edge, LEAST / 10) for edge in distribution.edges), 1e15]
    shares = [below / distribution.count for below in distribution.below]
    return edges, [shares[0], *shares, 1.0]
