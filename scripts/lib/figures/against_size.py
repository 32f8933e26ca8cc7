"""cost_<workload>: the cost of an item against size, a line for each backend."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from figures.parts import (
    FAINT,
    SHADE,
    footer_height,
    format_costs,
    limits_around,
    line_of,
    linestyle,
    note_on_marks,
    what_is_shown,
    width_of,
    write_footer,
    write_title,
)
from results.replays import Results
from style import PRECISIONS
from words import digits, power

LABEL_SIZE = 7.5
LABEL_GAP = 1.3 * LABEL_SIZE / 72  # inches between labels
WIDTH = 8  # inches of the figure
PLOT, TITLE, AXIS = 3.67, 0.67, 0.42  # inches of the plot, above it, and below it
ROW = 0.145  # inches of a line about precisions
LEFT, RIGHT = 0.68, 2.32  # inches beside the plot; more at the right for long labels
LEADER = 0.3  # inches before a label and after it


def draw(results: Results, workload: str, width: float | None = None) -> Figure:
    """Draws the figure. Whiskers span all rounds."""
    wide = width or WIDTH
    backends = [name for name in results.backends if results.sizes(workload, name)]
    precisions = {results.precision(backend) for backend in backends}
    columns = 2 if wide > 6.8 else 1
    footer = footer_height(results, wide)
    below = AXIS + math.ceil(len(precisions) / columns) * ROW + footer
    plot = max(PLOT, len(backends) * LABEL_GAP)
    high = plot + TITLE + below
    figure = plt.figure(figsize=(wide, high), dpi=200)
    axes = figure.add_axes((0, 0, 1, 1))  # until the labels are known
    sizes = results.sizes(workload)
    harness = {size: cell.cost for size, cell in results.harness[workload].items()}
    axes.set(
        xscale="log",
        yscale="log",
        xlim=(sizes[0] / 1.15, sizes[-1] * 1.15),
        ylim=limits_around([*harness.values(), *results.costs(workload)], margin=1.5),
    )
    if harness:
        shade_below(axes, harness)
    labels = [_draw_line(axes, results, workload, backend) for backend in backends]
    right = max(RIGHT, room_for(labels))
    axes.set_position((LEFT / wide, below / high, 1 - (LEFT + right) / wide, plot / high))
    label_ends(axes, labels)

    axes.xaxis.set_major_locator(FixedLocator(sizes))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: power(round(size))))
    axes.set_xlabel("pending timers")
    format_costs(axes.yaxis)
    write_title(
        figure,
        f"{workload}: cost per {results.item(workload)} by number of pending timers",
        f"{what_is_shown(results)}; at the right in ns at the largest size"
        + ("; grey: the harness itself" if harness else "")
        + note_on_marks(results, workload),
    )
    explain_precisions(figure, precisions, columns, footer)
    write_footer(figure, results)
    return figure


@dataclass(frozen=True)
class EndLabel:
    """The label at the right of a line, and the point where the line ends, if there is one."""

    text: str
    colour: str
    end: tuple[float, float] | None = None
    is_cut: bool = False


def _draw_line(axes: Axes, results: Results, workload: str, backend: str) -> EndLabel:
    cells = [
        (size, results.cells[workload, size, backend]) for size in results.sizes(workload, backend)
    ]
    shown = [(size, cell) for size, cell in cells if cell.has_figure]
    failure = next(
        (f"✕ {cell.status} at {power(size)}" for size, cell in cells if not cell.has_figure), ""
    )
    tint = results.looks[backend].colour
    if not shown:
        return EndLabel(f"{backend}  {failure}", tint)
    costs = [cell.cost for _, cell in shown]
    whiskers = (
        [cell.cost - min(cell.costs) for _, cell in shown],
        [max(cell.costs) - cell.cost for _, cell in shown],
    )
    axes.errorbar(
        [size for size, _ in shown],
        costs,
        whiskers,
        **line_of(results, backend, elinewidth=0.8, capsize=2),
    )
    end = (shown[-1][0], costs[-1])
    if failure:
        axes.plot(*end, "x", color=tint, markersize=9, markeredgewidth=1.5, zorder=4)
    name = backend + results.mark_of(backend, [workload])
    last = digits(costs[-1])
    if end[0] < results.sizes(workload)[-1]:
        last += f" at {power(end[0])}"
    return EndLabel(f"{name}  {failure or last}", tint, end, bool(failure))


def room_for(labels: Sequence[EndLabel]) -> float:
    """Returns the inches that the labels take at the right of a plot."""
    return LEADER + max((width_of(label.text, LABEL_SIZE) for label in labels), default=0)


def label_ends(axes: Axes, labels: list[EndLabel]) -> None:
    """Writes the labels in a column at the right, each as close to its line as possible. The limits
    of the axes must be known.
    """
    inches = axes.figure.get_figheight() * axes.get_position().height
    gap = min(LABEL_GAP / inches, 1 / len(labels))
    bottom, top = map(math.log, axes.get_ylim())
    wanted = [
        (math.log(label.end[1]) - bottom) / (top - bottom) if label.end else 1 for label in labels
    ]
    for label, y in zip(labels, spread_out(wanted, gap, -0.02, 1 - gap / 2)):
        leader = {
            "arrowstyle": "-",
            "color": label.colour,
            "linewidth": 0.6,
            "relpos": (0, 0.5),
            "linestyle": ":" if label.is_cut else "-",
            "shrinkA": 0,
            "shrinkB": 3,
        }
        axes.annotate(
            label.text,
            label.end or (1, y),
            (1.05, y),
            color=label.colour,
            xycoords="data" if label.end else "axes fraction",
            textcoords="axes fraction",
            fontsize=LABEL_SIZE,
            va="center",
            arrowprops=leader if label.end else None,
            annotation_clip=False,
        )


def spread_out(wanted: list[float], gap: float, low: float, high: float) -> list[float]:
    """Returns the places that are at least `gap` apart with the least squared distance to those
    wanted.

    Merges neighbours that would overlap into clusters. A cluster is at the mean of its members'
    wanted places (the pool-adjacent-violators algorithm).
    """
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    clusters: list[tuple[float, int]] = []  # place of the lowest member, and size
    for rank, index in enumerate(order):
        place, count = wanted[index] - rank * gap, 1
        while clusters and clusters[-1][0] > place:
            other, others = clusters.pop()
            place, count = (place * count + other * others) / (count + others), count + others
        clusters.append((place, count))
    places = [place for place, count in clusters for _ in range(count)]
    highest = high - gap * (len(wanted) - 1)
    result = [0.0] * len(wanted)
    for rank, index in enumerate(order):
        result[index] = rank * gap + max(low, min(places[rank], highest))
    return result


def shade_below(axes: Axes, values: Mapping[int, float]) -> None:
    """Shades what is below these values by size. The first and the last reach to the ends of the
    axis, whose limits must be known.
    """
    left, right = axes.get_xlim()
    middles = list(values.values())
    across, up = [left, *values, right], [middles[0], *middles, middles[-1]]
    axes.fill_between(across, up, axes.get_ylim()[0], color=SHADE, zorder=0, linewidth=0)


def explain_precisions(figure: Figure, precisions: set[str], columns: int, footer: float) -> None:
    handles = [
        Line2D(
            [],
            [],
            color=FAINT,
            linestyle=linestyle(precision),
            linewidth=1.2,
            label=f"{precision if precision != 'none' else 'control'}: {meaning}",
        )
        for precision, meaning in PRECISIONS.items()
        if precision in precisions
    ]
    figure.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(0.01, (footer - 0.13) / figure.get_figheight()),
        ncols=columns,
        frameon=False,
        fontsize=7,
        handlelength=3,
        columnspacing=2,
        labelspacing=0.35,
    )
