"""Draws the figures and the table of results.

RESULTS are files that 'timerbench run --benchmark_out' wrote, or folders of scripts/bench. Several
are merged: a cell that is in several of them has the more repetitions. Written are, as PNG and SVG,
cost_<workload> (cost against size), cost_per_workload_<size> (bars) and overview, and table.md.
"""

import argparse
import sys
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

import table
from console import ArgumentParser, Failure, UsageError, run_main
from figures import all_figures
from files import replacing
from results import Results, load
from words import power


def main() -> int:
    arguments = _parse()
    results = load(arguments.results)
    if len(arguments.results) > 1:
        print(
            f"{len(arguments.results)} results merged: {len(results.cells)} cells, "
            f"up to {results.repetitions} repetitions each",
            file=sys.stderr,
        )
    size = _size(results, arguments.size)
    if arguments.table:
        print_table(results, size)
        return 0
    folder = arguments.out or _folder_of(arguments.results[0])
    folder.mkdir(parents=True, exist_ok=True)
    for path in write_report(results, size, folder):
        print(path)
    return 0


def write_report(results: Results, size: int, folder: Path) -> list[Path]:
    """Writes the table and all figures; the paths of the table and of the figures' PNGs."""
    paths = [folder / "table.md"]
    with replacing(paths[0]) as partial:
        partial.write_text(table.markdown(results, size), encoding="utf-8")
    if not any(cell.has_figure for cell in results.cells.values()):
        raise Failure(
            f"{folder}: none of the {len(results.cells)} cells has a figure, so there is "
            "nothing to draw; table.md says what became of them"
        )
    for name, draw in all_figures(results, size):
        paths.append(folder / f"{name}.png")
        _save(draw(), paths[-1])
    return paths


def print_table(results: Results, size: int) -> None:
    """On a terminal for reading, in a pipe as Markdown."""
    if sys.stdout.isatty():
        table.print_on_terminal(results, size)
    else:
        print(table.markdown(results, size), end="")


def _save(figure: Figure, path: Path) -> None:
    for kind in ("png", "svg"):
        with replacing(path.with_suffix(f".{kind}")) as partial:
            metadata = {"Date": None} if kind == "svg" else None
            figure.savefig(partial, format=kind, facecolor="white", metadata=metadata)
    plt.close(figure)


def _parse() -> argparse.Namespace:
    parser = ArgumentParser(
        prog="scripts/plot",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULTS")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="where to write; the folder of the first RESULTS if not given",
    )
    parser.add_argument(
        "--size",
        type=timers,
        metavar="N",
        help="pending timers in the bars and the table; if not given, the most at "
        "which three quarters of the cells have a figure",
    )
    parser.add_argument("--table", action="store_true", help="print the table and write nothing")
    return parser.parse_args()


def timers(text: str) -> int:
    """A population: 1000, or 1e3."""
    value = float(text)
    if not value.is_integer():
        raise ValueError
    return int(value)


def _size(results: Results, wanted: int | None) -> int:
    known = sorted({size for _, size, _ in results.cells})
    if wanted is None or wanted in known:
        return wanted or results.telling_size()
    raise UsageError(
        f"no cell has {power(wanted)} timers; there are {', '.join(map(power, known))}"
    )


def _folder_of(path: Path) -> Path:
    return path if path.is_dir() else path.parent


if __name__ == "__main__":
    run_main("scripts/plot", main)
