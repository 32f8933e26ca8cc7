"""longest_advance: the longest advance() of a replay, a line for each workload.

From the pass `tails`. Each call counts by the least of three replays, so what only interrupted one of
them is not in it.
"""

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from figures.parts import (
    FAINT,
    INK,
    LEGEND_SIZE,
    columns_within,
    footer_height,
    format_costs,
    legend_below,
    legend_height,
    limits_around,
    marker_of,
    text_left_of,
    width_of,
    width_of_names,
    write_footer,
    write_title,
)
from results.replays import Results
from words import power

PAGE = 7.5  # inches of the page's width, unless given
LINE = 0.3  # inches of a workload's line
AXIS, TOP = 0.35, 0.75  # inches below the lines, and above
LEGEND_MARK = 0.55  # inches of an entry of the legend beside its name


def draw(
    results: Results,
    found: Mapping[str, Mapping[str, float]],
    sizes: Mapping[str, int],
    width: float | None = None,
) -> Figure:
    """Draws what longest_of() has found with these sizes."""

    def dot(name: str) -> dict[str, Any]:
        return {"linestyle": "", "markersize": 5, **marker_of(results.looks[name])}

    backends = list(dict.fromkeys(name for of in found.values() for name in of))
    wide = width or PAGE
    names = width_of_names(found)
    entry = LEGEND_MARK + max(width_of(name, LEGEND_SIZE) for name in backends)
    columns = min(len(backends), columns_within(wide, entry, 0.3))
    legend = legend_height(len(backends), columns)
    footer = footer_height(results, wide)
    bottom = footer + legend + AXIS
    height = len(found) * LINE + TOP + bottom
    figure, axes = plt.subplots(figsize=(wide, height), dpi=150)
    figure.subplots_adjust(
        left=names / wide, right=1 - 0.3 / wide, bottom=bottom / height, top=1 - TOP / height
    )
    times = [time for of in found.values() for time in of.values()]
    axes.set(xscale="log", xlim=limits_around(times, margin=1.8), ylim=(len(found) - 0.4, -0.6))
    for y, (workload, of) in enumerate(found.items()):
        text_left_of(axes, y, workload, size=8, colour=INK)
        for name, time in of.items():
            axes.plot(time, y, **dot(name))
    axes.set_yticks(range(len(found)), [""] * len(found))
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=7, colors=FAINT)
    format_costs(axes.xaxis)
    told = " and ".join(power(size) for size in sorted({sizes[workload] for workload in found}))
    write_title(
        figure,
        f"The longest advance() at {told} timers",
        "each call counts by the least of three replays; one measurement a cell",
    )
    handles = [Line2D([], [], label=name, **dot(name)) for name in backends]
    legend_below(figure, handles, columns, footer, handlelength=1)
    write_footer(figure, results)
    return figure
