"""Draws the figures and the table of results.

RESULTS are files that 'timerbench run --benchmark_out' wrote, or folders of scripts/bench. Several
are merged: the rounds of a cell that is in several of them are added up. The script writes table.md
and these figures as PNG and SVG:
  of replays     cost_<workload> (cost against size), cost_per_workload_<size>, limit (distance to
                 the control one_store), overview, and of the pass tails longest_advance
  of accuracy    lateness_ecdf, lateness_by_rate, waiting, granularity and task_cost
  of contention  throughput_<pattern>, with the durations of calls, and finer_locks
  of purgatory   cpu_by_rate, cpu_per_request and expiry_lateness
  of durable     durable_throughput, durable_lateness and durable_size
  of faults      survival
With --paper it writes to DIR/paper: PDFs of a column's width without titles, table.tex (with
booktabs) and method.tex, a paragraph on the method.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from console import ArgumentParser, Failure, UsageError, complain, run_main
from figures.paper import STYLE
from figures.parts import write_picture
from files import make_folder, path_argument, replacing
from reports import Choice, Report, names, open_report, print_table
from words import power


TABLE = "table.md"  # written last
MOST_TIMERS = 10**9


def main() -> int:
    arguments = _parse()
    choice = Choice(arguments.backends, arguments.workloads, arguments.size, arguments.width)
    if choice.is_partial and not (arguments.out or arguments.table):
        raise UsageError(
            "--backends and --workloads need --out, lest the figures of all be replaced"
        )
    if arguments.width and arguments.width < (least := 2.5 if arguments.paper else 7.5):
        raise UsageError(f"--width: names take their room, so it is to be {least} inches at least")
    report = open_report(arguments.results, choice)
    if len(arguments.results) > 1:
        complain(
            f"{len(arguments.results)} results merged: {len(report.results.cells)} cells, "
            f"{report.results.rounds} rounds each"
        )
    if arguments.table:
        print_table(report)
        return 0
    folder = arguments.out or _folder_of(arguments.results[0])
    make_folder(folder)
    write = write_paper if arguments.paper else write_report
    for path in write(report, folder):
        print(path)
    for warning in report.warnings():
        complain(f"scripts/plot: {warning}")
    return 0


def write_report(report: Report, folder: Path) -> list[Path]:
    """Writes all figures, then the table; returns the paths of the table and of the PNGs."""
    paths = []
    for name, draw in report.figures() if report.results.has_figure else ():
        paths.append(folder / f"{name}.png")
        _save(draw(), paths[-1])
    table = folder / TABLE
    with replacing(table) as partial:
        partial.write_text(report.markdown(), encoding="utf-8")
    if not report.results.has_figure:
        raise Failure(
            f"{folder}: none of the {len(report.results.cells)} cells has a figure, so there is "
            f"nothing to draw; {TABLE} says what became of them"
        )
    return [table, *paths]


def write_paper(report: Report, folder: Path) -> list[Path]:
    """Writes the files for a paper; returns their paths."""
    folder = folder / "paper"
    make_folder(folder)
    paths = []
    for name, text in (("table.tex", report.latex()), ("method.tex", report.method())):
        paths.append(folder / name)
        with replacing(paths[-1]) as partial:
            partial.write_text(text, encoding="utf-8")
    for name, draw in report.paper_figures():
        paths.append(folder / f"{name}.pdf")
        figure = draw()
        with replacing(paths[-1]) as partial, plt.rc_context(STYLE):
            figure.savefig(partial, format="pdf", metadata={"CreationDate": None})
        plt.close(figure)
    return paths


def _save(figure: Figure, path: Path) -> None:
    write_picture(figure, path, None)
    write_picture(figure, path.with_suffix(".svg"), {"Date": None})
    plt.close(figure)


def _parse() -> argparse.Namespace:
    parser = ArgumentParser(
        prog="scripts/plot",
        description=__doc__,
    )
    parser.add_argument("results", nargs="+", type=path_argument, metavar="RESULTS")
    parser.add_argument(
        "--out",
        type=path_argument,
        metavar="DIR",
        help="folder for the figures (default: that of the first RESULTS)",
    )
    parser.add_argument(
        "--size",
        type=timers,
        metavar="N",
        help="number of timers in cost_per_workload and the table (default: the largest at which three "
        "quarters of the cells have a figure); for suites on the wall clock, the only size in the "
        "table, and the rate of lateness_ecdf",
    )
    parser.add_argument(
        "--backends",
        type=names,
        default=(),
        metavar="A,B",
        help="show only these; names may have * and ?, as in 'kafka_*,lazy_heap'",
    )
    parser.add_argument(
        "--workloads", type=names, default=(), metavar="A,B", help="show only these, likewise"
    )
    parser.add_argument(
        "--width",
        type=inches,
        metavar="INCHES",
        help="width of each figure (default: that of its panels; with --paper a column of 3.33)",
    )
    parser.add_argument(
        "--paper", action="store_true", help="write figures and tables for LaTeX to DIR/paper"
    )
    parser.add_argument("--table", action="store_true", help="print the table and write nothing")
    return parser.parse_args()


def timers(text: str) -> int:
    """Parses a number of timers: 1000 or 1e3."""
    value = float(text)
    if not 1 <= value <= MOST_TIMERS or not value.is_integer():
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a whole number from 1 to {power(MOST_TIMERS)}"
        )
    return int(value)


def inches(text: str) -> float:
    value = float(text)
    if not 0 < value < 100:
        raise ValueError
    return value


def _folder_of(path: Path) -> Path:
    return path if path.is_dir() else path.parent


if __name__ == "__main__":
    run_main("scripts/plot", main)
