"""limit: how many times as much as one store a timer costs, a panel for each workload.

One store is the replay with the control FLOOR, which only writes each deadline into an array. Its
cost is the least that a backend can reach.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import median

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from figures.against_size import EndLabel, explain_precisions, label_ends, room_for, shade_below
from figures.parts import (
    FAINT,
    columns_within,
    footer_height,
    limits_around,
    line_of,
    title_panel,
    what_is_shown,
    write_footer,
    write_title,
)
from results.replays import FLOOR, STORES_NOTHING, Results
from style import RANKED
from words import MARKS, digits, enumerated, power

MOST = 8  # backends; of more, only the nearest are drawn
COLUMNS = 3
TICKS = 0.42  # inches of the labels at the left of a plot
PLOT, HIGH = 1.65, 1.75  # least inches of a plot's width, and its height
TITLE, AXIS, TOP = 0.42, 0.26, 0.5  # inches above a plot, below it, and above all
ROW = 0.145  # inches of a line about precisions


@dataclass(frozen=True)
class Line:
    """The distances of a backend by size, each ascending, and where it has no figure."""

    backend: str
    points: Sequence[tuple[int, list[float]]]
    failure: str

    def label(self, results: Results, workload: str) -> EndLabel:
        tint = results.looks[self.backend].colour
        name = self.backend + results.mark_of(self.backend, [workload])
        if not self.points:
            return EndLabel(f"{name}  {self.failure}", tint)
        size, values = self.points[-1]
        last = f"×{digits(median(values))}"
        return EndLabel(
            f"{name}  {self.failure or last}", tint, (size, median(values)), bool(self.failure)
        )


def workloads_of(results: Results) -> list[str]:
    """Returns the workloads with a distance of any backend that is no control."""
    return [
        workload
        for workload in results.workloads
        if any(
            results.distances(workload, size, name)
            for name in results.backends
            if results.precision(name) != "none"
            for size in results.sizes(workload, name)
        )
    ]


def draw(results: Results, width: float | None = None) -> Figure:
    """Draws the panels. All have the same axis of distances."""
    panels = {workload: _lines(results, workload) for workload in workloads_of(results)}
    labels = {
        workload: [line.label(results, workload) for line in lines]
        for workload, lines in panels.items()
    }
    every_label = list(chain.from_iterable(labels.values()))
    room = TICKS + room_for(every_label)
    columns = min(COLUMNS, len(panels), columns_within(width, room + PLOT, 0.1))
    rows = math.ceil(len(panels) / columns)
    wide = width or max(7.5, columns * (room + PLOT) + 0.1)
    plot = (wide - 0.1) / columns - room
    precisions = {results.precision(line.backend) for lines in panels.values() for line in lines}
    footer = footer_height(results, wide)
    below = AXIS + math.ceil(len(precisions) / 2) * ROW + footer
    high = TOP + rows * (TITLE + HIGH) + (rows - 1) * AXIS + below
    figure = plt.figure(figsize=(wide, high), dpi=170)
    every = [
        value
        for lines in panels.values()
        for line in lines
        for _, values in line.points
        for value in values
    ]
    harness = {workload: _harness(results, workload) for workload in panels}
    every += [share for shares in harness.values() for share in shares.values()]
    for at, workload in enumerate(panels):
        row, column = divmod(at, columns)
        left = column * (room + plot) + TICKS
        top = TOP + row * (TITLE + HIGH + AXIS) + TITLE
        axes = figure.add_axes((left / wide, 1 - (top + HIGH) / high, plot / wide, HIGH / high))
        axes.set(xscale="log", yscale="log", ylim=limits_around([*every, 0.8], margin=1.3))
        _draw_panel(axes, results, workload, panels[workload], harness[workload])
        label_ends(axes, labels[workload])
    explain_precisions(figure, precisions, 2, footer)
    note = _note(results, [label.text for label in every_label], any(harness.values()))
    write_title(figure, "Distance to one store by number of pending timers", note)
    write_footer(figure, results)
    return figure


def _note(results: Results, labels: Sequence[str], is_shaded: bool) -> str:
    """Says what is drawn and what is not, and explains the marks in the labels."""
    idle = [name for name in results.workloads if results.item(name) in STORES_NOTHING]
    parts = [
        f"cost divided by that of {FLOOR} in the same round; {what_is_shown(results)}",
        f"both include the harness{', whose own cost is grey' if is_shaded else ''}",
    ]
    if len(results.backends) > MOST:
        parts.append("of each precision those that are the cheapest at any size")
    if idle:
        parts.append(f"without {enumerated(idle, 4)}, where {FLOOR} has nothing to store")
    parts += [
        f"{sign} {meaning}"
        for sign, meaning in MARKS.items()
        if any(sign in label for label in labels)
    ]
    return "; ".join(parts)


def _lines(results: Results, workload: str) -> list[Line]:
    return [_line(results, workload, backend) for backend in _shown(results, workload)]


def _shown(results: Results, workload: str) -> list[str]:
    """Returns the backends to draw: of few all; of many those that are the cheapest of their
    precision at any size.
    """
    groups = results.backends_by_precision()
    if len(results.backends) <= MOST:
        return [name for kind, names in groups.items() if kind != "none" for name in names]
    nearest = {
        standing.groups[0][0]
        for size in results.sizes(workload)
        if (workload, size) in results.floors
        for precision in RANKED
        if (standing := results.standings(workload, size, groups.get(precision, []))).groups
    }
    return [name for name in results.backends if name in nearest]


def _line(results: Results, workload: str, backend: str) -> Line:
    sizes = results.sizes(workload, backend)
    points = [
        (size, values) for size in sizes if (values := results.distances(workload, size, backend))
    ]
    failure = next(
        (
            f"✕ {cell.status} at {power(size)}"
            for size in sizes
            if not (cell := results.cells[workload, size, backend]).has_figure
        ),
        "",
    )
    return Line(backend, points, failure)


def _draw_panel(
    axes: Axes,
    results: Results,
    workload: str,
    lines: Sequence[Line],
    harness: Mapping[int, float],
) -> None:
    sizes = sorted({size for name, size in results.floors if name == workload})
    axes.set(xlim=(sizes[0] / 1.4, sizes[-1] * 1.4))
    if harness:
        shade_below(axes, harness)
    axes.axhline(1, color=FAINT, linewidth=0.9, zorder=1)
    for line in lines:
        middles = [median(values) for _, values in line.points]
        axes.errorbar(
            [size for size, _ in line.points],
            middles,
            (
                [middle - values[0] for middle, (_, values) in zip(middles, line.points)],
                [values[-1] - middle for middle, (_, values) in zip(middles, line.points)],
            ),
            **line_of(results, line.backend, elinewidth=0.7, capsize=1.5, markersize=3.6),
        )
    decades = math.log10(axes.get_ylim()[1])
    ticks = [1, *([2] if decades < 4 else []), *(10**i for i in range(1, math.ceil(decades)))]
    axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"×{power(round(value))}"))
    axes.xaxis.set_major_locator(FixedLocator(sizes))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: power(round(size))))
    axes.tick_params(labelsize=7, length=2, pad=2)
    stores = [results.floors[workload, size].cost for size in sizes]
    ends = dict.fromkeys(digits(cost) for cost in (min(stores), max(stores)))
    title_panel(axes, results, workload, f"; one store {' to '.join(ends)} ns")


def _harness(results: Results, workload: str) -> dict[int, float]:
    """Returns the cost of the replay itself over that of one store, by size."""
    return {
        size: median(values)
        for size in results.harness[workload]
        if (values := results.harness_distances(workload, size))
    }
