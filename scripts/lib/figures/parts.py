"""The common parts of the figures: the look, the axis of costs, title and footer."""

import math
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from files import replacing
from results.grid import Grid
from results.replays import Results
from style import DASHES, Look
from words import MARKS, machine_line, remake_line

INK = "#222222"
FAINT = "#707070"
SHADE = "#eaeaea"
LEGEND_SIZE = 7.5
FOOTER = 0.55  # inches below a legend
TITLE_LETTER = 0.083  # inches of a letter above a panel, on average

plt.rcParams.update(
    {
        "font.family": "DejaVu Sans",
        "text.parse_math": False,  # a name may contain a $
        "font.size": 9,
        "text.color": INK,
        "axes.edgecolor": "#999999",
        "axes.labelcolor": INK,
        "axes.linewidth": 0.7,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.grid": True,
        "grid.color": "#dddddd",
        "grid.linewidth": 0.5,
        "xtick.color": INK,
        "ytick.color": INK,
        "svg.hashsalt": "timerbench",  # equal results give equal files
    }
)


def limits_around(costs: Sequence[float], margin: float, end: float = 0) -> tuple[float, float]:
    """Returns the limits of a logarithmic axis with room around the costs; `end` is the factor of
    room at the upper end.
    """
    return min(costs) / margin, max(costs) * (end or margin)


def columns_within(width: float | None, column: float, others: float) -> int:
    """Returns how many columns fit into the width beside the others; without a width, there is no
    limit.
    """
    return max(1, int((width - others) / column)) if width else sys.maxsize


def format_costs(axis: Axis, every: int = 1) -> None:
    """Labels every n-th power of ten with its unit, such as 10 ns and 1 µs."""
    axis.set_major_locator(LogLocator(10, numticks=20))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(
        FuncFormatter(lambda cost, _: "" if round(math.log10(cost)) % every else with_unit(cost))
    )


def format_decades(axis: Axis, text: Callable[[float], str]) -> None:
    """Labels powers of ten of any unit; on a short axis, twice and five times the powers too."""
    low, high = axis.get_view_interval()
    decades = math.log10(high / low)
    subs = (1.0, 2.0, 5.0) if decades < 1.8 else (1.0, 3.0) if decades < 2.6 else (1.0,)
    axis.set_major_locator(LogLocator(10, subs=subs, numticks=20))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))


def with_unit(nanoseconds: float) -> str:
    """Formats a tick: 0.1 ns, 1 µs, 10 ms."""
    for unit, factor in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= factor * 0.999:
            return f"{nanoseconds / factor:g} {unit}"
    return f"{nanoseconds:g} ns"


def what_is_shown(results: Any, whiskers: bool = True) -> str:
    """Says which of the rounds a figure shows."""
    if results.rounds.most < 2:
        return "one measurement a cell"
    spread = ", with the least and the greatest" if whiskers else ""
    return f"median of {results.rounds} rounds{spread}"


def note_on_marks(results: Results, *workloads: str) -> str:
    """Explains the marks of these workloads' costs; empty if there are none."""
    borne = {sign for key, signs in results.marks.items() if key[0] in workloads for sign in signs}
    return "".join(f"; {sign} {meaning}" for sign, meaning in MARKS.items() if sign in borne)


def write_title(figure: Figure, title: str, note: str) -> None:
    """Writes the title at the top left, and below it in small print the note. Wraps both; the
    figure grows if they need more than one line.
    """
    above, gap = 0.16, 0.26
    for text, style, line in (
        (title, {"fontsize": 12, "fontweight": "bold"}, 0.2),
        (note, {"fontsize": 8, "color": FAINT}, 0.14),
    ):
        lines = _wrapped(figure, text, **style)
        _grow(figure, (len(lines) - 1) * line)
        width, height = figure.get_size_inches()
        for i, part in enumerate(lines):
            place = 1 - (above + i * line) / height
            figure.text(0.15 / width, place, part, va="top", **style)
        above += (len(lines) - 1) * line + gap


def _wrapped(figure: Figure, text: str, **style: Any) -> list[str]:
    """Returns lines that are no wider than the figure."""
    probe = figure.text(0, 0, "", **style)
    room = (figure.get_figwidth() - 0.3) * figure.dpi
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".lstrip()
        probe.set_text(longer)
        if lines[-1] and probe.get_window_extent().width > room:
            lines.append(word)
        else:
            lines[-1] = longer
    probe.remove()
    return lines


def _grow(figure: Figure, inches: float) -> None:
    """Adds height at the top; the rest keeps its distance from the bottom and its height."""
    width, height = figure.get_size_inches()
    share = height / (height + inches)
    places = [(axes, axes.get_position().bounds) for axes in figure.axes]
    texts = [(text, text.get_position()) for text in figure.texts]
    figure.set_size_inches(width, height + inches)
    for axes, (left, bottom, wide, tall) in places:
        axes.set_position((left, bottom * share, wide, tall * share))
    for text, (left, bottom) in texts:
        text.set_position((left, 1 - (1 - bottom) * share))


def write_footer(figure: Figure, results: Grid[Any]) -> None:
    """Writes the machine, and the command that repeats the figure."""
    width, height = figure.get_size_inches()
    text = "\n".join(_footer(results, width))
    figure.text(
        0.15 / width, 0.1 / height, text, fontsize=6.5, color=FAINT, va="bottom", linespacing=1.4
    )


def footer_height(results: Grid[Any], width: float) -> float:
    """Returns the inches below a legend, for the usual number of lines or more."""
    return FOOTER + max(0, len(_footer(results, width)) - 3) * 0.13


def _footer(results: Grid[Any], width: float) -> list[str]:
    cut = f" · interrupted, {results.interrupted} cells missing" if results.interrupted else ""
    lines = [
        f"{machine_line(results.facts)} · suite {results.facts.get('suite', 'unknown')}{cut}",
        f"reproduce with: {remake_line(results.facts)}",
    ]
    return [part for line in lines for part in _wrapped_at_commas(line, int(width * 20))]


def _wrapped_at_commas(text: str, width: int) -> list[str]:
    """Returns lines of at most `width` letters, broken at blanks and behind commas."""
    lines = [""]
    for part in re.findall(r"[^ ,]*[ ,]*", text):
        if lines[-1] and len((lines[-1] + part).rstrip()) > width:
            lines.append(part)
        else:
            lines[-1] += part
    return [line.rstrip() for line in lines]


def title_panel(axes: Axes, results: Results, workload: str, note: str = "") -> None:
    """Writes the title of a panel: the workload, and below it the unit of its costs."""
    write_above(axes, workload, f"per {results.item(workload)}{note}")


def write_above(axes: Axes, title: str, note: str) -> None:
    """Writes the title of a panel, and a note in small print below it."""
    for text, points, style in (
        (title, 13, {"fontsize": 9, "fontweight": "bold"}),
        (note, 3.5, {"fontsize": 7, "color": FAINT}),
    ):
        axes.annotate(
            text,
            (0, 1),
            (0, points),
            xycoords="axes fraction",
            textcoords="offset points",
            annotation_clip=False,
            **style,
        )


def write_picture(figure: Figure, path: Path, metadata: dict[str, str | None] | None) -> None:
    """Writes a figure as the ending of the path says, PNG or SVG."""
    with replacing(path) as partial:
        figure.savefig(partial, format=path.suffix[1:], facecolor="white", metadata=metadata)


def line_of(results: Grid[Any], backend: str, **style: Any) -> dict[str, Any]:
    """Returns the look of a backend's line."""
    look = results.looks[backend]
    return {
        "color": look.colour,
        "linestyle": linestyle(results.precision(backend)),
        "markersize": 4.2,
        "linewidth": 1.3,
        **marker_of(look),
        **style,
    }


def marker_of(look: Look) -> dict[str, Any]:
    """Returns the marker; a dot if the look has no shape."""
    return {
        "marker": look.shape or ".",
        "markerfacecolor": "white" if look.is_open else look.colour,
        "markeredgecolor": look.colour,
    }


def linestyle(precision: str) -> Any:
    """Returns the line style for matplotlib."""
    return (0, DASHES[precision]) if DASHES[precision] else "-"


def legend_below(
    figure: Figure,
    handles: Sequence[Artist],
    columns: int,
    footer: float,
    handlelength: float = 2.6,
) -> None:
    """Places the legend above the footer, whose height is `footer` inches."""
    figure.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(0.15 / figure.get_figwidth(), footer / figure.get_figheight()),
        ncols=columns,
        frameon=False,
        fontsize=LEGEND_SIZE,
        handlelength=handlelength,
        columnspacing=1.6,
        labelspacing=0.3,
        borderpad=0,
        borderaxespad=0,
    )


def legend_height(entries: int, columns: int) -> float:
    """Returns the inches of a legend."""
    return math.ceil(entries / columns) * LEGEND_SIZE * 1.6 / 72


def width_of(text: str, size: float) -> float:
    """Returns the inches of a text in a size of the font."""
    points, _, _ = text_to_path.get_text_width_height_descent(
        text, FontProperties(size=size), ismath=False
    )
    return float(points) / 72


def width_of_names(names: Iterable[str]) -> float:
    """Returns the inches that the names of lines need at the left of a panel."""
    letter = 0.067
    return max(1.45, letter * max(map(len, names)))


def text_left_of(
    axes: Axes, y: float, text: str, *, size: float, colour: str, **style: str
) -> None:
    """Writes the name of a line at the left of a plot."""
    axes.annotate(
        text,
        (0, y),
        (-5, 0),
        xycoords=axes.get_yaxis_transform(),
        textcoords="offset points",
        ha="right",
        va="center",
        fontsize=size,
        color=colour,
        annotation_clip=False,
        **style,
    )
