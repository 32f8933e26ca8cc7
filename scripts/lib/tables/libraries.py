"""For how many timers and operations a library is enough, and what an own structure gains beyond that.

A library is enough if nobody feels what it takes: less than 1 % of a core. All figures are of measured
cells, and nothing is interpolated.
"""

from typing import Any

from results.grid import Grid
from results.replays import Results
from style import LIBRARY
from words import grouped, power

ENOUGH = 0.01  # of a core

# Workloads of one kind of operation; what a program does is more.
PARTS = ("fill", "cancel", "drain")

EXPLANATION = (
    "Operations a second for which 1 % of a core pays. Up to so many a library is enough; beyond, the "
    "cheapest own structures, in the last rows, pay for more: one of the same precision, and one that is "
    "granular, as wheels are:"
)


def version_lines(grid: Grid[Any]) -> list[str]:
    """Says which versions of libraries were measured, in a line, if there is one that tells."""
    of_versions: dict[str, list[str]] = {}
    for name in grid.backends:
        if version := grid.version(name):
            of_versions.setdefault(version, []).append(f"`{name}`")
    told = [f"{', '.join(names)}: {version}" for version, names in of_versions.items()]
    return [f"Versions. {'; '.join(told)}."] if told else []


def libraries_table(results: Results) -> tuple[list[str], list[list[str]]] | None:
    """Returns the titles and the lines of the table, or nothing if the results have no library.

    There is a column for each workload and size at which a library has a figure, and a line for each
    library, then for the cheapest own structures: those of the libraries' precisions, and granular
    ones, for that is where wheels are.
    """
    by_precision = results.backends_by_precision()
    of_libraries = {
        precision: names for precision, names in by_precision.items() if precision.endswith(LIBRARY)
    }
    libraries = [name for names in of_libraries.values() for name in names]
    columns = [
        (workload, size)
        for workload in results.workloads
        if workload not in PARTS
        for size in results.sizes(workload)
        if any(pays(results, workload, size, name) for name in libraries)
    ]
    if not columns:
        return None
    beside = {"granular", *(precision.removesuffix(LIBRARY) for precision in of_libraries)}
    lines = [
        [f"`{name}`", *(pays(results, *column, name) or "–" for column in columns)]
        for name in libraries
    ]
    lines += [
        [f"own, {precision}", *(_best(results, *column, names) for column in columns)]
        for precision, names in by_precision.items()
        if precision in beside
    ]
    titles = ["", *(f"{workload}<br>{power(size)} timers" for workload, size in columns)]
    return titles, lines


def pays(results: Results, workload: str, size: int, backend: str) -> str:
    """Returns for how many operations a second 1 % of a core pays; empty without a figure."""
    cell = results.cell(workload, size, backend)
    if not cell or not cell.has_figure:
        return ""
    return grouped(int(float(f"{ENOUGH * 1e9 / cell.cost:.1e}")))


def _best(results: Results, workload: str, size: int, backends: list[str]) -> str:
    """The same for the cheapest of several, with its name."""
    _, name = min(
        (
            (cell.cost, name)
            for name in backends
            if (cell := results.cell(workload, size, name)) and cell.has_figure
        ),
        default=(0.0, ""),
    )
    return f"{pays(results, workload, size, name)} `{name}`" if name else "–"
