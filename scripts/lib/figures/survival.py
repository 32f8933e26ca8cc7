"""The figure of the suite `faults`: what each queue lost in each fault."""

from collections.abc import Callable, Iterator
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from figures.parts import (
    FOOTER,
    INK,
    LEGEND_SIZE,
    footer_height,
    legend_below,
    legend_height,
    width_of,
    write_footer,
    write_title,
)
from results.survival import Fate, SurvivalResults, Verdict
from tables.survival import ALL, BROKEN, MARKS, NO_START, matrix, signs

ROW, LETTER = 0.27, 0.068  # inches of a row, and of a letter of a name
COLUMN = 0.47  # inches, of the least
TILE_SIZE = 7.5  # of letters, in points; smaller if a tile is narrower
BETWEEN = 0.05  # inches beside the names

COLOURS = {
    Verdict.KEPT: "#cde8d3",
    Verdict.ALLOWED: "#fbe3a6",
    Verdict.BROKEN: "#f2a79c",
    Verdict.LOSES_ALL: "#f3cf86",
    Verdict.LEFT_OUT: "#f1f1f1",
    Verdict.UNKNOWN: "#cfcfcf",
}


def figures(
    results: SurvivalResults, width: float | None = None
) -> Iterator[tuple[str, Callable[[], Figure]]]:
    """Yields the name of the figure and the function that draws it."""
    if results.fates:
        yield "survival", partial(draw, results, width)


def paper_figures(
    results: SurvivalResults, width: float | None = None
) -> Iterator[tuple[str, Callable[[], Figure]]]:
    if results.fates:
        yield "survival", partial(draw, results, width, is_paper=True)


def draw(results: SurvivalResults, width: float | None = None, is_paper: bool = False) -> Figure:
    """Draws a tile for each queue and fault. On paper there is no title and no footer."""
    faults, rows = matrix(results)
    names = LETTER * max(map(len, results.backends)) + 3 * BETWEEN
    wide = width or max(names + COLUMN * len(faults) + 0.3, 7.5)
    labels = [fault.replace("_", " ") for fault in faults]
    heads = LETTER * max(map(len, labels)) + 2 * BETWEEN
    found = [one for one in Verdict if any(fate.verdict is one for fate in results.fates.values())]
    columns = legend_columns([one.value for one in found], wide)
    legend = legend_height(len(found), columns)
    below = 0.23 + legend + (0 if is_paper else footer_height(results, wide) - FOOTER + 0.5)
    above = heads + (0.05 if is_paper else 0.75)
    high = below + ROW * len(rows) + above
    figure = plt.figure(figsize=(wide, high), dpi=170)
    across, up = names / wide, below / high
    axes = figure.add_axes((across, up, 1 - across - 0.15 / wide, ROW * len(rows) / high))
    axes.set(xlim=(0, len(faults)), ylim=(len(rows), 0))
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0, labeltop=True, labelbottom=False, pad=3)
    axes.set_xticks([x + 0.5 for x in range(len(faults))], labels, rotation=90)
    axes.set_yticks([y + 0.5 for y in range(len(rows))], results.backends)
    widest = max(width_of(tile_text(fate), TILE_SIZE) for fate in results.fates.values())
    room = 0.92 * (wide - names - 0.15) / len(faults)
    size = TILE_SIZE * min(1, room / (widest or room))
    for y, row in enumerate(rows):
        for x, fate in enumerate(row):
            if fate:
                colour = COLOURS[fate.verdict]
                axes.add_patch(
                    Rectangle((x + 0.03, y + 0.05), 0.94, 0.9, color=colour, linewidth=0)
                )
                weight = "bold" if fate.breaches else "normal"
                place = {"ha": "center", "va": "center", "fontsize": size, "color": INK}
                axes.text(x + 0.5, y + 0.52, tile_text(fate), weight=weight, **place)
    patches = [Patch(color=COLOURS[one], label=one.value) for one in found]
    legend_below(figure, patches, columns, below - 0.15 - legend, handlelength=1.2)
    if not is_paper:
        write_title(figure, "What durable timers survive", _note(results))
        write_footer(figure, results)
    return figure


def legend_columns(labels: list[str], wide: float) -> int:
    """Returns the most columns of a legend that fit the page; each is as wide as its longest label."""
    patch = 3.4 * LEGEND_SIZE / 72  # inches of a patch, and of the gaps beside it

    def width(columns: int) -> float:
        parts = np.array_split(labels, columns)
        return sum(max(width_of(label, LEGEND_SIZE) for label in part) + patch for part in parts)

    fitting = (n for n in range(len(labels), 0, -1) if width(n) <= wide - 0.3)
    return next(fitting, 1)


def tile_text(fate: Fate) -> str:
    """Returns how many timers were lost, with marks; nothing if the fault was left out."""
    if fate.verdict is Verdict.LOSES_ALL:
        return ALL
    if not fate.has_figure:
        return ""
    return short_count(fate.lost) + signs(fate)


def short_count(number: int) -> str:
    """Formats a count with at most four letters: 132, 4.0k, 51k, 1.2M."""
    if number < 1000:
        return str(number)
    unit, factor = ("k", 1e3) if number < 999_500 else ("M", 1e6)
    return f"{number / factor:.{1 if number < 9.95 * factor else 0}f}{unit}"


def _note(results: SurvivalResults) -> str:
    runs = sorted({fate.runs for fate in results.fates.values() if fate.runs})
    each = f"{runs[0]} to {runs[-1]}" if len(runs) > 1 else "".join(map(str, runs)) or "0"
    marks = "; ".join(f"{mark} it {promise}" for promise, mark in MARKS.items())
    return (
        f"acknowledged timers that never fired, in {each} runs for each tile; the engine promises to "
        f"keep all, except: {marks}; {NO_START} the engine does not start again; {BROKEN} the promise "
        "is broken"
    )
